//! What other rules would have made of past calls.

use holdstead_protocol::Variables;

use super::call::Facts;
use super::past::{Decided, Past};
use super::rule::Effect;
use super::rules::Rules;
use super::verdict::Verdict;

/// A call that other rules decide otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its place among the past calls.
    pub at: usize,
    pub before: Verdict,
    pub after: Verdict,
}

/// Every past call that changes is in exactly one of the first three.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simulated {
    pub newly_allowed: Vec<Change>,
    pub newly_asked: Vec<Change>,
    pub newly_denied: Vec<Change>,
    /// Places of calls that a person denied and the rules after would allow, newly or not.
    pub allowed_against_people: Vec<usize>,
}

/// Two sets of rules over past calls. `variables` are as they are with the rules after, which may have other defaults.
pub fn simulate(past: &[Past<'_>], before: &Rules, after: &Rules, variables: &Variables) -> Simulated {
    let mut simulated = Simulated::default();
    for (at, call) in past.iter().enumerate() {
        let then = Past { facts: Facts { variables, ..call.facts }, ..*call };
        let change = Change { at, before: call.verdict(before), after: then.verdict(after) };
        let effect = change.after.effect;
        if effect == Effect::Allow && call.decided == Decided::Denied {
            simulated.allowed_against_people.push(at);
        }
        if effect != change.before.effect {
            match effect {
                Effect::Allow => simulated.newly_allowed.push(change),
                Effect::Ask => simulated.newly_asked.push(change),
                Effect::Deny => simulated.newly_denied.push(change),
            }
        }
    }
    simulated
}
