//! What happens when time passes.

use std::time::Duration;

use holdstead_agents::{AgentEvent, Outgoing, Reasks, Resolution, ResumeAt, ResumePoint};
use holdstead_core::Rejection;
use holdstead_gateway::{AgeOut, CallerAsk, GatewayConfig, GatewayError};
use holdstead_protocol::api::{AskCall, AskCallBody};
use holdstead_protocol::{
    AgentState, AskState, Closing, Delivery, EventBody, Hold, HoldThen, InteractionRequest, StopReason,
    ToolCallId,
};
use serde_json::json;
use tokio::time::advance;

use crate::actor::{MINUTE, Stage, approval, question};
use crate::world::{Talk, ada, answer, approve, config, owner, respond};

const fn ten_minutes(then: HoldThen) -> Hold {
    Hold { after_ms: 600_000, then }
}

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Lets seconds pass until the ask is closed. The one timer of all deadlines cannot be seen, so after each second the
/// database is asked often enough for the timer to have had its turn.
async fn expires(talk: &Talk, ask: &InteractionRequest) {
    for _ in 0..10 {
        advance(SECOND).await;
        for _ in 0..50 {
            let now = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
            if now.state == (AskState::Closed { closing: Closing::Expired }) {
                return;
            }
        }
    }
    panic!("the ask stays open");
}

fn call(id: &str) -> ToolCallId {
    ToolCallId::new(id).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_held_for_ten_minutes_and_then_parked() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;
    advance(10 * MINUTE - Duration::from_millis(5)).await;
    // What the agent says is handled after whatever the timers brought.
    actor.is_heard(&mut talk).await;
    assert!(actor.hears_nothing());
    advance(Duration::from_millis(10)).await;
    assert_eq!(actor.hears().await, Outgoing::Park { tool_call_id: call("call_1") });
    talk.status(AgentState::Parking).await;
    actor.exits(true).await;
    talk.status(AgentState::Parked).await;

    advance(100 * 24 * 60 * MINUTE).await;
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    let mut actor = stage.life().await;
    let at = ResumePoint { agent_ref: "ref".to_owned(), at: ResumeAt::OpenAsks };
    assert_eq!(actor.launch.resume, Some(at));
    actor.asks("call_1").await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Settled { .. }));
    actor.says(AgentEvent::Acknowledged { tool_call_id: call("call_1") }).await;
    actor.ends_turn().await;
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_meets_an_agent_being_parked_waits_for_its_next_life() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;
    advance(11 * MINUTE).await;
    assert_eq!(actor.hears().await, Outgoing::Park { tool_call_id: call("call_1") });
    talk.respond(&ask, approve()).await;
    actor.is_heard(&mut talk).await;
    assert!(actor.hears_nothing());
    actor.exits(true).await;
    let mut actor = stage.life().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Settled { .. }));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ignores_being_parked_is_ended_and_its_next_life_gets_the_answer() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;
    advance(11 * MINUTE).await;
    assert_eq!(actor.hears().await, Outgoing::Park { tool_call_id: call("call_1") });
    talk.respond(&ask, approve()).await;
    actor.is_heard(&mut talk).await;
    advance(59 * SECOND).await;
    actor.is_heard(&mut talk).await;
    advance(2 * SECOND).await;
    actor.side.kill.notified().await;
    actor.exits(false).await;
    let mut actor = stage.life().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Settled { .. }));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_would_not_go_keeps_waiting_and_is_answered_in_place() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;
    advance(11 * MINUTE).await;
    assert_eq!(actor.hears().await, Outgoing::Park { tool_call_id: call("call_1") });
    actor.says(AgentEvent::CannotPark { tool_call_id: call("call_1"), why: "busy".to_owned() }).await;
    talk.status(AgentState::Parking).await;
    talk.status(AgentState::Waiting).await;
    advance(60 * MINUTE).await;
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Settled { .. }));
}

#[tokio::test(start_paused = true)]
async fn with_two_asks_open_nobody_is_parked_until_one_is_answered() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.asks("call_1").await;
    actor.asks("call_2").await;
    let (first, _second) = (talk.ask().await, talk.ask().await);
    actor.is_heard(&mut talk).await;
    advance(11 * MINUTE).await;
    actor.is_heard(&mut talk).await;
    assert!(actor.hears_nothing());
    talk.respond(&first, answer(json!({ "store": "SQLite" }))).await;
    actor.is_told("call_1").await;
    assert_eq!(actor.hears().await, Outgoing::Park { tool_call_id: call("call_2") });
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_denies_says_so_in_these_words() {
    let mut stage = Stage::new(ten_minutes(HoldThen::Deny)).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    talk.ask().await;
    actor.asks("call_2").await;
    talk.ask().await;
    actor.is_heard(&mut talk).await;
    advance(10 * MINUTE).await;
    let mut told = Vec::new();
    for _ in 0..2 {
        match actor.hears().await {
            Outgoing::Resolve { tool_call_id, resolution: Resolution::Closed { message } } => {
                told.push((tool_call_id.to_string(), message));
            }
            other => panic!("{other:?}"),
        }
    }
    told.sort();
    let words = [
        ("call_1".to_owned(), "Tool approval timed out after 10 minutes".to_owned()),
        ("call_2".to_owned(), "User did not respond within 10 minutes".to_owned()),
    ];
    assert_eq!(told, words);
    assert_eq!(talk.closed().await.closing, Closing::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_defers_queues_the_ask_and_the_answer_is_a_message() {
    let mut stage = Stage::new(ten_minutes(HoldThen::Defer)).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;
    advance(10 * MINUTE).await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Queued { .. }));
    let receipt = talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    assert!(receipt.late && receipt.state == AskState::Closed { closing: Closing::AnsweredLate });
    actor.ends_turn().await;
    let text = "Late answer to your question:\n> Where do the orders go?\nSQLite".to_owned();
    assert_eq!(actor.hears().await, Outgoing::Message { text });
}

