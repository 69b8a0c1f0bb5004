//! How often days of calls ask a person: with approvals that are remembered for their exact inputs, with the example
//! rules besides, and with what is suggested after the first hour besides. Nothing hostile is allowed by any of them.
//!
//! The person approves what is meant honestly and denies the rest.

mod day;

use std::collections::HashSet;
use std::time::Instant;

use holdstead_core::policy::rule::Effect;
use holdstead_core::policy::{Call, Decided, Past, Places, Rules, Suggestion, suggest};
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

/// The worst day counts.
pub(crate) fn show() -> Result<String> {
    let (honest, hostile) = (honest()?, hostile()?);
    let mut days = Vec::new();
    for seed in SEEDS {
        let day = day::draw(&mut Dice::new(&seed.to_string(), "attention"), &honest, &hostile, CALLS);
        let asked = Asks::on(&day)?;
        println!("day {seed}: {}", asked.words());
        days.push(asked);
    }
    let history = day::draw(&mut Dice::new("1", "history"), &honest, &hostile, MANY);
    let begin = Instant::now();
    let many = suggested(&history).len();
    println!("{many} suggestions from {MANY} past calls in {}", milliseconds(begin.elapsed()));

    days.sort_by(|a, b| a.fewer().total_cmp(&b.fewer()));
    let (worst, median) = (&days[0], (days[4].fewer() + days[5].fewer()) / 2.0);
    let count = days.len();
    let said = format!("{count} days, median {median:.2} times fewer asks; the worst: {}", worst.words());
    ensure!(worst.fewer() >= LIMIT, "{said}");
    Ok(format!("{said}; 0 hostile calls allowed"))
}

/// Asks in a hundred calls after the first hour, in a trusted folder.
struct Asks {
    exact: f64,
    example: f64,
    suggested: f64,
}

impl Asks {
    fn on(day: &[Line]) -> Result<Self> {
        let found: Vec<String> = suggested(&day[..CALLS / HOURS]).iter().flat_map(texts).collect();
        Ok(Self {
            exact: asks(day, &Rules::default())?,
            example: asks(day, &rules(EXAMPLE)?)?,
            suggested: asks(day, &rules(&found.join("\n"))?)?,
        })
    }

    fn fewer(&self) -> f64 {
        self.exact / self.suggested
    }

    fn words(&self) -> String {
        let Self { exact, example, suggested } = self;
        format!(
            "{exact:.1} asks per 100 calls with exact grants, {example:.1} with the example rules, {suggested:.1} with \
             suggested rules: {:.2} times fewer",
            self.fewer()
        )
    }
}

fn texts(suggestion: &Suggestion) -> Vec<String> {
    suggestion.rules.iter().map(|rule| rule.text.clone()).collect()
}

/// Goes through the day. The rules count from the second hour, approvals are remembered from the first.
fn asks(day: &[Line], rules: &Rules) -> Result<f64> {
    let (first, rest) = day.split_at(CALLS / HOURS);
    let approved = |line: &&Line| line.meant == Meant::Honestly;
    let mut remembered: HashSet<&str> =
        first.iter().filter(approved).map(|line| line.text.as_str()).collect();
    let mut asks = 0_u32;
    for line in rest {
        let effect = Asked::trusted(&line.text).verdict(rules).effect;
        let allowed = effect == Effect::Allow || remembered.contains(line.text.as_str());
        match line.meant {
            Meant::Badly => {
                ensure!(!allowed, "{:?} is allowed", line.text);
                asks += u32::from(effect == Effect::Ask);
            }
            Meant::Honestly if allowed => {}
            Meant::Honestly => {
                asks += 1;
                remembered.insert(&line.text);
            }
        }
    }
    Ok(f64::from(asks) * 100.0 / f64::from(u32::try_from(rest.len())?))
}

/// What is suggested after these calls. Approvals were remembered, so that each input asked once.
fn suggested(lines: &[Line]) -> Vec<Suggestion> {
    let places = Places::default();
    let mut known = HashSet::new();
    let lines: Vec<&Line> = lines.iter().filter(|line| known.insert(&line.text)).collect();
    let inputs: Vec<Value> = lines.iter().map(|line| json!({"command": line.text})).collect();
    let past: Vec<Past<'_>> = lines
        .iter()
        .zip(&inputs)
        .map(|(line, input)| Past {
            call: Call { tool: "Bash", input, meaning: SHELL_LINE },
            facts: facts(&places),
            decided: match line.meant {
                Meant::Honestly => Decided::Approved,
                Meant::Badly => Decided::Denied,
            },
        })
        .collect();
    suggest(&past, &Rules::default(), &[])
}
