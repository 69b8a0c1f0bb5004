//! How often days of calls ask a person: with approvals that are remembered for their exact inputs, with the example
//! rules besides, and with what is suggested after the first hour besides. Nothing hostile is allowed by any of them.
//!
//! The person approves what is meant honestly and denies the rest.

mod day;

use std::collections::HashSet;
use std::time::Instant;

use holdstead_core::policy::rule::Effect;
use holdstead_core::policy::shell::Shell;
use holdstead_core::policy::{Call, Decided, Past, Places, Rules, Suggestion, Trust, suggest};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::latency::milliseconds;
use crate::policy_lines::{Asked, EXAMPLE, SHELL_LINE, facts, honest, hostile, rules};
use crate::{Result, ensure};
use day::{Line, Meant};

const CALLS: usize = 2_000;
const HOURS: usize = 8;
const SEEDS: std::ops::RangeInclusive<u32> = 1..=10;
/// So many times fewer asks, at least. Hostile calls always ask, so that no rules could make it more than about 8.6.
const LIMIT: f64 = 4.0;
/// How long it takes to find suggestions in so many past calls is printed.
const MANY: usize = 10_000;

/// Every day is told, and the worst of them counts.
pub(crate) fn show() -> Result<String> {
    let (honest, hostile) = (honest()?, hostile()?);
    let mut days = Vec::new();
    for seed in SEEDS {
        let day = day::draw(&mut Dice::new(&seed.to_string(), "attention"), &honest, &hostile, CALLS);
        let different = day.iter().map(|line| &line.text).collect::<HashSet<_>>().len();
        println!("day {seed}: {} calls, {different} of them different", day.len());
        println!("  a folder that nobody trusts: {}", Figures::measure(&day, Trust::Untrusted)?.words());
        let trusted = Figures::measure(&day, Trust::Trusted)?;
        println!("  a trusted folder: {}", trusted.words());
        days.push(trusted);
    }

    let history = day::draw(&mut Dice::new("1", "history"), &honest, &hostile, MANY);
    let begin = Instant::now();
    let many = suggested(&history, Trust::Trusted).len();
    println!("{many} suggestions from {MANY} past calls in {}", milliseconds(begin.elapsed()));

    days.sort_by(|a, b| a.fewer().total_cmp(&b.fewer()));
    let (worst, median) = (&days[0], (days[4].fewer() + days[5].fewer()) / 2.0);
    let said = format!(
        "{} days in a trusted folder, median {median:.2} times fewer asks; the worst: {}",
        days.len(),
        worst.words()
    );
    ensure!(worst.fewer() >= LIMIT, "{said}");
    Ok(format!("{said}; 0 hostile calls allowed"))
}

/// Asks in a hundred calls after the first hour.
struct Figures {
    exact: f64,
    example: f64,
    suggested: f64,
    suggestions: usize,
    /// Of a hundred calls those that are hostile, about which a person should be asked.
    hostile: f64,
}

impl Figures {
    fn measure(day: &[Line], trust: Trust) -> Result<Self> {
        let found = suggested(&day[..CALLS / HOURS], trust);
        for one in found.iter().take(3) {
            println!("  would have saved {}: {}; {}", one.saves, texts(one).join(", "), one.reach.join(" "));
        }
        let all: Vec<String> = found.iter().flat_map(texts).collect();
        let rest = &day[CALLS / HOURS..];
        let hostile = rest.iter().filter(|line| line.meant == Meant::Badly).count();
        Ok(Self {
            exact: asks(day, &Rules::default(), trust)?,
            example: asks(day, &rules(EXAMPLE)?, trust)?,
            suggested: asks(day, &rules(&all.join("\n"))?, trust)?,
            suggestions: all.len(),
            hostile: per_hundred(hostile, rest.len()),
        })
    }

    fn fewer(&self) -> f64 {
        self.exact / self.suggested
    }

    fn words(&self) -> String {
        let honest = (self.exact - self.hostile) / (self.suggested - self.hostile);
        format!(
            "{:.1} asks per 100 calls with exact grants, {:.1} with the example rules, {:.1} with {} suggested rules: {:.2} \
             times fewer, {honest:.1} times without the {:.1} hostile ones",
            self.exact,
            self.example,
            self.suggested,
            self.suggestions,
            self.fewer(),
            self.hostile
        )
    }
}

fn texts(suggestion: &Suggestion) -> Vec<String> {
    suggestion.rules.iter().map(|rule| rule.text.clone()).collect()
}

/// Goes through the day. The rules count from the second hour, approvals are remembered from the first.
fn asks(day: &[Line], rules: &Rules, trust: Trust) -> Result<f64> {
    let (first, rest) = day.split_at(CALLS / HOURS);
    let approved = |line: &&Line| line.meant == Meant::Honestly;
    let mut remembered: HashSet<&str> =
        first.iter().filter(approved).map(|line| line.text.as_str()).collect();
    let mut asks = 0;
    for line in rest {
        let effect = Asked { line: &line.text, shell: Shell::Bash, trust }.verdict(rules).effect;
        let allowed = effect == Effect::Allow || remembered.contains(line.text.as_str());
        match line.meant {
            Meant::Badly => {
                ensure!(!allowed, "{:?} is allowed", line.text);
                asks += usize::from(effect == Effect::Ask);
            }
            Meant::Honestly if allowed => {}
            Meant::Honestly => {
                asks += 1;
                remembered.insert(&line.text);
            }
        }
    }
    Ok(per_hundred(asks, rest.len()))
}

#[expect(clippy::cast_precision_loss, reason = "thousands of calls")]
fn per_hundred(some: usize, all: usize) -> f64 {
    some as f64 * 100.0 / all as f64
}

/// What is suggested after these calls. Approvals were remembered, so that each input asked once.
fn suggested(lines: &[Line], trust: Trust) -> Vec<Suggestion> {
    let places = Places::default();
    let mut known = HashSet::new();
    let lines: Vec<&Line> = lines.iter().filter(|line| known.insert(&line.text)).collect();
    let inputs: Vec<Value> = lines.iter().map(|line| json!({"command": line.text})).collect();
    let past: Vec<Past<'_>> = lines
        .iter()
        .zip(&inputs)
        .map(|(line, input)| Past {
            call: Call { tool: "Bash", input, meaning: SHELL_LINE },
            facts: facts(&places, trust),
            decided: match line.meant {
                Meant::Honestly => Decided::Approved,
                Meant::Badly => Decided::Denied,
            },
        })
        .collect();
    suggest(&past, &Rules::default(), &[])
}
