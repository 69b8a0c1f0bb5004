//! From recordings of the real program.

use std::time::Duration;

use holdstead_protocol::{Answer, AskBody, Response, Scope, Settlement};
use serde_json::{Value, json};

use super::*;
use crate::Outgoing;

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/codex/", $name, ".jsonl"))
    };
}

/// What was heard, as the terminal is told it, and what follows in words.
struct Desk {
    terminal: CodexTerminal,
    began: Instant,
    said: Vec<String>,
    asks: Vec<crate::Ask>,
}

fn lines(recording: &str) -> impl Iterator<Item = (f64, String, Value)> {
    recording.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let src = line["src"].as_str().expect("it says who").to_owned();
        (line["t"].as_f64().expect("it says when"), src, line["m"].clone())
    })
}

impl Desk {
    fn new(in_turn: bool) -> Self {
        Self {
            terminal: CodexTerminal::new(in_turn),
            began: Instant::now(),
            said: Vec::new(),
            asks: Vec::new(),
        }
    }

    fn at(&self, seconds: f64) -> Instant {
        self.began + Duration::from_secs_f64(seconds)
    }

    fn hear(&mut self, m: &Value, at: f64) {
        let waits = m.get("method").and(m.get("id")).and_then(Value::as_u64).map(|id| 100 + id);
        let waits = waits.or_else(|| m.get("waiter").and(Some(7)));
        let said = json!({"thread": "th", "cwd": "/project", "m": m}).to_string();
        let effects = self.terminal.heard(&said, waits, self.at(at));
        self.follow(effects);
    }

    /// Plays what the daemon said until `stop`, in seconds.
    fn play(&mut self, recording: &str, from: f64, stop: f64) {
        for (at, src, mut m) in lines(recording).filter(|(at, ..)| *at > from && *at <= stop) {
            match src.as_str() {
                "hp<-" if m["result"]["thread"].is_object() => {
                    let last = m["result"]["thread"]["turns"].as_array_mut().and_then(Vec::pop);
                    self.hear(&json!({"resumed": last}), at);
                    self.hear(&json!({"waiter": true}), at);
                }
                // Other conversations, and replies to calls, are not for it.
                "hp<-" if m.get("method").is_some() && m["method"] != "thread/started" => self.hear(&m, at),
                _ => {}
            }
            // As the runner does every tenth of a second.
            let effects = self.terminal.passed(self.at(at));
            self.follow(effects);
        }
    }

    /// The program writes down what its model was told of a call.
    fn record(&mut self, call: &str, output: &str) {
        let payload = json!({"type": "function_call_output", "call_id": call, "output": output});
        let line = json!({"timestamp": "", "ordinal": 40, "type": "response_item", "payload": payload});
        let effects = self.terminal.recorded(&line.to_string());
        self.follow(effects);
    }

    fn tell(&mut self, call: &str, settlement: Settlement, response: Response) {
        let resolution = Resolution::Settled { settlement, response, input: Value::Null };
        let tool_call_id = ToolCallId::new(call).unwrap();
        let effects = self.terminal.told(Outgoing::Resolve { tool_call_id, resolution });
        self.follow(effects);
    }

    fn approve(&mut self, call: &str) {
        let response = Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None };
        self.tell(call, Settlement::Approved, response);
    }

    fn deny(&mut self, call: &str) {
        self.tell(call, Settlement::Denied, Response::Deny { reason: Some("not now".to_owned()) });
    }

    fn follow(&mut self, effects: Vec<TerminalEffect>) {
        for effect in effects {
            if let TerminalEffect::Event(AgentEvent::Ask(ask)) = &effect {
                self.asks.push((**ask).clone());
            }
            self.said.push(in_words(effect));
        }
    }

    /// What was said since the last time.
    fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }
}

