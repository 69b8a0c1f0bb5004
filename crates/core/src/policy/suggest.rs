//! From past approvals, the rules that would have saved most asks.
//!
//! Nothing is suggested that a card would not have offered, and nothing that would allow what a person denied. The next
//! suggestion is always the one that saves most, for each of its rules, after those before it; of equals the narrowest.

mod reach;
mod search;

use std::collections::HashMap;

use super::past::{Decided, Past};
use super::rule::{Effect, Rule};
use super::rules::Rules;
use reach::reach;
use search::{Kind, Search, Set};

/// More than that nobody reads.
const MAX_SUGGESTIONS: usize = 100;
/// So many examples show what a suggestion is about.
const MAX_EXAMPLES: usize = 3;

/// Rules that are saved together. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    pub rules: Vec<Rule>,
    /// How many asks it would have saved, after the suggestions before it.
    pub saves: usize,
    /// Some of those calls, no two the same: their places among the past calls.
    pub examples: Vec<usize>,
    /// What else it would allow, in sentences.
    pub reach: Vec<String>,
    /// Past calls that asked, that no person approved, and that it would allow: their places.
    pub unapproved: Vec<usize>,
}

/// `listed` are a person's own words for what is risky.
pub fn suggest(past: &[Past<'_>], rules: &Rules, listed: &[String]) -> Vec<Suggestion> {
    let mut offered = Offered::default();
    let mut search = Search::new(past, rules.clone());
    for places in kinds(past) {
        let first = &past[places[0]];
        let strictest = places.iter().map(|place| past[*place].decided).max();
        let mut kind = Kind { options: Vec::new(), places };
        match strictest {
            Some(Decided::Denied) => search.deny(kind),
            _ if first.verdict(rules).effect != Effect::Ask => {}
            Some(Decided::Approved) => {
                let offers = first.offers(rules, listed).offers;
                kind.options = offers.into_iter().map(|offer| offered.set(offer.rules)).collect();
                search.approved.push(kind);
            }
            Some(Decided::ByNobody) | None => search.undecided.push(kind),
        }
    }
    for kind in &mut search.approved {
        offered.add_folders_above(&mut kind.options);
    }
    search.look_among(offered.rules);
    std::iter::from_fn(|| search.next_best()).take(MAX_SUGGESTIONS).collect()
}

/// The places of calls that are the same to every rule, however often they came. In the order in which they first did.
fn kinds(past: &[Past<'_>]) -> Vec<Vec<usize>> {
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    let mut known = HashMap::new();
    for (place, Past { call, facts, .. }) in past.iter().enumerate() {
        let key = (
            (call.tool, call.input.to_string()),
            (facts.agent, facts.folder, facts.cwd, facts.home),
            format!("{:?} {:?} {:?} {:?}", facts.mode, facts.depth, facts.trust, facts.variables),
        );
        let kind = *known.entry(key).or_insert(kinds.len());
        match kinds.get_mut(kind) {
            Some(places) => places.push(place),
            None => kinds.push(vec![place]),
        }
    }
    kinds
}

/// Every rule that a card would have offered, once.
#[derive(Default)]
struct Offered {
    rules: Vec<Rule>,
    by_text: HashMap<String, usize>,
}

impl Offered {
    fn set(&mut self, rules: Vec<Rule>) -> Set {
        rules
            .into_iter()
            .map(|rule| {
                *self.by_text.entry(rule.text.clone()).or_insert_with(|| {
                    self.rules.push(rule);
                    self.rules.len() - 1
                })
            })
            .collect()
    }

    /// A file is also covered by a folder further up, if a card offered that for another file.
    fn add_folders_above(&self, options: &mut Vec<Set>) {
        let narrowest = options.first().filter(|set| set.len() == 1);
        let Some(text) =
            narrowest.and_then(|set| self.rules.get(*set.first()?)).map(|rule| rule.text.as_str())
        else {
            return;
        };
        for (at, _) in text.rmatch_indices('/') {
            if let Some(above) = self.by_text.get(&format!("{}/**)", &text[..at])) {
                options.push(Set::from([*above]));
            }
        }
    }
}

fn suggestion(rules: Vec<Rule>, saved: &[&Kind], past: &[Past<'_>], unapproved: Vec<usize>) -> Suggestion {
    let mut said: Vec<String> = Vec::new();
    for sentence in rules.iter().flat_map(reach) {
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    Suggestion {
        saves: saved.iter().map(|kind| kind.asks(past)).sum(),
        examples: saved.iter().take(MAX_EXAMPLES).map(|kind| kind.places[0]).collect(),
        reach: said,
        unapproved,
        rules,
    }
}
