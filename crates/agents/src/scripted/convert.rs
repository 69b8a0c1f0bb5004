//! Between the scripted agent's lines and ours. Pure, and total: every line means something.

use holdstead_protocol::MayAllow;
use holdstead_protocol::json::Flaw;
use holdstead_protocol::{AskBody, Response, Scope, Settlement};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::wire::{FromAgent, ToAgent, WireAsk, WireAskBody, WireResolution};
use crate::process::{Effect, Wire, cannot_be_shown, not_understood};
use crate::{AgentEvent, Ask, Outgoing, Resolution};

/// Its lines say all there is to know: nothing needs to be remembered.
#[derive(Debug)]
pub(crate) struct ScriptedWire;

impl Wire for ScriptedWire {
    fn heard(&mut self, line: Value, flaw: Option<&Flaw>) -> Vec<Effect> {
        decode(line, flaw)
    }

    fn say(&mut self, outgoing: &Outgoing) -> Vec<Effect> {
        encode(outgoing).map(Effect::Write).into_iter().collect()
    }
}

fn decode(line: Value, flaw: Option<&Flaw>) -> Vec<Effect> {
    let said = match FromAgent::deserialize(&line) {
        Ok(said) => said,
        Err(error) => return vec![not_understood(&line.to_string(), &error)],
    };
    if let (FromAgent::Ask(ask), Some(flaw)) = (&said, flaw) {
        let resolution = Resolution::Closed { message: cannot_be_shown(flaw) };
        let refused = Outgoing::Resolve { tool_call_id: ask.call.clone(), resolution };
        return encode(&refused).map(Effect::Write).into_iter().collect();
    }
    let event = match said {
        FromAgent::Ready { conversation } => AgentEvent::Ready { agent_ref: conversation },
        FromAgent::Text { text, parents } => AgentEvent::Text { text, parents },
        FromAgent::Thinking { text, parents } => AgentEvent::Thinking { text, parents },
        FromAgent::MessageEnd {} => AgentEvent::MessageEnd,
        FromAgent::ToolStart { call, tool, parents } => {
            AgentEvent::ToolCallStart { tool_call_id: call, tool_name: tool, parents }
        }
        FromAgent::ToolDelta { call, text } => AgentEvent::ToolCallDelta { tool_call_id: call, text },
        FromAgent::ToolInput { call, input } => AgentEvent::ToolCallEnd { tool_call_id: call, input },
        FromAgent::ToolResult { call, output, is_error } => {
            AgentEvent::ToolResult { tool_call_id: call, output, is_error }
        }
        FromAgent::Ask(ask) => AgentEvent::Ask(Box::new(asked(ask))),
        FromAgent::Withdrawn { call } => AgentEvent::AskWithdrawn { tool_call_id: call },
        FromAgent::Received { call } => AgentEvent::Acknowledged { tool_call_id: call },
        FromAgent::Parked { call: _ } => return vec![Effect::Parked],
        FromAgent::CannotPark { call, why } => AgentEvent::CannotPark { tool_call_id: call, why },
        FromAgent::Done { reason } => AgentEvent::TurnDone { reason, usage: None },
        FromAgent::Error { message } => AgentEvent::Error { message },
    };
    vec![Effect::Event(event)]
}

fn asked(ask: WireAsk) -> Ask {
    let WireAsk { call, tool, input, body, says, because, parents, can_park, hold, timeout_ms } = ask;
    let may_allow = match body {
        WireAskBody::Approval { .. } => MayAllow::Rules,
        WireAskBody::Question { .. } | WireAskBody::Form { .. } => MayAllow::PersonOnly,
    };
    let body = match body {
        // How far an approval may reach is not the agent's to say.
        WireAskBody::Approval { preview } => {
            AskBody::Approval { preview, offered_scopes: Vec::new(), is_plan: false }
        }
        WireAskBody::Question { questions } => AskBody::Question { questions },
        WireAskBody::Form { form } => AskBody::Form { form },
    };
    Ask {
        tool_call_id: call,
        tool_name: tool,
        input,
        body,
        agent_says: says,
        cwd: None,
        decision_reason: because,
        parents,
        can_park,
        may_allow,
        capabilities: None,
        hold,
        timeout_ms,
        host_limit_ms: None,
    }
}

