//! What is sent: odd values, lost edits, keys that were used before.

use std::time::{Duration, Instant};

use holdstead_protocol::Event;
use serde_json::{Value, json};

use super::{Answer, Attempt, Target, attempt, refused};
use crate::{Result, ensure};

const PRIVATE: &str = r#"{"$serde_json::private::RawValue":"{"}"#;
/// How long an agent may be left without a word.
const AT_ONCE: Duration = Duration::from_secs(10);

pub(super) fn all(target: &Target) -> Vec<Attempt<'_>> {
    let mut attempts = vec![
        attempt("D3", "a private key of the JSON library as input", input(target, PRIVATE.to_owned())),
        attempt("D3", "an input of 120 levels", input(target, nested(120))),
        attempt("D7", "half a character in an input", input(target, r#"{"command":"a\ud800"}"#.to_owned())),
        attempt(
            "D18",
            "a number beyond 64 bits as input",
            input(target, r#"{"n":18446744073709551617}"#.to_owned()),
        ),
        attempt("D3", "the same key, twice in one object", input(target, r#"{"a":1,"a":2}"#.to_owned())),
        attempt("D3", "the private key, said by a model", said(target, format!("approve Bash {PRIVATE}"))),
        attempt("D3", "100 levels, said by a model", said(target, format!("approve Bash {}", nested(100)))),
        attempt(
            "D7",
            "half a character, said by a model",
            said(target, r#"approve Bash {"command":"a\ud800"}"#.to_owned()),
        ),
        attempt("D7", "a file of 640 KB to be written", said(target, large())),
        attempt("D13", "an approval fetched with a key used before", reused_key(target)),
        attempt("D13", "the same over MCP", reused_key_mcp(target)),
        attempt("D12", "an edit for the short route", short_edit(target)),
        attempt("B8", "a pattern of everything among the allowed tools", pattern(target)),
    ];
    for (what, response) in [
        ("an edit under another name", json!({"action": "approve", "edited_input": {"to": "staging"}})),
        ("an edit that is null", json!({"action": "approve", "editedInput": null})),
        ("a scope that is null", json!({"action": "approve", "scope": null})),
        ("an approval with a reason", json!({"action": "approve", "reason": "only staging"})),
        ("two actions", json!({"action": ["approve", "deny"]})),
        ("an answer without an action", json!({"response": "yes"})),
    ] {
        attempts.push(attempt("D12", what, lost_edit(target, response)));
    }
    attempts
}

fn nested(depth: usize) -> String {
    format!("{{\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth))
}

fn large() -> String {
    format!("approve Write {{\"file_path\":\"/tmp/x\",\"content\":\"{}\"}}", "x".repeat(640 * 1024))
}

/// An ask with an input that nobody could read back. The inbox is as before.
async fn input(target: &Target, input: String) -> Result<String> {
    let body = format!(r#"{{"key":"odd","kind":"approval","toolName":"deploy","input":{input}}}"#);
    let words = refused(&target.send("POST", "/v1/interactions", &target.agent, body).await?)?;
    inbox(target).await?;
    Ok(words)
}

async fn inbox(target: &Target) -> Result<()> {
    let (status, words) = target.send("GET", "/v1/interactions", &target.person_token, "").await?;
    ensure!(status == 200, "the inbox answers {status}: {words}");
    Ok(())
}

/// A hosted agent that asks for it: a card or words, and the inbox is as before.
async fn said(target: &Target, script: String) -> Result<String> {
    let session = target.person().open_session().await?.session_id.to_string();
    target.person().say(&session, &script).await?;
    let begin = Instant::now();
    loop {
        let events = target.person().journal(&session).await?;
        let seen = |kind: &str| events.iter().any(|event: &Event| event.body.event_type().as_str() == kind);
        let came = ["interaction_request", "error", "done"].into_iter().find(|kind| seen(kind));
        if let Some(came) = came {
            inbox(target).await?;
            target.person().tell(reqwest::Method::DELETE, &format!("/v1/sessions/{session}")).await?;
            return Ok(if came == "interaction_request" { "a card" } else { "words to the agent" }.to_owned());
        }
        ensure!(begin.elapsed() < AT_ONCE, "the agent hangs without a card");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn lost_edit(target: &Target, response: Value) -> Result<String> {
    let ask = target.ask(&format!("edit {response}")).await?;
    let mut body = json!({"promptId": ask.request.prompt_id, "idempotencyKey": "k"});
    if let (Some(body), Some(response)) = (body.as_object_mut(), response.as_object()) {
        body.extend(response.clone());
    }
    let path = format!("/v1/interactions/{}/respond", ask.request.interaction_id);
    let words = refused(&target.post(&path, &target.person_token, &body).await?)?;
    target.still_open(&ask).await?;
    Ok(words)
}

async fn short_edit(target: &Target) -> Result<String> {
    let session = target.person().open_session().await?.session_id.to_string();
    target.person().say(&session, r#"approve Bash {"command":"rm"}"#).await?;
    let ask = target.person().open_ask(&session, "approval").await?;
    let body = json!({"toolCallId": ask.request.tool_call_id, "editedInput": {"command": "ls"}});
    let words = refused(
        &target.post(&format!("/api/sessions/{session}/approve"), &target.person_token, &body).await?,
    )?;
    target.still_open(&ask).await?;
    Ok(words)
}

fn harmless(what: &str) -> Value {
    json!({"key": "reused", "kind": "approval", "toolName": "deploy", "input": {"do": what}})
}

async fn reused_key(target: &Target) -> Result<String> {
    let ask = target.post("/v1/interactions", &target.agent, &harmless("list files")).await?;
    ensure!(ask.0 == 201, "the first ask got {}: {}", ask.0, ask.1);
    let ask = serde_json::from_str(&ask.1)?;
    target
        .person()
        .win(
            &ask,
            holdstead_protocol::ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None },
        )
        .await?;
    refused(&target.post("/v1/interactions", &target.agent, &harmless("delete production")).await?)
}

async fn reused_key_mcp(target: &Target) -> Result<String> {
    let call = async |action: &str| -> Result<Answer> {
        let arguments = json!({"key": "mcp", "action": action, "title": action, "summary": action});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "request_approval", "arguments": arguments}});
        target.post("/mcp?wait=1s", &target.agent, &call).await
    };
    let (status, first) = call("list files").await?;
    ensure!(status == 200, "the first call got {status}: {first}");
    let (status, second) = call("delete production").await?;
    ensure!(status == 200, "the second call got {status}: {second}");
    let said: Value = serde_json::from_str(second.rsplit("data: ").next().unwrap_or(&second))?;
    let words = said.to_string();
    ensure!(!words.contains("approved\":true"), "it was approved: {words}");
    ensure!(said["result"]["isError"] == true || said["error"].is_object(), "it was taken: {words}");
    Ok("refused in words".to_owned())
}

async fn pattern(target: &Target) -> Result<String> {
    // A pattern is a rule of the session: one that allows everything is refused as a rule is.
    for wide in ["*", "Bash", "Bash(*)"] {
        let body = json!({"agent": "claude", "allowedTools": [wide]});
        refused(&target.post("/v1/sessions", &target.person_token, &body).await?)?;
    }
    Ok("three, all refused in words".to_owned())
}
