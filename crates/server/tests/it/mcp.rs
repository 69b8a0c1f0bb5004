//! Tools for any agent, over MCP.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdstead_gateway::{
    Interaction, InteractionError, ResponseHandler, Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};
use holdstead_protocol::Response as Given;
use holdstead_protocol::Scope;
use holdstead_protocol::api::Role;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::running::{Client, PATIENCE, Running};

const BOTH: &str = "application/json, text/event-stream";
/// How often a call that waits says so.
const PROGRESS: Duration = Duration::from_secs(15);

/// One message, as clients before 2026 send it.
async fn send(client: &Client<'_>, path: &str, message: &Value) -> Response {
    let request = client.request(Method::POST, path).header("accept", BOTH);
    let request = request.header("mcp-protocol-version", "2025-11-25");
    request.json(message).send().await.expect("an answer")
}

async fn call(client: &Client<'_>, path: &str, tool: &str, input: Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": input}});
    let answer: Value = send(client, path, &message).await.json().await.expect("JSON");
    assert_eq!(answer["error"], Value::Null, "{answer}");
    answer["result"].clone()
}

/// What the model reads.
fn told(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().expect("a text");
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// The open asks of a person's inbox, once there are as many.
async fn inbox(person: &Client<'_>, count: usize) -> Vec<Value> {
    loop {
        let (_, page) = person.get("/v1/interactions").await;
        let asks = page["interactions"].as_array().expect("a list");
        if asks.len() >= count {
            return asks.clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn an_agent_finds_the_tools_in_the_old_and_the_new_protocol() {
    let running = Running::start().await;
    let agent = running.client(Role::Agent, "editor").await;
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "Zoë's editor", "version": "1"}}});
    let request = agent.request(Method::POST, "/mcp").header("accept", BOTH);
    let answer = request.json(&hello).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.headers().contains_key("mcp-session-id"));
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["result"]["serverInfo"]["name"], "holdstead");
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");

    let taken = send(&agent, "/mcp", &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(taken.status(), 202);
    let pong: Value = send(&agent, "/mcp", &json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}))
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(pong["result"], json!({}));

    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    let old: Value = send(&agent, "/mcp", &list).await.json().await.unwrap();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let request = agent.request(Method::POST, "/mcp").header("accept", BOTH);
    let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/list");
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"_meta": meta}});
    let new: Value = request.json(&list).send().await.unwrap().json().await.unwrap();
    for answer in [old, new] {
        let names: Vec<_> =
            answer["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["ask_user", "request_approval", "show_form", "await_answer"], "{answer}");
        let hints = json!({"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false});
        for tool in answer["result"]["tools"].as_array().unwrap() {
            assert_eq!(tool["annotations"], hints, "{tool}");
        }
    }
}

#[tokio::test]
async fn a_question_is_asked_answered_and_told_in_a_session_with_the_clients_name() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "mcp").await;
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "Zoë's editor", "version": "1"}}});
    let answer = send_hello(&agent, &hello).await;
    let id = answer.headers()["mcp-session-id"].clone();
    let asking = async {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_user",
            "arguments": {"question": "Which store?", "options": ["SQLite", {"label": "PostgreSQL", "description": "a server"}]}}});
        let request = agent.request(Method::POST, "/mcp").header("accept", BOTH).header("mcp-session-id", id);
        request.json(&message).send().await.unwrap().json::<Value>().await.unwrap()
    };
    let answering = async {
        let asks = inbox(&ana, 1).await;
        assert_eq!(asks[0]["sessionTitle"], "Zoë's editor");
        assert_eq!(asks[0]["request"]["toolName"], "ask_user");
        let answers = json!({"action": "submit", "answers": {"answer": "PostgreSQL"}});
        assert_eq!(ana.respond(&asks[0], "k", answers).await.0, 200);
    };
    let (answer, ()) = tokio::join!(asking, answering);
    assert_eq!(told(&answer["result"]), json!({"ok": true, "answer": "PostgreSQL"}));
    assert_eq!(answer["result"]["structuredContent"], json!({"ok": true, "answer": "PostgreSQL"}));
}

