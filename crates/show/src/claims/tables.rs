//! The tables of harmless options say of each option what the program itself says: `oracle/probe.py` asks it.

mod answer;
mod question;

use std::collections::{BTreeMap, BTreeSet};

use holdstead_core::policy::programs::judge;
use holdstead_core::policy::rule::Effect;
use holdstead_core::policy::shell::{Line, Shell, read};

use crate::policy_lines::{Asked, BROAD, honest, rules};
use crate::{Result, ensure};
use answer::{Answer, is_as};
use question::{Question, ask, questions};

/// What agents run most, of which so many must be installed.
const COMMON: &str = "git find sed gawk mawk original-awk grep rg fd tree tar cargo npm pnpm yarn tsc eslint prettier jest \
                      vitest pytest ruff mypy";
const COMMON_THERE: usize = 20;
/// What takes other words where it is uutils: `versions.txt` names it of GNU's only.
const UNLIKE_GNU: [&str; 2] = ["date", "nl"];
/// It goes on after an option that it does not know. Others end, so that no table needs to tell their versions apart.
const GOES_ON: &str = "npm";

/// Whether a program is of those that the tables were made from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    Usual,
    Others,
}

/// What the programs of one PATH said.
#[derive(Default)]
struct Told {
    /// By their names.
    programs: BTreeMap<&'static str, Program>,
    differ: usize,
}

#[derive(Default)]
struct Program {
    version: String,
    verified: usize,
    known: usize,
    /// What another version does not have, and says so.
    lacks: usize,
    differ: usize,
}

/// `tables [PROGRAM…]`: all programs, or these; those of $PATH, and then what other PATHs have instead of them.
pub(crate) fn show() -> Result<String> {
    let only: Vec<String> = std::env::args().skip(2).collect();
    let asked = || {
        let mut asked = questions();
        asked.retain(|asked| only.is_empty() || only.iter().any(|name| name == asked.head[0]));
        asked
    };
    let path = std::env::var("PATH")?;
    let all = asked();
    let known: usize = all.iter().map(|asked| asked.options.len()).sum();
    let names: BTreeSet<&str> = all.iter().map(|asked| asked.head[0]).collect();

    let told = told(&ask(all, &path, None)?, Versions::Usual)?;
    let mut differ = told.differ;
    let there = |name: &&str| told.programs.contains_key(*name);
    println!("not installed: {:?}", names.iter().filter(|name| !there(name)).collect::<Vec<_>>());

    let others = std::env::var("HOLDSTEAD_OTHER_PROGRAMS").unwrap_or_default();
    let (mut again, mut versions) = (0, 0);
    for other in others.lines() {
        let told = self::told(&ask(asked(), other, Some(&path))?, Versions::Others)?;
        again += told.verified();
        versions += told.programs.len();
        let is_like = |(name, _): &(&&str, &Program)| !UNLIKE_GNU.contains(*name);
        differ += told.programs.iter().filter(is_like).map(|(_, program)| program.differ).sum::<usize>();
    }

    let common = COMMON.split(' ').filter(there).count();
    ensure!(!only.is_empty() || common >= COMMON_THERE, "only {common} of {COMMON} are installed");
    let verified = told.verified();
    println!("the broad rules of the corpus decide {} of its {} honest lines", decided()?, honest()?.len());
    ensure!(differ == 0, "{differ} differ; {verified} options verified, {known} known");
    Ok(format!(
        "{} programs installed, {verified} options verified, {known} known, 0 differ; {again} verified with {versions} of \
         other versions",
        told.programs.len()
    ))
}

/// Prints what was verified, and what not.
fn told(answers: &[(Question, Answer)], versions: Versions) -> Result<Told> {
    let mut told = Told::default();
    for (asked, answer) in answers.iter().filter(|(_, answer)| answer.installed) {
        let program = told.programs.entry(asked.head[0]).or_default();
        program.version.clone_from(&answer.version);
        program.known += asked.options.len();
        let head = asked.head.join(" ");
        let may_lack = versions == Versions::Others && asked.head[0] != GOES_ON;
        for (option, switch) in asked.switches {
            let facts = answer.options.get(*option).ok_or("no answer for an option")?;
            match is_as(&switch.value, facts, option.len() > 2 || asked.whole_words) {
                Some(true) => program.verified += 1,
                None => println!("not verified: {head} {option}: {:?}", facts.said),
                Some(false) if may_lack && !facts.known => program.lacks += 1,
                Some(false) => {
                    program.differ += 1;
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
                program.differ += 1;
                println!("DIFFERS: {head} reads options in `{words}`, which the table allows");
            }
        }
    }
    for (name, Program { version, verified, known, lacks, differ }) in &told.programs {
        println!(
            "{name}: {verified} of {known} options verified, {lacks} not there, {differ} differ: {version}"
        );
        told.differ += differ;
    }
    Ok(told)
}

impl Told {
    fn verified(&self) -> usize {
        self.programs.values().map(|program| program.verified).sum()
    }
}

/// How many honest lines the broadest rules of the corpus allow or deny.
fn decided() -> Result<usize> {
    let rules = rules(BROAD)?;
    let decided = |line: &&String| Asked::trusted(line).verdict(&rules).effect != Effect::Ask;
    Ok(honest()?.iter().filter(decided).count())
}

fn allows(line: &str) -> bool {
    match read(line, Shell::Bash) {
        Line::Plain(commands) => {
            commands.iter().all(|each| judge(&each.argv, &vec![false; each.argv.len()]).is_ok())
        }
        Line::Unclear(_) => false,
    }
}
