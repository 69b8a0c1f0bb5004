//! From recordings of the real program.

mod races;
mod turns;

use holdstead_protocol::{
    Answer, AskBody, Hold, HoldThen, InTerminal, KnownBy, MayAllow, Response, Scope, Settlement,
    TerminalAnswer,
};
use serde_json::json;

use super::*;
use crate::{Ask, Outgoing};

/// A terminal that hears what was recorded.
struct Played {
    wire: OpencodeTerminal,
    events: std::collections::VecDeque<Value>,
    last_waits: u64,
}

impl Played {
    fn of(recording: &str) -> Self {
        Self { wire: listening(false), events: recorded(recording).into(), last_waits: 0 }
    }

    /// Hears all up to the first event of this kind, and says what followed from that one.
    fn until(&mut self, kind: &str) -> Vec<TerminalEffect> {
        while let Some(event) = self.events.pop_front() {
            let effects = self.hears(&event);
            if event["type"] == kind {
                return effects;
            }
        }
        panic!("no {kind} was recorded");
    }

    /// What follows from everything that is left.
    fn rest(&mut self) -> Vec<TerminalEffect> {
        let mut effects = Vec::new();
        while let Some(event) = self.events.pop_front() {
            effects.extend(self.hears(&event));
        }
        effects
    }

    fn hears(&mut self, event: &Value) -> Vec<TerminalEffect> {
        let asks = matches!(event["type"].as_str(), Some("permission.asked" | "question.asked"));
        self.last_waits += u64::from(asks);
        let waits = asks.then_some(self.last_waits);
        self.wire.heard(&said(event, &json!({})), waits, Instant::now())
    }

    /// The plugin tells what came of an answer.
    fn answered(&mut self, id: &str, status: u16) -> Vec<TerminalEffect> {
        self.plugin(json!({ "answered": { "id": id, "status": status } }), None)
    }

    fn plugin(&mut self, mut words: Value, waits: Option<u64>) -> Vec<TerminalEffect> {
        for (key, value) in
            [("directory", "/agent-home/project"), ("conversation", "ses_1"), ("session", "ses_1")]
        {
            words[key] = value.into();
        }
        self.wire.heard(&words.to_string(), waits, Instant::now())
    }

    fn decides(&mut self, call: &str, settlement: Settlement, response: Response) -> Vec<TerminalEffect> {
        let resolution = Resolution::Settled { settlement, response, input: Value::Null };
        self.resolves(call, resolution)
    }

    fn resolves(&mut self, call: &str, resolution: Resolution) -> Vec<TerminalEffect> {
        let tool_call_id = ToolCallId::new(call).unwrap();
        self.wire.told(Outgoing::Resolve { tool_call_id, resolution })
    }
}

fn listening(in_turn: bool) -> OpencodeTerminal {
    OpencodeTerminal::new(Private::default(), in_turn)
}

/// The program's events, as its plugin or a client of its API heard them.
fn recorded(recording: &str) -> Vec<Value> {
    let lines = recording.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events = lines.filter_map(|line| match line["src"].as_str()? {
        "hook>" => line["body"].get("event").cloned(),
        "api<-" => line.get("event").cloned(),
        _ => None,
    });
    events.filter(|event| event["properties"]["sessionID"].is_string()).collect()
}

fn said(event: &Value, more: &Value) -> String {
    let session = &event["properties"]["sessionID"];
    let mut said = json!({ "directory": "/agent-home/project", "conversation": session, "session": session, "event": event });
    said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    said.to_string()
}

fn asks(effects: &[TerminalEffect]) -> Vec<&Ask> {
    let ask = |effect| {
        if let &TerminalEffect::Event(AgentEvent::Ask(ref ask)) = effect { Some(&**ask) } else { None }
    };
    effects.iter().filter_map(ask).collect()
}

fn in_terminal(call: &str, answer: TerminalAnswer) -> TerminalEffect {
    let how = InTerminal { answer, known_by: KnownBy::Program };
    event(AgentEvent::AnsweredInTerminal { tool_call_id: ToolCallId::new(call).unwrap(), how })
}

fn acknowledged(call: &str) -> TerminalEffect {
    event(AgentEvent::Acknowledged { tool_call_id: ToolCallId::new(call).unwrap() })
}

fn answer(waits: u64, answer: Value) -> TerminalEffect {
    TerminalEffect::Answer { waits, answer: Some(answer) }
}

const fn nothing(waits: u64) -> TerminalEffect {
    TerminalEffect::Answer { waits, answer: None }
}

fn done(reason: StopReason) -> TerminalEffect {
    event(AgentEvent::TurnDone { reason, usage: None })
}

fn approve() -> Response {
    Response::Approve { scope: Scope::Session, lines: Vec::new(), edited_input: None }
}

fn deny(words: &str) -> Response {
    Response::Deny { reason: Some(words.to_owned()) }
}

fn choose(label: Option<&str>, other: Option<&str>) -> Response {
    let labels = label.into_iter().map(str::to_owned).collect();
    Response::Answer {
        answers: vec![Answer { question_id: "q1".into(), labels, other: other.map(str::to_owned) }],
    }
}
