//! Any program asks, and fetches what was decided.

use std::time::Duration;

use holdstead_core::Rejection;
use holdstead_gateway::{CallerAsk, Direct, Gateway, GatewayError, Person};
use holdstead_protocol::api::{AskCall, AskCallBody, LONGEST_TIMEOUT_MS, Respond, SendMessage};
use holdstead_protocol::transport::{InteractionMode, Transport as _};
use holdstead_protocol::{
    Answer, AskState, Closing, Delivery, Question, Response, ResponseDraft, Settlement, Surface,
};
use serde_json::{Value, json};

use crate::world::{PATIENCE, World, ada, answer, approve, owner, respond};

fn program() -> Person {
    Person::new(owner("ada"), "deployer", Surface::Api)
}

fn approval(key: &str, input: Value) -> AskCall {
    let body = AskCallBody::Approval { preview: None, editable: false, scopes: Vec::new() };
    AskCall::new(key, "deploy", input, body)
}

fn question(key: &str, words: &str) -> AskCall {
    let question = Question {
        id: "q".to_owned(),
        header: "Q".to_owned(),
        question: words.to_owned(),
        options: Vec::new(),
        multi_select: false,
        allow_other: true,
        secret: false,
        multiline: false,
    };
    AskCall { body: AskCallBody::Question { questions: vec![question] }, ..approval(key, Value::Null) }
}

async fn ask(gateway: &Gateway, call: AskCall) -> Result<holdstead_protocol::api::Interaction, GatewayError> {
    gateway.ask(&program(), CallerAsk::Own, call).await
}

#[tokio::test]
async fn the_same_key_finds_the_same_ask_and_another_body_is_refused() {
    let world = World::new().await;
    let first = ask(&world.gateway, approval("k", json!({ "to": "production" }))).await.unwrap();
    let again = ask(&world.gateway, approval("k", json!({ "to": "production" }))).await.unwrap();
    assert_eq!(first, again);
    for changed in [approval("k", json!({ "to": "staging" })), question("k", "Where?")] {
        let refused = ask(&world.gateway, changed).await;
        assert!(matches!(refused, Err(GatewayError::Rejected(Rejection::AskChanged))), "{refused:?}");
    }
    // A question has no input: its words are what must not change.
    ask(&world.gateway, question("q", "May I?")).await.unwrap();
    ask(&world.gateway, question("q", "May I?")).await.unwrap();
    let refused = ask(&world.gateway, question("q", "May I really?")).await;
    assert!(matches!(refused, Err(GatewayError::Rejected(Rejection::AskChanged))), "{refused:?}");
}

#[tokio::test]
async fn whoever_waits_is_woken_by_the_answer_and_fetching_acknowledges_it() {
    let world = World::new().await;
    let asked = ask(&world.gateway, approval("k", json!({ "to": "production" }))).await.unwrap();
    let id = asked.request.interaction_id;
    let (gateway, read) = (world.gateway.clone(), asked.clone());
    let waiting = tokio::spawn(async move { gateway.wait_settled(&program(), read, PATIENCE * 2).await });
    respond(&world.gateway, &asked.request, approve()).await.unwrap();
    let settled = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap();
    assert_eq!(settled.state, AskState::Settled { settlement: Settlement::Approved });
    assert_eq!(settled.delivery, Some(Delivery::Accepted));
    world.gateway.fetched(settled.clone()).await.unwrap();
    world.gateway.fetched(settled.clone()).await.unwrap();
    // It is written with whatever comes next in that session.
    let next = ask(&world.gateway, approval("next", json!({ "to": "staging" }))).await.unwrap();
    let fetched = world.gateway.interaction(&owner("ada"), id).await.unwrap();
    assert_eq!(fetched.delivery, Some(Delivery::Acknowledged));
    assert_eq!(fetched.seq.next(), next.seq);
    let replayed = ask(&world.gateway, approval("k", json!({ "to": "production" }))).await.unwrap();
    assert_eq!(replayed.state, settled.state);
}

#[tokio::test]
async fn that_an_answer_was_fetched_is_written_soon_where_nothing_else_is() {
    let world = World::new().await;
    let asked = ask(&world.gateway, approval("k", json!({ "to": "production" }))).await.unwrap();
    let id = asked.request.interaction_id;
    respond(&world.gateway, &asked.request, approve()).await.unwrap();
    let settled = world.gateway.wait_settled(&program(), asked, PATIENCE).await.unwrap();
    let mut events = world.gateway.stream(&owner("ada"), settled.session_id, settled.seq).await.unwrap();
    world.gateway.fetched(settled).await.unwrap();
    let event = tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(event.body.ask(), Some(id));
    let fetched = world.gateway.interaction(&owner("ada"), id).await.unwrap();
    assert_eq!(fetched.delivery, Some(Delivery::Acknowledged));
}

