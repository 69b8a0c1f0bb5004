//! A person stops a turn, ends a session, or stops the gateway.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdstead_agents::{AgentEvent, Outgoing, Reasks, Resolution, ResumeAt, ResumePoint};
use holdstead_core::{CannotPark, Rejection};
use holdstead_gateway::{Gateway, GatewayConfig, GatewayError, NotParked, Stopped, StoppedAgent};
use holdstead_protocol::api::SendMessage;
use holdstead_protocol::{
    AgentState, AskState, Closing, Delivery, EventBody, InteractionRequest, Settlement, StopReason,
    ToolCallId,
};
use holdstead_store::faulty::{Call, FaultyJournal};
use holdstead_store::{Journal, SqliteJournal};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::advance;

use crate::actor::{Actor, ActorDriver, Stage, approval};
use crate::world::{Talk, World, ada, answer, approve, config, is_running, opening, owner, respond};

const TWO_ASKS: &str = "together\nask Store: Where? | a | b\napprove Bash {\"command\":\"ls\"}\nend";

#[tokio::test]
async fn an_interrupt_cancels_the_asks_and_the_next_message_works() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(TWO_ASKS).await;
    let (question, approval) = (talk.ask().await, talk.ask().await);
    let interrupted = talk.gateway.interrupt(&ada(), talk.session).await.unwrap();
    let mut cancelled = interrupted.cancelled;
    cancelled.sort();
    let mut asked = vec![question.interaction_id, approval.interaction_id];
    asked.sort();
    assert_eq!(cancelled, asked);
    for (ask, draft) in [(&question, answer(json!({ "store": "a" }))), (&approval, approve())] {
        let refused = respond(&talk.gateway, ask, draft).await;
        let Err(GatewayError::Rejected(Rejection::Stopped { by })) = refused else { panic!("{refused:?}") };
        assert_eq!(by, "Ada");
    }
    let done = talk.done().await;
    assert_eq!((done.reason, done.by.as_deref()), (StopReason::Interrupted, Some("Ada")));
    let closed = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::InteractionClosed(closed) => closed.by.as_deref(),
        _ => None,
    });
    assert_eq!(closed.collect::<Vec<_>>(), ["Ada", "Ada"]);
    assert!(talk.results().await.is_empty(), "nothing was forwarded");
    talk.say("say And now?").await;
    let done = talk.done().await;
    assert_eq!((done.reason, done.by), (StopReason::Completed, None), "nobody stopped that one");
    assert!(talk.seen.iter().all(|event| !matches!(event.body, EventBody::Error(_))));
}

#[tokio::test]
async fn an_interrupt_stops_a_parked_agent_without_starting_it() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("ask [hold=10ms:park] Store: Where? | a | b").await;
    let ask = talk.ask().await;
    talk.status(AgentState::Parked).await;
    let pid = talk.pid();
    talk.gateway.interrupt(&ada(), talk.session).await.unwrap();
    let done = talk.done().await;
    assert_eq!((done.reason, done.by.as_deref()), (StopReason::Interrupted, Some("Ada")));
    assert_eq!(talk.pid(), pid);
    let refused = respond(&talk.gateway, &ask, answer(json!({ "store": "a" }))).await;
    assert!(matches!(refused, Err(GatewayError::Rejected(Rejection::Stopped { .. }))), "{refused:?}");
    talk.say("say And now?").await;
    talk.completed().await;
    assert_eq!(said(&talk), "And now?");
}

fn said(talk: &Talk) -> String {
    let text = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::TextDelta(delta) => Some(delta.text.as_str()),
        _ => None,
    });
    text.collect()
}

#[tokio::test]
async fn an_interrupt_with_nothing_running_is_nothing() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    assert!(talk.gateway.interrupt(&ada(), talk.session).await.unwrap().cancelled.is_empty());
    talk.say("say Hello.").await;
    talk.completed().await;
}