fn encode(outgoing: &Outgoing) -> Option<String> {
    let line = match outgoing {
        Outgoing::Message { text } => ToAgent::Message { text: text.clone() },
        // It repeats what it is told before it does what the person wants.
        Outgoing::MessageWithContext { context, text } => {
            ToAgent::Message { text: format!("say {}\n{text}", context.replace('\n', " ")) }
        }
        // It never asks.
        Outgoing::TurnEnd(_) => return None,
        Outgoing::Resolve { tool_call_id, resolution } => {
            ToAgent::Resolve { call: tool_call_id.clone(), resolution: resolved(resolution) }
        }
        Outgoing::Park { tool_call_id } => ToAgent::Park { call: tool_call_id.clone() },
        Outgoing::Interrupt => ToAgent::Interrupt {},
    };
    Some(json!(line).to_string())
}

fn resolved(resolution: &Resolution) -> Value {
    json!(match resolution.clone() {
        Resolution::Settled { settlement, response, input } => {
            WireResolution::Settled { settlement, response, input }
        }
        // It has no rules of its own: nobody is against it.
        Resolution::LeftToAgent { input } => WireResolution::Settled {
            settlement: Settlement::Approved,
            response: Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None },
            input,
        },
        Resolution::Closed { message } => WireResolution::Closed { message },
        Resolution::Queued { message } => WireResolution::Queued { message },
    })
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::{Hold, HoldThen, StopReason, ToolCallId};

    use super::*;

    fn call(id: &str) -> ToolCallId {
        ToolCallId::new(id).unwrap()
    }

    fn decode(line: &str) -> Vec<Effect> {
        ScriptedWire.hear(line)
    }

    #[test]
    fn an_ask_that_cannot_be_shown_as_it_is_is_told_in_words() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for (input, part) in [
            (r#"{"command":"rm \ud800"}"#.replace("\\\\", "\\"), "half a character"),
            (deep, "64 deep"),
            (r#"{"$serde_json::private::RawValue":"1"}"#.to_owned(), "$serde_json::private::RawValue"),
            (r#"{"a":1,"a":2}"#.to_owned(), "`a` stands twice"),
        ] {
            let line = format!(
                r#"{{"type":"ask","call":"c1","tool":"Bash","input":{input},"kind":"approval","canPark":true}}"#
            );
            let said = decode(&line);
            let Some(Effect::Write(told)) = said.last() else { panic!("{part}: {said:?}") };
            let told: Value = serde_json::from_str(told).unwrap();
            assert_eq!(told["call"], "c1");
            assert!(told.to_string().contains(part), "{told}");
            assert!(!said.iter().any(|said| matches!(said, Effect::Event(AgentEvent::Ask(_)))));
        }
    }

    #[test]
    fn an_approval_becomes_an_ask() {
        let line = r#"{"type":"ask","call":"call_1_2","tool":"Bash","input":{"command":"npm run build"},
            "kind":"approval","preview":"+ x","says":"Builds it","because":"no rule covers npm","parents":["tester"],
            "canPark":true,"hold":{"afterMs":5000,"then":"park"},"timeoutMs":30000}"#;
        let ask = Ask {
            tool_call_id: call("call_1_2"),
            tool_name: "Bash".into(),
            input: json!({"command": "npm run build"}),
            body: AskBody::Approval {
                preview: Some("+ x".into()),
                offered_scopes: Vec::new(),
                is_plan: false,
            },
            agent_says: Some("Builds it".into()),
            decision_reason: Some("no rule covers npm".into()),
            parents: vec!["tester".into()],
            can_park: true,
            hold: Some(Hold { after_ms: 5000, then: HoldThen::Park }),
            timeout_ms: Some(30_000),
            cwd: None,
            may_allow: MayAllow::Rules,
            capabilities: None,
            host_limit_ms: None,
        };
        assert_eq!(decode(line), [Effect::Event(AgentEvent::Ask(Box::new(ask)))]);
    }

    #[test]
    fn every_line_has_its_event() {
        let id = || call("call_1_1");
        let cases = [
            (r#"{"type":"ready","conversation":"c"}"#, AgentEvent::Ready { agent_ref: "c".into() }),
            (r#"{"type":"text","text":"a"}"#, AgentEvent::Text { text: "a".into(), parents: vec![] }),
            (
                r#"{"type":"thinking","text":"a","parents":["p"]}"#,
                AgentEvent::Thinking { text: "a".into(), parents: vec!["p".into()] },
            ),
            (r#"{"type":"message_end"}"#, AgentEvent::MessageEnd),
            (
                r#"{"type":"tool_start","call":"call_1_1","tool":"Read"}"#,
                AgentEvent::ToolCallStart { tool_call_id: id(), tool_name: "Read".into(), parents: vec![] },
            ),
            (
                r#"{"type":"tool_delta","call":"call_1_1","text":"{"}"#,
                AgentEvent::ToolCallDelta { tool_call_id: id(), text: "{".into() },
            ),
            (
                r#"{"type":"tool_input","call":"call_1_1","input":{}}"#,
                AgentEvent::ToolCallEnd { tool_call_id: id(), input: json!({}) },
            ),
            (
                r#"{"type":"tool_result","call":"call_1_1","output":"x","isError":true}"#,
                AgentEvent::ToolResult { tool_call_id: id(), output: json!("x"), is_error: true },
            ),
            (r#"{"type":"withdrawn","call":"call_1_1"}"#, AgentEvent::AskWithdrawn { tool_call_id: id() }),
            (r#"{"type":"received","call":"call_1_1"}"#, AgentEvent::Acknowledged { tool_call_id: id() }),
            (
                r#"{"type":"cannot_park","call":"call_1_1","why":"w"}"#,
                AgentEvent::CannotPark { tool_call_id: id(), why: "w".into() },
            ),
            (
                r#"{"type":"done","reason":"interrupted"}"#,
                AgentEvent::TurnDone { reason: StopReason::Interrupted, usage: None },
            ),
            (r#"{"type":"error","message":"m"}"#, AgentEvent::Error { message: "m".into() }),
        ];
        for (line, event) in cases {
            assert_eq!(decode(line), [Effect::Event(event)], "{line}");
        }
        assert_eq!(decode(r#"{"type":"parked","call":"call_1_1"}"#), [Effect::Parked]);
        assert_eq!(decode("  "), []);
    }

    #[test]
    fn no_line_is_left_without_a_meaning() {
        let good = r#"{"type":"ask","call":"c","tool":"T","input":{},"kind":"question","questions":[],"canPark":true}"#;
        assert!(matches!(decode(good)[..], [Effect::Event(AgentEvent::Ask(_))]));
        // Every beginning of a good line, and every good line with one byte changed.
        let cut = (1..good.len()).map(|end| good[..end].to_owned());
        let changed = (0..good.len()).flat_map(|at| {
            ["\u{0}", "}", "\"", "é", "9"].map(|with| format!("{}{with}{}", &good[..at], &good[at + 1..]))
        });
        let odd = [
            "null",
            "[]",
            "{}",
            "\u{feff}",
            "{\"type\":\"approve_all\"}",
            "{\"type\":\"received\",\"call\":\"\"}",
        ];
        for line in cut.chain(changed).chain(odd.map(str::to_owned)) {
            assert_eq!(decode(&line).len(), 1, "{line}");
        }
        let long = "x".repeat(10_000);
        let [Effect::Event(AgentEvent::Error { message })] = &decode(&long)[..] else { panic!("an error") };
        assert!(message.len() < 400);
    }

    #[test]
    fn what_we_say_is_one_line_each() {
        let approved = Resolution::Settled {
            settlement: Settlement::Approved,
            response: Response::Approve {
                lines: Vec::new(),
                scope: Scope::Once,
                edited_input: Some(json!({"command": "a\nb"})),
            },
            input: json!({"command": "a"}),
        };
        let cases = [
            (
                Outgoing::Message { text: "say hi\nsay ho".into() },
                json!({"type": "message", "text": "say hi\nsay ho"}),
            ),
            (
                Outgoing::Resolve { tool_call_id: call("c"), resolution: approved },
                json!({"type": "resolve", "call": "c", "resolution": {"outcome": "settled", "settlement": "approved",
                    "response": {"action": "approve", "scope": "once", "editedInput": {"command": "a\nb"}},
                    "input": {"command": "a"}}}),
            ),
            (
                Outgoing::Resolve {
                    tool_call_id: call("c"),
                    resolution: Resolution::Closed { message: "nobody".into() },
                },
                json!({"type": "resolve", "call": "c", "resolution": {"outcome": "closed", "message": "nobody"}}),
            ),
            (Outgoing::Park { tool_call_id: call("c") }, json!({"type": "park", "call": "c"})),
            (Outgoing::Interrupt, json!({"type": "interrupt"})),
        ];
        for (outgoing, expected) in cases {
            let line = encode(&outgoing).expect("a line");
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected);
            assert!(serde_json::from_str::<ToAgent>(&line).is_ok(), "{line}");
        }
    }
}
