//! Known secrets are masked wherever a program or a tool writes them.

use std::sync::Arc;

use async_trait::async_trait;
use holdstead_core::Rejection;
use holdstead_gateway::{
    CallerAsk, Gateway, GatewayError, Interaction, InteractionError, Person, Reprompt, Tool, ToolCall,
    ToolContext, ToolFailure, ToolOutcome, ToolResponse, WhenNobody,
};
use holdstead_protocol::api::{AskCall, AskCallBody};
use holdstead_protocol::{
    AskBody, CompletedView, Field, FieldErrors, FieldKind, FieldOption, Form, InteractionId,
    InteractionRequest, Question, QuestionOption, Response, Scope, Seq, SessionId, Surface, ToolCallId,
};
use serde_json::{Value, json};

use crate::world::{Talk, World, map, owner, respond, submit};

const PLANTED: &str = "hunter2 \"friend\"";

fn program() -> Person {
    Person::new(owner("ada"), "deployer", Surface::Api)
}

fn field(id: &str, label: &str, kind: FieldKind) -> Field {
    Field {
        id: id.to_owned(),
        label: label.to_owned(),
        description: None,
        required: false,
        default: None,
        kind,
    }
}

fn form(fields: Vec<Field>) -> AskCallBody {
    AskCallBody::Form { form: Form { title: None, fields }.into() }
}

/// A program that was told the secret, in its own session.
async fn told(gateway: &Gateway, id: &str, secret: &str) -> SessionId {
    let body = form(vec![field(id, "Token", FieldKind::Secret {})]);
    let call = AskCall::new("first", "deploy", Value::Null, body);
    let asked = gateway.ask(&program(), CallerAsk::Own, call).await.unwrap();
    respond(gateway, &asked.request, submit(json!({ id: secret }))).await.unwrap();
    let settled = gateway.interaction(&owner("ada"), asked.request.interaction_id).await.unwrap();
    gateway.fetched(settled).await.unwrap();
    asked.session_id
}

async fn asks(gateway: &Gateway, call: AskCall) -> Result<InteractionRequest, GatewayError> {
    gateway.ask(&program(), CallerAsk::Own, call).await.map(|asked| asked.request)
}

async fn written(gateway: &Gateway, session: SessionId) -> String {
    let (events, _) = gateway.read(&owner("ada"), session, Seq(0), 1_000).await.unwrap();
    serde_json::to_string(&events).unwrap()
}

#[tokio::test]
async fn whatever_a_program_writes_is_masked_in_values_and_in_keys() {
    let world = World::new().await;
    let session = told(&world.gateway, "token", PLANTED).await;
    let options = vec![FieldOption { value: PLANTED.to_owned(), label: format!("Use {PLANTED}") }];
    let fields = vec![
        Field {
            description: Some(format!("not {PLANTED}")),
            default: Some(json!(PLANTED)),
            ..field("a", &format!("{PLANTED}?"), FieldKind::Select { options })
        },
        field("b", "B", FieldKind::Textarea { min_length: None, max_length: None }),
    ];
    let view = CompletedView { show_inputs: true, summary_template: Some(format!("{PLANTED} {{{{a}}}}")) };
    let whole = AskCall {
        agent_says: Some(format!("because of {PLANTED}")),
        error: Some(PLANTED.to_owned()),
        field_errors: FieldErrors::from([
            ("a".to_owned(), PLANTED.to_owned()),
            (PLANTED.to_owned(), "?".to_owned()),
        ]),
        initial_values: map(json!({ PLANTED: 1, "b": PLANTED })),
        completed_view: Some(view),
        ..AskCall::new(
            "second",
            format!("log in with {PLANTED}"),
            json!({ PLANTED: [PLANTED] }),
            form(fields),
        )
    };
    let shown = asks(&world.gateway, whole).await.unwrap();
    assert_eq!(shown.tool_name, "log in with •••");
    assert_eq!(shown.input, json!({ "•••": ["•••"] }));
    assert_eq!(Value::from(shown.field_errors.clone()), json!({ "a": "•••", "•••": "?" }));
    assert_eq!(Value::from(shown.initial_values.clone()), json!({ "•••": 1, "b": "•••" }));
    let AskBody::Form { form } = &shown.body else { panic!("a form") };
    let FieldKind::Select { options } = &form.fields[0].kind else { panic!("a choice") };
    assert_eq!((options[0].value.as_str(), options[0].label.as_str()), ("•••", "Use •••"));
    let written = written(&world.gateway, session).await;
    assert!(!written.contains("hunter2"), "{written}");
    // What is left is still an ask that a person can answer.
    respond(&world.gateway, &shown, submit(json!({ "a": "•••", "b": "fine" }))).await.unwrap();
}

