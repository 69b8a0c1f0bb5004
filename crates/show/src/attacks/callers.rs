//! Who sends it: tokens where they have nothing to say.

use holdstead_protocol::ResponseDraft;
use holdstead_protocol::api::Session;
use holdstead_store::token_hash;
use serde_json::{Value, json};

use super::{Attempt, Target, attempt, refused};
use crate::gateway_process::TokenFor;
use crate::{Result, ensure};

pub(super) fn all(target: &Target) -> Vec<Attempt<'_>> {
    vec![
        attempt("held", "a hosted agent's token everywhere else", hosted_elsewhere(target)),
        attempt("D6", "an agent asks in another one's session", asks_elsewhere(target)),
        attempt("D6", "an agent fetches another one's answer", fetches_elsewhere(target)),
        attempt("held", "a viewer decides", viewer(target)),
        attempt("D9", "a person's token for one session, in another", bound_person(target)),
        attempt("D9", "a token that was revoked", revoked(target)),
        attempt("D9", "a program is made a person", promoted(target)),
        attempt("D10", "an agent in the gateway's own folder", own_folder(target)),
        attempt("D16", "a token's row written by hand", planted(target)),
        attempt("D16", "somebody ends and erases another person's session", not_admin(target)),
    ]
}

async fn hosted_elsewhere(target: &Target) -> Result<String> {
    let own = target.person().open_session().await?.session_id.to_string();
    let other = target.person().open_session().await?.session_id.to_string();
    target.person().say(&other, r#"approve Bash {"command":"make"}"#).await?;
    let ask = target.person().open_ask(&other, "approval").await?;
    let id = ask.request.interaction_id.to_string();
    let token = target.stage.gateway.token("hosted", TokenFor::Agent(&own)).await?;
    let respond = json!({"promptId": ask.request.prompt_id, "idempotencyKey": "k", "action": "approve"});
    let new = json!({"key": "k", "kind": "approval", "toolName": "t", "input": {}, "sessionId": other});
    let calls: [(&str, String, Value); 14] = [
        ("GET", format!("/v1/sessions/{other}"), Value::Null),
        ("GET", format!("/v1/sessions/{other}/events"), Value::Null),
        ("GET", format!("/v1/interactions/{id}"), Value::Null),
        ("GET", "/v1/sessions".to_owned(), Value::Null),
        ("GET", "/v1/interactions".to_owned(), Value::Null),
        ("GET", "/v1/rules".to_owned(), Value::Null),
        ("GET", "/v1/trusts".to_owned(), Value::Null),
        ("POST", format!("/v1/interactions/{id}/respond"), respond),
        ("POST", "/v1/interactions".to_owned(), new),
        ("POST", format!("/v1/sessions/{other}/messages"), json!({"text": "rm"})),
        ("POST", "/v1/sessions".to_owned(), json!({"agent": "scripted"})),
        ("POST", "/v1/login-links".to_owned(), json!({})),
        ("POST", format!("/v1/sessions/{other}/erase"), json!({})),
        ("DELETE", format!("/v1/sessions/{other}"), Value::Null),
    ];
    let count = calls.len();
    for (method, path, body) in calls {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = target.send(method, &path, &token, body).await?;
        refused(&answer).map_err(|error| format!("{method} {path}: {error}"))?;
    }
    target.still_open(&ask).await?;
    Ok(format!("{count} calls, all refused"))
}

async fn asks_elsewhere(target: &Target) -> Result<String> {
    let session = target.person().open_session().await?.session_id;
    let victims = target.ask("whose session").await?.session_id;
    let mut words = String::new();
    for session in [session, victims] {
        let body = json!({"key": "oracle", "kind": "approval", "toolName": "t", "input": {"is": "it 0000000100023"},
            "sessionId": session});
        words = refused(&target.post("/v1/interactions", &target.agent, &body).await?)?;
    }
    Ok(words)
}

async fn fetches_elsewhere(target: &Target) -> Result<String> {
    let ask = target.ask("whose answer").await?;
    target
        .person()
        .win(&ask, ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None })
        .await?;
    let path = format!("/v1/interactions/{}?wait=0s", ask.request.interaction_id);
    refused(&target.send("GET", &path, &target.agent, "").await?)
}

async fn viewer(target: &Target) -> Result<String> {
    let ask = target.ask("viewed").await?;
    let token = target.stage.gateway.token("onlooker", TokenFor::Viewer).await?;
    let id = ask.request.interaction_id;
    let respond = json!({"promptId": ask.request.prompt_id, "idempotencyKey": "k", "action": "approve"});
    let session = target.person().open_session().await?.session_id;
    let calls = [
        ("POST", format!("/v1/interactions/{id}/respond"), respond),
        ("POST", "/v1/sessions".to_owned(), json!({"agent": "scripted"})),
        ("POST", format!("/v1/sessions/{session}/messages"), json!({"text": "rm"})),
        (
            "POST",
            "/v1/interactions".to_owned(),
            json!({"key": "k", "kind": "approval", "toolName": "t", "input": {}}),
        ),
        ("POST", format!("/v1/sessions/{session}/erase"), json!({})),
        ("DELETE", format!("/v1/sessions/{session}"), json!({})),
    ];
    let count = calls.len();
    for (method, path, body) in calls {
        let answer = target.send(method, &path, &token, body.to_string()).await?;
        refused(&answer).map_err(|error| format!("{method} {path}: {error}"))?;
    }
    target.still_open(&ask).await?;
    Ok(format!("{count} calls, all refused"))
}

