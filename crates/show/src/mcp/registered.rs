//! A tool of somebody's own, registered with a gateway in this very process, called by the real Claude Code.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_agents::claude_code::ClaudeCodeDriver;
use holdstead_agents::host::Host;
use holdstead_agents::{BoxSetting, Boxes};
use holdstead_gateway::{
    Gateway, GatewayConfig, HintsBy, Interaction, InteractionError, Masks, PolicyConfig, Quota, SecretsKey,
    Tool, ToolContext, ToolFailure, ToolOutcome, ToolResponse,
};
use holdstead_protocol::api::{Role, Session};
use holdstead_protocol::{OwnerId, Response, ResponseDraft, Scope};
use holdstead_scripted_model::{Script, Told, call};
use holdstead_server::{Listener, ServerConfig};
use serde_json::{Value, json};

use super::{Seen, asked_once};
use crate::claude::Stage;
use crate::client::Client;
use crate::gateway_process::program;
use crate::{Result, ensure};

/// Pays out, if a person says so.
#[derive(Debug)]
struct Refund;

#[async_trait]
impl Tool for Refund {
    fn name(&self) -> &str {
        "refund"
    }

    fn description(&self) -> &str {
        "Gives a customer their money back"
    }

    fn schema(&self) -> Value {
        json!({"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]})
    }

    async fn call(
        &self,
        context: &ToolContext,
        input: Value,
    ) -> std::result::Result<Value, InteractionError> {
        let approval = Interaction::approval_reaching(input.clone(), &[Scope::Once]);
        context.request_durable(approval, input, None).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        state: &Value,
        response: ToolResponse,
    ) -> std::result::Result<ToolOutcome, ToolFailure> {
        let paid = matches!(response.response, Response::Approve { .. });
        Ok(ToolOutcome::Complete(json!({ "order": state["order"], "refunded": paid })))
    }
}

pub(super) async fn called(stage: &Stage) -> Result<Seen> {
    let folder = stage.home().join("registered");
    std::fs::create_dir_all(&folder)?;
    let claude = with_environment(stage, &folder)?;
    let listener = Listener::bind("127.0.0.1:0".parse()?)?;
    let url = format!("http://{}", listener.address());
    let boxes = Boxes::new(BoxSetting::Best, &[]);
    let host = Host::new(vec![program()?.display().to_string(), "agent-host".to_owned()], boxes);
    let config = GatewayConfig {
        node: None,
        hints_by: HintsBy::Notify,
        age_out: None,
        hold: GatewayConfig::DEFAULT_HOLD,
        secrets_key: SecretsKey::generate(),
        masks: Masks::default(),
        tools: vec![Arc::new(Refund)],
        mcp_url: Some(format!("{url}/mcp?wait=270s")),
        quota: Quota::default(),
        policy: PolicyConfig::default(),
    };
    let journal = holdstead_store::open("sqlite::memory:").await?;
    let driver = ClaudeCodeDriver::new(host, claude.display().to_string(), folder.join("launches"));
    let gateway = Gateway::start(journal, vec![Arc::new(driver)], config).await?;
    let owner = OwnerId::new("ada")?;
    let token =
        holdstead_server::issue_token(gateway.journal().as_ref(), &owner, Role::Person, "ada", None).await?;
    let serving = tokio::spawn({
        let gateway = gateway.clone();
        async move { holdstead_server::serve(listener, gateway, &ServerConfig::default()).await }
    });
    let seen = played(stage, &Client::new(&url, &token)?, &folder).await;
    gateway.stop().await;
    serving.await?;
    seen
}

async fn played(stage: &Stage, person: &Client, folder: &Path) -> Result<Seen> {
    let name = "mcp-registered";
    stage.model.script(name, Script::new().reply([call("mcp__holdstead__refund", json!({"order": "7"}))]));
    let session: Session = person.post("/v1/sessions", &json!({"agent": "claude", "cwd": folder})).await?;
    let session = session.session_id.to_string();
    person.say(&session, &format!("Please go on.\nscript: {name}")).await?;
    let ask = person.open_ask(&session, "approval").await?;
    ensure!(ask.request.tool_name == "refund", "{} asks", ask.request.tool_name);
    person.win(&ask, ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None }).await?;
    let events = person.done(&session).await?;
    let asked = asked_once(&events)?;
    let told = stage.told(name);
    let [Told::ToolResult { tool_use_id, content, is_error: false }] = told.as_slice() else {
        return Err(format!("the model was told {told:#?}").into());
    };
    ensure!(
        serde_json::from_str::<Value>(content)? == json!({"order": "7", "refunded": true}),
        "the model was told {content}"
    );
    ensure!(asked.tool_call_id.as_ref().is_some_and(|id| id.as_str() == tool_use_id), "another call asked");
    Ok(vec![format!("asked once, under {tool_use_id}; told: {content}")])
}

/// Claude Code as the stage's gateway starts it: an agent of this process gets nothing of this process' environment.
fn with_environment(stage: &Stage, folder: &Path) -> Result<PathBuf> {
    let program = std::env::args().nth(2).ok_or("say where Claude Code is")?;
    let script = format!(
        "#!/bin/sh\nexport HOME='{}' ANTHROPIC_BASE_URL='{}' ANTHROPIC_API_KEY=sk-fake \
         CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1\nexec '{program}' \"$@\"\n",
        stage.home().display(),
        stage.model.base_url(),
    );
    let path = folder.join("claude");
    std::fs::write(&path, script)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))?;
    Ok(path)
}