async fn send_hello(client: &Client<'_>, hello: &Value) -> Response {
    client.request(Method::POST, "/mcp").header("accept", BOTH).json(hello).send().await.expect("an answer")
}

#[tokio::test]
async fn an_approval_comes_back_as_it_was_decided() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "mcp").await;
    let cases = [
        (
            json!({"action": "approve", "editedInput": {"action": "Deploy", "input": {"to": "staging"}}}),
            json!({"ok": true, "approved": true, "input": {"to": "staging"}}),
        ),
        (json!({"action": "approve"}), json!({"ok": true, "approved": true, "input": {"to": "production"}})),
        (
            json!({"action": "deny", "reason": "not on Friday"}),
            json!({"ok": true, "approved": false, "reason": "not on Friday"}),
        ),
        (json!({"action": "deny"}), json!({"ok": true, "approved": false, "reason": null})),
    ];
    for (given, expected) in cases {
        let input = json!({"action": "Deploy", "input": {"to": "production"}});
        let answering = async {
            let asks = inbox(&ana, 1).await;
            assert_eq!(asks[0]["request"]["input"], input);
            assert_eq!(ana.respond(&asks[0], "k", given).await.0, 200);
        };
        let (result, ()) = tokio::join!(call(&agent, "/mcp", "request_approval", input.clone()), answering);
        assert_eq!(told(&result), expected);
    }
}

#[tokio::test]
async fn a_form_is_filled_in_or_declined() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "mcp").await;
    let form = json!({"title": "Release", "fields": [
        {"id": "version", "type": "text", "required": true}, {"id": "beta", "type": "checkbox"}]});
    let schema = json!({"type": "object", "required": ["version"],
        "properties": {"version": {"type": "string"}, "beta": {"type": "boolean"}}});
    let cases = [
        (
            form.clone(),
            json!({"action": "submit", "input": {"version": "1.4", "beta": true}}),
            json!({"ok": true, "values": {"version": "1.4", "beta": true}}),
        ),
        (
            json!({"title": "Release", "schema": schema}),
            json!({"action": "submit", "input": {"version": "1.5", "beta": false}}),
            json!({"ok": true, "values": {"version": "1.5", "beta": false}}),
        ),
        (form, json!({"action": "cancel"}), json!({"ok": false, "cancelled": true})),
    ];
    for (form, given, expected) in cases {
        let answering = async {
            let asks = inbox(&ana, 1).await;
            assert_eq!(ana.respond(&asks[0], "k", given).await.0, 200);
        };
        let (result, ()) = tokio::join!(call(&agent, "/mcp", "show_form", form), answering);
        assert_eq!(told(&result), expected);
    }
    let bad = [
        // A model must not read a secret.
        json!({"fields": [{"id": "pin", "type": "secret"}]}),
        json!({"schema": {"type": "object", "properties": {"a": {"type": "object"}}}}),
        json!({}),
    ];
    for bad in bad {
        let result = call(&agent, "/mcp", "show_form", bad.clone()).await;
        assert_eq!(result["isError"], true, "{bad}: {result}");
    }
}

