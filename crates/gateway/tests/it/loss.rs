//! Agents that forget what they asked when their process dies.

use holdstead_agents::{AgentEvent, Outgoing, Resolution, ResumeAt, ResumePoint};
use holdstead_gateway::GatewayConfig;
use holdstead_protocol::{AgentState, Delivery, InteractionRequest, Settlement, StopReason, ToolCallId};
use serde_json::json;

use crate::actor::{Actor, Stage, approval, question};
use crate::world::{Talk, answer, approve, deny};

async fn forgetful() -> Stage {
    Stage::forgetful(GatewayConfig::DEFAULT_HOLD).await
}

/// It asks, and dies.
async fn lost(talk: &mut Talk, actor: Actor, ask: holdstead_agents::Ask) -> InteractionRequest {
    actor.says(AgentEvent::Ask(Box::new(ask))).await;
    let ask = talk.ask().await;
    actor.exits(false).await;
    talk.status(AgentState::Detached).await;
    ask
}

async fn words(actor: &mut Actor) -> String {
    match actor.hears().await {
        Outgoing::Message { text } => text,
        other => panic!("not words: {other:?}"),
    }
}

fn text(words: &str) -> AgentEvent {
    AgentEvent::Text { text: words.to_owned(), parents: Vec::new() }
}

#[tokio::test(start_paused = true)]
async fn a_lost_question_stays_open_and_its_answer_is_told_in_words() {
    let mut stage = forgetful().await;
    let (mut talk, actor) = stage.talk().await;
    let ask = lost(&mut talk, actor, question("call_1")).await;
    assert!(stage.nothing_was_started());
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    let mut actor = stage.life().await;
    let at = ResumePoint { agent_ref: "ref".to_owned(), at: ResumeAt::NextMessage };
    assert_eq!(actor.launch.resume, Some(at));
    assert_eq!(words(&mut actor).await, "Late answer to your question:\n> Where do the orders go?\nSQLite");
    actor.says(text("I see.")).await;
    actor.ends_turn().await;
    // It is the same turn that goes on.
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}

#[tokio::test(start_paused = true)]
async fn calls_lost_together_are_told_together() {
    let mut stage = forgetful().await;
    let (mut talk, actor) = stage.talk().await;
    actor.asks("call_1").await;
    let first = talk.ask().await;
    let second = lost(&mut talk, actor, approval("call_2", "ls")).await;
    talk.respond(&first, answer(json!({ "store": "SQLite" }))).await;
    // Its model would wait for both.
    talk.respond(&second, deny("not here")).await;
    let mut actor = stage.life().await;
    let words = words(&mut actor).await;
    assert!(words.contains("Late answer to your question:"), "{words}");
    assert!(
        words.contains(
            "The call of Bash that was lost when your process ended, {\"command\":\"ls\"}, is denied: not here"
        ),
        "{words}"
    );
    actor.ends_turn().await;
    talk.completed().await;
    assert_eq!(talk.delivery(&first).await, Some(Delivery::Acknowledged));
    assert_eq!(talk.delivery(&second).await, Some(Delivery::Acknowledged));
}

#[tokio::test(start_paused = true)]
async fn of_a_long_call_only_the_beginning_is_said_again() {
    let mut stage = forgetful().await;
    let (mut talk, actor) = stage.talk().await;
    let ask = lost(&mut talk, actor, approval("call_1", &"ä".repeat(10_000))).await;
    talk.respond(&ask, approve()).await;
    let words = words(&mut stage.life().await).await;
    assert!(words.contains("ä…, is approved."), "{words}");
    assert!(words.chars().count() < 2_200, "{}", words.chars().count());
}

