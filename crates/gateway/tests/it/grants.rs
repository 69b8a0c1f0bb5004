//! Approvals that are remembered, and rules: each is named in the journal.

use holdstead_core::Rejection;
use holdstead_gateway::{GatewayError, Person};
use holdstead_protocol::{
    AskBody, Decider, EventBody, GrantId, PermissionMode, ResponseDraft, Rule, Scope, Settlement,
};
use serde_json::json;

use crate::world::{Talk, World, ada, answer, approve, owner, respond};

const LS_TWICE: &str = "approve Bash {\"command\":\"ls\"}\napprove Bash {\"command\":\"ls\"}";

fn scoped(scope: Scope) -> ResponseDraft {
    ResponseDraft::Approve { scope: Some(scope), edited_input: None }
}

fn deciders(talk: &Talk) -> Vec<Decider> {
    let deciders = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::InteractionResponse(response) => {
            assert_eq!(response.settlement, Some(Settlement::Approved));
            Some(response.decider.clone())
        }
        _ => None,
    });
    deciders.collect()
}

#[tokio::test]
async fn a_session_grant_settles_the_next_identical_call_and_no_other() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(&format!("{LS_TWICE}\napprove Bash {{\"command\":\"ls -a\"}}")).await;
    let ask = talk.ask().await;
    let AskBody::Approval { offered_scopes, .. } = &ask.body else { panic!("an approval") };
    let rule = Rule::ExactInput { tool_name: "Bash".to_owned(), input_digest: ask.input_digest.clone() };
    let offered: Vec<_> = offered_scopes.iter().map(|offered| (offered.scope, &offered.rule)).collect();
    assert_eq!(offered, [(Scope::Once, &rule), (Scope::Session, &rule)]);
    talk.respond(&ask, scoped(Scope::Session)).await;
    let (_granted, other) = (talk.ask().await, talk.ask().await);
    talk.respond(&other, approve()).await;
    talk.completed().await;
    let deciders = deciders(&talk);
    assert!(matches!(deciders[0], Decider::Person { .. }));
    assert_eq!(deciders[1], Decider::Grant { grant_id: GrantId::from_answer(ask.interaction_id) });
    assert!(matches!(deciders[2], Decider::Person { .. }));
    assert_eq!(talk.results().await.len(), 3);
}

#[tokio::test]
async fn a_session_grant_is_listed_and_taken_back_by_its_owner() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(&format!("{LS_TWICE}\nask Store: Where? | a | b\napprove Bash {{\"command\":\"ls\"}}")).await;
    let ask = talk.ask().await;
    talk.respond(&ask, scoped(Scope::Session)).await;
    let (_granted, question) = (talk.ask().await, talk.ask().await);
    let grants = talk.gateway.grants(&owner("ada")).await.unwrap();
    let [listed] = grants.as_slice() else { panic!("one: {grants:?}") };
    assert_eq!((listed.grant.scope, listed.session_id), (Scope::Session, Some(talk.session)));
    let id = listed.grant.grant_id;

    assert_eq!(talk.gateway.grants(&owner("ben")).await.unwrap(), []);
    let ben = Person { owner: owner("ben"), ..ada() };
    let refused = talk.gateway.revoke(&ben, id, Some(talk.session)).await;
    assert!(matches!(refused, Err(GatewayError::NoSession)), "{refused:?}");
    talk.gateway.revoke(&ada(), id, Some(talk.session)).await.unwrap();
    assert_eq!(talk.gateway.grants(&owner("ada")).await.unwrap(), []);

    talk.respond(&question, answer(json!({ "store": "a" }))).await;
    // The next match asks, and is not decided yet.
    let again = talk.ask().await;
    talk.respond(&again, approve()).await;
    talk.completed().await;
}

#[tokio::test]
async fn an_approval_for_once_is_for_once() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(LS_TWICE).await;
    for _ in 0..2 {
        let ask = talk.ask().await;
        talk.respond(&ask, approve()).await;
    }
    talk.completed().await;
}

#[tokio::test]
async fn always_is_refused_where_it_is_not_offered() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(LS_TWICE).await;
    let ask = talk.ask().await;
    let refused = respond(&talk.gateway, &ask, scoped(Scope::Always)).await;
    let Err(GatewayError::Rejected(Rejection::Invalid { errors })) = refused else { panic!("{refused:?}") };
    assert!(errors.contains_key("scope"));
    talk.respond(&ask, approve()).await;
}

#[tokio::test]
async fn mode_auto_allows_by_its_named_rule_and_still_asks_questions() {
    let world = World::new().await;
    let mut talk = world.talk_in(PermissionMode::Auto).await;
    talk.say(&format!("{LS_TWICE}\nask Store: Where? | a | b")).await;
    talk.ask().await;
    talk.ask().await;
    let question = talk.ask().await;
    assert_eq!(question.body.kind(), "question");
    let rule = Decider::Rule { name: "permission mode auto".to_owned() };
    assert_eq!(deciders(&talk), [rule.clone(), rule]);
    assert_eq!(talk.results().await.len(), 2);
}
