//! The tables of harmless options say of each option what the program itself says: `oracle/probe.py` asks it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use holdstead_core::policy::programs::{Style, Switch, Value, judge, programs};
use holdstead_core::policy::shell::{Line, Shell, read};
use serde::{Deserialize, Serialize};

use crate::claims::bypass::oracle::python;
use crate::{Result, ensure};

/// What agents run most, of which so many must be installed.
const COMMON: &str = "git find sed gawk mawk original-awk grep rg fd tree tar cargo npm pnpm yarn tsc eslint prettier jest \
                      vitest pytest ruff mypy";
const COMMON_THERE: usize = 20;

/// A form, or what may stand before a subcommand or behind `--`.
#[derive(Serialize)]
struct Asked {
    head: Vec<&'static str>,
    options: Vec<&'static str>,
    /// `-name` is one option, and no bundle of letters.
    whole_words: bool,
    #[serde(skip)]
    switches: &'static HashMap<&'static str, Switch>,
    #[serde(skip)]
    needs: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    installed: bool,
    #[serde(default)]
    options: HashMap<String, Facts>,
    /// What holds for the form: `dashes` end the options, a `response_file` is read, and so on.
    #[serde(flatten)]
    facts: BTreeMap<String, Option<bool>>,
}

#[derive(Debug, Deserialize)]
struct Facts {
    known: bool,
    words: Option<usize>,
    joined: Option<bool>,
    bare: Option<bool>,
    greedy: Option<bool>,
    said: String,
}

/// `tables [PROGRAM…]`: all programs, or these.
pub(crate) fn show() -> Result<String> {
    let only: Vec<String> = std::env::args().skip(2).collect();
    let mut asked = asked();
    asked.retain(|asked| only.is_empty() || only.iter().any(|name| name == asked.head[0]));
    let known: usize = asked.iter().map(|asked| asked.options.len()).sum();
    let queue = Mutex::new(asked);
    let told: Vec<(Asked, Answer)> = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| ask(&queue)));
        let told = threads.map(|thread| thread.join().map_err(|_| "a thread of the show ended")?);
        told.into_iter().collect::<Result<Vec<_>>>().map(|told| told.into_iter().flatten().collect())
    })?;

    let mut there = BTreeSet::new();
    let (mut verified, mut differ) = (0, 0);
    for (asked, answer) in told.iter().filter(|(_, answer)| answer.installed) {
        there.insert(asked.head[0]);
        let head = asked.head.join(" ");
        for (option, switch) in asked.switches {
            let facts = answer.options.get(*option).ok_or("no answer for an option")?;
            match is_as(&switch.value, facts, option.len() > 2 || asked.whole_words) {
                Some(true) => verified += 1,
                None => println!("not verified: {head} {option}: {:?}", facts.said),
                Some(false) => {
                    differ += 1;
                    println!("DIFFERS: {head} {option}: {:?} in the table, but {facts:?}", switch.value);
                }
            }
        }
        let facts: Vec<&str> =
            answer.facts.iter().filter(|(_, is)| **is == Some(true)).map(|(fact, _)| &**fact).collect();
        println!("{head}: {}", facts.join(", "));
        let is = |fact: &str, value| answer.facts.get(fact) == Some(&Some(value));
        for (wrong, words) in [(is("dashes", false), "-- --zzz-probe"), (is("response_file", true), "@words")]
        {
            if wrong && allows(&format!("{head} {} {words}", asked.needs)) {
                differ += 1;
                println!("DIFFERS: {head} reads options in `{words}`, which the table allows");
            }
        }
    }
    let missing: BTreeSet<&str> =
        told.iter().map(|(asked, _)| asked.head[0]).filter(|name| !there.contains(name)).collect();
    println!("not installed: {missing:?}");
    let common = COMMON.split(' ').filter(|name| there.contains(name)).count();
    ensure!(!only.is_empty() || common >= COMMON_THERE, "only {common} of {COMMON} are installed");
    ensure!(differ == 0, "{differ} differ; {verified} options verified, {known} known");
    Ok(format!("{} programs installed, {verified} options verified, {known} known, 0 differ", there.len()))
}

/// All forms with options.
fn asked() -> Vec<Asked> {
    let mut asked = Vec::new();
    let mut add = |head: &[&'static str], switches: &'static HashMap<_, _>, whole_words, needs| {
        let options: Vec<&str> = switches.keys().copied().collect();
        asked.push(Asked { head: head.to_vec(), options, whole_words, switches, needs });
    };
    for (name, program) in programs() {
        for form in &program.forms {
            let whole_words = matches!(form.style, Style::Find | Style::OneDash);
            add(
                &form.head,
                &form.words.options,
                whole_words,
                form.needs.first().copied().unwrap_or_default(),
            );
            if let Some(after) = &form.after {
                add(&[form.head.as_slice(), &["--"]].concat(), &after.options, whole_words, "");
            }
        }
        add(&[name], &program.before, false, "");
    }
    asked.retain(|asked| !asked.options.is_empty());
    asked.sort_by_key(|asked| asked.head.clone());
    asked
}

/// Asks about what is left in the queue.
fn ask(queue: &Mutex<Vec<Asked>>) -> Result<Vec<(Asked, Answer)>> {
    let mut probe = python("probe.py")?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut questions = probe.stdin.take().ok_or("no input of the probe")?;
    let mut answers = BufReader::new(probe.stdout.take().ok_or("no output of the probe")?).lines();
    let mut told = Vec::new();
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
    while let Some(asked) = next() {
        writeln!(questions, "{}", serde_json::to_string(&asked)?)?;
        told.push((asked, serde_json::from_str(&answers.next().ok_or("the probe ended")??)?));
    }
    drop(questions);
    probe.wait()?;
    Ok(told)
}

/// Whether the option takes what the table says; none where the program did not tell.
fn is_as(value: &Value, facts: &Facts, whole: bool) -> Option<bool> {
    let &Facts { known, words, joined, bare, greedy, .. } = facts;
    let is = |fact: Option<bool>, value| fact.map(|fact| fact == value);
    let takes = |count| words.map(|words| words == count);
    let facts = match value {
        // Behind `=` a program may take what a table does not: `--colour=true`.
        Value::None | Value::Replaces(_) => {
            let none = if whole { Some(true) } else { is(joined, false) };
            vec![takes(0), is(bare, true), none, is(greedy, false)]
        }
        Value::Needed(kinds) => vec![takes(kinds.len()), is(bare, false), is(joined, kinds.len() == 1)],
        Value::Next(_) => vec![takes(1), is(bare, false), is(joined, false)],
        Value::Joined(_) => vec![takes(0), is(bare, false), is(joined, true)],
        Value::Attached(_) => vec![takes(0), is(bare, true), is(joined, true), is(greedy, false)],
        Value::Optional(_) => {
            let next = words.zip(greedy).map(|(words, greedy)| words == 1 || (words == 0 && greedy));
            vec![next, is(bare, true), is(joined, true)]
        }
    };
    if !known || facts.contains(&Some(false)) {
        return Some(false);
    }
    facts.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
}

fn allows(line: &str) -> bool {
    match read(line, Shell::Bash) {
        Line::Plain(commands) => {
            commands.iter().all(|each| judge(&each.argv, &vec![false; each.argv.len()]).is_ok())
        }
        Line::Unclear(_) => false,
    }
}
