//! What allowed lines with options do where the real programs run them: `oracle/effects.py` looks.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use holdstead_core::policy::programs::{Access, Form, Judged, Runs, Spelling, core_places, judge};
use holdstead_core::policy::shell::{self, Line, Shell};
use holdstead_core::policy::{Asked as Path, Place, Rules};
use serde::Deserialize;

use super::optioned::Optioned;
use super::oracle::python;
use crate::dice::Dice;
use crate::policy_lines::{Asked, FOLDER};
use crate::{Result, ensure};

/// Lines that run, half of them at a time.
const LINES: usize = 1_200;
/// Symbolic links of the folder.
const LINKS: [(&str, &str); 4] = [
    ("/project/out", "/outside"),
    ("/project/src/link", "/outside/secret"),
    ("/project/key", "/people/u/private/key"),
    ("/project/inner", "/project/src"),
];
/// Forms that change files because that is what a rule for them allows.
const CHANGE_FILES: [&str; 9] = [
    "cargo fmt",
    "git stash push",
    "git stash pop",
    "git stash apply",
    "git switch",
    "git checkout",
    "git restore",
    "git pull",
    "git mv",
];

#[derive(Debug, Deserialize)]
struct Seen {
    ended: Option<i32>,
    made: Vec<String>,
    changed: Vec<String>,
    outside: Vec<String>,
    read: Vec<String>,
    ran: BTreeSet<String>,
}

/// How many lines ran, and how many of them did what they were for.
pub(super) fn check(seed: &str, rules: &Rules) -> Result<(usize, usize)> {
    let folders: Vec<_> = std::env::var("PATH")?.split(':').map(std::path::PathBuf::from).collect();
    let optioned = &Optioned::new(|name| folders.iter().any(|folder| folder.join(name).is_file()));
    println!("{} forms of installed programs", optioned.forms());
    let well = std::thread::scope(|scope| {
        let halves = ["effects 1", "effects 2"]
            .map(|half| scope.spawn(move || run(&mut Dice::new(seed, half), optioned, rules, LINES / 2)));
        halves
            .into_iter()
            .map(|half| half.join().map_err(|_| "a thread of the show ended")?)
            .sum::<Result<usize>>()
    })?;
    Ok((LINES, well))
}

fn run(dice: &mut Dice, optioned: &Optioned, rules: &Rules, count: usize) -> Result<usize> {
    let mut oracle = python("effects.py")?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut questions = oracle.stdin.take().ok_or("no input of the oracle")?;
    let mut answers = BufReader::new(oracle.stdout.take().ok_or("no output of the oracle")?).lines();
    let mut well = 0;
    for _ in 0..count {
        let (form, line) = allowed(dice, optioned, rules)?;
        writeln!(questions, "{}", serde_json::to_string(&line)?)?;
        let seen: Seen = serde_json::from_str(&answers.next().ok_or("the oracle ended")??)?;
        well += usize::from(seen.ended == Some(0));
        compare(form, &line, &seen).map_err(|wrong| format!("{line:?} {wrong}: {seen:?}"))?;
    }
    drop(questions);
    ensure!(oracle.wait()?.success(), "the oracle failed");
    Ok(well)
}

fn allowed(dice: &mut Dice, optioned: &Optioned, rules: &Rules) -> Result<(&'static Form, String)> {
    for _ in 0..100_000 {
        let (form, line) = optioned.line(dice);
        if (Asked { line: &line, shell: Shell::Sh }).is_allowed_where(rules, place) {
            return Ok((form, line));
        }
    }
    Err("the rules allow hardly any line".into())
}

fn place(path: &Path) -> Place {
    match leads(&path.path).filter(|_| path.spelling == Spelling::Literal) {
        Some(inside) => Place::Inside(vec![inside]),
        None => Place::Outside,
    }
}

/// Where an absolute path leads in the folder.
fn leads(path: &str) -> Option<String> {
    let mut at = String::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match name {
            ".." => at.truncate(at.rfind('/').unwrap_or(0)),
            _ => at = format!("{at}/{name}"),
        }
        if let Some((_, target)) = LINKS.iter().find(|(link, _)| *link == at) {
            (*target).clone_into(&mut at);
        }
    }
    let inside = at.strip_prefix(FOLDER)?;
    (inside.is_empty() || inside.starts_with('/')).then(|| inside.trim_start_matches('/').to_owned())
}

fn compare(form: &Form, line: &str, seen: &Seen) -> std::result::Result<(), String> {
    let Line::Plain(commands) = shell::read(line, Shell::Sh) else { return Err("is not plain".to_owned()) };
    let [command] = commands.as_slice() else { return Err("is more than a command".to_owned()) };
    let mut named = vec![false; command.argv.len()];
    for place in core_places(&command.argv).into_iter().take(form.head.len() + form.named_operands) {
        named[place] = true;
    }
    let judged = judge(&command.argv, &named)?;
    let itself = judged.runs == Runs::Itself;
    let gives_words = judged.runs == Runs::Operands;
    if !seen.read.is_empty() && !gives_words {
        return Err("read what is elsewhere".to_owned());
    }
    if (itself && !seen.ran.is_empty()) || (!gives_words && seen.ran.contains("word")) {
        return Err("ran another program".to_owned());
    }
    let is_cache = |path: &&String| {
        !itself
            && (path.starts_with("/people/u/.") || path.starts_with("/tmp"))
            && *path != "/people/u/.bashrc"
    };
    if !seen.outside.iter().all(|path| is_cache(&path)) {
        return Err("wrote elsewhere".to_owned());
    }
    if CHANGE_FILES.contains(&form.head.join(" ").as_str()) {
        return Ok(());
    }
    let written = written(&judged);
    let is_named = |path: &String| {
        written.iter().any(|named| {
            path == named || path.starts_with(&format!("{named}/")) || named.starts_with(&format!("{path}/"))
        })
    };
    let is_repositorys =
        |path: &String| !itself && (path == "/project/.git" || path.starts_with("/project/.git/"));
    let new = seen.made.iter().filter(|_| !gives_words);
    match new.chain(&seen.changed).find(|path| !is_named(path) && !is_repositorys(path)) {
        Some(path) => Err(format!("wrote {path}")),
        None => Ok(()),
    }
}

/// The paths that the table says it writes.
fn written(judged: &Judged) -> Vec<String> {
    let base = judged.folders.iter().fold(FOLDER.to_owned(), |base, folder| format!("{base}/{folder}"));
    let paths = judged.paths.iter().filter(|path| path.access == Access::Write);
    let inside = paths.filter_map(|path| {
        let full =
            if path.text.starts_with('/') { path.text.clone() } else { format!("{base}/{}", path.text) };
        leads(&full)
    });
    inside.map(|path| format!("{FOLDER}/{path}").trim_end_matches('/').to_owned()).collect()
}
