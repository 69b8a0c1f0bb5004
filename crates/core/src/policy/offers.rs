//! The rules that a person could save for a call that asks, as they would stand in a file.
//!
//! Nobody is offered more than they read: no rule for what is marked, none that runs whatever it is given, none with `:*`
//! where nothing is known of the program. Each offer was tried before it is made: with it the call is allowed.

mod command;

use std::collections::BTreeSet;

use super::address;
use super::call::{Call, Facts, Subject};
use super::decide::decide;
use super::lookup::Lookup;
use super::marks::marks;
use super::paths;
use super::programs::Access;
use super::rule::{Effect, FETCH, FileRule, Rule, RuleFile, parse};
use super::rules::{Rules, Source};
use super::shell::{self, Line, Shell};
use super::verdict::{Requirement, Verdict};

/// So many rules can be read at a glance. A line that needs more is not offered any.
const MAX_RULES: usize = 3;

/// Rules that are saved together, each for a part of the call that asks. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub rules: Vec<Rule>,
}

/// What can be offered for a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offers {
    /// The narrowest first.
    pub offers: Vec<Offer>,
    /// What would have to be so for more to be offered.
    pub requirements: BTreeSet<Requirement>,
    /// What was not looked up. Look it up and call again: there may be more to offer.
    pub unresolved: BTreeSet<Lookup>,
}

/// What could be saved so that this call is allowed from now on. `listed` are a person's own words for what is risky.
pub fn offers(call: &Call<'_>, rules: &Rules, facts: &Facts<'_>, listed: &[String]) -> Offers {
    let verdict = decide(call, rules, facts);
    let mut found = Offers::default();
    if verdict.effect != Effect::Ask {
        return found;
    }
    for texts in candidates(call, &verdict, facts, listed) {
        // What cannot be written as a rule is not offered.
        let Ok(saved) = texts.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>() else { continue };
        let tried = decide(call, &with(rules, &saved), facts);
        found.unresolved.extend(tried.unresolved);
        if tried.effect != Effect::Allow {
            found.requirements.extend(tried.requirements);
        } else {
            let offer = Offer { rules: needed(call, rules, facts, saved) };
            if !found.offers.contains(&offer) {
                found.offers.push(offer);
            }
        }
    }
    found
}

/// Without the rules that another of them makes needless.
fn needed(call: &Call<'_>, rules: &Rules, facts: &Facts<'_>, mut saved: Vec<Rule>) -> Vec<Rule> {
    for index in (0..saved.len()).rev() {
        let mut fewer = saved.clone();
        fewer.remove(index);
        if decide(call, &with(rules, &fewer), facts).effect == Effect::Allow {
            saved = fewer;
        }
    }
    saved
}

/// As if these had been saved.
pub(super) fn with<'a>(rules: &Rules, saved: impl IntoIterator<Item = &'a Rule>) -> Rules {
    let file_rule =
        |(line, rule): (usize, &Rule)| FileRule { rule: rule.clone(), line, examples: Vec::new() };
    let mut all = rules.clone();
    all.add(
        Source::Session,
        RuleFile { rules: (1..).zip(saved).map(file_rule).collect(), ..RuleFile::default() },
    );
    all
}

/// The texts of rules that may do, the narrowest first.
fn candidates(call: &Call<'_>, verdict: &Verdict, facts: &Facts<'_>, listed: &[String]) -> Vec<Vec<String>> {
    let text = |field: &str| call.input.get(field).and_then(serde_json::Value::as_str);
    if !marks(call, facts, listed).is_empty() {
        return Vec::new();
    }
    match call.meaning.subject {
        Subject::Shell { field, shell } => {
            text(field).map_or_else(Vec::new, |line| of_line(line, shell, verdict))
        }
        Subject::Reads { field } | Subject::Searches { field, .. } | Subject::ReadsBelow { field, .. } => {
            text(field).map_or_else(Vec::new, |path| of_path(path, Access::Read, facts))
        }
        Subject::Edits { field } => {
            text(field).map_or_else(Vec::new, |path| of_path(path, Access::Write, facts))
        }
        Subject::Fetches { field } => {
            let host = text(field).and_then(address::read).map(|address| address.host);
            host.into_iter().map(|host| vec![format!("allow {FETCH}(domain:{host})")]).collect()
        }
        // A rule about the whole tool would cover inputs that nobody has read.
        Subject::Whole => Vec::new(),
    }
}

fn of_line(line: &str, shell: Shell, verdict: &Verdict) -> Vec<Vec<String>> {
    let Line::Plain(commands) = shell::read(line, shell) else { return Vec::new() };
    let asking = commands.iter().zip(&verdict.parts).filter(|(_, part)| part.effect == Effect::Ask);
    let mut narrow = Vec::new();
    let mut wide = Vec::new();
    for (command, _) in asking {
        let exact = command::exact(&command.argv);
        let open = command::open(&command.argv);
        let (Some(narrowest), Some(widest)) = (exact.clone().or(open.clone()), open.or(exact)) else {
            return Vec::new();
        };
        for (rules, rule) in [(&mut narrow, narrowest), (&mut wide, widest)] {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    [narrow, wide].into_iter().filter(|rules| (1..=MAX_RULES).contains(&rules.len())).collect()
}

/// The very path, then its folder with all below.
fn of_path(path: &str, access: Access, facts: &Facts<'_>) -> Vec<Vec<String>> {
    let tool = match access {
        Access::Read => "Read",
        Access::Write => "Edit",
    };
    let base = facts.cwd.unwrap_or(facts.folder);
    let full = paths::normal(&paths::join(base, path));
    let inside = full.as_deref().and_then(|full| paths::inside(facts.folder, full));
    let Some(inside) = inside.filter(|inside| !inside.is_empty()) else {
        return Vec::new();
    };
    let exact = escaped(inside);
    let folder = exact.rsplit_once('/').map(|(folder, _)| format!("{folder}/**"));
    std::iter::once(exact).chain(folder).map(|glob| vec![format!("allow {tool}({glob})")]).collect()
}

/// A path as a pattern that fits nothing else.
fn escaped(path: &str) -> String {
    let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '(' | ')' | '\\');
    path.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}
