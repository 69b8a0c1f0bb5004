//! Tools whose asks outlive the process that asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdstead_core::Rejection;
use holdstead_gateway::{
    Gateway, GatewayConfig, GatewayError, Interaction, InteractionError, Reprompt, ResponseHandler, Tool,
    ToolCall, ToolContext, ToolFailure, ToolOutcome, ToolResponse, WhenNobody,
};
use holdstead_protocol::{
    AskState, Decider, EventBody, Field, FieldErrors, FieldKind, Form, InteractionRequest, PromptId,
    Response, ResponseDraft, Scope, Seq, SessionId, ToolCallId,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::deployment::{By, Deployment};
use crate::world::{PATIENCE, Talk, World, ada, config, owner, respond, submit};

/// Asks for an address until it is one.
#[derive(Debug, Default)]
struct Email {
    /// The prompts whose responses it was called for.
    seen: Mutex<Vec<PromptId>>,
    /// It never comes to a decision.
    stuck: bool,
    called: Notify,
}

#[async_trait]
impl Tool for Email {
    fn name(&self) -> &str {
        "email"
    }

    fn description(&self) -> &str {
        "Asks the person for an address"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        let field = Field {
            id: "email".to_owned(),
            label: "Email".to_owned(),
            description: None,
            required: true,
            default: None,
            kind: FieldKind::Text { min_length: None, max_length: None, format: None },
        };
        let form = Interaction::form(Form { title: None, fields: vec![field] });
        context.request_durable(form, input, None).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        state: &Value,
        response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        self.seen.lock().unwrap().push(response.prompt_id);
        self.called.notify_one();
        if self.stuck {
            std::future::pending::<()>().await;
        }
        let Response::Submit { input } = response.response else {
            return Err(ToolFailure("no form".to_owned()));
        };
        match input["email"].as_str() {
            Some(address) if address.contains('@') => {
                Ok(ToolOutcome::Complete(json!({ "email": address, "for": state["for"] })))
            }
            _ => Ok(ToolOutcome::Reprompt(Reprompt {
                interaction: None,
                error: Some("That is no address.".to_owned()),
                field_errors: FieldErrors::from([("email".to_owned(), "needs an @".to_owned())]),
                initial_values: input,
            })),
        }
    }
}

fn call(gateway: &Gateway, session: SessionId, id: &str) -> JoinHandle<Result<Value, InteractionError>> {
    let (gateway, tool_call_id) = (gateway.clone(), ToolCallId::new(id).unwrap());
    tokio::spawn(async move {
        let call = ToolCall {
            owner: owner("ada"),
            session,
            turn: None,
            tool_call_id,
            name: "email".to_owned(),
            input: json!({ "for": "news" }),
            when_nobody: WhenNobody::Wait,
        };
        gateway.call_tool(call).await
    })
}

async fn given(call: JoinHandle<Result<Value, InteractionError>>) -> Value {
    tokio::time::timeout(PATIENCE, call).await.expect("in time").unwrap().unwrap()
}

fn folder() -> Arc<tempfile::TempDir> {
    Arc::new(tempfile::tempdir().unwrap())
}

async fn prompts(talk: &Talk) -> Vec<InteractionRequest> {
    let events = talk.gateway.journal().read(talk.session, Seq(0), 1000).await.unwrap();
    let requests = events.into_iter().filter_map(|event| match event.body {
        EventBody::InteractionRequest(request) => Some(*request),
        _ => None,
    });
    requests.collect()
}

#[tokio::test]
async fn a_bad_answer_is_asked_again_and_a_good_one_is_the_result() {
    let world = World::with_tools(folder(), vec![Arc::new(Email::default())]).await;
    let mut talk = world.talk().await;
    let call = call(&world.gateway, talk.session, "call_1");
    let mut first = None;
    for bad in ["a", "b", "c"] {
        let ask = talk.ask().await;
        talk.respond(&ask, submit(json!({ "email": bad }))).await;
        first.get_or_insert(ask);
    }
    let ask = talk.ask().await;
    assert_eq!((ask.attempt, ask.error.as_deref()), (4, Some("That is no address.")));
    assert_eq!(ask.initial_values["email"], "c");
    // Who still sees an old prompt is told so.
    let old = first.unwrap();
    let late = respond(&talk.gateway, &old, submit(json!({ "email": "x@y" }))).await;
    let current = ask.prompt_id;
    assert!(
        matches!(&late, Err(GatewayError::Rejected(Rejection::StalePrompt { current: now })) if *now == current),
        "{late:?}"
    );
    talk.respond(&ask, submit(json!({ "email": "ada@example.org" }))).await;
    assert_eq!(given(call).await, json!({ "email": "ada@example.org", "for": "news" }));
    assert_eq!(prompts(&talk).await.len(), 4);
}

#[test]
fn a_tool_that_died_with_a_response_in_its_hand_is_called_again_for_that_prompt() {
    let folder = folder();
    let (session, prompt) = killed(async {
        let stuck = Arc::new(Email { stuck: true, ..Email::default() });
        let world = World::with_tools(Arc::clone(&folder), vec![Arc::<Email>::clone(&stuck)]).await;
        let mut talk = world.talk().await;
        call(&world.gateway, talk.session, "call_1");
        let ask = talk.ask().await;
        talk.respond(&ask, submit(json!({ "email": "ada@example.org" }))).await;
        stuck.called.notified().await;
        (talk.session, ask.prompt_id)
    });
    killed(async {
        let tool = Arc::new(Email::default());
        let world = World::with_tools(Arc::clone(&folder), vec![Arc::<Email>::clone(&tool)]).await;
        // Whoever makes the same call again gets what the tool made of the answer. Nobody is asked.
        let result = given(call(&world.gateway, session, "call_1")).await;
        assert_eq!(result, json!({ "email": "ada@example.org", "for": "news" }));
        let talk = Talk::watch(&world.gateway, session, Seq(0)).await;
        assert_eq!(prompts(&talk).await.len(), 1);
        assert!(tool.seen.lock().unwrap().iter().all(|seen| *seen == prompt));
        assert_eq!(settlements(&talk).await, 1);
    });
}

/// A gateway dies with the tool's ask open.
fn asked_and_killed(folder: &Arc<tempfile::TempDir>) -> (SessionId, InteractionRequest) {
    killed(async {
        let world = World::with_tools(Arc::clone(folder), vec![Arc::new(Email::default())]).await;
        let mut talk = world.talk().await;
        call(&world.gateway, talk.session, "call_1");
        (talk.session, talk.ask().await)
    })
}

#[test]
fn an_answer_that_comes_when_nobody_waits_is_handled_all_the_same() {
    let folder = folder();
    let (session, ask) = asked_and_killed(&folder);
    killed(async {
        let world = World::with_tools(Arc::clone(&folder), vec![Arc::new(Email::default())]).await;
        let mut talk = Talk::watch(&world.gateway, session, Seq(0)).await;
        talk.respond(&ask, submit(json!({ "email": "nonsense" }))).await;
        let again = loop {
            let next = talk.ask().await;
            if next.attempt == 2 {
                break next;
            }
        };
        talk.respond(&again, submit(json!({ "email": "ada@example.org" }))).await;
        let result = given(call(&world.gateway, session, "call_1")).await;
        assert_eq!(result["email"], "ada@example.org");
        assert_eq!(settlements(&talk).await, 1);
    });
}

#[test]
fn without_its_tool_an_answer_waits_for_a_gateway_that_has_it() {
    let folder = folder();
    let (session, ask) = asked_and_killed(&folder);
    killed(async {
        let world = World::on(Arc::clone(&folder)).await;
        let talk = Talk::watch(&world.gateway, session, Seq(0)).await;
        talk.respond(&ask, submit(json!({ "email": "ada@example.org" }))).await;
        let now = world.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
        assert!(matches!(now.state, AskState::Submitted { .. }));
        let called =
            tokio::time::timeout(PATIENCE, call(&world.gateway, session, "call_1")).await.unwrap().unwrap();
        assert!(matches!(called, Err(InteractionError::Gateway(GatewayError::NoTool { .. }))), "{called:?}");
    });
    killed(async {
        let world = World::with_tools(Arc::clone(&folder), vec![Arc::new(Email::default())]).await;
        assert_eq!(given(call(&world.gateway, session, "call_1")).await["email"], "ada@example.org");
    });
}

#[tokio::test]
async fn a_tool_remembers_approvals_under_keys_of_its_own() {
    let world = World::with_tools(folder(), vec![Arc::new(Email::default())]).await;
    let talk = world.talk().await;
    let context = |tool: &str| ToolContext {
        gateway: world.gateway.clone(),
        owner: owner("ada"),
        session: talk.session,
        turn: None,
        tool_call_id: ToolCallId::new("call").unwrap(),
        tool_name: tool.to_owned(),
        when_nobody: WhenNobody::Wait,
    };
    let (mail, other) = (context("mail"), context("other"));
    let ask = |n: u8| holdstead_protocol::InteractionId::derive(talk.session, &n.to_string());
    mail.approvals().set("to:bob", Scope::Once, "ada", ask(1)).await.unwrap();
    assert_eq!(mail.approvals().get("to:bob").await.unwrap(), None, "once is not remembered");
    mail.approvals().set("to:bob", Scope::Session, "ada", ask(2)).await.unwrap();
    mail.approvals().set("to:eve", Scope::Always, "ada", ask(3)).await.unwrap();
    assert_eq!(mail.approvals().get("to:bob").await.unwrap(), Some(Scope::Session));
    assert_eq!(mail.approvals().get("to:eve").await.unwrap(), Some(Scope::Always));
    assert_eq!(mail.approvals().get("to:bo").await.unwrap(), None, "a key is literal");
    assert_eq!(other.approvals().get("to:bob").await.unwrap(), None, "a key is its tool's");
    mail.approvals().clear_session().await.unwrap();
    assert_eq!(mail.approvals().get("to:bob").await.unwrap(), None);
    assert_eq!(mail.approvals().get("to:eve").await.unwrap(), Some(Scope::Always));
}

/// Remembers what was approved under a key of its own, by the ask it is given.
struct Remembers(ToolContext);

#[async_trait]
impl ResponseHandler for Remembers {
    async fn on_response(&self, response: ToolResponse) -> Result<ToolOutcome, ToolFailure> {
        let (Response::Approve { scope, .. }, Decider::Person { name, .. }) =
            (&response.response, &response.decider)
        else {
            return Ok(ToolOutcome::Complete(json!("no")));
        };
        let set = self.0.approvals().set("to:bob", *scope, name, response.interaction_id).await;
        set.map_err(|error| ToolFailure(error.to_string()))?;
        Ok(ToolOutcome::Complete(json!("remembered")))
    }
}

#[tokio::test]
async fn a_tool_remembers_the_very_answer_that_it_was_given() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let context = ToolContext {
        gateway: talk.gateway.clone(),
        owner: owner("ada"),
        session: talk.session,
        turn: None,
        tool_call_id: ToolCallId::new("call_1").unwrap(),
        tool_name: "mail".to_owned(),
        when_nobody: WhenNobody::Wait,
    };
    let asking = context.clone();
    let calling = tokio::spawn(async move {
        let handler = Remembers(asking.clone());
        asking.request_interaction(Interaction::approval(json!({ "to": "bob" })), &handler).await
    });
    let ask = talk.ask().await;
    // The gateway remembers the exact input of the same answer: both are kept.
    talk.respond(
        &ask,
        ResponseDraft::Approve { scope: Some(Scope::Session), lines: Vec::new(), edited_input: None },
    )
    .await;
    let result = tokio::time::timeout(crate::world::PATIENCE, calling).await.unwrap().unwrap();
    assert_eq!(result.unwrap(), json!("remembered"));
    assert_eq!(context.approvals().get("to:bob").await.unwrap(), Some(Scope::Session));
    let record = talk.gateway.journal().session(talk.session).await.unwrap().unwrap();
    assert_eq!(record.state.grants.len(), 2);
}

