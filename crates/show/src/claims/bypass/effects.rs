//! What allowed lines with options do where the real programs run them: `oracle/effects.py` looks.

mod links;
mod seen;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use holdstead_core::policy::Rules;
use holdstead_core::policy::programs::Form;
use holdstead_core::policy::shell::Shell;

use self::links::place;
use self::seen::Seen;
use super::optioned::Optioned;
use super::oracle::python;
use crate::dice::Dice;
use crate::policy_lines::Asked;
use crate::{Result, ensure};

/// Lines that run, half of them at a time.
const LINES: usize = 1_200;

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
    let (mut well, mut wrong) = (0, 0);
    for _ in 0..count {
        let (form, line) = allowed(dice, optioned, rules)?;
        writeln!(questions, "{}", serde_json::to_string(&line)?)?;
        let seen: Seen = serde_json::from_str(&answers.next().ok_or("the oracle ended")??)?;
        well += usize::from(seen.ended == Some(0));
        if let Err(what) = seen.check(form, &line) {
            println!("WRONG: {line:?} {what}: {seen:?}");
            wrong += 1;
        }
    }
    drop(questions);
    ensure!(oracle.wait()?.success(), "the oracle failed");
    ensure!(wrong == 0, "{wrong} of {count} allowed lines did something else");
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
