//! The bridge from standard input, as an agent that starts its MCP servers itself meets it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::{Gateway, holdstead, text};

const PATIENCE: Duration = Duration::from_secs(20);

fn spawn(gateway: &Gateway) -> Child {
    let mut command = holdstead(&gateway.folder());
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts")
}

struct Bridge {
    child: Child,
    input: ChildStdin,
    said: mpsc::Receiver<Value>,
}

impl Bridge {
    fn start(gateway: &Gateway) -> Self {
        let mut child = spawn(gateway);
        let input = child.stdin.take().expect("an input");
        let output = BufReader::new(child.stdout.take().expect("an output"));
        let (heard, said) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if heard.send(serde_json::from_str(&line).expect("JSON")).is_err() {
                    return;
                }
            }
        });
        let mut bridge = Self { child, input, said };
        bridge.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "editor", "version": "1"}}}));
        assert_eq!(bridge.hear()["result"]["serverInfo"]["name"], "holdstead");
        bridge
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("it listens");
    }

    fn ask(&mut self, id: u32, question: &str) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "ask_user", "arguments": {"question": question}}}));
    }

    fn hear(&self) -> Value {
        self.said.recv_timeout(PATIENCE).expect("it answers")
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A bridge that is told this, and then that there is no more.
fn told_all(gateway: &Gateway, messages: &[Value]) -> Child {
    let mut child = spawn(gateway);
    let mut input = child.stdin.take().expect("an input");
    for message in messages {
        writeln!(input, "{message}").expect("it listens");
    }
    child
}

fn question(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "ask_user", "arguments": {"question": "Which colour?"}}})
}

/// The ids of what waits, once it is so many.
fn inbox(gateway: &Gateway, count: usize) -> Vec<Value> {
    let begin = Instant::now();
    loop {
        let inbox = gateway.json(&["inbox"]);
        let asks = inbox.as_array().expect("a list");
        if asks.len() == count {
            return asks.clone();
        }
        assert!(begin.elapsed() < PATIENCE, "{count} asks were expected: {inbox}");
    }
}

#[test]
fn a_cancelled_call_is_withdrawn_and_the_others_are_answered() {
    let gateway = Gateway::start();
    let mut bridge = Bridge::start(&gateway);
    bridge.ask(1, "Which colour?");
    inbox(&gateway, 1);
    bridge.ask(2, "Which size?");
    inbox(&gateway, 2);
    bridge.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1, "reason": "the person pressed stop"}}));
    let left = inbox(&gateway, 1);
    assert_eq!(left[0]["request"]["questions"][0]["question"], "Which size?");
    let id = left[0]["request"]["interactionId"].as_str().expect("an id");
    gateway.json(&["answer", id, "--set", "answer=large"]);
    let told = bridge.hear();
    assert_eq!(told["id"], 2, "a cancelled call gets no answer: {told}");
    assert_eq!(told["result"]["structuredContent"], json!({"ok": true, "answer": "large"}));
}

#[test]
fn what_was_asked_before_the_end_of_the_input_is_answered() {
    let gateway = Gateway::start();
    let bridge =
        told_all(&gateway, &[json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}), question(8)]);
    let ask = inbox(&gateway, 1).remove(0);
    gateway.json(&[
        "answer",
        ask["request"]["interactionId"].as_str().expect("an id"),
        "--set",
        "answer=red",
    ]);
    let output = bridge.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let said = text(&output.stdout);
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |id: u32| said.iter().find(|said| said["id"] == id).expect("an answer");
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(of(7)["result"]["tools"][0]["name"], "ask_user");
    assert_eq!(of(8)["result"]["structuredContent"], json!({"ok": true, "answer": "red"}));
}

#[test]
fn it_ends_when_its_client_no_longer_reads() {
    let gateway = Gateway::start();
    let mut bridge = told_all(&gateway, &[question(1)]);
    inbox(&gateway, 1);
    assert!(bridge.try_wait().expect("it can be looked at").is_none(), "it did not wait for the answer");
    drop(bridge.stdout.take());
    let begin = Instant::now();
    while bridge.try_wait().expect("it can be looked at").is_none() {
        assert!(begin.elapsed() < PATIENCE, "it waits for an answer that its client does not read");
        std::thread::sleep(Duration::from_millis(20));
    }
}
