//! Whether a call needs a person, after all that may decide in their place: rules, a remembered approval of the very same
//! input, the session's permission mode.

use std::collections::BTreeSet;

use holdstead_protocol::{
    CallDecision, CallMark, CallPart, CallVerdict, DecidedBy, Effect, GrantId, Layer, PermissionMode,
    Response, RuleText, Scope, Settlement, Told,
};
use serde_json::Value;

pub use holdstead_protocol::MayAllow;

use super::marks::Mark;
use super::verdict::{Part, Verdict};
use crate::digest;

/// As much of something risky as is told.
const MARK_CHARS: usize = 200;
/// As much of a part as is told: all of it stands in the input.
const PART_CHARS: usize = 300;
const USE_KEY: usize = 16;

/// What is known of a call besides what rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub may_allow: MayAllow,
    pub mode: PermissionMode,
    /// A remembered approval of the very same input.
    pub grant: Option<GrantId>,
    /// The very same call may have run in a process that died: nothing but a person lets it run again.
    pub may_have_run: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    Decided(CallDecision),
    /// A person must decide.
    Ask(CallVerdict),
}

/// `line` is what the parts of the verdict are parts of.
pub fn judge(verdict: &Verdict, line: Option<&str>, standing: &Standing) -> Judgement {
    let told = told(verdict, line);
    let decided =
        |how: Told, by: DecidedBy| Judgement::Decided(CallDecision { told: how, by, verdict: told.clone() });
    let by_rule = verdict.parts.iter().any(|part| part.effect == Effect::Ask && part.by.is_some());
    match (verdict.effect, standing.may_allow) {
        (Effect::Deny, _) => decided(Told::Denied, DecidedBy::Rules),
        (_, MayAllow::RulesMayDeny) => decided(Told::LeftToAgent, DecidedBy::AgentsOwn),
        (_, MayAllow::PersonOnly) => Judgement::Ask(told),
        (Effect::Ask, _) if by_rule => Judgement::Ask(told),
        (_, MayAllow::AgentsOwn) => decided(Told::LeftToAgent, DecidedBy::AgentsOwn),
        (Effect::Allow, MayAllow::Rules | MayAllow::RulesOfPeople) if is_built_in(verdict) => {
            decided(Told::LeftToAgent, DecidedBy::Rules)
        }
        (Effect::Allow | Effect::Ask, MayAllow::Rules | MayAllow::RulesOfPeople) if standing.may_have_run => {
            Judgement::Ask(told)
        }
        (Effect::Allow, MayAllow::Rules | MayAllow::RulesOfPeople) => {
            decided(Told::Allowed, DecidedBy::Rules)
        }
        (Effect::Ask, MayAllow::Rules | MayAllow::RulesOfPeople) => match (standing.grant, standing.mode) {
            (Some(grant_id), _) => decided(Told::Allowed, DecidedBy::Grant { grant_id }),
            (None, mode @ PermissionMode::Auto) => decided(Told::Allowed, DecidedBy::Mode { mode }),
            (None, PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Plan) => {
                Judgement::Ask(told)
            }
        },
    }
}

/// Nobody here said anything: only what every gateway has allows it.
fn is_built_in(verdict: &Verdict) -> bool {
    verdict.parts.iter().all(|part| part.by.as_ref().is_some_and(|by| by.layer == Layer::BuiltIn))
}

/// The verdict in words, each part with its own text.
pub fn told(verdict: &Verdict, line: Option<&str>) -> CallVerdict {
    let part = |part: &Part| CallPart {
        text: line
            .and_then(|line| line.get(part.span.clone()))
            .filter(|text| !text.is_empty())
            .map(|text| text.chars().take(PART_CHARS).collect()),
        effect: part.effect,
        rule: part.by.as_ref().map(|by| RuleText { text: by.text.clone(), layer: by.layer }),
        why: part.why.clone(),
    };
    CallVerdict {
        effect: verdict.effect,
        parts: verdict.parts.iter().map(part).collect(),
        reason: verdict.reason.clone(),
        requirements: verdict.requirements.iter().copied().collect(),
    }
}

/// A decision as an answer: what a person would have said.
pub fn answer(decision: &CallDecision) -> Option<(Settlement, Response)> {
    match decision.told {
        Told::Allowed => {
            let approve = Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None };
            Some((Settlement::Approved, approve))
        }
        Told::Denied => {
            Some((Settlement::Denied, Response::Deny { reason: decision.verdict.reason.clone() }))
        }
        Told::LeftToAgent => None,
    }
}

/// Marks in words: each with what is risky, as it stands in the input.
pub fn told_marks(marks: &[Mark], input: &Value) -> Vec<CallMark> {
    let told = |mark: &Mark| {
        let field = input.pointer(&mark.field).and_then(Value::as_str).unwrap_or_default();
        let text = field.get(mark.span.clone()).filter(|text| !text.is_empty()).unwrap_or(field);
        CallMark { risk: mark.risk, field: mark.field.clone(), text: text.chars().take(MARK_CHARS).collect() }
    };
    marks.iter().map(told).collect()
}

/// What a rule's uses are counted under: short, since a session's head holds it.
pub fn use_key(rule: &RuleText) -> String {
    let digest = digest(&Value::from(format!("{}\n{}", rule.layer, rule.text)));
    digest.as_str().chars().take(USE_KEY).collect()
}

/// All that decided a call, each once.
pub(crate) fn used_by(decision: &CallDecision) -> BTreeSet<String> {
    match &decision.by {
        DecidedBy::Rules => {
            decision.verdict.parts.iter().filter_map(|part| part.rule.as_ref()).map(use_key).collect()
        }
        DecidedBy::Grant { grant_id } => [grant_id.to_string()].into(),
        DecidedBy::Mode { .. } | DecidedBy::AgentsOwn => BTreeSet::new(),
    }
}
