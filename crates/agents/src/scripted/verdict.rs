//! What a resolution means for the ask it answers. Pure.

use holdstead_protocol::{Answer, FieldKind, Response, Settlement};
use serde_json::{Map, Value};

use super::script::{AskKind, ScriptAsk};
use super::wire::WireResolution;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// Run it, with this input.
    Run {
        input: Value,
        edited: bool,
    },
    Answers(Vec<Answer>),
    Values(Map<String, Value>),
    /// A person does not want it.
    Refused {
        reason: Option<String>,
    },
    /// Nobody decided.
    Closed {
        message: String,
    },
    Queued {
        message: String,
    },
}

/// Judges a resolution, or says why it is none for this ask. Then nothing happens and the ask stays open.
pub(super) fn judge(ask: &ScriptAsk, resolution: &Value) -> Result<Verdict, String> {
    let resolution: WireResolution = serde_json::from_value(resolution.clone())
        .map_err(|error| format!("the resolution is not understood: {error}"))?;
    let (settlement, response, input) = match resolution {
        WireResolution::Settled { settlement, response, input } => (settlement, response, input),
        WireResolution::Closed { message } => return Ok(Verdict::Closed { message }),
        WireResolution::Queued { message } => return Ok(Verdict::Queued { message }),
    };
    match (&ask.kind, settlement, response) {
        (
            AskKind::Approval | AskKind::Edit,
            Settlement::Approved,
            Response::Approve { scope: _, lines: _, edited_input },
        ) => {
            // An allow holds for the input that was shown, and for no other.
            if input != ask.input {
                return Err("the approval is for another input than the one asked about".to_owned());
            }
            let edited = edited_input.is_some();
            Ok(Verdict::Run { input: edited_input.unwrap_or(input), edited })
        }
        (AskKind::Questions(_), Settlement::Answered, Response::Answer { answers }) => {
            Ok(Verdict::Answers(answers))
        }
        (AskKind::Form(_), Settlement::Answered, Response::Submit { input }) => Ok(Verdict::Values(input)),
        (
            AskKind::Approval | AskKind::Edit | AskKind::Questions(_) | AskKind::Form(_),
            Settlement::Denied | Settlement::Declined,
            Response::Deny { reason } | Response::Cancel { reason },
        ) => Ok(Verdict::Refused { reason }),
        (
            AskKind::Approval | AskKind::Edit | AskKind::Questions(_) | AskKind::Form(_),
            Settlement::Approved
            | Settlement::Denied
            | Settlement::Answered
            | Settlement::Declined
            | Settlement::Failed,
            Response::Approve { .. }
            | Response::Deny { .. }
            | Response::Answer { .. }
            | Response::Submit { .. }
            | Response::Cancel { .. },
        ) => Err("the resolution does not fit this kind of ask".to_owned()),
    }
}

impl Verdict {
    /// Whether the tool's result counts as an error.
    pub(super) const fn is_error(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::Closed { .. } => true,
            Self::Run { .. } | Self::Answers(_) | Self::Values(_) | Self::Queued { .. } => false,
        }
    }

    /// What was answered, word for word, secrets too.
    pub(super) fn answered(&self) -> String {
        let values: Vec<&str> = match self {
            Self::Answers(answers) => answers.iter().flat_map(Answer::values).collect(),
            Self::Values(values) => values.values().filter_map(Value::as_str).collect(),
            Self::Run { .. } | Self::Refused { .. } | Self::Closed { .. } | Self::Queued { .. } => Vec::new(),
        };
        values.join("\n")
    }

    /// One sentence for the person who decided. Secrets are not repeated.
    pub(super) fn sentence(&self, ask: &ScriptAsk) -> String {
        match self {
            Self::Run { input: _, edited: false } => format!("{} was approved.", ask.tool),
            Self::Run { input: _, edited: true } => format!("{} was approved with your changes.", ask.tool),
            Self::Answers(answers) => format!("You chose: {}.", chosen(ask, answers)),
            Self::Values(values) => format!("You sent: {}.", sent(ask, values)),
            Self::Refused { reason: Some(reason) } => format!("Not done. You said: \"{reason}\""),
            Self::Refused { reason: None } => "Not done: you refused.".to_owned(),
            Self::Closed { message } => format!("Not done: {message}"),
            Self::Queued { message } => format!("I go on without it for now: {message}"),
        }
    }
}

const SECRET: &str = "(secret)";

fn chosen(ask: &ScriptAsk, answers: &[Answer]) -> String {
    let one = |answer: &Answer| {
        if is_secret(ask, &answer.question_id) {
            SECRET.to_owned()
        } else {
            answer.values().collect::<Vec<_>>().join(", ")
        }
    };
    match answers {
        [answer] => one(answer),
        answers => {
            let all = answers.iter().map(|answer| format!("{}: {}", answer.question_id, one(answer)));
            all.collect::<Vec<_>>().join("; ")
        }
    }
}

