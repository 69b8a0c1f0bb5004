//! A program that waits for an answer with `await_answer`, and what it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdstead_gateway::{Called, Gateway, GatewayConfig, Person, ToolCall, WhenNobody};
use holdstead_protocol::{AskState, Closing, InteractionId, SessionId, Surface, ToolCallId};
use holdstead_store::faulty::{Broken, Call, FaultyJournal};
use holdstead_store::{Journal, SqliteJournal};
use serde_json::{Value, json};
use tokio::time::advance;

use crate::actor::Stage;
use crate::world::{answer, config, owner, respond};

const LONG: Duration = Duration::from_secs(3600);

/// An agent that nobody hosts: it asks over MCP.
async fn editor(gateway: &Gateway) -> SessionId {
    let editor = Person::new(owner("ada"), "editor", Surface::Api);
    gateway.own_session(&editor).await.unwrap()
}

fn call(session: SessionId, name: &str, input: Value) -> ToolCall {
    ToolCall {
        owner: owner("ada"),
        session,
        turn: None,
        tool_call_id: ToolCallId::new(format!("call of {name}")).unwrap(),
        name: name.to_owned(),
        input,
        when_nobody: WhenNobody::Wait,
    }
}

async fn asked(gateway: &Gateway, session: SessionId, input: Value) -> InteractionId {
    let asked = gateway.call_tool_within(call(session, "ask_user", input), Duration::ZERO).await.unwrap();
    match asked {
        Called::Waiting(id) => id,
        Called::Done(told) => panic!("{told}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_came_too_late_is_told_to_whoever_comes_back_for_it() {
    let stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let gateway = &stage.gateway;
    let session = editor(gateway).await;
    let id = asked(gateway, session, json!({ "question": "Which colour?" })).await;
    let ask = gateway.interaction(&owner("ada"), id).await.unwrap().request;
    advance(8 * 24 * LONG).await;
    while gateway.interaction(&owner("ada"), id).await.unwrap().state
        != (AskState::Closed { closing: Closing::Expired })
    {
        tokio::task::yield_now().await;
    }
    let await_answer =
        || gateway.call_tool_within(call(session, "await_answer", json!({ "interaction_id": id })), LONG);
    let Called::Done(nobody) = await_answer().await.unwrap() else { panic!("it is over") };
    assert_eq!(nobody["error"], "Nobody answered in time.");
    let receipt = respond(gateway, &ask, answer(json!({ "answer": "blue" }))).await.unwrap();
    assert!(receipt.late);
    let Called::Done(late) = await_answer().await.unwrap() else { panic!("it is over") };
    assert_eq!(late["late"], true);
    assert_eq!(late["message"], "Late answer to your question:\n> Which colour?\nblue");
}

#[tokio::test]
async fn a_store_that_is_away_for_a_moment_is_nothing_to_whoever_waits() {
    let sound: Arc<dyn Journal> = Arc::new(SqliteJournal::open("sqlite::memory:").await.unwrap());
    let away = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&away);
    let plan = move |call| match call {
        Call::Read(_) if left.load(Ordering::SeqCst) > 0 => {
            left.fetch_sub(1, Ordering::SeqCst);
            Some(Broken::Before)
        }
        Call::Read(_) | Call::Append => None,
    };
    let faulty: Arc<dyn Journal> = Arc::new(FaultyJournal::new(sound, plan));
    let gateway = Gateway::start(faulty, Vec::new(), config(GatewayConfig::DEFAULT_HOLD)).await.unwrap();
    let session = editor(&gateway).await;
    let id = asked(&gateway, session, json!({ "question": "Which colour?" })).await;
    let ask = gateway.interaction(&owner("ada"), id).await.unwrap().request;
    respond(&gateway, &ask, answer(json!({ "answer": "blue" }))).await.unwrap();
    away.store(3, Ordering::SeqCst);
    let waiting = call(session, "await_answer", json!({ "interaction_id": id }));
    let told = gateway.call_tool_within(waiting, LONG).await.unwrap();
    assert_eq!(told, Called::Done(json!({ "ok": true, "answer": "blue" })));
    assert_eq!(away.load(Ordering::SeqCst), 0, "the store did fail");
}

#[tokio::test]
async fn ask_user_takes_a_longer_text() {
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open("sqlite::memory:").await.unwrap());
    let gateway = Gateway::start(journal, Vec::new(), config(GatewayConfig::DEFAULT_HOLD)).await.unwrap();
    let session = editor(&gateway).await;
    let id = asked(&gateway, session, json!({ "question": "What happened?", "inputType": "textarea" })).await;
    let ask = gateway.interaction(&owner("ada"), id).await.unwrap().request;
    let holdstead_protocol::AskBody::Question { questions } = &ask.body else { panic!("{ask:?}") };
    assert!(questions[0].multiline && questions[0].options.is_empty());
    respond(&gateway, &ask, answer(json!({ "answer": "First this.\nThen that." }))).await.unwrap();
    let waiting = call(session, "await_answer", json!({ "interaction_id": id }));
    let told = gateway.call_tool_within(waiting, LONG).await.unwrap();
    assert_eq!(told, Called::Done(json!({ "ok": true, "answer": "First this.\nThen that." })));
}
