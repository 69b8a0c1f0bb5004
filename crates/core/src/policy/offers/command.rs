//! Rules for one command of a shell line.

use crate::policy::marks::risks;
use crate::policy::programs::{Class, Form, class_of, core_places, form_of, judge, program};
use crate::policy::shell::{Word, quote};
use crate::policy::suspects::suspects;

/// A rule for this command and no other, unless it runs what it is given.
pub(super) fn exact(argv: &[Word]) -> Option<String> {
    let words = argv.iter().map(Word::literal).collect::<Option<Vec<_>>>()?;
    let offered = match form_of(argv) {
        Some(form) => is_harmless(argv, form),
        None => is_itself(&words),
    };
    offered.then(|| rule(&words, ""))
}

/// A rule for its program and subcommand with other arguments, where a table knows which of those are harmless.
pub(super) fn open(argv: &[Word]) -> Option<String> {
    let form = form_of(argv).filter(|form| is_harmless(argv, form))?;
    let words = head(argv, form)?;
    let marked = |option: &&str| {
        let words: Vec<String> = words.iter().chain([option]).map(|word| (*word).to_owned()).collect();
        !risks(&words).is_empty()
    };
    // What would be marked is not offered unseen.
    (!form.words.options.keys().any(marked)).then(|| rule(&words, ":*"))
}

fn rule(words: &[&str], rest: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    format!("allow Bash({}{rest})", quoted.join(" "))
}

/// The program, its subcommand, and what belongs to the name of what runs: `npm run build`.
fn head<'a>(argv: &'a [Word], form: &Form) -> Option<Vec<&'a str>> {
    let places = core_places(argv);
    let named = places.get(..form.head.len() + form.named_operands)?;
    let words = named.iter().map(|place| argv[*place].literal()).collect::<Option<Vec<_>>>()?;
    // With options before it nobody can tell which word names what runs.
    let operands = &words[form.head.len()..];
    (!operands.iter().any(|word| word.starts_with('-'))).then_some(words)
}

/// Whether the table knows every word after the program and its subcommand.
fn is_harmless(argv: &[Word], form: &Form) -> bool {
    let places = core_places(argv);
    let mut named = vec![false; argv.len()];
    for place in places.iter().take(form.head.len()) {
        named[*place] = true;
    }
    judge(argv, &named).is_ok()
}

/// Whether a command of which nothing is known at least runs nothing but itself, as far as anybody can tell.
fn is_itself(words: &[&str]) -> bool {
    let Some(name) = words.first() else { return false };
    let one_program = match class_of(name) {
        Class::Builtin | Class::Wrapper | Class::Shell | Class::Interpreter | Class::Whole => false,
        Class::Family | Class::Other => {
            suspects(words.iter().map(|word| (*word).to_owned()).collect()).len() == 1
        }
    };
    // An option that a table leaves out is one that may run something.
    one_program && (program(name).is_none() || !words.iter().any(|word| word.starts_with('-')))
}
