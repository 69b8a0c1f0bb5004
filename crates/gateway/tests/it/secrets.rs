//! A secret answer reaches the one who asked, and nobody else.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdstead_agents::{AgentEvent, Resolution};
use holdstead_core::{Rejection, SearchWords};
use holdstead_gateway::{
    CallerAsk, Gateway, GatewayConfig, GatewayError, Interaction, Person, Reprompt, ResponseHandler,
    ToolContext, ToolFailure, ToolOutcome, ToolResponse, WhenNobody,
};
use holdstead_protocol::api::{AskCall, AskCallBody, Respond};
use holdstead_protocol::{
    AskBody, EventBody, Field, FieldErrors, FieldKind, Form, Hold, HoldThen, InteractionId,
    InteractionRequest, PromptId, Question, Response, SECRET, SessionId, Surface, ToolCallId,
};
use holdstead_store::SealedSecret;
use serde_json::{Value, json};
use tokio::time::advance;

use crate::actor::{Actor, MINUTE, Stage, approval, ask};
use crate::world::{PATIENCE, Talk, World, ada, answer, map, owner, respond, submit};

const PLANTED: &str = "hunter2 \"friend\"";

fn pin() -> Question {
    Question {
        id: "pin".to_owned(),
        header: "Pin".to_owned(),
        question: "Your pin?".to_owned(),
        options: Vec::new(),
        multi_select: false,
        allow_other: true,
        secret: true,
        multiline: false,
    }
}

fn token_form() -> Form {
    let field = Field {
        id: "token".to_owned(),
        label: "Token".to_owned(),
        description: None,
        required: true,
        default: None,
        kind: FieldKind::Secret {},
    };
    Form { title: None, fields: vec![field] }
}

fn pin_ask(call: &str) -> holdstead_agents::Ask {
    ask(call, "AskUserQuestion", json!({}), AskBody::Question { questions: vec![pin()] })
}

/// The agent asks for the pin, and is told it.
async fn told(talk: &mut Talk, actor: &mut Actor, secret: &str) -> InteractionRequest {
    actor.says(AgentEvent::Ask(Box::new(pin_ask("call_1")))).await;
    let ask = talk.ask().await;
    talk.respond(&ask, answer(json!({ "pin": secret }))).await;
    let Resolution::Settled { response: Response::Answer { answers }, .. } = actor.is_told("call_1").await
    else {
        panic!("an answer")
    };
    assert_eq!(answers[0].other.as_deref(), Some(secret));
    ask
}

