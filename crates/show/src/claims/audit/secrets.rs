//! Secrets are planted, reach exactly those who asked for them, and are found nowhere afterwards.

use std::path::Path;

use holdstead_protocol::api::{Interaction, Session};
use holdstead_protocol::{Answer, EventBody, Response, ResponseDraft, SECRET};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use super::appears;
use super::auditor::Auditor;
use super::tables::Tables;
use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::{Result, ensure};

/// How many secrets [`plant`] plants.
pub(super) const PLANTED: usize = 3;

/// Asks for secrets in every way there is, answers, and looks for them everywhere.
pub(super) async fn plant(tables: &Tables<'_>, auditor: &Auditor, gateway: &GatewayProcess) -> Result<()> {
    let person = gateway.person()?;
    let folder = TempDir::new()?;
    let secrets: [String; PLANTED] = std::array::from_fn(|_| format!("Tr0ub\"{}&3", Uuid::new_v4().simple()));
    let [pin, token, key] = &secrets;
    let question = r#"ask {"questions":[{"id":"v","header":"Pin","question":"Your pin?","secret":true}]}"#;
    agent(&person, folder.path(), question, pin).await?;
    let form = r#"form {"fields":[{"id":"v","label":"Token","type":"secret","required":true}]}"#;
    agent(&person, folder.path(), form, token).await?;
    program(&person, gateway, key).await?;
    // What was sealed goes once it has arrived.
    tables.wait_for(0, "SELECT count(*) FROM secrets").await?;
    auditor.run(&["checkpoint"]).await?;
    for secret in &secrets {
        for form in forms(secret) {
            let places = appears(tables, auditor, gateway, &form).await?;
            ensure!(places.is_empty(), "a secret is found as `{form}` in {places:?}");
        }
    }
    println!(
        "    {PLANTED} secrets reached those who asked, and are nowhere, in none of {} forms",
        forms(pin).len()
    );
    Ok(())
}

/// A hosted agent asks, has it word for word, and says it aloud.
async fn agent(person: &Client, folder: &Path, ask: &str, secret: &str) -> Result<()> {
    let open = json!({ "agent": "scripted", "cwd": folder });
    let session: Session = person.post("/v1/sessions", &open).await?;
    let id = session.session_id.to_string();
    person.say(&id, &format!("{ask}\necho got.txt\nsay That was it.")).await?;
    let asks = person.open_asks(&id, 1).await?;
    let ask = asks.first().ok_or("no ask is open")?;
    person.win(ask, submit(secret)).await?;
    let events = person.done(&id).await?;
    let got = std::fs::read_to_string(folder.join("got.txt"))?;
    ensure!(got == secret, "the agent was told something else: {} bytes", got.len());
    let said: String = events.iter().filter_map(|event| spoken(&event.body)).collect();
    ensure!(said.contains("•••") && !said.contains(secret), "what the agent said is not masked: {said}");
    Ok(())
}

fn spoken(body: &EventBody) -> Option<&str> {
    if let EventBody::TextDelta(delta) = body { Some(&delta.text) } else { None }
}

/// A program asks over HTTP and fetches it, once. The person who gave it never reads it.
async fn program(person: &Client, gateway: &GatewayProcess, secret: &str) -> Result<()> {
    let session = person.open_session().await?.session_id.to_string();
    let asker = Client::new(&gateway.url, &gateway.token("program", TokenFor::Agent(&session)).await?)?;
    let field = json!({ "id": "v", "label": "Key", "type": "secret", "required": true });
    let call = json!({ "key": "k", "toolName": "deploy", "kind": "form", "form": { "fields": [field] } });
    let ask: Interaction = asker.post("/v1/interactions", &call).await?;
    person.win(&ask, submit(secret)).await?;
    let path = format!("/v1/interactions/{}", ask.request.interaction_id);
    for (client, wanted) in [(person, SECRET), (&asker, secret), (&asker, SECRET), (person, SECRET)] {
        let shown: Interaction = client.get(&path).await?;
        let given = shown.response.as_ref().and_then(|response| value(&response.response));
        ensure!(given == Some(wanted), "a program or a person read {given:?}");
    }
    Ok(())
}

fn submit(secret: &str) -> ResponseDraft {
    let values = || Some(Map::from_iter([("v".to_owned(), Value::from(secret))]));
    ResponseDraft::Submit { answers: values(), input: values() }
}

fn value(response: &Response) -> Option<&str> {
    match response {
        Response::Answer { answers } => answers.first().and_then(|answer: &Answer| answer.other.as_deref()),
        Response::Submit { input } => input.get("v").and_then(Value::as_str),
        Response::Approve { .. } | Response::Deny { .. } | Response::Cancel { .. } => None,
    }
}

/// How a secret could be written: as it is, inside of JSON, as digits, and in base64 wherever it begins.
fn forms(secret: &str) -> Vec<String> {
    let quoted = Value::from(secret).to_string();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![secret.to_owned(), quoted[1..quoted.len() - 1].to_owned(), hex.to_uppercase(), hex];
    for before in 0..3 {
        let bytes = [vec![0; before], secret.as_bytes().to_vec()].concat();
        let text = base64(&bytes[..bytes.len() / 3 * 3]);
        // The first letters are made from what stands before it, too.
        forms.push(text[[0, 2, 3][before]..].to_owned());
    }
    forms
}

/// Of whole groups of three bytes.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks_exact(3) {
        let number = group.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        text.extend([18, 12, 6, 0].map(|shift| char::from(LETTERS[number >> shift & 63])));
    }
    text
}