#[tokio::test]
async fn the_end_of_a_session_takes_its_process_and_its_asks() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(TWO_ASKS).await;
    let ask = talk.ask().await;
    talk.ask().await;
    let pid = talk.pid();
    assert!(is_running(pid));
    talk.gateway.end(&ada(), talk.session).await.unwrap();
    let gone = talk.until(|body| match body {
        EventBody::SessionStatus(status) => status.incarnation.filter(|_| status.pid.is_none()),
        _ => None,
    });
    gone.await;
    assert!(!is_running(pid));
    assert_eq!(talk.agent_state().await, AgentState::Ended);
    let closed = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!(closed.state, AskState::Closed { closing: Closing::Cancelled });
    let refused = talk.gateway.message(&ada(), talk.session, SendMessage::new("say no")).await;
    assert!(matches!(refused, Err(GatewayError::Rejected(Rejection::Ended))), "{refused:?}");
}

#[tokio::test]
async fn a_gateway_that_stops_parks_agents_that_wait_with_any_hold() {
    let world = World::new().await;
    let mut talks = Vec::new();
    for hold in ["1h:wait", "1h:deny", "1h:defer", "1h:park"] {
        let mut talk = world.talk().await;
        talk.say(&format!("ask [hold={hold}] Store: Where? | a | b")).await;
        let ask = talk.ask().await;
        talks.push((talk, ask));
    }
    let stopped = world.gateway.stop().await;
    assert_eq!(stopped.parked.len(), talks.len(), "{stopped:?}");
    for (talk, ask) in &talks {
        let view = world.gateway.session(&owner("ada"), talk.session).await.unwrap();
        let named = StoppedAgent { session: talk.session, title: view.title.unwrap() };
        assert!(stopped.parked.contains(&named), "{stopped:?}");
        assert!(!is_running(talk.pid()));
        assert_eq!(talk.agent_state().await, AgentState::Parked);
        let open = world.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
        assert_eq!((open.state, open.parked), (AskState::Open, true));
    }
    let world = world.restart().await;
    for (talk, ask) in talks {
        let mut talk = talk.on(&world).await;
        talk.respond(&ask, answer(json!({ "store": "a" }))).await;
        assert_eq!(Some(talk.result().await.tool_call_id), ask.tool_call_id);
        talk.completed().await;
        assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
    }
}

#[tokio::test]
async fn a_gateway_that_stops_names_agents_that_cannot_be_parked_and_says_why() {
    let world = World::new().await;
    let mut two = world.talk().await;
    two.say(TWO_ASKS).await;
    let (question, approval) = (two.ask().await, two.ask().await);
    let mut stays = world.talk().await;
    stays.say("ask [nopark] Store: Where? | a | b").await;
    stays.ask().await;
    let stopped = world.gateway.stop().await;
    assert!(stopped.parked.is_empty() && stopped.at_work.is_empty(), "{stopped:?}");
    let why = |talk: &Talk| {
        let found = stopped.not_parked.iter().find(|(agent, _)| agent.session == talk.session);
        found.unwrap_or_else(|| panic!("{stopped:?}")).1.clone()
    };
    assert_eq!(why(&two), NotParked::Cannot(CannotPark::MoreThanOne));
    assert_eq!(why(&stays), NotParked::Cannot(CannotPark::NoWayBack));
    for talk in [&two, &stays] {
        assert!(!is_running(talk.pid()));
        assert_eq!(talk.agent_state().await, AgentState::Detached);
    }
    let world = world.restart().await;
    let mut two = two.on(&world).await;
    two.respond(&question, answer(json!({ "store": "a" }))).await;
    two.respond(&approval, approve()).await;
    two.completed().await;
}