#[tokio::test]
async fn patience_ends_without_an_answer_and_leaves_the_ask_open() {
    let world = World::new().await;
    let asked = ask(&world.gateway, question("k", "May I?")).await.unwrap();
    let waited = world.gateway.wait_settled(&program(), asked, Duration::from_millis(10)).await.unwrap();
    assert_eq!(waited.state, AskState::Open);
}

#[tokio::test]
async fn a_timeout_beyond_the_bound_is_refused_and_every_deadline_verifies() {
    let world = World::new().await;
    let asking = |after: u64| {
        let call = approval(&format!("k{after}"), json!({}));
        ask(&world.gateway, AskCall { timeout_ms: Some(after), ..call })
    };
    for after in [LONGEST_TIMEOUT_MS + 1, 1_000_000_000_000_000, 1 << 63, u64::MAX] {
        match asking(after).await {
            Err(GatewayError::Rejected(Rejection::BadAsk { why })) => {
                assert!(why.contains(&format!("{LONGEST_TIMEOUT_MS} (366 days)")), "{why}");
            }
            other => panic!("{after}: {other:?}"),
        }
    }
    let longest = asking(LONGEST_TIMEOUT_MS).await.unwrap();
    assert!(longest.request.deadline.is_some());
    // An agent cannot be refused for its words: its ask closes at the bound.
    let mut talk = world.talk().await;
    talk.say("ask [hold=18446744073709551615ms:wait timeout=18446744073709551615ms] Store: Where? | A | B")
        .await;
    let asked = talk.ask().await;
    let journal = world.gateway.journal();
    let bound = journal.now().await.unwrap().after(Duration::from_millis(LONGEST_TIMEOUT_MS));
    assert!(asked.deadline.is_some_and(|deadline| deadline <= bound), "{:?}", asked.deadline);
    for session in [longest.session_id, talk.session] {
        let report = journal.verify(session).await.unwrap();
        assert_eq!(report.fault, None);
    }
}

#[tokio::test]
async fn a_callers_ask_closes_at_its_deadline() {
    let world = World::new().await;
    let call = AskCall { timeout_ms: Some(20), ..question("k", "May I?") };
    let asked = ask(&world.gateway, call).await.unwrap();
    let closed = world.gateway.wait_settled(&program(), asked.clone(), PATIENCE).await.unwrap();
    assert_eq!(closed.state, AskState::Closed { closing: Closing::Expired });
    assert_eq!(closed.late, None);
    // There is no agent to give a late answer to: the program finds it when it looks again.
    let late = respond(&world.gateway, &asked.request, answer(json!({ "q": "yes" }))).await.unwrap();
    assert!(late.late);
    let found =
        ask(&world.gateway, AskCall { timeout_ms: Some(20), ..question("k", "May I?") }).await.unwrap();
    assert_eq!(found.state, closed.state, "it settles nothing");
    let given = found.late.expect("the late answer");
    assert_eq!((given.name, given.surface), (ada().name, ada().surface));
    let answers =
        vec![Answer { question_id: "q".to_owned(), labels: Vec::new(), other: Some("yes".to_owned()) }];
    assert_eq!(given.response, Response::Answer { answers });
    let unfinished = world.gateway.journal().session(asked.session_id).await.unwrap().unwrap();
    assert!(unfinished.state.pending.is_empty(), "and it is no message that nobody reads");
    world.gateway.stop().await;
    let session = world.gateway.session(&owner("ada"), asked.session_id).await.unwrap();
    assert_eq!(session.seq, late.seq);
}

#[tokio::test]
async fn the_same_key_gets_the_same_receipt_and_never_another_answer() {
    let world = World::new().await;
    let asked = ask(&world.gateway, approval("k", json!({}))).await.unwrap();
    let body = |response| Respond {
        prompt_id: asked.request.prompt_id,
        idempotency_key: "mine".to_owned(),
        response,
    };
    let id = asked.request.interaction_id;
    let first = world.gateway.respond(&ada(), id, body(approve())).await.unwrap();
    let again = world.gateway.respond(&ada(), id, body(approve())).await.unwrap();
    assert_eq!(first, again);
    let other = world.gateway.respond(&ada(), id, body(ResponseDraft::Deny { reason: None })).await;
    assert!(matches!(other, Err(GatewayError::Rejected(Rejection::KeyReused))), "{other:?}");
}

