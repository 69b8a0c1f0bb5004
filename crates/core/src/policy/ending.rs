//! Whether an agent may end its turn: rules about `Stop`.

use super::call::Facts;
use super::conditions::all_hold;
use super::rule::Condition;
use super::rules::{Rules, strictest};
use super::verdict::By;

/// So often in a row an end is blocked, then it passes: an agent that cannot do what a rule wants must not run for ever.
pub const MAX_STOP_ATTEMPTS: u32 = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// No rule speaks against it.
    Ends,
    /// It goes on, with these words.
    Blocked { by: By, words: String },
    /// A rule would block it, and did so as often as it may.
    EndsAnyway { by: By },
}

/// `stop_attempts`: how often the end of this turn was blocked before.
pub fn ending(rules: &Rules, facts: &Facts<'_>, stop_attempts: u32) -> Ending {
    let Some(placed) = strictest(rules.stops().filter(|placed| all_hold(&placed.rule.when, facts, true)))
    else {
        return Ending::Ends;
    };
    let by = By::from(placed);
    if stop_attempts >= MAX_STOP_ATTEMPTS {
        return Ending::EndsAnyway { by };
    }
    let words =
        by.words.clone().unwrap_or_else(|| format!("A rule keeps this turn from ending: `{}`", by.text));
    Ending::Blocked { by, words }
}

/// Rules about `Stop` that may come to count in this session, whatever its variables become.
pub fn stop_rules(rules: &Rules, facts: &Facts<'_>) -> Vec<By> {
    let of_session = |condition: &&Condition| match condition {
        Condition::Variable { .. } => false,
        Condition::Agent { .. }
        | Condition::Mode { .. }
        | Condition::Folder { .. }
        | Condition::Depth { .. } => true,
    };
    let may_count = |when: &[Condition]| {
        all_hold(&when.iter().filter(of_session).cloned().collect::<Vec<_>>(), facts, true)
    };
    rules.stops().filter(|placed| may_count(&placed.rule.when)).map(By::from).collect()
}
