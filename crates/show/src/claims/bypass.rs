//! Rules allow nothing that a person did not mean, and deny what one did: lines made by generators, and what the shells
//! and programs themselves do with lines that we allow. The lines of the corpora are checked by `crates/core/tests/it/policy`.

mod denied;
mod effects;
mod joined;
mod optioned;
pub(super) mod oracle;
mod plain;
mod walked;

use std::process::Command;
use std::time::{Duration, Instant};

use holdstead_core::policy::Rules;
use holdstead_core::policy::programs::programs;
use holdstead_core::policy::rule::parse;
use holdstead_core::policy::shell::Shell;

use crate::dice::Dice;
use crate::policy_lines::{Asked, BROAD, EXAMPLE, honest, hostile, rules};
use crate::{Result, ensure};

/// Lines of the generator, where no time is given.
const GENERATED: usize = 200_000;
const SHELLS: [Shell; 4] = [Shell::Bash, Shell::Bash3, Shell::Sh, Shell::Zsh];
/// Lines that each shell is asked about, where no time is given.
const ASKED: [(Shell, &str, usize); 3] =
    [(Shell::Bash, "bash", 5_000), (Shell::Sh, "dash", 1_000), (Shell::Zsh, "zsh", 1_000)];

/// `bypass [SECONDS]`: with seconds the generators and the shells get about so many, and no real program runs.
pub(crate) fn show() -> Result<String> {
    let seconds: Option<u64> = std::env::args().nth(2).map(|seconds| seconds.parse()).transpose()?;
    let example = rules(EXAMPLE)?;
    let hostile = hostile()?;
    let honest = honest()?;

    let seed = commit()?;
    println!("seed {seed}");
    let patience = seconds.map(|seconds| Duration::from_secs(seconds.div_ceil(6)));
    let joined = joined::Joined::new(&honest, &hostile, &example);
    let tries = generated(&mut Dice::new(&seed, "joined"), patience, &[&example], |dice| joined.line(dice))?;
    // What the broadest rules allow is more than the example does.
    let sets = [&example, &rules(BROAD)?, &rules(&broadest())?];
    let walked = walked::Walked::new();
    let line = |dice: &mut Dice| (walked.line(dice), *dice.pick(&SHELLS));
    let tries = tries + generated(&mut Dice::new(&seed, "walked"), patience, &sets, line)?;
    println!("{tries} generated lines, 0 allowed");
    let denied = denied::check(&mut Dice::new(&seed, "denied"), patience)?;
    println!("{denied} spellings of denied lines, 0 run in mode auto");

    let mut asked = Vec::new();
    for (shell, name, count) in ASKED {
        let lines = plain::lines(&mut Dice::new(&seed, name), shell, &honest, &example, count);
        let count = oracle::check(name, shell, &lines, patience)?;
        println!("{name}: {count} allowed lines, no other command, file or variable");
        asked.push(format!("{count} {name}"));
    }
    let shells = asked.join(", ");
    let told = format!(
        "{tries} generated lines, 0 allowed; {denied} spellings of denied lines, 0 run; {shells} lines ran nothing else"
    );
    // The real programs are installed where there is time.
    if patience.is_some() {
        return Ok(told);
    }
    let with_edits = format!("{}\nallow Edit(src/**)\nallow Edit(a.json)\nallow Edit(evil)", broadest());
    let (ran, well) = effects::check(&seed, &rules(&with_edits)?)?;
    println!(
        "{ran} lines with options ran, {well} of them to a good end; nothing else was read, written or run"
    );
    Ok(format!("{told}; {ran} lines with options did nothing else"))
}

/// The commit's hash: another commit tries other lines, and the same one the same.
fn commit() -> Result<String> {
    let printed =
        Command::new("git").args(["rev-parse", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR")).output()?;
    ensure!(printed.status.success(), "git does not tell the commit");
    Ok(String::from_utf8(printed.stdout)?.trim().to_owned())
}

/// A rule with `:*` for each program that a table knows: more than is ever offered at once.
fn broadest() -> String {
    let heads = programs().flat_map(|(_, program)| &program.forms).map(|form| {
        let named = ["build"].iter().take(form.named_operands);
        let words: Vec<&str> = form.head.iter().chain(named).copied().collect();
        format!("allow Bash({}:*)", words.join(" "))
    });
    heads.filter(|text| parse(text).is_ok()).collect::<Vec<_>>().join("\n")
}

/// How many lines were tried. No set of rules may allow one of them.
fn generated(
    dice: &mut Dice,
    patience: Option<Duration>,
    sets: &[&Rules],
    line: impl Fn(&mut Dice) -> (String, Shell),
) -> Result<usize> {
    let begin = Instant::now();
    for tried in 0..GENERATED {
        if patience.is_some_and(|patience| begin.elapsed() > patience) {
            return Ok(tried);
        }
        let (line, shell) = line(dice);
        for rules in sets {
            ensure!(!Asked { line: &line, shell }.is_allowed(rules), "{shell:?} allows {line:?}");
        }
    }
    Ok(GENERATED)
}