#[tokio::test(start_paused = true)]
async fn at_its_deadline_an_ask_closes_and_a_late_answer_becomes_a_message() {
    let mut stage = Stage::new(ten_minutes(HoldThen::Wait)).await;
    let (mut talk, mut actor) = stage.talk().await;
    let mut asked = question("call_1");
    asked.timeout_ms = Some(60_000);
    actor.says(AgentEvent::Ask(Box::new(asked))).await;
    let ask = talk.ask().await;
    let mut asked = approval("call_2", "ls");
    asked.timeout_ms = Some(60_000);
    actor.says(AgentEvent::Ask(Box::new(asked))).await;
    let risky = talk.ask().await;
    advance(59 * SECOND).await;
    actor.is_heard(&mut talk).await;
    assert!(actor.hears_nothing());
    expires(&talk, &ask).await;
    expires(&talk, &risky).await;
    for _ in 0..2 {
        match actor.hears().await {
            Outgoing::Resolve { resolution: Resolution::Closed { message }, .. } => {
                assert_eq!(message, "Nobody answered in time. Nothing was decided and nothing ran.");
            }
            other => panic!("{other:?}"),
        }
    }
    let refused = respond(&stage.gateway, &risky, approve()).await;
    let Err(GatewayError::Rejected(Rejection::Dead { closing: Closing::Expired })) = refused else {
        panic!("{refused:?}")
    };
    let receipt = talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    assert!(receipt.late);
    actor.ends_turn().await;
    assert!(
        matches!(actor.hears().await, Outgoing::Message { text } if text.contains("> Where do the orders go?"))
    );
    actor.ends_turn().await;
    let first = talk.done().await;
    assert_ne!(talk.done().await.turn_id, first.turn_id);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_stop_when_told_to_is_ended() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Text { text: "I never stop".to_owned(), parents: Vec::new() }).await;
    stage.gateway.interrupt(&ada(), talk.session).await.unwrap();
    assert_eq!(actor.hears().await, Outgoing::Interrupt);
    advance(10 * SECOND).await;
    actor.side.kill.notified().await;
    actor.exits(false).await;
    assert_eq!(talk.done().await.reason, StopReason::Interrupted);
    assert!(talk.seen.iter().all(|event| !matches!(event.body, EventBody::Error(_))));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_that_meets_an_agent_being_parked_ends_the_turn() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.asks("call_1").await;
    talk.ask().await;
    actor.is_heard(&mut talk).await;
    advance(10 * MINUTE).await;
    assert_eq!(actor.hears().await, Outgoing::Park { tool_call_id: call("call_1") });
    stage.gateway.interrupt(&ada(), talk.session).await.unwrap();
    assert_eq!(actor.hears().await, Outgoing::Interrupt);
    actor.exits(true).await;
    assert_eq!(talk.done().await.reason, StopReason::Interrupted);
    assert_eq!(talk.agent_state().await, AgentState::Idle);
    assert!(stage.nothing_was_started());
}