#[tokio::test]
async fn an_id_is_never_masked_and_one_with_a_secret_in_it_is_refused() {
    let world = World::new().await;
    let session = told(&world.gateway, "token", "hunter2").await;
    let question = Question {
        id: "use hunter2".to_owned(),
        header: "Use".to_owned(),
        question: "Use it?".to_owned(),
        options: vec![QuestionOption { label: "Yes".to_owned(), description: None, preview: None }],
        multi_select: false,
        allow_other: false,
        secret: false,
        multiline: false,
    };
    let bodies = [
        AskCallBody::Question { questions: vec![question] },
        form(vec![field("hunter2", "F", FieldKind::Checkbox {})]),
    ];
    for (index, body) in bodies.into_iter().enumerate() {
        let call = AskCall::new(index.to_string(), "deploy", Value::Null, body);
        let refused = asks(&world.gateway, call).await;
        assert!(
            matches!(refused, Err(GatewayError::Rejected(Rejection::SecretInName { .. }))),
            "{refused:?}"
        );
    }
    assert!(!written(&world.gateway, session).await.contains("hunter2"));
}

#[tokio::test]
async fn a_secret_that_is_the_name_of_its_own_field_does_not_break_the_next_form() {
    let world = World::new().await;
    told(&world.gateway, "password", "password").await;
    let again = AskCall {
        error: Some("password is too weak".to_owned()),
        field_errors: FieldErrors::from([("password".to_owned(), "not password".to_owned())]),
        ..AskCall::new(
            "second",
            "sign up",
            Value::Null,
            form(vec![field("password", "Your password", FieldKind::Secret {})]),
        )
    };
    let shown = asks(&world.gateway, again).await.unwrap();
    assert_eq!(shown.error.as_deref(), Some("••• is too weak"));
    assert_eq!(Value::from(shown.field_errors.clone()), json!({ "password": "not •••" }));
    let asked = respond(&world.gateway, &shown, submit(json!({ "password": "a better one" }))).await;
    asked.unwrap();
}

/// Keeps what it was told as its state, and asks once more with it.
#[derive(Debug)]
struct Careless;

#[async_trait]
impl Tool for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    fn description(&self) -> &str {
        "Says too much"
    }

    fn schema(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn call(&self, context: &ToolContext, _input: Value) -> Result<Value, InteractionError> {
        let form = |fields| Interaction::form(Form { title: None, fields });
        let secret = form(vec![field("token", "Token", FieldKind::Secret {})]);
        let told = context.request_durable(secret, json!({}), None).await?;
        let more = form(vec![field("more", "More", FieldKind::Checkbox {})]);
        context.request_durable(more, json!({ "told": told.clone(), PLANTED: 1 }), None).await
    }

    async fn on_response(
        &self,
        context: &ToolContext,
        _state: &Value,
        response: ToolResponse,
    ) -> Result<ToolOutcome, ToolFailure> {
        let Response::Submit { input } = response.response else { return Err(ToolFailure("?".to_owned())) };
        let Some(token) = input.get("token") else { return Ok(ToolOutcome::Complete(json!("over"))) };
        let key = format!("log in with {PLANTED}");
        let remembered =
            context.approvals().set(&key, Scope::Always, "Ada", response.interaction_id).await.unwrap_err();
        assert!(matches!(remembered, GatewayError::Rejected(Rejection::SecretInName { .. })));
        if response.attempt == 1 {
            return Ok(ToolOutcome::Reprompt(Reprompt {
                interaction: None,
                error: Some(format!("not {PLANTED}")),
                field_errors: FieldErrors::from([(PLANTED.to_owned(), "?".to_owned())]),
                initial_values: map(json!({ PLANTED: PLANTED })),
            }));
        }
        Ok(ToolOutcome::Complete(json!({ "token": token })))
    }
}

#[tokio::test]
async fn a_tools_state_is_masked_and_its_ask_still_finds_it() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let world = World::with_tools(folder, vec![Arc::new(Careless)]).await;
    let mut talk: Talk = world.talk().await;
    let call = ToolCall {
        name: "careless".to_owned(),
        input: json!({}),
        owner: owner("ada"),
        session: talk.session,
        turn: None,
        tool_call_id: ToolCallId::new("call_1").unwrap(),
        when_nobody: WhenNobody::Wait,
    };
    let gateway = world.gateway.clone();
    let calling = tokio::spawn(async move { gateway.call_tool(call).await });
    for _ in 0..2 {
        let ask = talk.ask().await;
        talk.respond(&ask, submit(json!({ "token": PLANTED }))).await;
    }
    let more = talk.ask().await;
    assert_eq!(more.handler_state, Some(json!({ "told": { "token": "•••" }, "•••": 1 })));
    talk.respond(&more, submit(json!({ "more": true }))).await;
    assert_eq!(calling.await.unwrap().unwrap(), json!("over"));
    let written = serde_json::to_string(&talk.journal().await).unwrap();
    assert!(!written.contains("hunter2"), "{written}");
    let id: InteractionId = more.interaction_id;
    assert!(talk.gateway.interaction(&owner("ada"), id).await.unwrap().response.is_some());
}