async fn nothing_is_kept(gateway: &Gateway) {
    // By the clock on the wall: the one of these tests may stand still.
    let began = std::time::Instant::now();
    while began.elapsed() < PATIENCE {
        if gateway.journal().secrets().await.unwrap().is_empty() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("a sealed secret is still there");
}

async fn thoughts(talk: &Talk) -> usize {
    let journal = talk.journal().await;
    journal.iter().filter(|event| matches!(event.body, EventBody::ThinkingDelta(_))).count()
}

async fn written(talk: &Talk) -> String {
    serde_json::to_string(&talk.journal().await).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_agent_is_told_the_secret_and_the_journal_is_not() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    told(&mut talk, &mut actor, PLANTED).await;
    let kept = talk.gateway.journal().secrets().await.unwrap();
    assert_eq!(kept.len(), 1);
    assert!(!String::from_utf8_lossy(&kept[0].sealed).contains("hunter2"));
    let tool_call_id = ToolCallId::new("call_1").unwrap();
    actor.says(AgentEvent::Acknowledged { tool_call_id }).await;
    actor.ends_turn().await;
    talk.completed().await;
    nothing_is_kept(&talk.gateway).await;
    let written = written(&talk).await;
    assert!(written.contains(SECRET) && !written.contains("hunter2"), "{written}");
    let find = async |word: &str| {
        let words = SearchWords::of(word).unwrap();
        talk.gateway.search(&owner("ada"), words, None, 10).await.unwrap().results
    };
    assert_eq!((find("pin").await.len(), find("hunter2").await.len(), find("secret").await.len()), (1, 0, 0));
    let decided = talk.gateway.decisions(&owner("ada"), None, 10).await.unwrap().decisions;
    assert_eq!(decided[0].words.as_deref(), Some(SECRET));
}

#[tokio::test(start_paused = true)]
async fn what_the_agent_says_later_is_masked_even_in_pieces() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    told(&mut talk, &mut actor, PLANTED).await;
    let call = || ToolCallId::new("call_2").unwrap();
    for (at, piece) in ["It is hun", "ter2 \"", "friend\". Or hun", "ting."].into_iter().enumerate() {
        actor.says(AgentEvent::Text { text: piece.to_owned(), parents: Vec::new() }).await;
        // Another stream in between breaks nothing.
        actor.says(AgentEvent::Thinking { text: "hmm ".to_owned(), parents: Vec::new() }).await;
        // Each piece is written before the next one comes.
        while thoughts(&talk).await <= at {
            advance(Duration::from_millis(60)).await;
        }
    }
    actor
        .says(AgentEvent::ToolCallDelta { tool_call_id: call(), text: "{\"c\":\"hunter2 \\\"fri".into() })
        .await;
    advance(Duration::from_millis(100)).await;
    actor.says(AgentEvent::ToolCallDelta { tool_call_id: call(), text: "end\\\"\"}".into() }).await;
    actor.says(AgentEvent::ToolCallEnd { tool_call_id: call(), input: json!({ "c": PLANTED }) }).await;
    let output = json!([format!("ok {PLANTED}")]);
    actor.says(AgentEvent::ToolResult { tool_call_id: call(), output, is_error: false }).await;
    actor.says(AgentEvent::Error { message: format!("{PLANTED} is wrong") }).await;
    actor.ends_turn().await;
    talk.completed().await;
    let (mut said, mut streamed) = (String::new(), String::new());
    for event in talk.journal().await {
        match event.body {
            EventBody::TextDelta(delta) => said += &delta.text,
            EventBody::ToolCallDelta(delta) => streamed += &delta.text,
            EventBody::ToolCallEnd(end) => assert_eq!(end.input, json!({ "c": "•••" })),
            EventBody::ToolResult(result) => assert_eq!(result.output, json!(["ok •••"])),
            _ => {}
        }
    }
    assert_eq!(said, "It is •••. Or hunting.");
    assert_eq!(streamed, "{\"c\":\"•••\"}");
    assert!(!written(&talk).await.contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn an_approval_shows_the_mask_and_the_agent_goes_on_with_what_it_asked_about() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    told(&mut talk, &mut actor, "hunter2").await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_2", "login hunter2")))).await;
    let ask = talk.ask().await;
    assert_eq!(ask.input, json!({ "command": "login •••" }));
    assert!(!ask.capabilities.edit_input && !ask.capabilities.scopes);
    talk.respond(&ask, crate::world::approve()).await;
    let Resolution::Settled { input, .. } = actor.is_told("call_2").await else { panic!("approved") };
    assert_eq!(input, json!({ "command": "login hunter2" }));
}

#[tokio::test(start_paused = true)]
async fn a_secret_whose_arrival_is_unknown_is_asked_for_again() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    let first = told(&mut talk, &mut actor, "hunter2").await;
    actor.says(AgentEvent::Ask(Box::new(pin_ask("call_2")))).await;
    talk.ask().await;
    actor.exits(false).await;
    nothing_is_kept(&talk.gateway).await;
    // Another life comes for the second ask, and makes the first call again.
    let second = talk.gateway.open_ask_of_call(&owner("ada"), talk.session, "call_2").await.unwrap();
    talk.respond(&second.request, answer(json!({ "pin": "other one" }))).await;
    let actor = stage.life().await;
    actor.says(AgentEvent::Ask(Box::new(pin_ask("call_1")))).await;
    let again = talk.ask().await;
    assert_ne!(again.interaction_id, first.interaction_id);
}

#[tokio::test(start_paused = true)]
async fn a_held_secret_closes_where_others_are_deferred_and_comes_late_to_nobody() {
    let mut stage = Stage::new(Hold { after_ms: 60_000, then: HoldThen::Defer }).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(pin_ask("call_1")))).await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;
    advance(2 * MINUTE).await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Closed { .. }));
    let late = respond(&talk.gateway, &ask, answer(json!({ "pin": PLANTED }))).await;
    assert!(matches!(late, Err(GatewayError::Rejected(Rejection::SecretTooLate))), "{late:?}");
    nothing_is_kept(&talk.gateway).await;
    assert!(!written(&talk).await.contains("hunter2"));
}

fn program() -> Person {
    Person::new(owner("ada"), "deployer", Surface::Api)
}

async fn asked_by_program(gateway: &Gateway) -> holdstead_protocol::api::Interaction {
    let body = AskCallBody::Form { form: token_form().into() };
    let call = AskCall::new("k", "deploy", Value::Null, body);
    gateway.ask(&program(), CallerAsk::Own, call).await.unwrap()
}

