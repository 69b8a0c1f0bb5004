//! The inbox: a snapshot, then changes; whoever falls behind gets a new snapshot.

use futures_util::future::join_all;
use holdstead_gateway::{CallerAsk, Gateway, InboxFrame, InboxStream};
use holdstead_protocol::api::{AskCall, Interaction};
use holdstead_protocol::{AskState, InteractionId, Settlement};
use serde_json::json;

use crate::world::{PATIENCE, World, ada, approve, owner, respond};

async fn ask(gateway: &Gateway, n: usize) -> Interaction {
    let call =
        json!({ "key": format!("key {n}"), "toolName": "deploy", "kind": "approval", "input": { "n": n } });
    let call: AskCall = serde_json::from_value(call).unwrap();
    gateway.ask(&ada(), CallerAsk::Own, call).await.unwrap()
}

async fn next(inbox: &mut InboxStream) -> InboxFrame {
    tokio::time::timeout(PATIENCE, inbox.next()).await.expect("a frame in time").unwrap().expect("a frame")
}

async fn snapshot(inbox: &mut InboxStream) -> Vec<InteractionId> {
    match next(inbox).await {
        InboxFrame::Snapshot(asks) => asks.iter().map(|ask| ask.request.interaction_id).collect(),
        InboxFrame::Upsert(upsert) => panic!("not a snapshot: {upsert:?}"),
    }
}

#[tokio::test]
async fn a_snapshot_and_then_every_change() {
    let world = World::new().await;
    let first = ask(&world.gateway, 1).await;
    let mut inbox = world.gateway.inbox(&owner("ada"));
    assert_eq!(snapshot(&mut inbox).await, [first.request.interaction_id]);
    let second = ask(&world.gateway, 2).await;
    respond(&world.gateway, &first.request, approve()).await.unwrap();
    let opened = next(&mut inbox).await;
    let InboxFrame::Upsert(opened) = opened else { panic!("{opened:?}") };
    assert_eq!((opened.interaction_id, opened.state), (second.request.interaction_id, AskState::Open));
    let settled = next(&mut inbox).await;
    let InboxFrame::Upsert(settled) = settled else { panic!("{settled:?}") };
    assert_eq!(settled.interaction_id, first.request.interaction_id);
    assert_eq!(settled.state, AskState::Settled { settlement: Settlement::Approved });
}

#[tokio::test]
async fn whoever_falls_behind_gets_a_new_snapshot() {
    let world = World::new().await;
    let mut inbox = world.gateway.inbox(&owner("ada"));
    assert!(snapshot(&mut inbox).await.is_empty());
    let asked = join_all((0..300).map(|n| ask(&world.gateway, n))).await;
    let (last, answered) = asked.split_last().unwrap();
    for result in join_all(answered.iter().map(|ask| respond(&world.gateway, &ask.request, approve()))).await
    {
        result.unwrap();
    }
    assert_eq!(snapshot(&mut inbox).await, [last.request.interaction_id]);
    // Nothing older follows it.
    let newest = ask(&world.gateway, 300).await;
    let frame = next(&mut inbox).await;
    let InboxFrame::Upsert(upsert) = frame else { panic!("{frame:?}") };
    assert_eq!(upsert.interaction_id, newest.request.interaction_id);
}
