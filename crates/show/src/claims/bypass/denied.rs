//! Other spellings of what a rule denies. Each does the very act that the rule speaks of, so that none may run.

mod commands;
mod frames;
mod paths;
mod words;

use std::time::{Duration, Instant};

use holdstead_core::policy::Rules;
use holdstead_core::policy::shell::Shell;

use self::commands::{Command, commands};
use self::frames::Frames;
use self::paths::{DENIED, Uses};
use crate::dice::Dice;
use crate::policy_lines::{Asked, rules};
use crate::{Result, ensure};

/// Lines, where no time is given.
const SPELLED: usize = 20_000;

/// An act in words of a shell.
struct Act {
    text: String,
    /// It is one command without redirections, so that another program can run it.
    simple: bool,
}

/// How many lines were tried.
pub(super) fn check(dice: &mut Dice, patience: Option<Duration>) -> Result<usize> {
    let speller = Speller::new()?;
    let begin = Instant::now();
    let (mut tried, mut ran) = (0, 0);
    while tried < SPELLED && patience.is_none_or(|patience| begin.elapsed() < patience) {
        let (rule, rules, line) = speller.line(dice);
        tried += 1;
        if (Asked { line: &line, shell: Shell::Bash }).runs_in_auto(rules) {
            println!("RUNS: {line:?}, in spite of `deny {rule}`");
            ran += 1;
        }
    }
    ensure!(ran == 0, "{ran} of {tried} spellings of denied lines run in mode auto");
    Ok(tried)
}

/// Each deny stands alone, so that no other helps.
struct Speller {
    commands: Vec<(Command, Rules)>,
    paths: Vec<(&'static paths::Denied, Rules)>,
    uses: Uses,
    frames: Frames,
}

impl Speller {
    fn new() -> Result<Self> {
        let command = |command: Command| {
            let rules = rules(&format!("deny Bash({})", command.rule))?;
            Ok((command, rules))
        };
        let path = |path: &'static paths::Denied| Ok((path, rules(&format!("deny {}", path.rule))?));
        Ok(Self {
            commands: commands()?.into_iter().map(command).collect::<Result<_>>()?,
            paths: DENIED.iter().map(path).collect::<Result<_>>()?,
            uses: Uses::new(),
            frames: Frames::new(),
        })
    }

    /// A rule, and a line that does what it denies.
    fn line(&self, dice: &mut Dice) -> (&'static str, &Rules, String) {
        let (rule, rules, act) = if dice.below(2) == 0 {
            let (command, rules) = dice.pick(&self.commands);
            (command.rule, rules, Act { text: command.spelled(dice), simple: true })
        } else {
            let (path, rules) = dice.pick(&self.paths);
            (path.rule, rules, self.uses.spelled(dice, path))
        };
        (rule, rules, self.frames.framed(dice, act))
    }
}

/// The parts of a table: a comment, and then a text on each line.
fn sections<const COUNT: usize>(table: &str) -> [Vec<String>; COUNT] {
    let unescaped = |line: &str| line.replace("\\\\", "\0").replace("\\n", "\n").replace('\0', "\\");
    let mut parts = table.split("\n\n").map(|part| part.lines().skip(1).map(unescaped).collect());
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}
