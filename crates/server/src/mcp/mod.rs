//! The gateway's tools for any agent that speaks MCP.
//!
//! Nothing is kept between two requests: what is asked lives in the journal, and a client that comes back after a
//! restart finds its asks by their ids and keys.

mod client;
mod tools;

pub(crate) use client::{HEADER, Named};

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holdstead_gateway::{CallerAsk, Gateway, GatewayError, Person, ToolCall, WhenNobody, keyed_call};
use holdstead_protocol::mcp::{CALL_ID, GIVE_UP};
use holdstead_protocol::{SessionId, ToolCallId};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::time::Instant;

/// How long a call waits where nobody says: most clients give up after a minute.
pub(crate) const USUAL_PATIENCE: Duration = Duration::from_secs(50);
/// How often a client that asked for it hears that its call still waits.
const PROGRESS: Duration = Duration::from_secs(15);
/// Where a client sends its own id of the call: Claude Code, and our bridge from standard input.
const CALL_IDS: [&str; 2] = ["claudecode/toolUseId", CALL_ID];
const INSTRUCTIONS: &str = "These tools reach a person. Silence is never an answer: a result with \
    \"status\":\"pending\" means that nobody has answered yet. Call await_answer with its interaction_id until there \
    is an answer, or go on with work that does not depend on it.";

/// Who serves one request.
#[derive(Debug, Clone)]
pub(crate) struct Mcp {
    pub(crate) gateway: Gateway,
    pub(crate) caller: Person,
    pub(crate) place: CallerAsk,
    /// The name that the client gave itself when it introduced itself, if that was an earlier request.
    pub(crate) client: Option<String>,
    /// The name it gives itself in this one.
    pub(crate) introduced: Arc<OnceLock<String>>,
    pub(crate) patience: Duration,
}

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("holdstead", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        // One request introduces itself once.
        let _first = self.introduced.set(request.client_info.name.clone());
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.gateway.tools().iter().map(|tool| tools::described(tool.as_ref()));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.gateway.tools().iter().find(|tool| tool.name() == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}` here", request.name), None));
        };
        let mut input = request.arguments.unwrap_or_default();
        let key = tools::taken_key(tool.as_ref(), &mut input);
        if let Some(words) = tools::unfit(tool.as_ref(), &mut input) {
            return Ok(CallToolResponse::Complete(words));
        }
        let input = Value::Object(input);
        let named = CALL_IDS.iter().find_map(|name| context.meta.get(*name)?.as_str());
        let id = match (&key, named) {
            (Some(key), _) => keyed_call(tool.name(), key, &input),
            (None, Some(id)) => id.to_owned(),
            (None, None) => format!("mcp_{}", uuid::Uuid::new_v4().simple()),
        };
        let tool_call_id =
            ToolCallId::new(id).map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let result = match self.session(&context).await {
            Ok(session) => {
                let turn = self.turn(session).await;
                let call = ToolCall {
                    owner: self.caller.owner.clone(),
                    session,
                    turn,
                    tool_call_id,
                    name: tool.name().to_owned(),
                    input,
                    // It waits in the inbox.
                    when_nobody: WhenNobody::Wait,
                };
                self.called(call, &context).await?
            }
            Err(error) => Err(error.into()),
        };
        Ok(CallToolResponse::Complete(tools::told(result)))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != GIVE_UP {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let call = request.params.as_ref().and_then(|params| params["callId"].as_str());
        let Some(call) = call else { return Err(ErrorData::invalid_params("it names no callId", None)) };
        let given_up = match self.session(&context).await {
            Ok(session) => self.gateway.give_up_call(&self.caller.owner, session, call).await,
            Err(error) => Err(error),
        };
        match given_up {
            Ok(()) => Ok(CustomResult::new(json!({ "withdrawn": true }))),
            // It was answered, or never asked anybody.
            Err(GatewayError::NoAsk | GatewayError::Rejected(_)) => {
                Ok(CustomResult::new(json!({ "withdrawn": false })))
            }
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }
}

impl Mcp {
    async fn called(
        &self,
        call: ToolCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<tools::Result, ErrorData> {
        let begin = Instant::now();
        let token = context.meta.get_progress_token();
        let mut ticks = tokio::time::interval_at(begin + PROGRESS, PROGRESS);
        let calling = self.gateway.call_tool_within(call, self.patience);
        tokio::pin!(calling);
        loop {
            tokio::select! {
                result = &mut calling => return Ok(result),
                // Nobody hears the result. What was asked stays.
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was given up", None));
                }
                _ = ticks.tick(), if token.is_some() => {
                    let Some(token) = token.clone() else { continue };
                    let waited = begin.elapsed().as_secs_f64().round();
                    let progress =
                        ProgressNotificationParam::new(token, waited).with_message("Waiting for a person");
                    if let Err(error) = context.peer.notify_progress(progress).await {
                        tracing::debug!(%error, "a client does not hear of progress");
                    }
                }
            }
        }
    }

    /// The session of the token, or one of this client's own.
    async fn session(&self, context: &RequestContext<RoleServer>) -> Result<SessionId, GatewayError> {
        match self.place {
            CallerAsk::In(session) => Ok(session),
            CallerAsk::Own => {
                let named = context.meta.client_info().map(|client| client.name);
                match named.or_else(|| self.client.clone()).filter(|name| !name.trim().is_empty()) {
                    Some(client) => self.gateway.client_session(&self.caller, &client).await,
                    None => self.gateway.own_session(&self.caller).await,
                }
            }
        }
    }

    /// Asks of a hosted agent belong to what it does now.
    async fn turn(&self, session: SessionId) -> Option<holdstead_protocol::TurnId> {
        let record = self.gateway.journal().session(session).await.ok().flatten();
        record.and_then(|record| record.state.turn)
    }
}