#[tokio::test]
async fn a_caller_that_cannot_wait_is_told_so_and_comes_back_for_the_answer() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "mcp").await;
    let question = json!({"question": "Go on?", "inputType": "confirm", "key": "release-7"});
    let pending = told(&call(&agent, "/mcp?wait=1s", "ask_user", question.clone()).await);
    assert_eq!(pending["status"], "pending", "{pending}");
    assert!(pending["message"].as_str().unwrap().contains("await_answer"));
    let id = pending["interaction_id"].clone();

    let again = told(&call(&agent, "/mcp?wait=1s", "ask_user", question.clone()).await);
    assert_eq!(again["interaction_id"], id, "one key is one ask");
    let awaited = json!({"interaction_id": id});
    let still = told(&call(&agent, "/mcp?wait=1s", "await_answer", awaited.clone()).await);
    assert_eq!(still, pending, "silence is no answer");
    assert_eq!(inbox(&ana, 1).await.len(), 1);

    // Nobody else's.
    let other = running.client(Role::Agent, "other").await;
    let refused = call(&other, "/mcp?wait=1s", "await_answer", awaited.clone()).await;
    assert_eq!((&refused["isError"], told(&refused)), (&json!(true), json!("there is no such ask")));

    let answering = async {
        let asks = inbox(&ana, 1).await;
        let yes = json!({"action": "submit", "answers": {"answer": "Yes"}});
        assert_eq!(ana.respond(&asks[0], "k", yes).await.0, 200);
    };
    let (result, ()) = tokio::join!(call(&agent, "/mcp", "await_answer", awaited.clone()), answering);
    let answer = json!({"ok": true, "answer": "Yes"});
    assert_eq!(told(&result), answer);
    assert_eq!(told(&call(&agent, "/mcp", "await_answer", awaited).await), answer, "as often as it asks");
    assert_eq!(told(&call(&agent, "/mcp", "ask_user", question).await), answer);
}

#[tokio::test]
async fn an_agents_token_asks_in_its_own_session_under_its_own_call() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say hello").await;
    let agent = running.client_in(Role::Agent, "claude", Some(session.parse().unwrap())).await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_user",
        "arguments": {"question": "Why?"}, "_meta": {"claudecode/toolUseId": "toolu_7"}}});
    let first: Value = send(&agent, "/mcp?wait=1s", &message).await.json().await.unwrap();
    let again: Value = send(&agent, "/mcp?wait=1s", &message).await.json().await.unwrap();
    assert_eq!(told(&first["result"]), told(&again["result"]), "the same call asks once");
    let (_, page) = ana.get(&format!("/v1/interactions?session={session}")).await;
    let asks = page["interactions"].as_array().unwrap();
    assert_eq!(asks.len(), 1, "{page}");
    assert_eq!(asks[0]["request"]["toolCallId"], "toolu_7");
    let refused = ana.delete(&format!("/v1/sessions/{session}")).await;
    assert!(refused.0 < 300, "{refused:?}");
    let gone: Value = send(&agent, "/mcp?wait=1s", &message).await.json().await.unwrap();
    assert_eq!(gone["result"]["isError"], true, "a session that ended asks nobody: {gone}");
}

/// The next message of a stream.
async fn next_message(stream: &mut Response) -> Value {
    let mut text = String::new();
    loop {
        let chunk = stream.chunk().await.expect("bytes").expect("the stream goes on");
        text.push_str(std::str::from_utf8(&chunk).expect("text"));
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let mut messages = lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        if let Some(message) = messages.next() {
            return message;
        }
    }
}

#[tokio::test]
async fn a_call_that_waits_shows_that_it_lives() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "mcp").await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_user",
        "arguments": {"question": "Why?"}, "_meta": {"progressToken": "p"}}});
    let waiting = async {
        // The call waits as soon as it has asked.
        let asks = inbox(&ana, 1).await;
        tokio::time::pause();
        tokio::time::advance(PROGRESS).await;
        tokio::time::resume();
        asks
    };
    let request = agent.request(Method::POST, "/mcp").header("accept", BOTH).json(&message);
    // The clock that jumps is the client's as well.
    let asking = request.timeout(PROGRESS + PATIENCE).send();
    let (answer, asks) = tokio::join!(asking, waiting);
    let mut answer = answer.expect("an answer");
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let progress = next_message(&mut answer).await;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    let answers = json!({"action": "submit", "answers": {"answer": "because"}});
    assert_eq!(ana.respond(&asks[0], "k", answers).await.0, 200);
    assert_eq!(told(&next_message(&mut answer).await["result"])["answer"], "because");
}