#[tokio::test]
async fn a_program_has_no_agent_to_talk_to() {
    let world = World::new().await;
    let asked = ask(&world.gateway, approval("k", json!({}))).await.unwrap();
    let refused = world.gateway.message(&ada(), asked.session_id, SendMessage::new("hello")).await;
    assert!(matches!(refused, Err(GatewayError::NoAgent { .. })), "{refused:?}");
}

#[tokio::test]
async fn what_is_too_large_for_a_person_is_refused_before_it_is_queued() {
    let world = World::new().await;
    let options: Vec<_> = (0..34_000).map(|n| json!({ "value": n.to_string(), "label": "x" })).collect();
    let fields = json!([{ "id": "f", "label": "F", "type": "select", "options": options }]);
    let form = holdstead_protocol::api::FormCall {
        fields: serde_json::from_value(fields).unwrap(),
        ..holdstead_protocol::api::FormCall::default()
    };
    let call = AskCall { body: AskCallBody::Form { form }, ..approval("k", Value::Null) };
    let Err(GatewayError::Rejected(refused)) = ask(&world.gateway, call).await else { panic!("not refused") };
    assert!(refused.to_string().contains("34000 options"), "{refused}");
}

#[tokio::test]
async fn ever_new_names_of_a_client_get_no_further_sessions() {
    let world = World::new().await;
    let mut sessions = std::collections::BTreeSet::new();
    for n in 0..100 {
        sessions.insert(world.gateway.client_session(&program(), &format!("client {n}")).await.unwrap());
    }
    assert_eq!(sessions.len(), 9, "8, and the token's own");
    let known = world.gateway.client_session(&program(), "client 0").await.unwrap();
    assert!(sessions.contains(&known) && known != holdstead_gateway::callers_session(&program()));
}

#[tokio::test]
async fn whoever_asked_is_handed_the_answer_and_a_glance_is_not() {
    let world = World::new().await;
    let script = Direct::new(world.gateway.clone(), ada(), "script", InteractionMode::On);
    let asked = script.ask(secret_question()).await.unwrap();
    let id = asked.request.interaction_id;
    respond(&world.gateway, &asked.request, answer(json!({ "pin": "4711-x" }))).await.unwrap();
    let given =
        |found: &holdstead_protocol::api::Interaction| match &found.response.as_ref().unwrap().response {
            Response::Answer { answers } => answers[0].other.clone().unwrap(),
            other => panic!("{other:?}"),
        };
    // The same person elsewhere, and somebody else's program, only look.
    let page = Person { surface: Surface::Terminal, ..ada() };
    let other = Person { name: "other".to_owned(), ..ada() };
    for looks in [page, other] {
        let glance = Direct::new(world.gateway.clone(), looks, "glance", InteractionMode::On);
        let seen = glance.interaction(id).await.unwrap();
        assert_eq!((seen.delivery.clone(), given(&seen)), (Some(Delivery::Accepted), "(secret)".to_owned()));
    }
    assert_eq!(given(&script.interaction(id).await.unwrap()), "4711-x");
    let after = world.gateway.interaction(&owner("ada"), id).await.unwrap();
    assert_eq!(after.delivery, Some(Delivery::Acknowledged));
}

#[tokio::test]
async fn an_ended_session_keeps_no_secrets_that_nobody_fetched() {
    let world = World::new().await;
    let asked = ask(&world.gateway, secret_question()).await.unwrap();
    respond(&world.gateway, &asked.request, answer(json!({ "pin": "4711-x" }))).await.unwrap();
    assert_eq!(world.gateway.journal().secrets().await.unwrap().len(), 1);
    world.gateway.end(&ada(), asked.session_id).await.unwrap();
    world.gateway.stop().await;
    assert!(world.gateway.journal().secrets().await.unwrap().is_empty());
}

pub(crate) async fn ask_secretly(gateway: &Gateway) -> holdstead_protocol::api::Interaction {
    ask(gateway, secret_question()).await.unwrap()
}

fn secret_question() -> AskCall {
    let mut call = question("secret", "Which pin?");
    if let AskCallBody::Question { questions } = &mut call.body {
        questions[0] = Question { id: "pin".to_owned(), secret: true, ..questions[0].clone() };
    }
    call
}
