//! Rules over a session's variables, its start step, and the ends of its turns.

use holdstead_agents::{AgentEvent, AgentExit, Outgoing, TurnEnd};
use holdstead_core::policy::MayAllow;
use holdstead_protocol::{
    AskBody, EventBody, Layer, RuleText, SessionInitialised, StopReason, VariableValue, Variables,
};
use serde_json::json;

use crate::actor::{Actor, Stage, ask};
use crate::world::{Talk, World, ada, opening};

fn flag(name: &str, value: bool) -> Variables {
    Variables::from([(name.to_owned(), VariableValue::Flag(value))])
}

async fn set(talk: &Talk, name: &str, value: VariableValue) {
    let changes = [(name.to_owned(), Some(value))].into();
    talk.gateway.set_variables(&ada(), talk.session, changes).await.expect("it is set");
}

async fn starts(talk: &Talk) -> Vec<SessionInitialised> {
    let events = talk.journal().await.into_iter();
    let starts = events.filter_map(|event| match event.body {
        EventBody::SessionInitialised(start) => Some(start),
        _ => None,
    });
    starts.collect()
}

/// A session whose agent was given its first message.
async fn talk(stage: &mut Stage, variables: Variables) -> (Talk, Actor) {
    let open = holdstead_protocol::api::OpenSession { variables, ..opening("actor") };
    let talk = Talk::open(&stage.gateway, open).await;
    talk.say("go").await;
    let actor = stage.life().await;
    (talk, actor)
}

async fn wants_to_end(actor: &mut Actor) -> TurnEnd {
    actor.says(AgentEvent::TurnEnding).await;
    match actor.hears().await {
        Outgoing::TurnEnd(end) => end,
        other => panic!("{other:?}"),
    }
}