#[tokio::test]
async fn a_call_that_was_given_up_asks_nobody_any_more() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "mcp").await;
    let asked = |id: &str, key: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_user",
            "arguments": {"question": "Why?", "key": key}, "_meta": {"holdstead/callId": id}}})
    };
    let given_up = async |agent: &Client<'_>, id: &str| {
        let message =
            json!({"jsonrpc": "2.0", "id": 2, "method": "holdstead/giveUp", "params": {"callId": id}});
        let answer: Value = send(agent, "/mcp", &message).await.json().await.expect("JSON");
        answer["result"]["withdrawn"].clone()
    };
    send(&agent, "/mcp?wait=1s", &asked("call-1", Value::Null)).await;
    send(&agent, "/mcp?wait=1s", &asked("call-2", json!("release-7"))).await;
    let asks = inbox(&ana, 2).await;
    let other = running.client(Role::Agent, "other").await;
    assert_eq!(given_up(&other, "call-1").await, false, "nobody else's");
    assert_eq!(given_up(&agent, "call-1").await, true);
    assert_eq!(given_up(&agent, "call-1").await, false);
    assert_eq!(given_up(&agent, "call-2").await, false, "who has its key may come back");
    let (_, page) = ana.get("/v1/interactions").await;
    assert_eq!(page["interactions"].as_array().unwrap().len(), 1, "{page}");
    let gone = asks.iter().find(|ask| ask["request"]["toolCallId"] == "call-1").unwrap();
    let late = ana.respond(gone, "k", json!({"action": "submit", "answers": {"answer": "because"}})).await;
    assert_eq!((late.0, &late.1["code"]), (410, &json!("closed")), "{}", late.1);
}

#[tokio::test]
async fn only_those_who_may_ask_get_in() {
    let running = Running::start().await;
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    let nobody = running.plain(Method::POST, "/mcp").header("accept", BOTH).json(&list).send().await.unwrap();
    assert_eq!(nobody.status(), 401);
    let viewer = running.client(Role::Viewer, "vic").await;
    assert_eq!(send(&viewer, "/mcp", &list).await.status(), 403);
    let agent = running.client(Role::Agent, "mcp").await;
    let request =
        agent.request(Method::POST, "/mcp").header("accept", BOTH).header("origin", "https://evil.example");
    assert_eq!(request.json(&list).send().await.unwrap().status(), 403);
    assert_eq!(agent.get("/mcp").await.0, 405, "there is no stream to listen to");
    assert_eq!(send(&agent, "/mcp?wait=soon", &list).await.status(), 400);
}

/// A tool of somebody's own, whose handler lives in this process only.
#[derive(Debug)]
struct Refund;

struct Decided;

#[async_trait]
impl ResponseHandler for Decided {
    async fn on_response(&self, response: ToolResponse) -> Result<ToolOutcome, ToolFailure> {
        Ok(ToolOutcome::Complete(match response.response {
            Given::Approve { .. } => json!("refunded"),
            Given::Deny { .. } | Given::Answer { .. } | Given::Submit { .. } | Given::Cancel { .. } => {
                json!("kept")
            }
        }))
    }
}

#[async_trait]
impl Tool for Refund {
    fn name(&self) -> &str {
        "refund"
    }

    fn description(&self) -> &str {
        "Gives a customer their money back"
    }

    fn schema(&self) -> Value {
        json!({"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]})
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        assert!(input["key"].is_string(), "a tool that has an argument of this name keeps it");
        let approval = Interaction::approval_reaching(input, &[Scope::Once]);
        context.request_interaction(approval, &Decided).await
    }
}

#[tokio::test]
async fn a_registered_tool_is_called_like_our_own() {
    let running = Running::start_with_tools(vec![Arc::new(Refund)]).await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "mcp").await;
    let answering = async {
        let asks = inbox(&ana, 1).await;
        assert_eq!(asks[0]["request"]["toolName"], "refund");
        assert_eq!(ana.respond(&asks[0], "k", json!({"action": "approve"})).await.0, 200);
    };
    let (result, ()) = tokio::join!(call(&agent, "/mcp", "refund", json!({"key": "order-7"})), answering);
    assert_eq!(told(&result), json!("refunded"));

    // Its handler lives on after its caller was told to come back.
    let pending = told(&call(&agent, "/mcp?wait=1s", "refund", json!({"key": "order-8"})).await);
    let asks = inbox(&ana, 1).await;
    assert_eq!(ana.respond(&asks[0], "k", json!({"action": "approve"})).await.0, 200);
    let awaited = json!({"interaction_id": pending["interaction_id"]});
    assert_eq!(told(&call(&agent, "/mcp", "await_answer", awaited).await), json!("refunded"));

    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}});
    let answer: Value = send(&agent, "/mcp", &unknown).await.json().await.unwrap();
    assert!(answer["error"]["message"].as_str().unwrap().contains("nothing"), "{answer}");
}

