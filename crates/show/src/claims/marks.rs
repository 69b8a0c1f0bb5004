//! A program asks for the approval of risky and of harmless lines: the gateway marks the risky ones, and quotes the part.

use holdstead_protocol::CallMark;
use holdstead_protocol::api::Interaction;
use serde_json::{Value, json};

use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::{Result, ensure};

const RISKY: &str = include_str!("../../../core/tests/corpus/risky.txt");
const HARMLESS: [&str; 2] = [
    include_str!("../../../core/tests/corpus/harmless.txt"),
    include_str!("../../../core/tests/corpus/honest.txt"),
];
/// Lines that a review of the screens found without a mark.
const MUST: [&str; 8] = [
    "terraform apply -destroy -auto-approve",
    "psql -c \"DROP TABLE orders\"",
    "aws ec2 terminate-instances --instance-ids i-1",
    "gcloud projects delete p",
    "redis-cli FLUSHALL",
    "chmod -R 777 /",
    "crontab -r",
    "npm publish",
];

pub(crate) async fn show() -> Result<String> {
    println!(
        "goal: at least 95 of 100 risky lines marked, all of {} that must be, and no harmless one",
        MUST.len()
    );
    let gateway = GatewayProcess::serve(None).await?;
    let program = Client::new(&gateway.url, &gateway.token("deploy", TokenFor::Guest).await?)?;
    let risky: Vec<&str> = RISKY.lines().collect();
    let mut missed = Vec::new();
    for line in &risky {
        if marks(&program, line).await?.is_empty() {
            missed.push(*line);
        }
    }
    let mut wrong = Vec::new();
    let harmless: Vec<String> = HARMLESS.iter().flat_map(|rows| rows.lines()).filter_map(line_of).collect();
    for line in &harmless {
        for mark in marks(&program, line).await? {
            wrong.push(format!("{line} ({:?})", mark.risk));
        }
    }
    gateway.stop().await?;
    println!("missed: {missed:#?}");
    let must: Vec<_> = missed.iter().filter(|line| MUST.contains(line)).collect();
    ensure!(must.is_empty() && MUST.iter().all(|line| risky.contains(line)), "not marked: {must:#?}");
    ensure!(
        missed.len() * 20 <= risky.len(),
        "{} of {} risky lines are not marked",
        missed.len(),
        risky.len()
    );
    ensure!(harmless.len() >= 300 && wrong.is_empty(), "marked of {}: {wrong:#?}", harmless.len());
    let marked = risky.len() - missed.len();
    Ok(format!("{marked} of {} risky lines marked, 0 of {} harmless ones", risky.len(), harmless.len()))
}

/// A row is a line, or has it as JSON in its third column. Deletions are harmless in no list.
fn line_of(row: &str) -> Option<String> {
    let line = match row.split('\t').nth(2) {
        Some(line) => serde_json::from_str(line).ok()?,
        None => row.to_owned(),
    };
    (!line.is_empty() && !line.starts_with("rm ")).then_some(line)
}

/// The marks of an approval of this line. Each of them quotes a part of it.
async fn marks(program: &Client, line: &str) -> Result<Vec<CallMark>> {
    let input = json!({ "command": line });
    let ask = json!({"key": line, "kind": "approval", "toolName": "deploy", "input": input});
    let ask: Interaction = program.post("/v1/interactions", &ask).await?;
    for mark in &ask.request.marks {
        let text = input.pointer(&mark.field).and_then(Value::as_str).unwrap_or_default();
        ensure!(!mark.text.is_empty() && text.contains(&mark.text), "`{line}` does not contain {mark:?}");
    }
    Ok(ask.request.marks)
}