fn blocked(words: &str) -> TurnEnd {
    TurnEnd::Blocked { words: words.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn the_first_message_of_a_session_comes_after_its_context_and_no_other_does() {
    let rules = "default $phase build\ncontext # Be brief\ncontext when $phase build # Build only\ncontext when agent other # Not you";
    let mut stage = Stage::ruled(rules).await;
    let (mut talk, mut actor) = talk(&mut stage, Variables::new()).await;
    let first = Outgoing::MessageWithContext { context: "Be brief\nBuild only".into(), text: "go".into() };
    assert_eq!(actor.hears().await, first);
    actor.ends_turn().await;
    talk.done().await;
    talk.say("again").await;
    assert_eq!(actor.hears().await, Outgoing::Message { text: "again".into() });
    let [start] = starts(&talk).await.try_into().expect("one start");
    assert_eq!(start.defaults, [("phase".to_owned(), VariableValue::Text("build".into()))].into());
    assert_eq!(start.context[0].layer, Layer::Organisation);
    assert_eq!(
        start.context.iter().map(|said| said.words.as_str()).collect::<Vec<_>>(),
        ["Be brief", "Build only"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_died_before_it_was_named_is_told_with_its_next_message() {
    let mut stage = Stage::ruled("context # Be brief").await;
    let mut talk = Talk::open(&stage.gateway, opening("actor")).await;
    talk.say("go").await;
    let mut actor = stage.unborn().await;
    assert!(matches!(actor.hears().await, Outgoing::MessageWithContext { .. }));
    actor.says(AgentEvent::Exited(AgentExit { parked: false, code: Some(1), stderr: String::new() })).await;
    assert_eq!(talk.done().await.reason, StopReason::Failed);
    talk.say("again").await;
    let mut actor = stage.life().await;
    let told = Outgoing::MessageWithContext { context: "Be brief".into(), text: "again".into() };
    assert_eq!(actor.hears().await, told);
}

#[tokio::test(start_paused = true)]
async fn a_rule_keeps_a_turn_going_until_its_variable_is_set() {
    let mut stage = Stage::ruled(
        "default $tests_passed false\ndeny Stop when $tests_passed not true # Run the tests first",
    )
    .await;
    let (mut talk, mut actor) = talk(&mut stage, Variables::new()).await;
    actor.hears().await;
    assert_eq!(wants_to_end(&mut actor).await, blocked("Run the tests first"));
    let told = talk
        .until(|body| match body {
            EventBody::TurnEndBlocked(told) => Some(told.clone()),
            _ => None,
        })
        .await;
    let text = "deny Stop when $tests_passed not true # Run the tests first".to_owned();
    assert_eq!((told.attempt, told.rule), (1, RuleText { layer: Layer::Organisation, text }));
    set(&talk, "tests_passed", VariableValue::Flag(true)).await;
    assert_eq!(wants_to_end(&mut actor).await, TurnEnd::Ends);
}

#[tokio::test(start_paused = true)]
async fn after_eight_times_the_turn_ends_and_the_journal_says_so() {
    let mut stage = Stage::ruled("deny Stop # Go on").await;
    let (mut talk, mut actor) = talk(&mut stage, Variables::new()).await;
    actor.hears().await;
    for _ in 0..8 {
        assert_eq!(wants_to_end(&mut actor).await, blocked("Go on"));
    }
    assert_eq!(wants_to_end(&mut actor).await, TurnEnd::Ends);
    actor.ends_turn().await;
    assert!(talk.error().await.contains("deny Stop"));
    talk.done().await;
    talk.say("again").await;
    actor.hears().await;
    assert_eq!(wants_to_end(&mut actor).await, blocked("Go on"), "a new turn is counted anew");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_a_person_stopped_is_not_kept_going() {
    let mut stage = Stage::ruled("deny Stop # Go on").await;
    let (talk, mut actor) = talk(&mut stage, Variables::new()).await;
    actor.hears().await;
    talk.gateway.interrupt(&ada(), talk.session).await.expect("it is stopped");
    assert_eq!(actor.hears().await, Outgoing::Interrupt);
    assert_eq!(wants_to_end(&mut actor).await, TurnEnd::Ends);
}

#[tokio::test(start_paused = true)]
async fn a_rule_over_variables_denies_a_question_with_its_words() {
    let rules = "deny Deploy when $stop_attempts >= 1 and $task_claimed true # Do not ask: act\ndeny Stop when $stop_attempts <= 0 # Go on";
    let mut stage = Stage::ruled(rules).await;
    let (mut talk, mut actor) = talk(&mut stage, flag("task_claimed", true)).await;
    actor.hears().await;
    let approval = || AskBody::Approval { preview: None, offered_scopes: Vec::new(), is_plan: false };
    let call = |id: &str| {
        let asked = ask(id, "Deploy", json!({}), approval());
        AgentEvent::Ask(Box::new(holdstead_agents::Ask { may_allow: MayAllow::Rules, ..asked }))
    };
    actor.says(call("one")).await;
    assert_eq!(talk.ask().await.tool_name, "Deploy", "nothing was blocked yet: a person is asked");
    assert_eq!(wants_to_end(&mut actor).await, blocked("Go on"));
    actor.says(call("two")).await;
    let told = format!("{:?}", actor.is_told("two").await);
    assert!(told.contains("Do not ask: act"), "{told}");
}

#[tokio::test]
async fn an_agent_that_cannot_be_held_to_a_rule_is_named_once_and_still_told_its_context() {
    let world =
        World::with_rules("context # Be brief\ndeny Stop # Go on\ndeny Stop when agent other # Not you")
            .await;
    let mut talk = world.talk().await;
    talk.say("say Hello").await;
    talk.completed().await;
    talk.say("say Again").await;
    talk.completed().await;
    let [start] = starts(&talk).await.try_into().expect("one start");
    assert_eq!(start.not_kept, [RuleText { layer: Layer::Organisation, text: "deny Stop # Go on".into() }]);
    let said: String = talk
        .seen
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::TextDelta(delta) => Some(delta.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, "Be briefHelloAgain");
}
