//! A tool looks at an answer, and says what comes next.

use std::sync::Arc;

use async_trait::async_trait;
use holdstead_gateway::{
    Interaction, InteractionError, Reprompt, Tool, ToolCall, ToolContext, ToolFailure, ToolOutcome,
    ToolResponse, WhenNobody,
};
use holdstead_protocol::{
    AskBody, AskState, EventBody, Field, FieldKind, Form, InteractionRequest, Response, Settlement,
    ToolCallId,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::world::{PATIENCE, Talk, World, approve, owner, submit};

/// What it makes of an answer.
type Next = fn(&ToolResponse) -> Result<ToolOutcome, ToolFailure>;

/// Asks where to, then asks what `next` makes of the answer.
#[derive(Debug)]
struct Travel {
    next: Next,
}

fn form(id: &str) -> Interaction {
    let field = Field {
        id: id.to_owned(),
        label: id.to_owned(),
        description: None,
        required: true,
        default: None,
        kind: FieldKind::Text { min_length: None, max_length: None, format: None },
    };
    Interaction::form(Form { title: Some(format!("{id}?")), fields: vec![field] })
}

fn again(interaction: Interaction) -> Result<ToolOutcome, ToolFailure> {
    Ok(ToolOutcome::Reprompt(Reprompt { interaction: Some(Box::new(interaction)), ..Reprompt::default() }))
}

#[async_trait]
impl Tool for Travel {
    fn name(&self) -> &str {
        "travel"
    }

    fn description(&self) -> &str {
        "Plans a journey with a person"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn call(&self, context: &ToolContext, _input: Value) -> Result<Value, InteractionError> {
        context.request_durable(form("country").saying("Where shall we go?"), json!({}), None).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        _state: &Value,
        response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        (self.next)(&response)
    }
}

async fn with(next: Next) -> (World, Talk) {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let world = World::with_tools(folder, vec![Arc::new(Travel { next })]).await;
    let talk = world.talk().await;
    (world, talk)
}

fn call(talk: &Talk) -> JoinHandle<Result<Value, InteractionError>> {
    let call = ToolCall {
        owner: owner("ada"),
        session: talk.session,
        turn: None,
        tool_call_id: ToolCallId::new("call_1").unwrap(),
        name: "travel".to_owned(),
        input: json!({}),
        when_nobody: WhenNobody::Wait,
    };
    let gateway = talk.gateway.clone();
    tokio::spawn(async move { gateway.call_tool(call).await })
}

async fn result(call: JoinHandle<Result<Value, InteractionError>>) -> Result<Value, InteractionError> {
    tokio::time::timeout(PATIENCE, call).await.expect("in time").unwrap()
}

fn fields(ask: &InteractionRequest) -> Vec<&str> {
    let AskBody::Form { form } = &ask.body else { panic!("{ask:?}") };
    form.fields.iter().map(|field| field.id.as_str()).collect()
}

fn city_then_done(response: &ToolResponse) -> Result<ToolOutcome, ToolFailure> {
    match (&response.response, response.attempt) {
        (Response::Submit { .. }, 1) => again(form("city").saying("Which city?")),
        (Response::Submit { input }, _) => Ok(ToolOutcome::Complete(json!(input))),
        (_, _) => Err(ToolFailure("no form".to_owned())),
    }
}

#[tokio::test]
async fn asking_again_may_bring_another_form_and_the_same_call_still_finds_it() {
    let (_world, mut talk) = with(city_then_done).await;
    let first_call = call(&talk);
    let first = talk.ask().await;
    assert_eq!((fields(&first), first.agent_says.as_deref()), (vec!["country"], Some("Where shall we go?")));
    talk.respond(&first, submit(json!({ "country": "Peru" }))).await;
    let second = talk.ask().await;
    assert_eq!((fields(&second), second.agent_says.as_deref()), (vec!["city"], Some("Which city?")));
    assert_eq!((second.interaction_id, second.attempt), (first.interaction_id, 2));
    // Whoever makes the call again, after a restart say, asks nothing new.
    let repeated = call(&talk);
    talk.respond(&second, submit(json!({ "city": "Cusco" }))).await;
    for call in [first_call, repeated] {
        assert_eq!(result(call).await.unwrap(), json!({ "city": "Cusco" }));
    }
    let asked = talk.journal().await.into_iter();
    let asked = asked.filter(|event| matches!(event.body, EventBody::InteractionRequest(_)));
    assert_eq!(asked.count(), 2);
}

fn is_it_all_right(_: &ToolResponse) -> Result<ToolOutcome, ToolFailure> {
    again(Interaction::approval(json!({ "book": true })))
}

fn too_much(_: &ToolResponse) -> Result<ToolOutcome, ToolFailure> {
    Ok(ToolOutcome::Complete(json!("x".repeat(2_000_000))))
}

#[tokio::test]
async fn what_cannot_be_asked_or_kept_ends_the_call_and_leaves_nobody_waiting() {
    let cases: [(Next, &str); 2] = [(is_it_all_right, "another kind"), (too_much, "too large")];
    for (next, words) in cases {
        let (_world, mut talk) = with(next).await;
        let calling = call(&talk);
        let ask = talk.ask().await;
        talk.respond(&ask, submit(json!({ "country": "Peru" }))).await;
        let failed = result(calling).await.unwrap_err().to_string();
        assert!(failed.contains(words), "{failed}");
        let shown = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
        assert_eq!(shown.state, AskState::Settled { settlement: Settlement::Failed });
        assert!(shown.failure.is_some_and(|why| why.contains(words)));
        // Made again, it fails in the same words, and nobody is asked.
        let failed = result(call(&talk)).await.unwrap_err().to_string();
        assert!(failed.contains(words), "{failed}");
    }
}

#[derive(Debug)]
struct Gate;

#[async_trait]
impl Tool for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn description(&self) -> &str {
        "Asks before it sends"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<Value, InteractionError> {
        let ask = Interaction::approval(input).saying("Send this to 300 people?");
        context.request_durable(ask, json!({}), None).await
    }

    async fn on_response(
        &self,
        _context: &ToolContext,
        _state: &Value,
        response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        let approved = matches!(response.response, Response::Approve { .. });
        Ok(ToolOutcome::Complete(json!({ "sent": approved })))
    }
}

#[tokio::test]
async fn an_approval_has_words_of_its_tool() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let world = World::with_tools(folder, vec![Arc::new(Gate)]).await;
    let mut talk = world.talk().await;
    let call = ToolCall {
        owner: owner("ada"),
        session: talk.session,
        turn: None,
        tool_call_id: ToolCallId::new("call_1").unwrap(),
        name: "gate".to_owned(),
        input: json!({ "subject": "Hello" }),
        when_nobody: WhenNobody::Wait,
    };
    let gateway = talk.gateway.clone();
    let calling = tokio::spawn(async move { gateway.call_tool(call).await });
    let ask = talk.ask().await;
    assert_eq!(ask.agent_says.as_deref(), Some("Send this to 300 people?"));
    assert_eq!(ask.input, json!({ "subject": "Hello" }), "what is decided on is the input");
    talk.respond(&ask, approve()).await;
    assert_eq!(result(calling).await.unwrap(), json!({ "sent": true }));
}
