//! What belongs to one owner does not exist for another.

use holdstead_gateway::{CallerAsk, GatewayError, Person};
use holdstead_protocol::api::{Respond, SendMessage};
use holdstead_protocol::{Seq, SessionId, Surface};
use holdstead_store::{AskFilter, AskQuery, SessionQuery, SessionsOnly};

use crate::world::{World, ada, approve, owner};

fn bob() -> Person {
    Person::new(owner("bob"), "Bob", Surface::Web)
}

macro_rules! does_not_exist {
    ($kind:ident, $call:expr) => {
        assert!(matches!($call, Err(GatewayError::$kind)), stringify!($call))
    };
}

#[tokio::test]
async fn two_owners_never_see_each_others_sessions_or_asks() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"ls\"}").await;
    let ask = talk.ask().await;
    let (gateway, session, id, his) = (&world.gateway, talk.session, ask.interaction_id, owner("bob"));
    does_not_exist!(NoSession, gateway.session(&his, session).await);
    does_not_exist!(NoSession, gateway.message(&bob(), session, SendMessage::new("hi")).await);
    does_not_exist!(NoSession, gateway.interrupt(&bob(), session).await);
    does_not_exist!(NoSession, gateway.end(&bob(), session).await);
    does_not_exist!(NoSession, gateway.read(&his, session, Seq(0), 10).await);
    does_not_exist!(NoSession, gateway.stream(&his, session, Seq(0)).await);
    does_not_exist!(NoAsk, gateway.interaction(&his, id).await);
    let read = gateway.interaction(&owner("ada"), id).await.unwrap();
    does_not_exist!(NoAsk, gateway.wait_settled(&bob(), read, std::time::Duration::ZERO).await);
    let body = Respond { prompt_id: ask.prompt_id, idempotency_key: "k".to_owned(), response: approve() };
    does_not_exist!(NoAsk, gateway.respond(&bob(), id, body).await);
    let call = ask.tool_call_id.as_ref().unwrap().as_str();
    does_not_exist!(NoSession, gateway.open_ask_of_call(&his, session, call).await);
    let query =
        AskQuery { owner: his.clone(), session: Some(session), only: AskFilter::All, after: None, limit: 9 };
    does_not_exist!(NoSession, gateway.page(query.clone()).await);
    assert!(gateway.page(AskQuery { session: None, ..query }).await.unwrap().interactions.is_empty());
    assert!(
        gateway
            .sessions(SessionQuery { owner: his, before: None, only: SessionsOnly::All, limit: 9 })
            .await
            .unwrap()
            .is_empty()
    );
    let asked = gateway.ask(&bob(), CallerAsk::In(session), serde_json::from_str(CALL).unwrap()).await;
    does_not_exist!(NoSession, asked);
    assert_eq!(gateway.open_ask_of_call(&owner("ada"), session, call).await.unwrap().request, ask);
}

const CALL: &str = r#"{"key":"k","toolName":"t","kind":"approval","input":{}}"#;

#[tokio::test]
async fn the_owners_own_journal_is_no_session() {
    let world = World::new().await;
    let session = SessionId::derive(&owner("ada"), "owner");
    let grant = serde_json::json!({
        "owner": "ada", "agent": "owner", "permissionMode": "default",
    });
    let open = holdstead_core::Command::Open(Box::new(serde_json::from_value(grant).unwrap()));
    world.gateway.journal().append(session, open).await.unwrap();
    does_not_exist!(NoSession, world.gateway.end(&ada(), session).await);
    does_not_exist!(NoSession, world.gateway.message(&ada(), session, SendMessage::new("hi")).await);
}