async fn settlements(talk: &Talk) -> usize {
    let events = talk.gateway.journal().read(talk.session, Seq(0), 1000).await.unwrap();
    let settled = events.iter().filter(|event| {
        matches!(&event.body, EventBody::InteractionUpdate(update)
            if matches!(update.change, holdstead_protocol::AskChange::Settled { .. }))
    });
    settled.count()
}

/// Runs until its runtime is dropped, without a goodbye.
fn killed<T>(scene: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let result = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(30), scene).await });
    runtime.shutdown_background();
    result.expect("the scene ends in time")
}

#[tokio::test]
async fn where_several_nodes_could_one_calls_the_tool() {
    let deployment = Deployment::new(By::Notify).await;
    let email = Arc::new(Email::default());
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::clone(&email) as Arc<dyn Tool>];
    let with = || GatewayConfig { tools: tools.clone(), ..config(GatewayConfig::DEFAULT_HOLD) };
    let (first, second) =
        (deployment.node_with("first", with()).await, deployment.node_with("second", with()).await);
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&first, session, Seq(0)).await;
    for n in 0..10 {
        // One waits on each node, and the answer comes to one of them.
        let id = format!("call {n}");
        let here = call(&first, session, &id);
        let ask = talk.ask().await;
        let there = call(&second, session, &id);
        respond(&second, &ask, submit(json!({ "email": "ada@example.org" }))).await.unwrap();
        assert_eq!(given(here).await, given(there).await);
        assert_eq!(email.seen.lock().unwrap().len(), n + 1, "once for each");
    }
    deployment.end([first, second]).await;
}

#[tokio::test]
async fn a_node_that_stops_in_the_middle_of_a_call_leaves_it_to_the_other() {
    let deployment = Deployment::new(By::Notify).await;
    let (stuck, email) = (Arc::new(Email { stuck: true, ..Email::default() }), Arc::new(Email::default()));
    let with = |tool: &Arc<Email>| {
        let tools: Vec<Arc<dyn Tool>> = vec![Arc::clone(tool) as Arc<dyn Tool>];
        GatewayConfig { tools, ..config(GatewayConfig::DEFAULT_HOLD) }
    };
    let first = deployment.node_with("first", with(&stuck)).await;
    let second = deployment.node_with("second", with(&email)).await;
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&first, session, Seq(0)).await;
    let here = call(&first, session, "call");
    let ask = talk.ask().await;
    respond(&first, &ask, submit(json!({ "email": "ada@example.org" }))).await.unwrap();
    tokio::time::timeout(PATIENCE, stuck.called.notified()).await.expect("it is called");
    let there = call(&second, session, "call");
    here.abort();
    first.stop().await;
    assert_eq!(given(there).await["email"], "ada@example.org");
    deployment.end([first, second]).await;
}