async fn bound_person(target: &Target) -> Result<String> {
    let own = target.person().open_session().await?.session_id.to_string();
    let ask = target.ask("bound").await?;
    let made = target
        .stage
        .gateway
        .holdstead(&["token", "--name", "Bo", "--role", "person", "--session", &own])
        .await?;
    if !made.status.success() {
        let words = String::from_utf8_lossy(&made.stderr);
        return Ok(format!("no such token is made: {}", words.lines().next().unwrap_or_default()));
    }
    let token = String::from_utf8(made.stdout)?.trim().to_owned();
    let body = json!({"promptId": ask.request.prompt_id, "idempotencyKey": "k", "action": "approve"});
    let path = format!("/v1/interactions/{}/respond", ask.request.interaction_id);
    let words = refused(&target.post(&path, &token, &body).await?)?;
    target.still_open(&ask).await?;
    Ok(words)
}

async fn revoked(target: &Target) -> Result<String> {
    let gateway = &target.stage.gateway;
    let ask = target.ask("revoked").await?;
    let token = gateway.token("Dora", TokenFor::Person).await?;
    let (status, words) = target.send("GET", "/v1/me", &token, "").await?;
    ensure!(status == 200, "it was never good, so this shows nothing: {words}");
    let done = gateway.holdstead(&["token", "revoke", "--name", "Dora"]).await?;
    ensure!(done.status.success(), "it was not revoked: {}", String::from_utf8_lossy(&done.stderr));
    let answer = json!({"promptId": ask.request.prompt_id, "idempotencyKey": "k", "action": "approve"});
    let calls = [
        format!("/v1/interactions/{}/respond", ask.request.interaction_id),
        "/v1/sessions".to_owned(),
        "/v1/tickets".to_owned(),
        "/v1/login-links".to_owned(),
    ];
    for path in &calls {
        let refusal = target.post(path, &token, &answer).await?;
        refused(&refusal).map_err(|error| format!("{path}: {error}"))?;
        ensure!(refusal.0 == 401, "{path} knew it: {}", refusal.0);
    }
    target.still_open(&ask).await?;
    Ok(format!("{} calls, all refused", calls.len()))
}

/// The token that an agent holds would answer.
async fn promoted(target: &Target) -> Result<String> {
    let ask = target.ask("promoted").await?;
    let done = target.stage.gateway.holdstead(&["people", "role", "attacker", "person"]).await?;
    ensure!(!done.status.success(), "an agent became a person");
    let body = json!({"promptId": ask.request.prompt_id, "idempotencyKey": "k", "action": "approve"});
    let path = format!("/v1/interactions/{}/respond", ask.request.interaction_id);
    refused(&target.post(&path, &target.agent, &body).await?)?;
    target.still_open(&ask).await?;
    Ok(String::from_utf8_lossy(&done.stderr).trim().chars().take(90).collect())
}

async fn own_folder(target: &Target) -> Result<String> {
    let folder = target.stage.gateway.folder();
    let elsewhere = tempfile::TempDir::new()?;
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(folder, &link)?;
    let mut words = String::new();
    for cwd in [folder, &folder.join("launches/.."), &link] {
        let open = json!({"agent": "scripted", "cwd": cwd});
        words = refused(&target.post("/v1/sessions", &target.person_token, &open).await?)?;
    }
    Ok(words)
}

/// Whoever can write the database and has no key makes themselves a token.
async fn planted(target: &Target) -> Result<String> {
    let ask = target.ask("planted").await?;
    let secret = format!("hs_{}", "ab".repeat(32));
    let hash: String = token_hash(&secret).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = target.stage.gateway.folder().join("holdstead.db");
    let copied = super::files::plant_token(&file, &hash)?;
    let body = json!({"promptId": ask.request.prompt_id, "idempotencyKey": "k", "action": "approve"});
    let path = format!("/v1/interactions/{}/respond", ask.request.interaction_id);
    let answer = target.post(&path, &secret, &body).await?;
    super::files::take_back(&file, &hash)?;
    ensure!(copied == 1, "the row was not written, so this shows nothing");
    let words = refused(&answer)?;
    target.still_open(&ask).await?;
    Ok(words)
}

async fn not_admin(target: &Target) -> Result<String> {
    let session: Session = target.person().open_session().await?;
    let session = session.session_id.to_string();
    let token = target.stage.gateway.token("Bea", TokenFor::Person).await?;
    let ended = target.send("DELETE", &format!("/v1/sessions/{session}"), &token, "{}").await?;
    refused(&ended).map_err(|error| format!("ending: {error}"))?;
    target.person().tell(reqwest::Method::DELETE, &format!("/v1/sessions/{session}")).await?;
    let erased = target.post(&format!("/v1/sessions/{session}/erase"), &token, &json!({})).await?;
    refused(&erased).map_err(|error| format!("erasing: {error}").into())
}
