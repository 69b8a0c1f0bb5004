//! Holds a command against what is known of its program.

use super::form::{Form, Program, Runs, Style, Value};
use super::judged::{Access, Judged, Spelling};
use super::scan::Given;
use super::table::program;
use super::values::{check, may_be_option, paths_in, shortened};
use super::{Class, class_of};
use crate::policy::shell::Word;

/// Which words of a command a rule names, by their place. What is named needs no table.
pub type Named = [bool];

/// What the command would touch, or in words why it is not known to be harmless.
pub fn judge(argv: &[Word], named: &Named) -> Result<Judged, String> {
    let name = argv.first().map_or("", Word::text);
    let mut judged = Judged::new(Runs::Repository);
    let known = program(name);
    let (rest, form) = match known {
        Some(known) => (skip_before(known, argv, named, &mut judged)?, find(known, argv, named)),
        None => (Vec::new(), None),
    };
    match form {
        Some(form) => {
            judged.runs = form.runs;
            let words = Given { argv, named, places: &rest[form.head.len() - 1..] };
            words.judge(form, &mut judged)?;
        }
        // A script is what these run, and no table knows it.
        None if known.is_none() || matches!(class_of(name), Class::Interpreter | Class::Shell) => {
            anything(argv, &mut judged)?;
        }
        None if named.iter().all(|named| *named) => anything(argv, &mut judged)?,
        None => {
            let second = argv.get(1).map_or("", Word::text);
            return Err(format!("nothing is known of `{name} {}`", shortened(second)));
        }
    }
    if name.contains('/') {
        if judged.runs == Runs::Itself {
            judged.runs = Runs::Repository;
        }
        // From the top it is the rule's own word which program that is.
        if !name.starts_with('/') {
            judged.name(name, Access::Read, Spelling::Literal);
        }
    }
    Ok(judged)
}

/// The places of a command's words, without options between the program and its subcommand.
pub fn core_places(argv: &[Word]) -> Vec<usize> {
    let mut judged = Judged::new(Runs::Itself);
    let known = argv.first().and_then(|name| program(name.text()));
    let named = vec![false; argv.len()];
    match known.and_then(|known| skip_before(known, argv, &named, &mut judged).ok()) {
        Some(places) => std::iter::once(0).chain(places).collect(),
        None => (0..argv.len()).collect(),
    }
}

/// The form that fits best.
pub fn form_of(argv: &[Word]) -> Option<&'static Form> {
    let known = program(argv.first()?.text())?;
    find(known, argv, &vec![false; argv.len()])
}

fn find(known: &'static Program, argv: &[Word], named: &Named) -> Option<&'static Form> {
    let mut judged = Judged::new(Runs::Itself);
    let places = skip_before(known, argv, named, &mut judged).ok()?;
    let fits = |form: &&Form| {
        form.head[1..].len() <= places.len()
            && form.head[1..].iter().zip(&places).all(|(word, place)| argv[*place].literal() == Some(word))
    };
    known.forms.iter().find(fits)
}

/// The places of all words after the program, without options that may stand before a subcommand.
fn skip_before(
    known: &Program,
    argv: &[Word],
    named: &Named,
    judged: &mut Judged,
) -> Result<Vec<usize>, String> {
    let mut at = 1;
    while let Some(word) = argv.get(at).and_then(Word::literal) {
        let (name, attached) = split(word);
        let Some((name, switch)) = known.before.get_key_value(name) else { break };
        // A form may know this word as its own, and a rule may name it.
        if named[at] && !matches!(switch.value, Value::None) {
            break;
        }
        if !named[at] {
            judged.options.push(name);
        }
        let kind = match (&switch.value, attached) {
            (Value::None, None) => {
                at += 1;
                continue;
            }
            (Value::Needed(kinds), _) if kinds.len() == 1 => kinds[0],
            (Value::Next(kind), None) | (Value::Joined(kind), Some(_)) => *kind,
            _ => break,
        };
        if let Some(value) = attached {
            check(kind, value, judged)?;
            at += 1;
            continue;
        }
        let value = argv.get(at + 1).and_then(Word::literal).ok_or("an option without its value")?;
        if may_be_option(value, Style::Clusters) {
            return Err(format!("`{}` may be an option of its own", shortened(value)));
        }
        check(kind, value, judged)?;
        at += 2;
    }
    Ok((at..argv.len()).collect())
}

/// An option's name, and the value in the same word.
pub(super) fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    }
}

/// A program of which nothing is known: whatever looks like a path may be read and written.
fn anything(argv: &[Word], judged: &mut Judged) -> Result<(), String> {
    for word in &argv[1..] {
        match word {
            Word::Literal { text, .. } => {
                for piece in paths_in(text) {
                    judged.name(piece, Access::Write, Spelling::Literal);
                }
            }
            Word::Pattern { text, .. } => {
                return Err(format!("`{}` stands for names that are not known", shortened(text)));
            }
        }
    }
    Ok(())
}