#[tokio::test(start_paused = true)]
async fn a_lost_approval_is_good_for_the_very_same_call_once() {
    let mut stage = forgetful().await;
    let (mut talk, actor) = stage.talk().await;
    let ask = lost(&mut talk, actor, approval("call_1", "ls")).await;
    talk.respond(&ask, approve()).await;
    let mut actor = stage.life().await;
    let words = words(&mut actor).await;
    assert_eq!(
        words,
        "The call of Bash that was lost when your process ended, {\"command\":\"ls\"}, is approved. Make the very same call again \
         to run it once."
    );
    actor.says(AgentEvent::Ask(Box::new(approval("call_2", "ls")))).await;
    let told = actor.is_told("call_2").await;
    assert!(matches!(told, Resolution::Settled { settlement: Settlement::Approved, .. }), "{told:?}");
    let repeat = talk.ask().await;
    assert_eq!(
        talk.delivery(&ask).await,
        Some(Delivery::Undeliverable { moved_to: Some(repeat.interaction_id), in_terminal: None })
    );
    // Once is once, and another call is another ask.
    actor.says(AgentEvent::Acknowledged { tool_call_id: ToolCallId::new("call_2").unwrap() }).await;
    for (call, command) in [("call_3", "ls"), ("call_4", "rm")] {
        actor.says(AgentEvent::Ask(Box::new(approval(call, command)))).await;
        talk.ask().await;
        actor.is_heard(&mut talk).await;
        assert!(actor.hears_nothing(), "{command}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_may_not_have_arrived_is_told_again_and_an_approval_is_not() {
    let mut stage = forgetful().await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    actor.is_told("call_1").await;
    actor.exits(false).await;
    let mut actor = stage.life().await;
    assert!(words(&mut actor).await.contains("SQLite"));
    actor.says(text("I see.")).await;

    actor.says(AgentEvent::Ask(Box::new(approval("call_2", "ls")))).await;
    let ask = talk.ask().await;
    talk.respond(&ask, approve()).await;
    actor.is_told("call_2").await;
    actor.exits(false).await;
    assert_eq!(talk.done().await.reason, StopReason::Failed);
    assert!(matches!(talk.delivery(&ask).await, Some(Delivery::Unknown { .. })));
    assert!(stage.nothing_was_started());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_parked_is_told_at_its_call() {
    let mut stage = forgetful().await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;
    tokio::time::advance(11 * crate::actor::MINUTE).await;
    assert!(matches!(actor.hears().await, Outgoing::Park { .. }));
    actor.exits(true).await;
    talk.status(AgentState::Parked).await;
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    let mut actor = stage.life().await;
    assert_eq!(actor.launch.resume.as_ref().map(|resume| resume.at), Some(ResumeAt::OpenAsks));
    assert!(actor.hears_nothing());
    actor.asks("call_1").await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Settled { .. }));
}

/// Says what a life says that does not know its conversation, and goes.
async fn forgets(mut actor: Actor) -> String {
    let words = words(&mut actor).await;
    actor.says(AgentEvent::Forgotten).await;
    actor.exits(false).await;
    words
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_conversation_is_begun_anew_with_its_message_and_the_answer() {
    let mut stage = forgetful().await;
    let (mut talk, actor) = stage.talk().await;
    let ask = lost(&mut talk, actor, question("call_1")).await;
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    let late = forgets(stage.unborn().await).await;
    let mut actor = stage.unborn().await;
    assert_eq!(actor.launch.resume, None, "there is nothing to go on with");
    assert_eq!(words(&mut actor).await, format!("go\n\n{late}"));
    actor.says(AgentEvent::Ready { agent_ref: "another".to_owned() }).await;
    actor.says(text("I see.")).await;
    actor.ends_turn().await;
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}

#[tokio::test(start_paused = true)]
async fn a_message_to_a_forgotten_conversation_begins_another_one() {
    let mut stage = forgetful().await;
    let (mut talk, actor) = stage.talk().await;
    actor.exits(false).await;
    assert_eq!(talk.done().await.reason, StopReason::Failed);
    talk.say("again").await;
    assert_eq!(forgets(stage.unborn().await).await, "again");
    let mut actor = stage.life().await;
    assert_eq!(actor.launch.resume, None);
    assert_eq!(words(&mut actor).await, "again");
    actor.ends_turn().await;
    talk.completed().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_may_have_its_answer_is_not_waited_for() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    actor.is_told("call_1").await;
    // It has the answer, so it would not ask again: nobody could say what it is doing.
    actor.exits(false).await;
    assert_eq!(talk.done().await.reason, StopReason::Failed);
    assert!(matches!(talk.delivery(&ask).await, Some(Delivery::Unknown { .. })));
    assert!(stage.nothing_was_started());
}
