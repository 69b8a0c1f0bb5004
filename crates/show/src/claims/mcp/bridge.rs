//! Any client that starts its servers itself: `holdstead mcp` on standard input and output.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::{asked_once, open_ask};
use crate::claude::Stage;
use crate::gateway_process::program;
use crate::responses::submit;
use crate::{Result, ensure};

const PATIENCE: Duration = Duration::from_secs(60);

fn start(stage: &Stage) -> Result<Child> {
    let mut command = Command::new(program()?);
    command.arg("mcp").arg("--dir").arg(stage.gateway.folder());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    Ok(command.kill_on_drop(true).spawn()?)
}

/// The gateway dies while a call waits. The client sees one call with one answer.
pub(super) async fn killed(stage: &mut Stage) -> Result<String> {
    let mut bridge = start(stage)?;
    let mut input = bridge.stdin.take().ok_or("no input")?;
    let mut output = BufReader::new(bridge.stdout.take().ok_or("no output")?).lines();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "an editor", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "ask_user", "arguments": {"question": "Tabs or spaces?"}}});
    for message in [&hello, &ready, &ask] {
        input.write_all(format!("{message}\n").as_bytes()).await?;
    }
    let greeted = next(&mut output).await?;
    ensure!(greeted["result"]["serverInfo"]["name"] == "holdstead", "it was greeted with {greeted}");
    let asked = open_ask(&stage.person, "ask_user").await?;
    ensure!(asked.session_title.as_deref() == Some("an editor"), "{:?}", asked.session_title);
    stage.restart().await?;
    let still = open_ask(&stage.person, "ask_user").await?;
    ensure!(still.request.interaction_id == asked.request.interaction_id, "it is another ask");
    stage.person.win(&still, submit(&json!({"answer": "spaces"}))).await?;
    let told = next(&mut output).await?;
    let expected = json!({"ok": true, "answer": "spaces"});
    ensure!(told["id"] == 1 && told["result"]["structuredContent"] == expected, "the client was told {told}");
    asked_once(&stage.person.journal(&asked.session_id.to_string()).await?)?;
    drop(input);
    let status = tokio::time::timeout(PATIENCE, bridge.wait()).await??;
    ensure!(status.success(), "the bridge ended with {status}");
    Ok(format!("one call, one ask, over the kill; told: {expected}"))
}

/// As `echo` does: everything is said at once, and then the input is over.
pub(super) async fn ended(stage: &Stage) -> Result<String> {
    let times = 20;
    for _ in 0..times {
        let mut bridge = start(stage)?;
        let mut input = bridge.stdin.take().ok_or("no input")?;
        input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n").await?;
        drop(input);
        let output = tokio::time::timeout(PATIENCE, bridge.wait_with_output()).await??;
        ensure!(output.status.success(), "the bridge ended with {}", output.status);
        let said: Value = serde_json::from_slice(&output.stdout)?;
        let tool = &said["result"]["tools"][0];
        ensure!(tool["name"] == "ask_user", "it said {said}");
        ensure!(tool["annotations"]["readOnlyHint"] == true, "it said {said}");
    }
    Ok(format!("{times} of {times} got the list of tools"))
}

async fn next(output: &mut Lines<BufReader<ChildStdout>>) -> Result<Value> {
    let line = tokio::time::timeout(PATIENCE, output.next_line()).await??.ok_or("the bridge said nothing")?;
    Ok(serde_json::from_str(&line)?)
}
