//! The real Gemini CLI, started by nobody of ours, with our server in its settings.
//!
//! Without a terminal it hides every tool called `ask_user`, of any server; so it asks for an approval.

use std::process::Stdio;
use std::time::Duration;

use holdstead_scripted_model::{INTERACTION_ID, Part, Script, Told, call};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{asked_once, open_ask};
use crate::claude::Stage;
use crate::gateway_process::TokenFor;
use crate::responses::approve_edited;
use crate::{Result, ensure};

const NAME: &str = "mcp-gemini";
const GATE: &str = "mcp-gemini-comes-back";
/// How long the program may take for all of it.
const PATIENCE: Duration = Duration::from_secs(120);

/// It cannot wait as long as the person takes, comes back after a restart of the gateway, and gets the answer.
pub(super) async fn pending(stage: &mut Stage, program: &str) -> Result<String> {
    let script = Script::new()
        .reply([call(
            "mcp_holdstead_request_approval",
            json!({"action": "Deploy", "input": {"to": "production"}}),
        )])
        .reply([
            Part::Hold(GATE.to_owned()),
            call("mcp_holdstead_await_answer", json!({"interaction_id": INTERACTION_ID})),
        ]);
    stage.model.script(NAME, script);
    let token = stage.gateway.token("gemini", TokenFor::Guest).await?;
    let home = stage.home().join("gemini");
    let project = home.join("project");
    std::fs::create_dir_all(&project)?;
    std::fs::create_dir_all(home.join(".gemini"))?;
    let server = json!({
        "httpUrl": format!("{}/mcp?wait=2s", stage.gateway.url),
        "headers": {"Authorization": format!("Bearer {token}")},
        "trust": true,
    });
    let settings = json!({
        "privacy": {"usageStatisticsEnabled": false},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "mcpServers": {"holdstead": server},
    });
    std::fs::write(home.join(".gemini/settings.json"), settings.to_string())?;
    let mut command = Command::new(program);
    command.args(["-m", "gemini-2.5-pro", "--yolo", "-p", &format!("Please go on.\nscript: {NAME}")]);
    command.current_dir(&project).env_clear().env("HOME", &home).env("PATH", std::env::var("PATH")?);
    command.env("GEMINI_API_KEY", "fake").env("GOOGLE_GEMINI_BASE_URL", stage.model.base_url());
    command.env("GEMINI_CLI_NO_RELAUNCH", "true").env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let agent = command.spawn()?;

    let ask = open_ask(&stage.person, "request_approval").await?;
    let title = ask.session_title.clone().unwrap_or_default();
    ensure!(title.contains("gemini"), "the session is called {title:?}");
    tokio::time::timeout(PATIENCE, stage.model.held(GATE)).await?;
    stage.restart().await?;
    let still = open_ask(&stage.person, "request_approval").await?;
    ensure!(still.request.interaction_id == ask.request.interaction_id, "it is another ask");
    let edited = json!({"action": "Deploy", "input": {"to": "staging"}});
    stage.person.win(&still, approve_edited(edited)).await?;
    stage.model.release(GATE);
    let output = tokio::time::timeout(PATIENCE, agent.wait_with_output()).await??;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "Gemini CLI failed: {words}");

    let told = stage.told(NAME);
    let results: Vec<Value> = told
        .iter()
        .filter_map(|told| match told {
            Told::ToolResult { content, is_error: false, .. } => {
                serde_json::from_str(unwrapped(content)).ok()
            }
            Told::ToolResult { .. } | Told::Text { .. } | Told::Reminder { .. } => None,
        })
        .collect();
    let [pending, answer] = results.as_slice() else {
        return Err(format!("the model was told {told:#?}").into());
    };
    ensure!(pending["status"] == "pending", "the first result was {pending}");
    ensure!(
        pending["interaction_id"] == json!(ask.request.interaction_id),
        "it was told to come back for {pending}"
    );
    ensure!(
        *answer == json!({"ok": true, "approved": true, "input": {"to": "staging"}}),
        "the second result was {answer}"
    );
    asked_once(&stage.person.journal(&ask.session_id.to_string()).await?)?;
    Ok(format!("a session of its own, called {title}; pending after 2 s; after the restart: {answer}"))
}

/// Without the mark that the program puts around what a server says.
fn unwrapped(content: &str) -> &str {
    let inside = content.strip_prefix("<untrusted_context>\n");
    inside.and_then(|text| text.strip_suffix("\n</untrusted_context>")).unwrap_or(content)
}