#[tokio::test]
async fn a_program_fetches_its_secret_once_and_after_a_restart_too() {
    let world = World::new().await;
    let asked = asked_by_program(&world.gateway).await;
    respond(&world.gateway, &asked.request, submit(json!({ "token": PLANTED }))).await.unwrap();
    let world = world.restart().await;
    let id = asked.request.interaction_id;
    let shown = world.gateway.interaction(&owner("ada"), id).await.unwrap();
    let input = |ask: &holdstead_protocol::api::Interaction| match &ask.response.as_ref().unwrap().response {
        Response::Submit { input } => Value::Object(input.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(input(&shown), json!({ "token": SECRET }));
    assert_eq!(input(&world.gateway.fetched(shown).await.unwrap()), json!({ "token": PLANTED }));
    nothing_is_kept(&world.gateway).await;
    let again = world.gateway.interaction(&owner("ada"), id).await.unwrap();
    assert_eq!(input(&world.gateway.fetched(again).await.unwrap()), json!({ "token": SECRET }));
}

#[tokio::test]
async fn of_many_secrets_the_winners_is_kept_and_the_same_key_takes_no_other() {
    let world = World::new().await;
    let asked = asked_by_program(&world.gateway).await;
    let body = |key: &str, token: &str| Respond {
        prompt_id: asked.request.prompt_id,
        idempotency_key: key.to_owned(),
        response: submit(json!({ "token": token })),
    };
    let id = asked.request.interaction_id;
    let mut racers = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (gateway, body) =
            (world.gateway.clone(), body(&format!("key {number}"), &format!("token {number}")));
        racers.spawn(async move { (number, gateway.respond(&ada(), id, body).await.is_ok()) });
    }
    let winners: Vec<i32> =
        racers.join_all().await.into_iter().filter(|one| one.1).map(|one| one.0).collect();
    let [winner] = winners.as_slice() else { panic!("{} won", winners.len()) };
    let key = format!("key {winner}");
    world.gateway.respond(&ada(), id, body(&key, &format!("token {winner}"))).await.unwrap();
    let other = world.gateway.respond(&ada(), id, body(&key, "another")).await;
    assert!(matches!(other, Err(GatewayError::Rejected(Rejection::KeyReused))), "{other:?}");
    assert_eq!(world.gateway.journal().secrets().await.unwrap().len(), 1);
    let settled = world.gateway.interaction(&owner("ada"), id).await.unwrap();
    let fetched = world.gateway.fetched(settled).await.unwrap();
    let Response::Submit { input } = fetched.response.unwrap().response else { panic!("a form") };
    assert_eq!(input["token"], format!("token {winner}"));
}

#[tokio::test]
async fn what_a_killed_gateway_left_is_swept_up() {
    let world = World::new().await;
    let session = SessionId::generate(&owner("ada"));
    let orphan = SealedSecret {
        answer: "nobody's".to_owned(),
        session,
        interaction: InteractionId::derive(session, "gone"),
        prompt: PromptId::generate(),
        sealed: vec![1],
        at: world.gateway.journal().now().await.unwrap(),
    };
    world.gateway.journal().keep_secret(orphan).await.unwrap();
    let world = world.restart().await;
    nothing_is_kept(&world.gateway).await;
}

/// Wants a longer one the first time, and says too much about it.
#[derive(Default)]
struct Picky {
    seen: Mutex<Vec<Response>>,
}

#[async_trait]
impl ResponseHandler for Picky {
    async fn on_response(&self, response: ToolResponse) -> Result<ToolOutcome, ToolFailure> {
        let mut seen = self.seen.lock().unwrap();
        seen.push(response.response);
        Ok(match seen.len() {
            1 => ToolOutcome::Reprompt(Reprompt {
                interaction: None,
                error: Some("`short one` is too short".to_owned()),
                field_errors: FieldErrors::from([("token".to_owned(), "not `short one`".to_owned())]),
                initial_values: map(json!({ "token": "short one" })),
            }),
            _ => ToolOutcome::Complete(json!("thanks")),
        })
    }
}

#[tokio::test]
async fn a_tool_sees_the_secret_and_cannot_show_it_again() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let context = ToolContext {
        gateway: talk.gateway.clone(),
        owner: owner("ada"),
        session: talk.session,
        turn: None,
        tool_call_id: ToolCallId::new("call_1").unwrap(),
        tool_name: "deploy".to_owned(),
        when_nobody: WhenNobody::Wait,
    };
    let handler = Arc::new(Picky::default());
    let tool = Arc::clone(&handler);
    let form = Interaction::form(token_form());
    let call = tokio::spawn(async move { context.request_interaction(form, tool.as_ref()).await });
    let first = talk.ask().await;
    talk.respond(&first, submit(json!({ "token": "short one" }))).await;
    let second = talk.ask().await;
    assert_eq!((second.attempt, second.error.as_deref()), (2, Some("`•••` is too short")));
    assert!(second.initial_values.is_empty());
    talk.respond(&second, submit(json!({ "token": "a longer one" }))).await;
    let done = tokio::time::timeout(PATIENCE, call).await.unwrap().unwrap().unwrap();
    assert_eq!(done, json!("thanks"));
    let seen: Vec<Response> = handler.seen.lock().unwrap().clone();
    let token = |text: &str| Response::Submit { input: map(json!({ "token": text })) };
    assert_eq!(seen, [token("short one"), token("a longer one")]);
    nothing_is_kept(&talk.gateway).await;
    let written = written(&talk).await;
    assert!(!written.contains("short one") && !written.contains("longer one"), "{written}");
}