fn in_words(effect: TerminalEffect) -> String {
    let event = match effect {
        TerminalEffect::Event(event) => event,
        TerminalEffect::Answer { waits, answer: Some(answer) } => return format!("{waits} gets {answer}"),
        TerminalEffect::Answer { waits, answer: None } => return format!("{waits} gets nothing"),
        TerminalEffect::Say { waits, words } => return format!("{waits} says {words}"),
        TerminalEffect::AlsoRecorded(path) => return format!("{path:?}"),
    };
    match event {
        AgentEvent::Ready { agent_ref } => format!("{agent_ref} is there"),
        AgentEvent::TurnBegun { text, .. } => format!("begins: {text}"),
        AgentEvent::Text { text, .. } => format!("text: {}", text.split(':').next().unwrap_or_default()),
        AgentEvent::MessageEnd => "message ends".to_owned(),
        AgentEvent::ToolCallStart { tool_call_id, tool_name, .. } => {
            format!("{tool_call_id} calls {tool_name}")
        }
        AgentEvent::ToolCallEnd { input, .. } => format!("with {input}"),
        AgentEvent::ToolResult { tool_call_id, output, is_error } => {
            format!("{tool_call_id} came to {output}{}", if is_error { " (an error)" } else { "" })
        }
        AgentEvent::Ask(ask) => format!("{} asks", ask.tool_call_id),
        AgentEvent::AnsweredInTerminal { tool_call_id, how } => {
            format!("{tool_call_id}: {:?} there, says {:?}", how.answer, how.known_by)
        }
        AgentEvent::Acknowledged { tool_call_id } => format!("{tool_call_id}: ours counted"),
        AgentEvent::TurnDone { reason, .. } => format!("{reason:?}"),
        AgentEvent::Exited(_) => "gone".to_owned(),
        other @ (AgentEvent::Thinking { .. }
        | AgentEvent::ToolCallDelta { .. }
        | AgentEvent::AskWithdrawn { .. }
        | AgentEvent::NotRun { .. }
        | AgentEvent::RanOther { .. }
        | AgentEvent::CannotPark { .. }
        | AgentEvent::Forgotten
        | AgentEvent::TurnEnding
        | AgentEvent::Error { .. }) => format!("{other:?}"),
    }
}

const TOUCH: &str = r#"with {"command":"touch asked-for.txt","cwd":"/project"}"#;

/// The first words of every recording of a client that came late.
fn asked(call: &str, input: &str) -> Vec<String> {
    let begun = ["th is there", "begins: (begun in the terminal)"];
    let asked = [format!("{call} calls Bash"), input.to_owned(), format!("{call} asks")];
    begun.map(str::to_owned).into_iter().chain(asked).collect()
}

