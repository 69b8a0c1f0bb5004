//! Programs whose risk lies in the language of their arguments.

use super::Risk;
use super::letters::Word;
use super::reader::{Run, Writes};
use crate::policy::programs::base_name;

/// What overrides a check of any program.
const FORCES: [&str; 3] = ["--force", "--no-verify", "--no-preserve-root"];
/// Settings of git that run something, as they begin and end.
const GIT_RUNS: [(&str, &str); 16] = [
    ("core.", "pager"),
    ("core.", "editor"),
    ("core.", "sshcommand"),
    ("core.", "hookspath"),
    ("core.", "fsmonitor"),
    ("core.", "gitproxy"),
    ("core.", "askpass"),
    ("alias.", ""),
    ("diff.", "external"),
    ("diff.", "textconv"),
    ("diff.", "command"),
    ("filter.", ""),
    ("credential.", "helper"),
    ("sequence.", "editor"),
    ("gpg.", "program"),
    ("init.", "templatedir"),
];

pub(super) fn risks(words: &[Word], run: &Run) -> Vec<Risk> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let texts: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    let name = base_name(&program.text);
    let pushes = name == "git" && texts.contains(&"push") && !texts.contains(&"stash");
    let mut found = Vec::new();
    if texts.iter().any(|text| FORCES.contains(text) && !(pushes && *text == "--force")) {
        found.push(Risk::Forces);
    }
    let is_null = |text: &&str| *text == "/dev/null";
    let has = |word: &str| texts.contains(&word);
    let risk = match name {
        "git" if pushes => {
            let refs = texts.iter().skip_while(|text| **text != "push").skip(1);
            found.extend(refs.clone().any(|text| text.starts_with(':')).then_some(Risk::Deletes));
            refs.clone().any(|text| text.starts_with('+')).then_some(Risk::Rewrites)
        }
        "git" => sets_git(&texts).then_some(Risk::RunsCode),
        "awk" | "gawk" | "mawk" | "nawk" => awk(&texts),
        "sed" | "gsed" | "perl" => sed(&texts),
        "cp" => texts.first().is_some_and(is_null).then_some(Risk::Destroys),
        "mv" => texts.last().is_some_and(is_null).then_some(Risk::Destroys),
        "tee" => {
            let reads_nothing = run.redirects.iter().any(|redirect| redirect.word.text == "/dev/null");
            (reads_nothing && !has("-a")).then_some(Risk::Destroys)
        }
        "docker" | "podman" | "nerdctl" => texts
            .iter()
            .zip(texts.iter().skip(1))
            .any(|(option, value)| {
                matches!(*option, "-v" | "--volume")
                    && (value.starts_with("/:") || value.contains("docker.sock"))
            })
            .then_some(Risk::ChangesMachine),
        "ssh" | "mosh" => {
            let gives = run.redirects.iter().any(|redirect| redirect.writes == Writes::No);
            (gives || run.piped == super::reader::Piped::From || has("-R")).then_some(Risk::Sends)
        }
        _ => None,
    };
    found.extend(risk);
    found
}

fn sets_git(texts: &[&str]) -> bool {
    let is_key = |text: &str| {
        let key = text.split('=').next().unwrap_or_default().to_ascii_lowercase();
        GIT_RUNS.iter().any(|(start, end)| key.starts_with(start) && key.ends_with(end))
    };
    let value_is_harmless = |text: &str| {
        matches!(text.split_once('=').map(|(_, value)| value), Some("" | "cat" | "true" | "less" | ":"))
    };
    let inline = texts.iter().zip(texts.iter().skip(1));
    let inline = inline
        .clone()
        .take_while(|(option, _)| option.starts_with('-'))
        .any(|(option, value)| *option == "-c" && is_key(value) && !value_is_harmless(value));
    let reads = texts
        .iter()
        .any(|text| matches!(*text, "--get" | "--get-all" | "--list" | "-l" | "--unset" | "get" | "list"));
    let operands: Vec<&&str> = texts.iter().filter(|text| !text.starts_with('-')).collect();
    let sets = operands.first() == Some(&&"config")
        && !reads
        && operands.len() > 2
        && operands.iter().any(|text| is_key(text));
    inline || sets
}

fn awk(texts: &[&str]) -> Option<Risk> {
    let program = texts.iter().find(|text| !text.starts_with('-') && text.contains('{'))?;
    let runs = program.contains("system(")
        || program.contains("system (")
        || program.contains("|&")
        || ["| \"", "|\"", "\" |", "\"|"]
            .iter()
            .any(|pipe| program.contains(pipe) && !program.contains("||"));
    let writes = program.contains("print >") || program.contains("print > ") || program.contains("> \"");
    runs.then_some(Risk::RunsCode).or(writes.then_some(Risk::Destroys).filter(|_| program.contains("> \"/")))
}

/// Editing in place so that nothing is left, and `s///e`, which runs what it made.
fn sed(texts: &[&str]) -> Option<Risk> {
    let in_place = texts.iter().any(|text| {
        text.starts_with("--in-place")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains('i'))
    });
    let script = texts.iter().find(|text| !text.starts_with('-') && !text.is_empty())?;
    let empties = matches!(
        *script,
        "d" | "1,$d"
            | "/./d"
            | "/^/d"
            | "0,$d"
            | "/.*/d"
            | "Q"
            | "1Q"
            | "s/.*//"
            | "s/.*//g"
            | "s/^.*$//"
            | "s/.*//;d"
    ) || script.starts_with("s/.*/")
        || script.starts_with("s|.*|");
    let runs = script.strip_prefix('s').is_some_and(|rest| {
        let flags = rest.chars().next().and_then(|mark| rest.rsplit(mark).next()).unwrap_or_default();
        flags.len() <= 3
            && flags.contains('e')
            && rest.matches(rest.chars().next().unwrap_or('/')).count() == 3
    }) || script.starts_with("1e ")
        || script.starts_with("e ");
    runs.then_some(Risk::RunsCode).or((in_place && empties).then_some(Risk::Destroys))
}

/// Whether a command only empties the file that its output goes to.
pub(super) fn writes_nothing(run: &Run) -> bool {
    let texts: Vec<&str> = run.words.iter().map(|word| word.text.as_str()).collect();
    match texts.as_slice() {
        [] => !run.closes && !run.computes && run.bodies.is_empty(),
        [":" | "true"] | ["cat", "/dev/null"] | ["echo", "-n"] | ["printf", ""] | ["echo", "-n", ""] => true,
        _ => false,
    }
}
