//! Two gateways on one PostgreSQL: what either could do is done once, and one that is taken for dead begins again. What they
//! hear of each other is in `hints.rs`.

use std::time::Duration;

use holdstead_gateway::{Answering, CallerAsk, Gateway, GatewayConfig, NonceAge, Watch};
use holdstead_protocol::api::AskCall;
use holdstead_protocol::{AskState, Code, Refusal, Seq};
use holdstead_store::NodeId;
use serde_json::json;

use crate::deployment::{By, Deployment, ask};
use crate::world::{PATIENCE, Talk, ada, approve, config, owner, respond};

#[tokio::test]
async fn a_deadline_passes_once_whoever_sees_to_it() {
    let deployment = Deployment::new(By::Notify).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let mut expired = Vec::new();
    for n in 0..8 {
        let call = json!({
            "key": format!("key {n}"), "toolName": "deploy", "kind": "approval", "input": { "n": n }, "timeoutMs": 100
        });
        let call: AskCall = serde_json::from_value(call).unwrap();
        let asked = first.ask(&ada(), CallerAsk::Own, call).await.unwrap();
        expired.push(asked);
    }
    for asked in expired {
        let settled = second.wait_settled(&ada(), asked, Duration::from_secs(15)).await.unwrap();
        assert!(matches!(settled.state, AskState::Closed { .. }), "{:?}", settled.state);
    }
    deployment.end([first, second]).await;
}

#[tokio::test]
async fn a_node_that_is_taken_for_dead_ends_its_streams_and_begins_again() {
    let deployment = Deployment::new(By::Notify).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let mut watched = Talk::watch(&first, session, Seq(0)).await;
    watched.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
    let request = watched.ask().await;
    let mut inbox = first.inbox(&owner("ada"));
    deployment.run("UPDATE nodes SET epoch = epoch + 1".to_owned()).await;
    let ended = async { while inbox.next().await.unwrap().is_some() {} };
    tokio::time::timeout(PATIENCE, ended).await.expect("its streams end");
    // Its agent lived on, and is spoken for again as soon as the node could renew.
    respond(&second, &request, approve()).await.unwrap();
    let serves = async {
        while first.serving_token().is_cancelled() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, serves).await.expect("it serves again");
    let mut again = Talk::watch(&first, session, Seq(0)).await;
    again.completed().await;
    deployment.end([first, second]).await;
}

#[tokio::test]
async fn who_watches_on_one_node_counts_on_the_other_until_they_leave() {
    let deployment = Deployment::new(By::Notify).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let counts = |wanted| {
        let first = first.clone();
        let counted = async move {
            loop {
                let view = first.session(&owner("ada"), session).await.unwrap();
                if (view.interactive_clients, view.enabled_clients) == wanted {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        async move { tokio::time::timeout(PATIENCE, counted).await.expect("it is counted") }
    };
    let desk = second.watching(&ada(), "desk", Answering::On, Watch::Session(session));
    let phone = second.watching(&ada(), "phone", Answering::Off, Watch::Inbox);
    counts((2, 1)).await;
    assert!(first.interaction_available(&owner("ada"), session));
    let here = first.watching(&ada(), "desk", Answering::On, Watch::Inbox);
    counts((2, 1)).await;
    drop((desk, here));
    counts((1, 0)).await;
    // Whoever watches on a node that is gone watches nothing.
    second.stop().await;
    counts((0, 0)).await;
    drop(phone);
    deployment.end([first, second]).await;
}

#[tokio::test]
async fn nothing_is_taken_on_a_database_that_went_back() {
    let deployment = Deployment::new(By::Notify).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let asked = ask(&first, &ada(), 1).await;
    // As a copy from before the ask would be.
    let all_but_the_opening = "DELETE FROM events WHERE seq > 1; DELETE FROM asks; UPDATE sessions SET last_seq = 1, \
         head_hash = (SELECT hash FROM events WHERE session_id = sessions.id)";
    deployment.run(all_but_the_opening.to_owned()).await;
    deployment.break_connections_of("first").await;
    let refused = respond(&first, &asked.request, approve()).await.unwrap_err();
    let words = "The database lacks what was written before in 1 session. Nothing is decided until an operator sees to it: \
         the log says what to do.";
    for refusal in [Refusal::from(&refused), Refusal::from(&first.ready().await.unwrap_err())] {
        assert_eq!((refusal.code, refusal.detail.as_str()), (Code::Unavailable, words));
    }
    // One that has seen nothing of it takes the database for what it is.
    second.ready().await.unwrap();
    deployment.end([first, second]).await;
}

/// What a browser signs with a nonce is good on every node, for as long as the process runs that issued the nonce.
#[tokio::test]
async fn a_nonce_counts_on_every_node_until_its_own_is_gone_or_another_process() {
    let deployment = Deployment::new(By::Notify).await;
    let shared = config(GatewayConfig::DEFAULT_HOLD);
    let (one, two) = (NodeId::generate(), NodeId::generate());
    let node = async |name: &str, id| {
        deployment.node_with(name, GatewayConfig { node: Some(id), ..shared.clone() }).await
    };
    let (first, second) = (node("first", one).await, node("second", two).await);
    let counts = async |gateway: &Gateway, nonce: &str, wanted: bool| {
        let told = async {
            while gateway.check_nonce(nonce).is_some() != wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // A renewal is two seconds away at most.
        tokio::time::timeout(Duration::from_secs(4), told).await.expect("it is known with the next renewal");
    };
    let nonce = first.nonce();
    assert_eq!(first.check_nonce(&nonce), Some(NonceAge::Fresh));
    counts(&second, &nonce, true).await;
    let elsewhere = deployment.node("another key").await;
    assert_eq!(elsewhere.check_nonce(&nonce), None, "marked by another key");

    // The same node, another process: nothing of the first one counts, neither there nor elsewhere.
    first.stop().await;
    let again = node("again", one).await;
    assert_eq!(again.check_nonce(&nonce), None);
    counts(&second, &nonce, false).await;
    counts(&second, &again.nonce(), true).await;
    assert_eq!(second.check_nonce(&nonce), None);

    // A node that is gone for good.
    let last = again.nonce();
    again.stop().await;
    counts(&second, &last, false).await;
    deployment.end([second, elsewhere]).await;
}