#[test]
fn the_card_is_first() {
    let mut desk = Desk::new(false);
    desk.play(recording!("card-first"), 0.0, 4.9);
    assert_eq!(desk.said(), asked("call_1_1", TOUCH));
    let ask = &desk.asks[0];
    assert_eq!((ask.tool_name.as_str(), ask.agent_says.as_deref()), ("Bash", Some("May I run it")));
    assert_eq!(ask.cwd.as_deref(), Some("/project"));
    desk.approve("call_1_1");
    assert_eq!(desk.said(), [r#"100 gets {"decision":"accept"}"#]);
    desk.play(recording!("card-first"), 4.9, 9.0);
    let rest = ["call_1_1: ours counted", "call_1_1 came to \"\"", "text: told", "message ends", "Completed"];
    assert_eq!(desk.said(), rest);
}

#[test]
fn the_card_says_no() {
    let mut desk = Desk::new(false);
    desk.play(recording!("card-declines"), 0.0, 4.9);
    assert_eq!(desk.said(), asked("call_1_1", TOUCH));
    desk.deny("call_1_1");
    assert_eq!(desk.said(), [r#"100 gets {"decision":"decline"}"#]);
    desk.play(recording!("card-declines"), 4.9, 9.0);
    // Nothing is said of the call: the turn goes on without it.
    assert_eq!(desk.said(), ["call_1_1: ours counted", "text: told", "message ends", "Completed"]);
}

#[test]
fn a_question_is_answered_here() {
    let recording = recording!("question");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 4.5);
    let said = desk.said();
    assert_eq!(said[2], "call_1_0 calls request_user_input");
    assert_eq!(said.last().unwrap(), "call_1_0 asks");
    let AskBody::Question { questions } = &desk.asks[0].body else { panic!("{:?}", desk.asks) };
    assert_eq!((questions[0].id.as_str(), questions[0].header.as_str()), ("store", "Store"));
    let labels: Vec<_> = questions[0].options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(labels, ["SQLite (Recommended)", "PostgreSQL"]);
    assert!(questions[0].allow_other && !questions[0].multi_select);
    let answer =
        Answer { question_id: "store".to_owned(), labels: vec!["PostgreSQL".to_owned()], other: None };
    desk.tell("call_1_0", Settlement::Answered, Response::Answer { answers: vec![answer] });
    let replied = lines(recording).find(|(_, src, m)| src == "hp->" && m.get("result").is_some());
    let expected = format!("100 gets {}", replied.unwrap().2["result"]);
    assert_eq!(desk.said(), [expected]);
    desk.play(recording, 4.5, 9.0);
    assert_eq!(desk.said(), ["text: told", "message ends", "call_1_0: ours counted", "Completed"]);
}

#[test]
fn own_words_and_no_words_to_a_question() {
    let recording = recording!("question-own-words");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 7.0);
    desk.said();
    let other = Some("use a file, please".to_owned());
    let answer = Answer { question_id: "store".to_owned(), labels: Vec::new(), other };
    desk.tell("call_1_0", Settlement::Answered, Response::Answer { answers: vec![answer] });
    let replied = lines(recording).find(|(_, src, m)| src == "hp->" && m.get("result").is_some());
    assert_eq!(desk.said(), [format!("100 gets {}", replied.unwrap().2["result"])]);
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 7.0);
    desk.said();
    desk.tell("call_1_0", Settlement::Declined, Response::Cancel { reason: None });
    assert_eq!(desk.said(), [r#"100 gets {"answers":{}}"#]);
}

#[test]
fn a_question_is_answered_or_escaped_in_the_terminal() {
    let mut desk = Desk::new(false);
    desk.play(recording!("question-terminal-first"), 0.0, 12.0);
    let said = desk.said();
    let expected = [
        "100 gets nothing",
        "call_1_0: Answered there, says Program",
        "text: told",
        "message ends",
        "Completed",
    ];
    assert_eq!(said[said.len() - 5..], expected);
    let mut desk = Desk::new(false);
    desk.play(recording!("question-escaped"), 0.0, 12.0);
    let said = desk.said();
    // Its turn was stopped, and nobody said anything to the question.
    let expected = ["100 gets nothing", "call_1_0: NotSaid there, says Program", "Interrupted"];
    assert_eq!(said[said.len() - 3..], expected);
}

#[test]
fn a_patch_is_shown_with_its_diff() {
    let mut desk = Desk::new(false);
    desk.play(recording!("patch-with-its-diff"), 0.0, 5.0);
    let input = r#"with {"changes":[{"path":"/project/new.txt","kind":{"type":"add"},"diff":"hello\n"}]}"#;
    assert_eq!(
        desk.said(),
        ["th is there", "begins: script: …", "call_1_0 calls Edit", input, "call_1_0 asks"]
    );
    let AskBody::Approval { preview, .. } = &desk.asks[0].body else { panic!("{:?}", desk.asks) };
    let diff = "--- /project/new.txt\n+++ /project/new.txt\n@@ -0,0 +1 @@\n+hello\n";
    assert_eq!(preview.as_deref(), Some(diff));
}

#[test]
fn a_patch_whose_diff_is_not_known_is_left_to_the_terminal() {
    let mut desk = Desk::new(false);
    desk.play(recording!("patch-declined"), 0.0, 9.0);
    assert!(desk.asks.is_empty());
    let said = desk.said();
    assert_eq!(said[2], "100 gets nothing");
    assert_eq!(said[5], "call_1_0 came to \"(declined)\" (an error)");
}

#[test]
fn a_patch_is_declined_here() {
    let mut desk = Desk::new(false);
    desk.play(recording!("patch-with-its-diff"), 0.0, 5.0);
    desk.deny("call_1_0");
    desk.said();
    // What another recording shows of it, in the same turn.
    let turn = "01a1df78-d22b-7b73-9a94-d3c8568e40a1";
    for (at, _, mut m) in lines(recording!("patch-declined")).filter(|(at, ..)| *at > 5.0) {
        if m["params"]["turnId"].is_string() {
            m["params"]["turnId"] = turn.into();
        }
        desk.hear(&m, at);
    }
    assert_eq!(desk.said()[..1], ["call_1_0: ours counted"]);
}

#[test]
fn a_tool_of_a_server_is_asked_about_when_its_call_is_known() {
    let recording = recording!("tool-of-a-server");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 7.0);
    assert!(desk.asks.is_empty(), "nobody knows which call it is");
    let turn = "01a1df5a-63e8-7e02-b7eb-09c7504697a8";
    let item = json!({"type": "mcpToolCall", "id": "call_1_0", "server": "hp", "tool": "elicit",
        "status": "inProgress", "arguments": {}, "result": null, "error": null});
    let mut desk = Desk::new(true);
    desk.hear(&json!({"resumed": {"id": turn, "items": [item], "status": "inProgress"}}), 6.0);
    desk.play(recording, 6.2221, 7.0);
    assert!(desk.asks.is_empty(), "its request came with the subscription");
    let asks = lines(recording).find(|(_, _, m)| m["method"] == "mcpServer/elicitation/request").unwrap();
    desk.hear(&asks.2, 6.3);
    assert_eq!(desk.asks[0].tool_name, "mcp__hp__elicit");
    desk.approve("call_1_0");
    assert_eq!(desk.said().last().unwrap(), r#"100 gets {"action":"accept","content":{}}"#);
    desk.play(recording, 7.0, 14.0);
    let said = desk.said();
    // The form that it shows afterwards is the terminal's alone.
    assert_eq!(said[..2], ["101 gets nothing", "call_1_0: ours counted"]);
}

#[test]
fn a_tool_of_a_server_that_was_declined_has_failed_with_words() {
    for (words, expected) in [
        ("user rejected MCP tool call", "call_1_0: Refused there, says Program"),
        ("user cancelled MCP tool call", "call_1_0: Refused there, says Program"),
        ("no such file", "call_1_0: Allowed there, says Program"),
    ] {
        let item = |status: &str, error: Value| {
            json!({"type": "mcpToolCall", "id": "call_1_0", "server": "hp", "tool": "elicit", "status": status,
                "arguments": {}, "result": null, "error": error})
        };
        let turn = "01a1df5a-63e8-7e02-b7eb-09c7504697a8";
        let items = [item("inProgress", Value::Null)];
        let mut desk = Desk::new(true);
        desk.hear(&json!({"resumed": {"id": turn, "items": items, "status": "inProgress"}}), 6.0);
        let mut lines = lines(recording!("tool-of-a-server"));
        let asks = lines.find(|(_, _, m)| m["method"] == "mcpServer/elicitation/request");
        desk.hear(&asks.unwrap().2, 6.3);
        desk.said();
        desk.hear(&json!({"method": "serverRequest/resolved", "params": {"requestId": 0}}), 7.0);
        let failed = json!({"turnId": turn, "item": item("failed", json!({"message": words}))});
        desk.hear(&json!({"method": "item/completed", "params": failed}), 7.1);
        assert_eq!(desk.said()[..2], ["100 gets nothing", expected]);
    }
}

#[test]
fn what_would_allow_more_than_is_shown_is_left_to_the_terminal() {
    for (method, more) in [
        ("item/commandExecution/requestApproval", json!({"networkApprovalContext": {"host": "example.org"}})),
        ("item/commandExecution/requestApproval", json!({"additionalPermissions": {"network": true}})),
        ("item/commandExecution/requestApproval", json!({"approvalId": "a"})),
        ("item/commandExecution/requestApproval", json!({"kind": "other"})),
        ("item/commandExecution/requestApproval", json!({"command": null})),
        ("item/fileChange/requestApproval", json!({"grantRoot": "/"})),
        ("item/permissions/requestApproval", json!({})),
    ] {
        let mut params = json!({"turnId": "t", "itemId": "c", "command": "ls", "cwd": "/project"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut desk = Desk::new(true);
        desk.hear(&json!({"method": method, "id": 3, "params": params}), 1.0);
        assert_eq!(desk.said(), ["103 gets nothing"], "{method} {more}");
    }
}

mod races;
mod turns;