#[tokio::test]
async fn a_gateway_that_stops_ends_agents_that_work_and_says_nothing_of_idle_ones() {
    let world = World::new().await;
    let mut idle = world.talk().await;
    idle.say("say Hello.").await;
    idle.completed().await;
    let mut talk = world.talk().await;
    talk.say("say I begin.\nwait 1h").await;
    talk.until(|body| matches!(body, EventBody::TextDelta(_)).then_some(())).await;
    let stopped = world.gateway.stop().await;
    assert!(!is_running(talk.pid()) && !is_running(idle.pid()));
    assert!(stopped.parked.is_empty() && stopped.not_parked.is_empty(), "{stopped:?}");
    assert_eq!(stopped.at_work.iter().map(|agent| agent.session).collect::<Vec<_>>(), [talk.session]);
    assert_eq!(world.gateway.stop().await, Stopped::default(), "there is nothing more to say");
}

/// A gateway that stops meanwhile, whose agent was told to park at its call.
async fn stopping(stage: &Stage, actor: &mut Actor) -> JoinHandle<Stopped> {
    let gateway = stage.gateway.clone();
    let stopping = tokio::spawn(async move { gateway.stop().await });
    assert_eq!(actor.hears().await, Outgoing::Park { tool_call_id: ToolCallId::new("call_1").unwrap() });
    stopping
}

async fn waiting(stage: &mut Stage) -> (Talk, Actor, InteractionRequest) {
    let (mut talk, actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;
    (talk, actor, ask)
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ignores_the_request_to_park_does_not_hold_up_the_stop() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (talk, mut actor, ask) = waiting(&mut stage).await;
    let stopping = stopping(&stage, &mut actor).await;
    advance(Duration::from_secs(10) - Duration::from_millis(5)).await;
    assert!(!actor.is_killed() && !stopping.is_finished());
    advance(Duration::from_millis(10)).await;
    actor.side.kill.notified().await;
    actor.exits(false).await;
    let stopped = stopping.await.unwrap();
    assert!(stopped.parked.is_empty(), "{stopped:?}");
    assert_eq!(stopped.not_parked[0].1, NotParked::TooSlow);
    assert_eq!(stopped.not_parked[0].1.to_string(), "it did not go within 10 seconds");
    assert_eq!(talk.agent_state().await, AgentState::Detached);
    let open = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!(open.state, AskState::Open);
}

#[tokio::test(start_paused = true)]
async fn what_people_say_while_an_agent_is_parked_for_the_stop_is_for_the_next_gateway() {
    let mut stage = Stage::forgetful(GatewayConfig::DEFAULT_HOLD).await;
    let (talk, mut actor, ask) = waiting(&mut stage).await;
    let stopping = stopping(&stage, &mut actor).await;
    talk.respond(&ask, approve()).await;
    talk.say("and then this").await;
    let other = Talk::open(&stage.gateway, opening("actor")).await;
    other.say("go").await;
    assert!(actor.hears_nothing());
    actor.exits(true).await;
    let stopped = stopping.await.unwrap();
    assert_eq!(stopped.parked.len(), 1, "{stopped:?}");
    assert!(stage.nothing_was_started());
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Accepted));

    let mut stage = stage.again().await;
    let (mut first, mut second) = (stage.life().await, stage.life().await);
    if first.launch.resume.is_none() {
        std::mem::swap(&mut first, &mut second);
    }
    let at = ResumePoint { agent_ref: "ref".to_owned(), at: ResumeAt::OpenAsks };
    assert_eq!((first.launch.resume.clone(), second.launch.resume.clone()), (Some(at), None));
    first.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    let told = first.is_told("call_1").await;
    assert!(matches!(told, Resolution::Settled { settlement: Settlement::Approved, .. }), "{told:?}");
    first.says(AgentEvent::Acknowledged { tool_call_id: ToolCallId::new("call_1").unwrap() }).await;
    first.ends_turn().await;
    assert_eq!(first.hears().await, Outgoing::Message { text: "and then this".to_owned() });
    assert_eq!(second.hears().await, Outgoing::Message { text: "go".to_owned() });
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_an_agent_that_stays_while_the_gateway_stops_is_told_by_the_next() {
    let mut stage = Stage::forgetful(GatewayConfig::DEFAULT_HOLD).await;
    let (talk, mut actor, ask) = waiting(&mut stage).await;
    let stopping = stopping(&stage, &mut actor).await;
    let tool_call_id = ToolCallId::new("call_1").unwrap();
    actor.says(AgentEvent::CannotPark { tool_call_id, why: "busy".to_owned() }).await;
    actor.side.kill.notified().await;
    talk.respond(&ask, approve()).await;
    actor.exits(false).await;
    let stopped = stopping.await.unwrap();
    assert_eq!(stopped.not_parked[0].1, NotParked::Stays("busy".to_owned()));
    assert_eq!(
        talk.delivery(&ask).await,
        Some(Delivery::Accepted),
        "an approval that may be lost is never told"
    );

    let mut actor = stage.again().await.life().await;
    let Outgoing::Message { text } = actor.hears().await else { panic!("not words") };
    assert!(text.contains("is approved. Make the very same call again"), "{text}");
}

