//! What an allow covers beyond the calls that it was made for, in words.

use crate::policy::glob::Glob;
use crate::policy::programs::{Access, Runs, form_of};
use crate::policy::rule::{CommandPattern, Domains, Rest, Rule, Target, remark};
use crate::policy::shell::Word;

const IF_TRUSTED: &str = "It runs what the repository says, so it counts only where the folder is trusted.";
const READS: &str = "It reads any file of the folder, also those with secrets in them.";
const WRITES: &str = "It makes and changes files of the folder, but none that decides what others run.";

/// What else this allow would cover, one sentence each.
pub(super) fn reach(rule: &Rule) -> Vec<String> {
    match &rule.target {
        Target::Command(command) => of_command(command, rule),
        Target::Path { tool, glob } => of_path(tool, glob),
        Target::Domain { host, depth: Domains::One } => {
            vec![format!("Every page of {host}, and whatever its address tells {host}.")]
        }
        Target::Domain { host, depth: Domains::Below } => {
            vec![format!(
                "Every page of {host} and of all hosts below it, and whatever an address tells them."
            )]
        }
        Target::Tool(tool) => vec![format!("Every call of {tool}, whatever its input.")],
        Target::Server(server) => vec![format!("Every call of every tool of {server}, whatever its input.")],
        Target::Everything => vec!["Every call of every tool.".to_owned()],
        Target::Stop => vec!["Every end of a turn.".to_owned()],
    }
}

fn of_command(command: &CommandPattern, rule: &Rule) -> Vec<String> {
    let word = |text: &String| Word::Literal { text: text.clone(), span: 0..0 };
    let form = form_of(&command.words.iter().map(word).collect::<Vec<_>>());
    let words = command.words.join(" ");
    let mut said = Vec::new();
    match (command.rest, form) {
        (Rest::Nothing, _) => said.push("No other command than this one, word for word.".to_owned()),
        (Rest::Anything, None) => said.extend(remark(rule)),
        (Rest::Anything, Some(form)) => {
            said.push(format!("`{words}` with all further arguments that are known as harmless."));
            said.extend(form.names_files(Access::Read).then(|| READS.to_owned()));
            said.extend(form.names_files(Access::Write).then(|| WRITES.to_owned()));
        }
    }
    if form.is_none_or(|form| form.runs != Runs::Itself) {
        said.push(IF_TRUSTED.to_owned());
    }
    said
}

fn of_path(tool: &str, glob: &Glob) -> Vec<String> {
    let access = if matches!(tool, "Edit" | "Write" | "MultiEdit" | "NotebookEdit") {
        Access::Write
    } else {
        Access::Read
    };
    let files = match (glob.is_one(), access) {
        (true, Access::Write) => "Every later change of this file.",
        (true, Access::Read) => "Every later look at this file.",
        (false, Access::Write) => {
            "Every file that the pattern fits, also new ones, but none that decides what others run."
        }
        (false, Access::Read) => {
            "Every file that the pattern fits, also new ones and those with secrets in them."
        }
    };
    vec![files.to_owned()]
}