fn sent(ask: &ScriptAsk, values: &Map<String, Value>) -> String {
    let one = |(id, value): (&String, &Value)| {
        if is_secret(ask, id) {
            format!("{id} {SECRET}")
        } else {
            value.as_str().map_or_else(|| format!("{id} {value}"), |text| format!("{id} {text}"))
        }
    };
    values.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Whether the answer to this question or field is a secret.
fn is_secret(ask: &ScriptAsk, id: &str) -> bool {
    match &ask.kind {
        AskKind::Approval | AskKind::Edit => false,
        AskKind::Questions(questions) => {
            questions.iter().any(|question| question.id == id && question.secret)
        }
        AskKind::Form(form) => {
            form.fields.iter().any(|field| field.id == id && matches!(field.kind, FieldKind::Secret {}))
        }
    }
}

/// The resolution as it came, word for word, but for secrets: of them only that they arrived.
pub(super) fn received(ask: &ScriptAsk, mut resolution: Value) -> Value {
    if let Some(answers) = resolution.pointer_mut("/response/answers").and_then(Value::as_array_mut) {
        for answer in answers {
            let secret = answer["questionId"].as_str().is_some_and(|id| is_secret(ask, id));
            if let (true, Some(other)) = (secret, answer.get_mut("other")) {
                *other = Value::from(SECRET);
            }
        }
    }
    if let (AskKind::Form(_), Some(values)) =
        (&ask.kind, resolution.pointer_mut("/response/input").and_then(Value::as_object_mut))
    {
        for (id, value) in values {
            if is_secret(ask, id) {
                *value = Value::from(SECRET);
            }
        }
    }
    resolution
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scripted::script::{Script, Step};

    fn ask(script: &str) -> ScriptAsk {
        let Step::Ask(ask) = Script::parse(script).unwrap().steps.remove(0) else { panic!("an ask") };
        ask
    }

    fn approval() -> ScriptAsk {
        ask(r#"approve Bash {"command":"ls"}"#)
    }

    fn settled(settlement: &str, response: Value, input: Value) -> Value {
        json!({"outcome": "settled", "settlement": settlement, "response": response, "input": input})
    }

    #[test]
    fn an_approval_runs_what_was_shown_or_edited() {
        let shown = json!({"command": "ls"});
        let plain = settled("approved", json!({"action": "approve", "scope": "once"}), shown.clone());
        assert_eq!(judge(&approval(), &plain), Ok(Verdict::Run { input: shown.clone(), edited: false }));
        let changed = json!({"command": "ls -l"});
        let approve = json!({"action": "approve", "scope": "once", "editedInput": changed});
        let verdict = judge(&approval(), &settled("approved", approve, shown));
        assert_eq!(verdict, Ok(Verdict::Run { input: changed, edited: true }));
    }

    #[test]
    fn nothing_else_runs() {
        let approve = json!({"action": "approve", "scope": "once"});
        let shown = json!({"command": "ls"});
        let bad = [
            settled("approved", approve.clone(), json!({"command": "rm -rf dist"})),
            settled("approved", json!({"action": "deny"}), shown.clone()),
            settled("denied", approve.clone(), shown.clone()),
            settled("answered", json!({"action": "submit", "input": {}}), shown.clone()),
            settled("yes", approve.clone(), shown.clone()),
            json!({"outcome": "approved"}),
            json!({}),
            Value::Null,
        ];
        for resolution in bad {
            assert!(judge(&approval(), &resolution).is_err(), "{resolution}");
        }
        let question = ask("ask Store: Where? | here");
        let approved = settled("approved", approve, question.input.clone());
        assert!(judge(&question, &approved).is_err());
        let closed = json!({"outcome": "closed", "message": "nobody answered"});
        assert_eq!(judge(&approval(), &closed), Ok(Verdict::Closed { message: "nobody answered".into() }));
    }

    #[test]
    fn secrets_are_not_repeated() {
        let form = ask(
            r#"form {"fields":[{"id":"token","label":"T","type":"secret"},{"id":"n","label":"N","type":"text"}]}"#,
        );
        let values = json!({"token": "hunter2", "n": "x"});
        let resolution = settled("answered", json!({"action": "submit", "input": values}), json!({}));
        let verdict = judge(&form, &resolution).unwrap();
        assert_eq!(verdict.sentence(&form), "You sent: token (secret), n x.");
        let response = json!({"action": "submit", "input": {"token": "(secret)", "n": "x"}});
        assert_eq!(received(&form, resolution), settled("answered", response, json!({})));

        let question =
            ask(r#"ask {"questions":[{"id":"pin","header":"Pin","question":"Your pin?","secret":true}]}"#);
        let answer = |text| json!({"action": "submit", "answers": [{"questionId": "pin", "other": text}]});
        let resolution = settled("answered", answer("1234"), json!({}));
        assert_eq!(judge(&question, &resolution).unwrap().sentence(&question), "You chose: (secret).");
        assert_eq!(received(&question, resolution), settled("answered", answer("(secret)"), json!({})));
    }
}
