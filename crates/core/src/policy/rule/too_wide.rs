//! Allows that would cover more than anybody means.

use super::{CommandPattern, Rest};
use crate::policy::programs::{Class, class_of};

/// What is wrong with this allow, and what to write instead.
pub(super) fn check(command: &CommandPattern) -> Result<(), (String, String)> {
    let [program, arguments @ ..] = command.words.as_slice() else { return Ok(()) };
    let open = command.rest == Rest::Anything;
    let first = arguments.first().map_or("", String::as_str);
    // An option or nothing: what would run is not named.
    let unnamed = first.is_empty() || first.starts_with(['-', '+']);
    let wrong = |what: &str, hint: &str| Err((format!("`{program}` {what}"), hint.to_owned()));
    match class_of(program) {
        Class::Builtin => wrong("changes the shell itself or runs its arguments", "no rule can allow it"),
        Class::Wrapper => wrong("runs its arguments", "allow the command itself: Bash(git status:*)"),
        Class::Shell if unnamed => {
            wrong("runs whatever it is given", "name the script: Bash(bash scripts/check.sh)")
        }
        Class::Interpreter if open && unnamed && !names_module(arguments) => {
            wrong("runs whatever it is given", "name the script or module: Bash(python3 -m pytest:*)")
        }
        Class::Interpreter if arguments.iter().any(|word| is_code(word)) => {
            wrong("is given code here", "put it into a script, and name that")
        }
        Class::Whole if open => wrong("does too much for `:*`", "name the whole command, without `:*`"),
        Class::Family if open && unnamed => {
            wrong("is a name for many programs", "add the subcommand: Bash(git status:*)")
        }
        Class::Shell | Class::Interpreter | Class::Whole | Class::Family | Class::Other => Ok(()),
    }
}

/// `-m module`
fn names_module(arguments: &[String]) -> bool {
    matches!(arguments, [option, module, ..] if option == "-m" && !module.starts_with('-'))
}

/// An option that takes code, in the languages that have one.
fn is_code(word: &str) -> bool {
    matches!(word, "-c" | "-e" | "-E" | "-p" | "-r" | "--eval" | "--print" | "-pe" | "-ne" | "-i")
}
