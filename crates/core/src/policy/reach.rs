//! How far an approval may reach, by who asks for it and whether something in it is risky.
//!
//! Each ask passes here when it is opened and when it is shown again, so no asker can offer a person more than this table.

use holdstead_protocol::{
    AskBody, CallSource, Effect, InteractionRequest, OfferedScope, Origin, Rule, Scope,
};

use crate::Rejection;

/// So far a rule in lines may reach: it belongs to its owner.
const OF_RULES: [Scope; 3] = [Scope::Session, Scope::Hour, Scope::Always];

/// What becomes of one scope that an asker wants to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Offered,
    LeftOut,
    /// The asker is told so: it asked for something that no approval can give it.
    Refused,
}

/// Whether an approval of this origin may have this scope and save this rule.
pub const fn reach(origin: Origin, scope: Scope, rule: &Rule, is_marked: bool) -> Reach {
    match (origin, scope, rule) {
        (Origin::Caller, Scope::Hour | Scope::Always, _) => Reach::Refused,
        (_, Scope::Once, Rule::ExactInput { .. }) => Reach::Offered,
        (_, Scope::Once, Rule::Lines { .. }) | (_, _, Rule::Key { .. }) => Reach::LeftOut,
        // Each marked call is a person's to look at.
        (_, Scope::Session | Scope::Hour | Scope::Always, _) if is_marked => Reach::LeftOut,
        (Origin::Agent | Origin::Attached, _, Rule::Lines { .. }) => Reach::Offered,
        (Origin::Tool | Origin::Caller, _, Rule::Lines { .. }) => Reach::LeftOut,
        (Origin::Agent | Origin::Attached | Origin::Caller, Scope::Session, Rule::ExactInput { .. }) => {
            Reach::Offered
        }
        (Origin::Agent | Origin::Attached, Scope::Hour | Scope::Always, Rule::ExactInput { .. }) => {
            Reach::LeftOut
        }
        (Origin::Tool, Scope::Session | Scope::Hour | Scope::Always, Rule::ExactInput { .. }) => {
            Reach::Offered
        }
    }
}

/// What an agent's approval could save: each of these sets of rules, or the very same input again.
pub fn wanted(exact: Vec<OfferedScope>, rules: &[Vec<String>]) -> Vec<OfferedScope> {
    let of_rules = |lines: &Vec<String>| {
        OF_RULES.map(|scope| OfferedScope { scope, rule: Rule::Lines { lines: lines.clone() } })
    };
    exact.into_iter().chain(rules.iter().flat_map(of_rules)).collect()
}

/// Leaves of the scopes that the asker wants those that it may have, for calls of this source.
pub(crate) fn limit(request: &mut InteractionRequest, source: &CallSource) -> Result<(), Rejection> {
    let is_marked = !request.marks.is_empty();
    let asks_each_time = request.verdict.as_ref().is_some_and(|verdict| {
        verdict.parts.iter().any(|part| part.effect == Effect::Ask && part.rule.is_some())
    });
    let AskBody::Approval { offered_scopes, .. } = &mut request.body else { return Ok(()) };
    let has_lines = offered_scopes.iter().any(|offered| matches!(offered.rule, Rule::Lines { .. }));
    let mut kept = Vec::with_capacity(offered_scopes.len());
    for OfferedScope { scope, mut rule } in offered_scopes.drain(..) {
        let is_further = scope != Scope::Once;
        match reach(request.origin, scope, &rule, is_marked) {
            Reach::Refused => return Err(Rejection::BadAsk { why: NOT_FOR_PROGRAMS.to_owned() }),
            Reach::LeftOut => continue,
            Reach::Offered if is_further && !request.capabilities.scopes => continue,
            Reach::Offered => {}
        }
        if let Rule::ExactInput { tool_name, input_digest, source: covered } = &mut rule {
            // The same input again only where no rule can be written, and no rule wants it asked every time.
            if is_further && request.origin.is_agent() && (has_lines || asks_each_time) {
                continue;
            }
            // The rule is about what is shown.
            tool_name.clone_from(&request.tool_name);
            input_digest.clone_from(&request.input_digest);
            *covered = Some(source.clone());
        }
        kept.push(OfferedScope { scope, rule });
    }
    *offered_scopes = kept;
    Ok(())
}

const NOT_FOR_PROGRAMS: &str =
    "a program can be approved once or for its session, and no further: leave out `hour` and `always`";