#[tokio::test(start_paused = true)]
async fn words_wait_a_moment_for_others() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, actor) = stage.talk().await;
    for text in ["one ", "two ", "three"] {
        actor.says(AgentEvent::Text { text: text.to_owned(), parents: Vec::new() }).await;
    }
    // Nothing else makes it speak: the moment has to pass.
    actor.is_listened_to().await;
    advance(Duration::from_millis(51)).await;
    let text = talk.until(|body| match body {
        EventBody::TextDelta(delta) => Some(delta.text.clone()),
        _ => None,
    });
    assert_eq!(text.await, "one two three");
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_goes_to_a_file_when_it_is_old_enough() {
    let folder = tempfile::TempDir::new().unwrap();
    let age_out = AgeOut { after: 3 * DAY, to: folder.path().to_owned() };
    let config = GatewayConfig { age_out: Some(age_out), ..config(GatewayConfig::DEFAULT_HOLD) };
    let mut stage = Stage::with(config, Reasks::Any).await;
    let (mut talk, actor) = stage.talk().await;
    actor.ends_turn().await;
    talk.completed().await;
    let (going_on, _) = stage.talk().await;
    stage.gateway.end(&ada(), talk.session).await.unwrap();
    actor.exits(true).await;
    let journal = stage.gateway.journal();
    // The round itself cannot be seen, so the database is asked until it shows what the round did.
    let mut days = 0;
    let aged_out = loop {
        let record = journal.session(talk.session).await.unwrap().unwrap();
        if record.aged_out_to.is_some() {
            break record.aged_out_to;
        }
        assert!(days < 1_000, "the session stays");
        advance(DAY).await;
        days += 1;
    };
    assert!(days >= 3, "it went on day {days}");
    let file = folder.path().join(format!("{}.jsonl", talk.session));
    assert_eq!(aged_out, Some(file.display().to_string()));
    let said = std::fs::read_to_string(file).unwrap();
    assert!(said.contains("user_message"), "{said}");
    let other = journal.session(going_on.session).await.unwrap().unwrap();
    assert_eq!(other.aged_out_to, None, "a session that has not ended stays");
}

#[tokio::test(start_paused = true)]
async fn before_the_agent_itself_gives_up_it_is_parked_or_told_that_nobody_answered() {
    let mut stage = Stage::new(ten_minutes(HoldThen::Wait)).await;
    let (mut talk, mut actor) = stage.talk().await;
    let limited = holdstead_agents::Ask { host_limit_ms: Some(3_600_000), ..approval("call_1", "ls") };
    actor.says(AgentEvent::Ask(Box::new(limited))).await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;
    advance(59 * MINUTE).await;
    actor.is_heard(&mut talk).await;
    assert!(actor.hears_nothing());
    advance(2 * MINUTE).await;
    assert_eq!(actor.hears().await, Outgoing::Park { tool_call_id: call("call_1") });
    let why = "another call would be lost".to_owned();
    actor.says(AgentEvent::CannotPark { tool_call_id: call("call_1"), why }).await;
    let message = "Tool approval timed out after 10 minutes".to_owned();
    assert_eq!(actor.is_told("call_1").await, Resolution::Closed { message });
    let now = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!(now.state, AskState::Closed { closing: Closing::Expired });
}

#[tokio::test(start_paused = true)]
async fn an_idle_agent_goes_after_an_hour_and_the_next_message_resumes_it() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    // However long it works, it is not idle.
    advance(3 * 60 * MINUTE).await;
    actor.ends_turn().await;
    talk.completed().await;
    actor.is_heard(&mut talk).await;
    advance(59 * MINUTE).await;
    talk.say("once more").await;
    assert_eq!(actor.hears().await, Outgoing::Message { text: "once more".to_owned() });
    actor.ends_turn().await;
    talk.completed().await;
    actor.is_heard(&mut talk).await;
    advance(59 * MINUTE).await;
    actor.is_heard(&mut talk).await;
    assert!(!actor.is_killed());
    advance(MINUTE).await;
    actor.side.kill.notified().await;
    actor.exits(false).await;
    let gone = talk.status(AgentState::Idle).await;
    assert_eq!(
        gone.message.as_deref(),
        Some("it had nothing to do for an hour; the next message starts it again")
    );
    assert!(stage.nothing_was_started());

    talk.say("again").await;
    let mut actor = stage.life().await;
    let at = ResumePoint { agent_ref: "ref".to_owned(), at: ResumeAt::NextMessage };
    assert_eq!(actor.launch.resume, Some(at));
    assert_eq!(actor.hears().await, Outgoing::Message { text: "again".to_owned() });
    actor.ends_turn().await;
    talk.completed().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_agent_is_kept_while_somebody_is_asked_in_its_session() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, actor) = stage.talk().await;
    actor.ends_turn().await;
    talk.completed().await;
    let body = AskCallBody::Approval { preview: None, editable: false, scopes: Vec::new() };
    let call = AskCall::new("k", "deploy", json!({}), body);
    let ask = talk.gateway.ask(&ada(), CallerAsk::In(talk.session), call).await.unwrap();
    actor.is_heard(&mut talk).await;
    for _ in 0..5 {
        advance(60 * MINUTE).await;
        actor.is_heard(&mut talk).await;
        assert!(!actor.is_killed());
    }
    respond(&talk.gateway, &ask.request, approve()).await.unwrap();
    advance(60 * MINUTE).await;
    actor.side.kill.notified().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_meets_an_idle_agent_on_its_way_out_is_not_lost() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, actor) = stage.talk().await;
    actor.ends_turn().await;
    talk.completed().await;
    actor.is_heard(&mut talk).await;
    advance(60 * MINUTE).await;
    actor.side.kill.notified().await;
    talk.say("wait").await;
    actor.is_heard(&mut talk).await;
    actor.exits(false).await;
    let mut actor = stage.life().await;
    assert_eq!(actor.hears().await, Outgoing::Message { text: "wait".to_owned() });
    actor.ends_turn().await;
    talk.completed().await;
}
