//! Marks of a shell line: as the strict reader reads it, or else of whatever may be a command in it.

use super::risks::{names_secret, risks};
use super::{Found, Risk, leaves};
use crate::policy::call::Facts;
use crate::policy::folders::Folders;
use crate::policy::programs::{Access, Class, base_name, class_of, form_of, judge};
use crate::policy::shell::loose::{LooseWord, Piped, Role};
use crate::policy::shell::{self, Join, Line, Redirect, Shell, Word, loose};
use crate::policy::suspects::suspects;

/// Programs without a table whose operands are written.
const WRITERS: [&str; 4] = ["tee", "sponge", "ln", "install"];

/// One command that may run.
struct Run {
    join: Join,
    words: Vec<LooseWord>,
    /// Files of redirections, with the operator in their span.
    read: Vec<LooseWord>,
    written: Vec<LooseWord>,
}

pub(super) fn marks(line: &str, shell: Shell, facts: &Facts<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut folders = Folders::new(facts.cwd.or(Some(facts.folder)));
    for run in runs(line, shell) {
        folders.join(run.join);
        let span = run.words.first().map_or(0, |word| word.span.start)
            ..run.words.last().map_or(0, |word| word.span.end);
        let words: Vec<String> = run.words.iter().map(|word| word.text.clone()).collect();
        let program = words.first().map_or("", String::as_str).to_owned();
        if program == "cd" {
            folders.change(cd_target(&words));
        }
        for suspect in suspects(words) {
            found.extend(risks(suspect.words()).map(|risk| (span.clone(), risk)));
            if written(suspect.words()).iter().any(|path| leads_out(path, &folders, facts)) {
                found.push((span.clone(), Risk::WritesOutside));
            }
        }
        let runs_input = matches!(class_of(&program), Class::Shell | Class::Interpreter | Class::Wrapper);
        if run.join == Join::Pipe && runs_input {
            found.push((span, Risk::PipesToShell));
        }
        let named = run.words.iter().chain(&run.read).chain(&run.written);
        let secret = named.filter(|word| names_secret(&word.text));
        found.extend(secret.map(|word| (word.span.clone(), Risk::Credentials)));
        let outside = run.written.iter().filter(|word| leads_out(&word.text, &folders, facts));
        found.extend(outside.map(|word| (word.span.clone(), Risk::WritesOutside)));
    }
    found
}

fn runs(line: &str, shell: Shell) -> Vec<Run> {
    let commands = match shell::read(line, shell) {
        Line::Plain(commands) => commands,
        Line::Unclear(_) => return loose::runs(line).into_iter().map(loose_run).collect(),
    };
    let plain = |command: shell::Simple| {
        let word =
            |word: &Word| LooseWord { text: word.text().to_owned(), span: word.span(), role: Role::Argument };
        let mut run = Run {
            join: command.join,
            words: command.argv.iter().map(word).collect(),
            read: Vec::new(),
            written: Vec::new(),
        };
        for redirect in command.redirects {
            match redirect {
                Redirect::Read { path, span } => {
                    run.read.push(LooseWord { text: path, span, role: Role::Argument });
                }
                Redirect::Write { path, span } => {
                    run.written.push(LooseWord { text: path, span, role: Role::Output });
                }
                Redirect::Duplicate => {}
            }
        }
        run
    };
    commands.into_iter().map(plain).collect()
}

/// Nobody knows how it is joined: whatever came before may have succeeded or not.
fn loose_run(run: loose::Run) -> Run {
    let join = match run.piped {
        Piped::From => Join::Pipe,
        Piped::No => Join::Then,
    };
    let (written, words) = run.words.into_iter().partition(|word| word.role == Role::Output);
    Run { join, words, read: Vec::new(), written }
}

fn cd_target(words: &[String]) -> Option<&str> {
    match words {
        [_, target] if !target.starts_with('-') => Some(target),
        _ => None,
    }
}

/// What a command writes, as far as tables tell.
fn written(words: &[String]) -> Vec<String> {
    let [name, operands @ ..] = words else { return Vec::new() };
    if WRITERS.contains(&base_name(name)) {
        return operands.iter().filter(|word| !word.starts_with('-')).cloned().collect();
    }
    let argv: Vec<Word> = words.iter().map(|text| Word::Literal { text: text.clone(), span: 0..0 }).collect();
    if form_of(&argv).is_none() {
        return Vec::new();
    }
    let judged = judge(&argv, &vec![true; argv.len()]).ok();
    let paths = judged.into_iter().flat_map(|judged| judged.paths);
    let mut written: Vec<String> =
        paths.filter(|path| path.access == Access::Write).map(|path| path.text).collect();
    // The others are read, unless an option names the folder.
    let names_folder = |word: &String| word.starts_with("-t") || word.starts_with("--target");
    if base_name(name) == "cp" && !operands.iter().any(names_folder) {
        written.drain(..written.len().saturating_sub(1));
    }
    written
}

/// Whether a path may lead out of the folder, from where the command may run. After a `cd` that nobody can follow it may.
fn leads_out(path: &str, folders: &Folders, facts: &Facts<'_>) -> bool {
    match folders.possible() {
        Some(possible) => possible.iter().any(|base| leaves(path, base, facts)),
        None => leaves(path, "/", facts),
    }
}