#[tokio::test]
async fn a_key_that_was_used_for_something_else_is_refused_and_never_gets_that_answer() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "mcp").await;
    let asked = |action: &str| json!({"action": action, "key": "k"});
    let first = call(&agent, "/mcp?wait=0s", "request_approval", asked("list files")).await;
    let pending = told(&first);
    assert_eq!(pending["status"], "pending", "{first}");
    // While it is open, and after it was approved.
    for approved in [false, true] {
        if approved {
            let asks = inbox(&ana, 1).await;
            assert_eq!(ana.respond(&asks[0], "a", json!({"action": "approve"})).await.0, 200);
        }
        let other = call(&agent, "/mcp?wait=0s", "request_approval", asked("delete production")).await;
        assert_eq!(other["isError"], true, "{other}");
        assert!(told(&other).as_str().is_some_and(|words| words.contains("key")), "{other}");
        let (_, page) = ana.get("/v1/interactions?state=all").await;
        assert_eq!(page["interactions"].as_array().map(Vec::len), Some(1), "{page}");
    }
    let same = call(&agent, "/mcp", "request_approval", asked("list files")).await;
    assert_eq!(told(&same)["approved"], true, "{same}");
    // The key is one tool's.
    let question = call(&agent, "/mcp?wait=0s", "ask_user", json!({"question": "Which?", "key": "k"})).await;
    assert_eq!(told(&question)["status"], "pending", "{question}");
}

#[tokio::test]
async fn what_a_tool_does_not_take_is_told_to_its_model() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "mcp").await;
    for (tool, input, words) in [
        ("ask_user", json!({"question": "Which?", "choices": ["a"]}), "`choices` is not known"),
        ("ask_user", json!({}), "`question` is missing"),
        ("ask_user", json!({"question": "Which?", "options": [7]}), "`options[0]` must be text or an object"),
        (
            "show_form",
            json!({"fields": [{"id": "a", "type": "text", "lable": "A"}]}),
            "`fields[0].lable` is not known",
        ),
        ("request_approval", json!({"action": ["rm"]}), "`action` must be text"),
    ] {
        let result = call(&agent, "/mcp", tool, input).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(told(&result).as_str().is_some_and(|said| said.contains(words)), "{words}: {result}");
    }
    let null = json!({"question": "Which?", "options": null, "inputType": null});
    assert_eq!(told(&call(&agent, "/mcp?wait=0s", "ask_user", null).await)["status"], "pending");
    assert_eq!(inbox(&ana, 1).await.len(), 1);
}

#[tokio::test]
async fn odd_json_over_mcp_is_told_in_words() {
    let running = Running::start().await;
    let agent = running.client(Role::Agent, "mcp").await;
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for (input, words) in [
        (deep.as_str(), "64 deep"),
        (r#"{"$serde_json::private::RawValue":"1"}"#, "$serde_json::private::RawValue"),
        (r#"{"a":1,"a":2}"#, "stands twice"),
        (r#""\ud800""#, "half a character"),
    ] {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"request_approval","arguments":{{"action":"x","input":{input}}}}}}}"#
        );
        let request = agent.request(Method::POST, "/mcp").header("accept", BOTH);
        let request = request.header("content-type", "application/json").body(text);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(7), &json!(true)), "{answer}");
        assert!(answer.to_string().contains(words), "{answer}");
    }
    for text in ["", "{", "\u{feff}{}"] {
        let request = agent.request(Method::POST, "/mcp").header("accept", BOTH);
        let answer = request.header("content-type", "application/json").body(text).send().await.unwrap();
        assert_eq!(answer.status(), 400);
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
    }
}
