//! The inbox: a snapshot, then changes; whoever falls behind gets a new snapshot.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use holdstead_gateway::{CallerAsk, Gateway, GatewayConfig, GatewayError, InboxFrame, InboxStream, Person};
use holdstead_protocol::api::{AskCall, Interaction, SnoozeAsk};
use holdstead_protocol::{AskState, InteractionId, Settlement};
use holdstead_store::SqliteJournal;
use serde_json::json;

use crate::actor::TestClock;
use crate::world::{PATIENCE, World, ada, approve, config, owner, respond};

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
        InboxFrame::Snapshot(page) => {
            page.interactions.iter().map(|ask| ask.request.interaction_id).collect()
        }
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

#[tokio::test(start_paused = true)]
async fn a_snooze_is_seen_on_every_screen_and_ends_by_itself() {
    // Time moves on when everybody waits, and so for the journal: nothing is late on a busy machine.
    let journal =
        SqliteJournal::open_with_clock("sqlite::memory:", Arc::new(TestClock::new())).await.unwrap();
    let config = config(GatewayConfig::DEFAULT_HOLD);
    let gateway = &Gateway::start(Arc::new(journal), Vec::new(), config).await.unwrap();
    let asked = ask(gateway, 1).await;
    let id = asked.request.interaction_id;
    let mut inbox = gateway.inbox(&owner("ada"));
    assert_eq!(snapshot(&mut inbox).await, [id]);
    let upsert = async |inbox: &mut InboxStream| match next(inbox).await {
        InboxFrame::Upsert(upsert) => upsert,
        InboxFrame::Snapshot(page) => panic!("not a change: {page:?}"),
    };
    let now = gateway.journal().now().await.unwrap();
    let snooze = |until| SnoozeAsk { prompt_id: asked.request.prompt_id, until };

    let long = now.after(Duration::from_secs(3_600));
    let shown = gateway.snooze(&ada(), id, snooze(long)).await.unwrap();
    assert_eq!((shown.snoozed_until, shown.snoozed_by), (Some(long), Some(ada().name)));
    assert_eq!((shown.state, shown.request.deadline), (AskState::Open, asked.request.deadline));
    let told = upsert(&mut inbox).await;
    assert_eq!((told.interaction_id, told.snoozed_until, told.state), (id, Some(long), AskState::Open));
    assert_eq!(gateway.unsnooze(&ada(), id).await.unwrap().snoozed_until, None);
    assert_eq!(upsert(&mut inbox).await.snoozed_until, None);

    let short = now.after(Duration::from_millis(200));
    gateway.snooze(&ada(), id, snooze(short)).await.unwrap();
    assert_eq!(upsert(&mut inbox).await.snoozed_until, Some(short));
    // Nobody does anything, and it is told that its time has come.
    let back = upsert(&mut inbox).await;
    assert_eq!((back.snoozed_until, back.snoozed_by, back.state), (None, None, AskState::Open));
    let stranger = Person::new(owner("eve"), "Eve", ada().surface);
    let refused = gateway.snooze(&stranger, id, snooze(long)).await;
    assert!(matches!(refused, Err(GatewayError::NoAsk)), "{refused:?}");
}

#[tokio::test]
async fn whoever_falls_behind_gets_a_new_snapshot() {
    let world = World::new().await;
    let mut inbox = world.gateway.inbox(&owner("ada"));
    assert!(snapshot(&mut inbox).await.is_empty());
    let asked = join_all((0..600).map(|n| ask(&world.gateway, n))).await;
    let (last, answered) = asked.split_last().unwrap();
    for result in join_all(answered.iter().map(|ask| respond(&world.gateway, &ask.request, approve()))).await
    {
        result.unwrap();
    }
    assert_eq!(snapshot(&mut inbox).await, [last.request.interaction_id]);
    // Nothing older follows it.
    let newest = ask(&world.gateway, 600).await;
    let frame = next(&mut inbox).await;
    let InboxFrame::Upsert(upsert) = frame else { panic!("{frame:?}") };
    assert_eq!(upsert.interaction_id, newest.request.interaction_id);
}

#[tokio::test]
async fn a_list_shows_a_part_of_a_large_ask_and_says_so() {
    let world = World::new().await;
    let small = ask(&world.gateway, 1).await;
    let text = "x".repeat(250_000);
    let many: Vec<_> = (0..10_000).collect();
    let call = json!({
        "key": "large", "toolName": "deploy", "kind": "approval",
        "input": { "text": text, "many": many, "deep": [[[[[[1]]]]]] }, "preview": text, "agentSays": text,
    });
    let call: AskCall = serde_json::from_value(call).unwrap();
    let large = world.gateway.ask(&ada(), CallerAsk::Own, call).await.unwrap();
    assert_eq!(large.cut, None, "whoever asked is told the whole");
    let mut inbox = world.gateway.inbox(&owner("ada"));
    let InboxFrame::Snapshot(page) = next(&mut inbox).await else { panic!("no snapshot") };
    let [first, second] = page.interactions.as_slice() else { panic!("two asks") };
    assert_eq!(*first, small, "a small one is listed whole");
    let bytes = second.cut.expect("it is cut").bytes;
    assert!(bytes > 750_000, "{bytes}");
    assert!(serde_json::to_string(second).unwrap().len() < 10_000);
    assert_eq!(second.request.input_digest, large.request.input_digest);
    let whole = world.gateway.interaction(&owner("ada"), large.request.interaction_id).await.unwrap();
    assert_eq!(whole, large);
}

#[tokio::test]
async fn a_snapshot_says_that_more_follow_and_pages_lead_to_the_end() {
    let world = World::new().await;
    let asked = join_all((0..230).map(|n| ask(&world.gateway, n))).await;
    let mut inbox = world.gateway.inbox(&owner("ada"));
    let InboxFrame::Snapshot(first) = next(&mut inbox).await else { panic!("no snapshot") };
    let after = first.next.as_deref().map(holdstead_gateway::cursor::parse).expect("more follow").unwrap();
    let query = holdstead_store::AskQuery {
        owner: owner("ada"),
        session: None,
        only: holdstead_store::AskFilter::Live,
        after: Some(after),
        limit: 200,
    };
    let rest = world.gateway.page(query).await.unwrap();
    assert_eq!(rest.next, None);
    let ids =
        |asks: &[Interaction]| -> Vec<_> { asks.iter().map(|ask| ask.request.interaction_id).collect() };
    let mut seen = [ids(&first.interactions), ids(&rest.interactions)].concat();
    let mut all = ids(&asked);
    seen.sort();
    all.sort();
    assert_eq!(seen, all);
}

#[tokio::test]
async fn a_cancelled_turn_of_many_asks_is_changes_and_no_new_snapshot() {
    let world = World::new().await;
    let asked = join_all((0..100).map(|n| ask(&world.gateway, n))).await;
    let mut inbox = world.gateway.inbox(&owner("ada"));
    assert_eq!(snapshot(&mut inbox).await.len(), 100);
    world.gateway.end(&ada(), asked[0].session_id).await.unwrap();
    for _ in 0..100 {
        let frame = next(&mut inbox).await;
        assert!(matches!(frame, InboxFrame::Upsert(_)), "{frame:?}");
    }
}
