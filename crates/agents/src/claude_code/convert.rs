//! Between what was decided and what Claude Code reads. Pure, and total: what does not fit is never an allow.

use holdstead_protocol::{Response, Settlement, StopReason, Usage};
use serde_json::{Value, json};

use super::questions;
use super::wire::TurnResult;
use crate::Resolution;

const DENIED: &str = "User denied tool execution";
const DECLINED: &str = "The user declined to answer. Go on without an answer, or ask something else.";
const UNFIT: &str = "The answer does not fit this call, so nothing was decided.";

/// What the program is told about a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    /// With this input, and no other.
    Allow { input: Value },
    /// The model reads these words.
    Deny { words: String },
}

/// Nothing, where the program decides by its own rules.
pub(super) fn decision(resolution: &Resolution) -> Option<Decision> {
    let deny = |words: &str| Decision::Deny { words: words.to_owned() };
    let (settlement, response, input) = match resolution {
        Resolution::LeftToAgent { .. } => return None,
        Resolution::Closed { message } | Resolution::Queued { message } => return Some(deny(message)),
        Resolution::Settled { settlement, response, input } => (settlement, response, input),
    };
    Some(match (settlement, response) {
        (Settlement::Approved, Response::Approve { edited_input, .. }) => {
            Decision::Allow { input: edited_input.as_ref().unwrap_or(input).clone() }
        }
        (Settlement::Answered, Response::Answer { answers }) if !answers.is_empty() => {
            Decision::Allow { input: questions::answered(input, answers) }
        }
        (Settlement::Denied, Response::Deny { reason }) => deny(reason.as_deref().unwrap_or(DENIED)),
        (Settlement::Declined, Response::Cancel { reason }) => deny(reason.as_deref().unwrap_or(DECLINED)),
        (
            Settlement::Approved
            | Settlement::Answered
            | Settlement::Denied
            | Settlement::Declined
            | Settlement::Failed,
            Response::Approve { .. }
            | Response::Deny { .. }
            | Response::Answer { .. }
            | Response::Submit { .. }
            | Response::Cancel { .. },
        ) => deny(UNFIT),
    })
}

/// Whether the person who approved it changed its input.
pub(super) fn is_edited(resolution: &Resolution) -> bool {
    match resolution {
        Resolution::Settled { response: Response::Approve { edited_input, .. }, .. } => {
            edited_input.is_some()
        }
        Resolution::Settled {
            response:
                Response::Deny { .. }
                | Response::Answer { .. }
                | Response::Submit { .. }
                | Response::Cancel { .. },
            ..
        }
        | Resolution::Closed { .. }
        | Resolution::Queued { .. }
        | Resolution::LeftToAgent { .. } => false,
    }
}

/// As much of an input as the model is told again, in bytes.
const MOST_TOLD: usize = 20_000;

/// The answer to a hook that comes when a call has run: the model wrote another input than the one that ran.
pub(super) fn after_edit(event: &str, tool: &str, ran: &Value) -> Value {
    let mut ran = ran.to_string();
    if ran.len() > MOST_TOLD {
        ran.truncate(ran.floor_char_boundary(MOST_TOLD));
        ran.push('…');
    }
    let words = format!(
        "The person who approved this call of {tool} changed its input first. What you wrote did not run. This ran: {ran}"
    );
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": words}})
}

/// Makes the program ask by itself, whatever its own rules say, once all other hooks have had their say. It then shows
/// the input that would run, which is compared with the one that was approved; a hook's `allow` would let another hook
/// change it unseen.
pub(super) fn hook_ask() -> Value {
    hook_output(json!({"permissionDecision": "ask"}))
}

/// For what needs no approval of ours: the tool asks by itself.
pub(super) fn hook_allow() -> Value {
    hook_output(json!({"permissionDecision": "allow"}))
}

/// No other hook and no rule of the program overrules this; the model reads the words as a "hook error".
pub(super) fn hook_refusal(words: &str) -> Value {
    hook_output(json!({"permissionDecision": "deny", "permissionDecisionReason": words}))
}

/// The process ends, and the call is asked again when it comes back.
pub(super) fn hook_defer() -> Value {
    hook_output(json!({"permissionDecision": "defer"}))
}

/// We do not decide: the program does, by its own rules.
pub(super) fn hook_pass() -> Value {
    json!({})
}

/// The turn goes on, with these words for the model.
pub(super) fn end_blocked(words: &str) -> Value {
    json!({"decision": "block", "reason": words})
}

fn hook_output(mut decision: Value) -> Value {
    decision["hookEventName"] = "PreToolUse".into();
    json!({"hookSpecificOutput": decision})
}

