//! How long a decision takes: a thousand rules, and a line of ten commands.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::latency::Latencies;
use crate::policy_lines::{Asked, EXAMPLE, rules};
use crate::{Result, ensure};

const RULES: usize = 1_000;
const LIMIT: Duration = Duration::from_micros(50);
const ROUNDS: usize = 20_000;
const LINE: &str = "cd crates/core && git status --short && git diff --stat HEAD~1 | head -20; ls -la src && \
                    cargo test -p core policy 2>&1 | tail -30; grep -rn 'fn main' src | wc -l && echo done";

pub(crate) fn show() -> Result<String> {
    let mut text = EXAMPLE.to_owned();
    let mut count = text.lines().filter(|line| line.starts_with(['a', 'd'])).count();
    // Half of them are about programs of the line, so that they are looked at.
    while count < RULES {
        let effect = if count % 4 == 1 { "deny" } else { "allow" };
        match count % 2 {
            0 => writeln!(text, "{effect} Bash(git show branch-{count})")?,
            _ => writeln!(text, "{effect} Bash(cargo test -p crate-{count} --release)")?,
        }
        count += 1;
    }
    let rules = rules(&text)?;
    ensure!(rules.iter().count() == RULES, "{} rules", rules.iter().count());
    let asked = Asked::trusted(LINE);
    let parts = asked.verdict(&rules).parts.len();
    ensure!(parts == 10 && asked.is_allowed(&rules), "{parts} commands, {:?}", asked.verdict(&rules).reason);
    let mut took = Latencies::default();
    asked.repeated(&rules, ROUNDS, |time| took.add(time));
    let mut twice = Latencies::default();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        drop(std::hint::black_box(asked.verdict(&rules)));
        twice.add(begin.elapsed());
    }
    let microseconds = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
    let [p50, p99, both] = [took.p50(), took.p99(), twice.p50()].map(microseconds);
    println!("asked, paths looked up, and decided again: p50 {both}");
    ensure!(took.p50() < LIMIT, "p50 {p50}");
    Ok(format!("p50 {p50}, p99 {p99} for {RULES} rules and {parts} commands"))
}
