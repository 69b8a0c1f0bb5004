//! A rule that an answer gives to all sessions of the owner is saved, though the connection or the gateway is gone.

use holdstead_core::{Command, Confirmed, Respond, Together};
use holdstead_gateway::Gateway;
use holdstead_protocol::{
    AskChange, EventBody, GrantId, InteractionRequest, MessageId, ResponseDraft, Rule, Scope, Seq, SessionId,
    Surface, TurnId,
};

use crate::deployment::{By, Deployment};
use crate::world::{Talk, World, opening, owner, respond};

const LINE: &str = "allow Bash(ls)";

fn always() -> ResponseDraft {
    ResponseDraft::Approve { scope: Some(Scope::Always), lines: vec![LINE.to_owned()], edited_input: None }
}

async fn asked(gateway: &Gateway) -> (Talk, InteractionRequest) {
    let mut talk = Talk::open(gateway, opening("scripted")).await;
    talk.say("approve Bash {\"command\":\"ls\"}").await;
    let ask = talk.ask().await;
    (talk, ask)
}

async fn saved(gateway: &Gateway) -> Vec<Rule> {
    let rules = gateway.rules(&owner("ada")).await.unwrap();
    rules.into_iter().filter(|rule| rule.grant_id.is_some()).map(|rule| rule.rule).collect()
}

fn the_rule() -> Rule {
    Rule::Lines { lines: vec![LINE.to_owned()] }
}

/// What the history says was saved with this answer.
async fn remembered(gateway: &Gateway, ask: &InteractionRequest) -> Vec<String> {
    let page = gateway.decisions(&owner("ada"), None, 10).await.unwrap();
    let decision = page.decisions.into_iter().find(|one| one.interaction_id == ask.interaction_id);
    decision.expect("it is decided").remembered
}

/// The journal takes the answer, and the gateway does nothing about it, as if it was killed right after the commit: it stops
/// before, so that none of its tasks can see the answer.
async fn answered_and_killed(gateway: &Gateway, session: SessionId, ask: &InteractionRequest) {
    let respond = Respond {
        interaction_id: ask.interaction_id,
        prompt_id: ask.prompt_id,
        idempotency_key: "key".to_owned(),
        response: always(),
        secrets_mac: None,
        name: "Ada".to_owned(),
        surface: Surface::Web,
        actor: None,
        together: Together::Alone,
        confirmed: Confirmed::NotRequired,
        turn_id: TurnId::generate(),
        message_id: MessageId::generate(),
    };
    gateway.stop().await;
    gateway.journal().append(session, Command::Respond(Box::new(respond))).await.unwrap();
    assert_eq!(saved(gateway).await, []);
    assert_eq!(remembered(gateway, ask).await, Vec::<String>::new(), "the history tells what is true");
}

/// Waits until the session's journal says that its rule was saved.
async fn said_to_be_saved(gateway: &Gateway, session: SessionId) -> GrantId {
    let mut talk = Talk::watch(gateway, session, Seq(0)).await;
    talk.until(|body| match body {
        EventBody::InteractionUpdate(update) => match update.change {
            AskChange::RuleSaved { grant_id } => Some(grant_id),
            _ => None,
        },
        _ => None,
    })
    .await
}

async fn is_repaired(gateway: &Gateway, session: SessionId, ask: &InteractionRequest) {
    assert_eq!(said_to_be_saved(gateway, session).await, GrantId::from_answer(ask.prompt_id));
    assert_eq!(saved(gateway).await, [the_rule()]);
    assert_eq!(remembered(gateway, ask).await, [LINE]);
}

/// The gateway that was killed had saved the rule, and not said so. A person took it back before the next one started.
async fn saved_and_taken_back(gateway: &Gateway, session: SessionId) {
    let record = gateway.journal().session(session).await.unwrap().unwrap();
    let [grant] = record.state.unsaved.into_values().collect::<Vec<_>>().try_into().unwrap();
    let grant_id = grant.grant_id;
    let owners = SessionId::derive(&owner("ada"), "owner");
    let revoke = Command::Revoke { grant_id, name: "Ada".to_owned() };
    for command in [Command::Grant(grant), revoke] {
        gateway.journal().append(owners, command).await.unwrap();
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_after_its_answer_loses_no_rule() {
    let world = World::new().await;
    let (mut talk, ask) = asked(&world.gateway).await;
    let answered = talk.until(|body| matches!(body, EventBody::InteractionResponse(_)).then_some(()));
    tokio::select! {
        biased;
        () = answered => {}
        receipt = respond(&world.gateway, &ask, always()) => panic!("it was to be dropped before: {receipt:?}"),
    }
    is_repaired(&world.gateway, talk.session, &ask).await;
}

#[tokio::test]
async fn an_answer_returns_when_its_rule_is_saved() {
    let world = World::new().await;
    let (talk, ask) = asked(&world.gateway).await;
    talk.respond(&ask, always()).await;
    assert_eq!(saved(&world.gateway).await, [the_rule()]);
    assert_eq!(remembered(&world.gateway, &ask).await, [LINE]);
}

#[tokio::test]
async fn a_gateway_that_was_killed_between_the_answer_and_its_rule_loses_no_rule() {
    let world = World::new().await;
    let (talk, ask) = asked(&world.gateway).await;
    answered_and_killed(&world.gateway, talk.session, &ask).await;
    let World { gateway, folder } = world;
    gateway.journal().close().await;
    let next = World::on(folder).await;
    is_repaired(&next.gateway, talk.session, &ask).await;
}

#[tokio::test]
async fn a_node_that_was_killed_between_the_answer_and_its_rule_loses_no_rule() {
    let deployment = Deployment::new(By::Notify).await;
    let first = deployment.node("first").await;
    let (talk, ask) = asked(&first).await;
    answered_and_killed(&first, talk.session, &ask).await;
    let second = deployment.node("second").await;
    is_repaired(&second, talk.session, &ask).await;
    second.stop().await;
}

#[tokio::test]
async fn a_rule_that_was_taken_back_before_the_repair_stays_taken_back() {
    let world = World::new().await;
    let (talk, ask) = asked(&world.gateway).await;
    answered_and_killed(&world.gateway, talk.session, &ask).await;
    saved_and_taken_back(&world.gateway, talk.session).await;
    let World { gateway, folder } = world;
    gateway.journal().close().await;
    let next = World::on(folder).await;
    said_to_be_saved(&next.gateway, talk.session).await;
    assert_eq!(saved(&next.gateway).await, []);
}

#[tokio::test]
async fn a_rule_that_was_taken_back_before_another_node_repairs_stays_taken_back() {
    let deployment = Deployment::new(By::Notify).await;
    let first = deployment.node("first").await;
    let (talk, ask) = asked(&first).await;
    answered_and_killed(&first, talk.session, &ask).await;
    saved_and_taken_back(&first, talk.session).await;
    let second = deployment.node("second").await;
    said_to_be_saved(&second, talk.session).await;
    assert_eq!(saved(&second).await, []);
    second.stop().await;
}
