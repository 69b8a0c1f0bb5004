//! Asks a shell itself: `oracle/oracle.py` runs a line where every program is a stub, and tells what it saw.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdstead_core::policy::rule::{RuleFile, Target};
use holdstead_core::policy::shell::{self, Line, Redirect, Shell, Simple, Word};
use serde::Deserialize;

use crate::policy_lines::{EXAMPLE, FOLDER};
use crate::{Result, ensure};

/// Programs that nobody allowed, so that somebody would be seen to run them.
const OTHERS: [&str; 12] =
    ["rm", "sh", "bash", "curl", "tee", "env", "xargs", "python3", "node", "make", "sudo", "a"];

/// What the shell did with one line.
#[derive(Debug, Deserialize)]
struct Seen {
    ran: Vec<Vec<String>>,
    traced: Vec<Vec<String>>,
    wrote: Vec<String>,
    env: Vec<String>,
    syntax: bool,
}

/// How many lines the shell was asked about. It must do what the reader said, and nothing else.
pub(crate) fn check(name: &str, shell: Shell, lines: &[String], patience: Option<Duration>) -> Result<usize> {
    let folder = tempfile::tempdir()?;
    let stub = &stub(folder.path())?;
    let begin = Instant::now();
    let halves: Vec<&[String]> = lines.chunks(lines.len().div_ceil(2)).collect();
    std::thread::scope(|scope| {
        let each = |lines| scope.spawn(move || ask(name, shell, lines, stub, begin, patience));
        let asked: Vec<_> = halves.iter().map(|lines| each(*lines)).collect();
        asked.into_iter().map(|asked| asked.join().map_err(|_| "the oracle's thread ended")?).sum()
    })
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle")
}

fn stub(folder: &Path) -> Result<PathBuf> {
    let stub = folder.join("stub");
    let built = Command::new("cc")
        .args(["-static", "-Os", "-o"])
        .arg(&stub)
        .arg(sources().join("stub.c"))
        .status()?;
    ensure!(built.success(), "the stub does not build");
    Ok(stub)
}

/// Namespaces and a private root need root.
pub(crate) fn python(script: &str) -> Result<Command> {
    let is_root = Command::new("id").arg("-u").output()?.stdout == b"0\n";
    let mut command = if is_root { Command::new("env") } else { Command::new("sudo") };
    if !is_root {
        command.arg("env");
    }
    // Sudo has a PATH of its own.
    command.arg(format!("PATH={}", std::env::var("PATH")?)).arg("python3").arg(sources().join(script));
    Ok(command)
}

fn start(name: &str, stub: &Path) -> Result<Child> {
    let mut command = python("oracle.py")?;
    Ok(command.arg(name).arg(stub).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}

fn ask(
    name: &str,
    shell: Shell,
    lines: &[String],
    stub: &Path,
    begin: Instant,
    patience: Option<Duration>,
) -> Result<usize> {
    let mut oracle = start(name, stub)?;
    let mut questions = oracle.stdin.take().ok_or("no input of the oracle")?;
    let mut answers = BufReader::new(oracle.stdout.take().ok_or("no output of the oracle")?).lines();
    writeln!(questions, "{}", serde_json::to_string(&programs()?)?)?;
    let mut asked = 0;
    for line in lines {
        if patience.is_some_and(|patience| begin.elapsed() > patience) {
            break;
        }
        writeln!(questions, "{}", serde_json::to_string(line)?)?;
        let seen: Seen = serde_json::from_str(&answers.next().ok_or("the oracle ended")??)?;
        compare(line, shell, &seen).map_err(|wrong| format!("{name} and {line:?}: {wrong}: {seen:?}"))?;
        asked += 1;
    }
    drop(questions);
    oracle.wait()?;
    Ok(asked)
}

/// All programs that rules allow, and others.
fn programs() -> Result<BTreeSet<String>> {
    let file = RuleFile::parse(EXAMPLE).map_err(|wrong| format!("{wrong:?}"))?;
    let allowed = file.rules.into_iter().filter_map(|rule| match rule.rule.target {
        Target::Command(command) => command.words.into_iter().next(),
        Target::Everything
        | Target::Tool(_)
        | Target::Server(_)
        | Target::Path { .. }
        | Target::Domain { .. }
        | Target::Stop => None,
    });
    Ok(allowed.chain(OTHERS.map(str::to_owned)).collect())
}

fn compare(line: &str, shell: Shell, seen: &Seen) -> std::result::Result<(), String> {
    let Line::Plain(commands) = shell::read(line, shell) else { return Err("is not plain".to_owned()) };
    if seen.syntax {
        return Err("is no line to the shell".to_owned());
    }
    // A text block is read through `cat`.
    let has_block = line.contains("$(cat <<");
    let expected = |argv: &&Vec<String>| {
        (has_block && argv.as_slice() == ["cat"]) || commands.iter().any(|command| is_run(command, argv))
    };
    if let Some(other) = seen.ran.iter().chain(&seen.traced).find(|argv| !expected(argv)) {
        return Err(format!("ran {other:?}"));
    }
    let named: Vec<&str> =
        commands.iter().flat_map(|command| &command.redirects).filter_map(written).collect();
    let folders = ["", "/src", "/web", "/crates/core"].map(|below| format!("{FOLDER}{below}"));
    let is_named = |path: &&String| {
        folders
            .iter()
            .any(|folder| path.strip_prefix(&format!("{folder}/")).is_some_and(|path| named.contains(&path)))
    };
    if let Some(other) = seen.wrote.iter().find(|path| !is_named(path)) {
        return Err(format!("wrote {other}"));
    }
    seen.env.first().map_or(Ok(()), |variable| Err(format!("set {variable}")))
}

fn written(redirect: &Redirect) -> Option<&str> {
    match redirect {
        Redirect::Write { path, .. } => Some(path.strip_prefix("./").unwrap_or(path)),
        Redirect::Read { .. } | Redirect::Duplicate => None,
    }
}

/// Whether these words are what the command becomes: patterns stand for names that begin as they do.
fn is_run(command: &Simple, argv: &[String]) -> bool {
    fn fits(words: &[Word], argv: &[String]) -> bool {
        match (words, argv) {
            ([], []) => true,
            ([Word::Literal { text, .. }, words @ ..], [first, argv @ ..]) => {
                text == first && fits(words, argv)
            }
            ([Word::Pattern { prefix, .. }, words @ ..], argv) => {
                let alike = argv.iter().take_while(|word| word.starts_with(prefix.as_str())).count();
                (1..=alike).any(|taken| fits(words, &argv[taken..]))
            }
            ([], _) | ([Word::Literal { .. }, ..], []) => false,
        }
    }
    fits(&command.argv, argv)
}