/// The answer to the program's own request. The suggestions that came with it are never sent back: they reach
/// further than what was shown.
pub(super) fn permission_answer(decision: &Decision) -> Value {
    match decision {
        Decision::Allow { input } => json!({"behavior": "allow", "updatedInput": input}),
        Decision::Deny { words } => json!({"behavior": "deny", "message": words}),
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TurnEnd {
    /// The process goes: it was told to park.
    Parked,
    Done {
        reason: StopReason,
        words: Option<String>,
        usage: Option<Usage>,
    },
}

/// It was to go on with a conversation that it does not know.
pub(super) fn is_forgotten(result: &TurnResult) -> bool {
    let words = result.errors.iter().chain(&result.result);
    result.is_error
        && words.into_iter().any(|words| words.starts_with("No conversation found with session ID"))
}

pub(super) fn turn_end(result: TurnResult, interrupted: bool) -> TurnEnd {
    if result.stop_reason.as_deref() == Some("tool_deferred") {
        return TurnEnd::Parked;
    }
    let usage = result
        .usage
        .map(|usage| Usage { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens });
    let failed = result.is_error || result.subtype.starts_with("error");
    let (reason, words) = match (interrupted, failed) {
        (true, _) => (StopReason::Interrupted, None),
        (false, false) => (StopReason::Completed, None),
        (false, true) => {
            let words = match result.subtype.as_str() {
                "error_max_turns" => {
                    "Claude Code stopped: it took as many turns as this session allows. Send a message to go on."
                        .to_owned()
                }
                subtype => {
                    let said = result.result.filter(|words| !words.is_empty());
                    let said = said.or_else(|| result.errors.into_iter().next());
                    format!("Claude Code could not go on: {}", said.as_deref().unwrap_or(subtype))
                }
            };
            (StopReason::Failed, Some(words))
        }
    };
    TurnEnd::Done { reason, words, usage }
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::{Answer, Scope};

    use super::*;

    fn settled(settlement: Settlement, response: Response) -> Resolution {
        let input = json!({"questions": [{"question": "Which?", "options": [{"label": "A"}]}]});
        Resolution::Settled { settlement, response, input }
    }

    fn approve(edited_input: Option<Value>) -> Response {
        Response::Approve { scope: Scope::Session, lines: Vec::new(), edited_input }
    }

    fn denied(words: &str) -> Decision {
        Decision::Deny { words: words.to_owned() }
    }

    #[test]
    fn only_what_fits_is_an_allow() {
        let answers = vec![Answer { question_id: "q1".into(), labels: vec!["A".into()], other: None }];
        let answer = Response::Answer { answers };
        let with_answers = json!({"questions": [{"question": "Which?", "options": [{"label": "A"}]}],
            "answers": {"Which?": "A"}});
        let asked = json!({"questions": [{"question": "Which?", "options": [{"label": "A"}]}]});
        let edited = json!({"command": "ls"});
        let cases = [
            (settled(Settlement::Approved, approve(None)), Decision::Allow { input: asked }),
            (settled(Settlement::Approved, approve(Some(edited.clone()))), Decision::Allow { input: edited }),
            (settled(Settlement::Answered, answer.clone()), Decision::Allow { input: with_answers }),
            (settled(Settlement::Denied, Response::Deny { reason: None }), denied(DENIED)),
            (settled(Settlement::Denied, Response::Deny { reason: Some("no".into()) }), denied("no")),
            (settled(Settlement::Declined, Response::Cancel { reason: None }), denied(DECLINED)),
            (Resolution::Closed { message: "nobody".into() }, denied("nobody")),
            (Resolution::Queued { message: "later".into() }, denied("later")),
            // What never happens is no allow either.
            (settled(Settlement::Answered, Response::Answer { answers: vec![] }), denied(UNFIT)),
            (settled(Settlement::Answered, approve(None)), denied(UNFIT)),
            (settled(Settlement::Approved, answer), denied(UNFIT)),
            (settled(Settlement::Denied, approve(None)), denied(UNFIT)),
            (settled(Settlement::Approved, Response::Deny { reason: None }), denied(UNFIT)),
        ];
        assert_eq!(decision(&Resolution::LeftToAgent { input: json!({}) }), None);
        for (resolution, expected) in cases {
            assert_eq!(decision(&resolution), Some(expected), "{resolution:?}");
        }
    }

    #[test]
    fn the_words_of_both_ways_to_ask() {
        let allow = Decision::Allow { input: json!({"command": "a"}) };
        let hook = |decision: Value| json!({"hookSpecificOutput": decision});
        for (answer, decision) in [(hook_ask(), "ask"), (hook_allow(), "allow"), (hook_defer(), "defer")] {
            assert_eq!(answer, hook(json!({"hookEventName": "PreToolUse", "permissionDecision": decision})));
        }
        assert_eq!(
            hook_refusal("no"),
            hook(json!({"hookEventName": "PreToolUse", "permissionDecision": "deny",
                "permissionDecisionReason": "no"}))
        );
        assert_eq!(permission_answer(&allow), json!({"behavior": "allow", "updatedInput": {"command": "a"}}));
        assert_eq!(permission_answer(&denied("no")), json!({"behavior": "deny", "message": "no"}));
    }

    #[test]
    fn how_a_turn_ends() {
        let end = |line: Value, interrupted| turn_end(serde_json::from_value(line).unwrap(), interrupted);
        let done = |reason, words: Option<&str>| TurnEnd::Done {
            reason,
            words: words.map(str::to_owned),
            usage: None,
        };
        let deferred = json!({"subtype": "success", "is_error": false, "stop_reason": "tool_deferred"});
        assert_eq!(end(deferred, false), TurnEnd::Parked);
        let usage = json!({"subtype": "success", "stop_reason": "end_turn",
            "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 5}});
        let tokens = Some(Usage { input_tokens: 3, output_tokens: 4 });
        assert_eq!(
            end(usage, false),
            TurnEnd::Done { reason: StopReason::Completed, words: None, usage: tokens }
        );
        let stopped = json!({"subtype": "error_during_execution", "is_error": true});
        assert_eq!(end(stopped.clone(), true), done(StopReason::Interrupted, None));
        assert_eq!(
            end(stopped, false),
            done(StopReason::Failed, Some("Claude Code could not go on: error_during_execution"))
        );
        let refused = json!({"subtype": "success", "is_error": true, "result": "API Error: 401"});
        assert_eq!(
            end(refused, false),
            done(StopReason::Failed, Some("Claude Code could not go on: API Error: 401"))
        );
    }
}