/// The session's task is in the middle of something when the gateway stops, and tells the agent nothing after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_comes_before_the_agent_can_be_parked_is_told_by_the_next_gateway() {
    let sound: Arc<dyn Journal> = Arc::new(SqliteJournal::open("sqlite::memory:").await.unwrap());
    let (reached, (go_on, held)) = (Arc::new(Notify::new()), std::sync::mpsc::channel::<()>());
    let hold = Arc::new(Mutex::new(None));
    let plan = {
        let (reached, hold) = (Arc::clone(&reached), Arc::clone(&hold));
        move |call| {
            let held = if call == Call::Append { hold.lock().unwrap().take() } else { None };
            if let Some(held) = held {
                reached.notify_one();
                let _released = std::sync::mpsc::Receiver::recv(&held);
            }
            None
        }
    };
    let (driver, mut lives) = ActorDriver::new(Reasks::Parked);
    let journal = Arc::new(FaultyJournal::new(sound, plan));
    let config = config(GatewayConfig::DEFAULT_HOLD);
    let gateway = Gateway::start(journal, vec![Arc::new(driver)], config).await.unwrap();
    let mut talk = Talk::open(&gateway, opening("actor")).await;
    talk.say("go").await;
    let (launch, side) = lives.recv().await.unwrap();
    let actor = Actor { launch, side };
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    let ask = talk.ask().await;
    actor.is_heard(&mut talk).await;

    *hold.lock().unwrap() = Some(held);
    actor.says(AgentEvent::Ready { agent_ref: "ref".to_owned() }).await;
    reached.notified().await;
    let stopping = tokio::spawn({
        let gateway = gateway.clone();
        async move { gateway.stop().await }
    });
    gateway.shutdown_token().cancelled().await;
    talk.respond(&ask, approve()).await;
    go_on.send(()).unwrap();
    actor.side.kill.notified().await;
    actor.exits(false).await;
    assert_eq!(stopping.await.unwrap().at_work.len(), 1);
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Accepted));
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_process_ends_while_it_is_parked_for_the_stop_is_named() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (_talk, mut actor, _ask) = waiting(&mut stage).await;
    let stopping = stopping(&stage, &mut actor).await;
    actor.exits(false).await;
    assert_eq!(stopping.await.unwrap().not_parked[0].1, NotParked::Ended);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_its_call_back_while_the_gateway_stops_is_at_work() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (talk, mut actor, _ask) = waiting(&mut stage).await;
    let stopping = stopping(&stage, &mut actor).await;
    actor.says(AgentEvent::AskWithdrawn { tool_call_id: ToolCallId::new("call_1").unwrap() }).await;
    actor.side.kill.notified().await;
    actor.exits(false).await;
    let stopped = stopping.await.unwrap();
    assert_eq!(stopped.at_work.iter().map(|agent| agent.session).collect::<Vec<_>>(), [talk.session]);
}
