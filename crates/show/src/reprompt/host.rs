//! A gateway with a tool of its own, as a process that can be killed: what somebody who embeds Holdstead runs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_gateway::{
    Gateway, GatewayConfig, HintsBy, Interaction, InteractionError, Masks, Person, PolicyConfig, Quota,
    Reprompt, SecretsKey, Tool, ToolCall, ToolContext, ToolFailure, ToolOutcome, ToolResponse, WhenNobody,
};
use holdstead_protocol::api::Role;
use holdstead_protocol::{Field, FieldErrors, FieldKind, Form, OwnerId, Response, Surface, ToolCallId};
use holdstead_server::{Listener, ServerConfig};
use serde_json::{Value, json};

use crate::Result;

/// Runs in `folder` until it is killed. `stuck`: the tool takes a response and never says what follows.
pub(crate) async fn run(folder: &Path, stuck: bool) -> Result<()> {
    let journal = holdstead_store::open(&format!("sqlite:{}", folder.join("journal.db").display())).await?;
    let email = Email { calls: folder.join("calls"), stuck };
    let config = GatewayConfig {
        node: None,
        hints_by: HintsBy::Notify,
        age_out: None,
        hold: GatewayConfig::DEFAULT_HOLD,
        secrets_key: SecretsKey::generate(),
        masks: Masks::default(),
        tools: vec![Arc::new(email)],
        mcp_url: None,
        quota: Quota::default(),
        policy: PolicyConfig::default(),
    };
    let gateway = Gateway::start(Arc::clone(&journal), Vec::new(), config).await?;
    let owner = OwnerId::new("local")?;
    let person = Person::new(owner.clone(), "form", Surface::Api);
    let session = gateway.own_session(&person).await?;
    let token = holdstead_server::issue_token(journal.as_ref(), &owner, Role::Person, "ada", None).await?;
    let listener = Listener::bind("127.0.0.1:0".parse()?)?;
    let url = format!("http://{}", listener.address());
    println!("{}", json!({ "url": url, "token": token, "session": session }));
    let call = ToolCall {
        owner,
        session,
        turn: None,
        tool_call_id: ToolCallId::new("call_1")?,
        name: "email".to_owned(),
        input: json!({}),
        when_nobody: WhenNobody::Wait,
    };
    let caller = gateway.clone();
    tokio::spawn(async move {
        match caller.call_tool(call).await {
            Ok(result) => println!("{}", json!({ "result": result })),
            Err(error) => println!("{}", json!({ "error": error.to_string() })),
        }
    });
    holdstead_server::serve(listener, gateway, &ServerConfig::default()).await;
    Ok(())
}

#[derive(Debug)]
struct Email {
    /// The prompt of each response that it was called for, a line each.
    calls: PathBuf,
    stuck: bool,
}

#[async_trait]
impl Tool for Email {
    fn name(&self) -> &str {
        "email"
    }

    fn description(&self) -> &str {
        "Asks for an address"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn call(
        &self,
        context: &ToolContext,
        input: Value,
    ) -> std::result::Result<Value, InteractionError> {
        let field = Field {
            id: "email".to_owned(),
            label: "Email".to_owned(),
            description: None,
            required: true,
            default: None,
            kind: FieldKind::Text { min_length: None, max_length: None, format: None },
        };
        let form = Form { title: Some("Your address".to_owned()), fields: vec![field] };
        context.request_durable(Interaction::form(form), input, None).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        _state: &Value,
        response: ToolResponse,
    ) -> std::result::Result<ToolOutcome, ToolFailure> {
        let noted = std::fs::OpenOptions::new().create(true).append(true).open(&self.calls);
        let noted = noted.and_then(|mut calls| writeln!(calls, "{}", response.prompt_id));
        noted.map_err(|error| ToolFailure(error.to_string()))?;
        if self.stuck {
            std::future::pending::<()>().await;
        }
        let Response::Submit { input } = response.response else {
            return Ok(ToolOutcome::Complete(json!({ "ok": false })));
        };
        Ok(match input.get("email").and_then(Value::as_str) {
            Some(email) if email.contains('@') => {
                ToolOutcome::Complete(json!({ "ok": true, "email": email }))
            }
            _ => ToolOutcome::Reprompt(Reprompt {
                interaction: None,
                error: Some("That is no address.".to_owned()),
                field_errors: FieldErrors::from([("email".to_owned(), "An address has an @.".to_owned())]),
                initial_values: input,
            }),
        })
    }
}
