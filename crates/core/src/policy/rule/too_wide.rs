//! Allows that would cover more than anybody means.

use super::{CommandPattern, Effect, Rest, Rule, Target};
use crate::policy::programs::{Class, class_of, form_of, program};
use crate::policy::shell::Word;

/// What is wrong with this allow, and what to write instead.
pub(super) fn check(command: &CommandPattern) -> Result<(), (String, String)> {
    let [name, arguments @ ..] = command.words.as_slice() else { return Ok(()) };
    let open = command.rest == Rest::Anything;
    let first = arguments.first().map_or("", String::as_str);
    // An option or nothing: what would run is not named.
    let unnamed = first.is_empty() || first.starts_with(['-', '+']);
    let wrong = |what: &str, hint: &str| Err((format!("`{name}` {what}"), hint.to_owned()));
    match class_of(name) {
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
        Class::Family | Class::Other if open && !is_known(command) && program(name).is_some() => {
            let words = command.words.join(" ");
            Err((
                format!("nothing is known of `{words}`"),
                format!("name the whole command, or {}", known(name)),
            ))
        }
        Class::Shell | Class::Interpreter | Class::Whole | Class::Family | Class::Other => Ok(()),
    }
}

/// What to tell whoever saves this rule: what it covers although its words do not say so.
pub fn remark(rule: &Rule) -> Option<String> {
    let Target::Command(command) = &rule.target else { return None };
    let open = rule.effect == Effect::Allow && command.rest == Rest::Anything;
    let name = command.words.first()?;
    (open && !is_known(command)).then(|| {
        format!("`:*` means anything here: nothing is known of `{name}`, so that no option of it is refused")
    })
}

fn is_known(command: &CommandPattern) -> bool {
    let word = |text: &String| Word::Literal { text: text.clone(), span: 0..0 };
    form_of(&command.words.iter().map(word).collect::<Vec<_>>()).is_some()
}

/// Some of what is known of a program.
fn known(name: &str) -> String {
    let forms = program(name).map(|program| program.forms.as_slice()).unwrap_or_default();
    let mut heads: Vec<String> = forms.iter().map(|form| format!("`{}:*`", form.head.join(" "))).collect();
    heads.sort_unstable();
    heads.truncate(3);
    heads.join(", ")
}

/// `-m module`
fn names_module(arguments: &[String]) -> bool {
    matches!(arguments, [option, module, ..] if option == "-m" && !module.starts_with('-'))
}

/// An option that takes code, in the languages that have one.
fn is_code(word: &str) -> bool {
    matches!(word, "-c" | "-e" | "-E" | "-p" | "-r" | "--eval" | "--print" | "-pe" | "-ne" | "-i")
}
