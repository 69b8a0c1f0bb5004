//! Whoever waits for an answer reads the ask, not the session's history.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdstead_gateway::{Called, CallerAsk, Gateway, GatewayConfig, Person, ToolCall, WhenNobody};
use holdstead_protocol::api::{AskCall, AskCallBody, Interaction};
use holdstead_protocol::{AskState, Settlement, Surface, ToolCallId};
use holdstead_store::faulty::{Call, FaultyJournal};
use holdstead_store::{Journal, SqliteJournal};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::world::{PATIENCE, approve, config, owner, respond};

/// What happens in the session between the ask and the wait.
const MEANWHILE: usize = 100;

fn program() -> Person {
    Person::new(owner("ada"), "deployer", Surface::Api)
}

async fn ask(gateway: &Gateway, key: &str) -> Interaction {
    let body = AskCallBody::Approval { preview: None, editable: false, scopes: Vec::new() };
    let call = AskCall::new(key, "deploy", json!({ "to": "production" }), body);
    gateway.ask(&program(), CallerAsk::Own, call).await.unwrap()
}

/// A gateway that tells `on_read` of every read of its journal.
async fn gateway(on_read: impl Fn(&'static str) + Send + Sync + 'static) -> Gateway {
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open("sqlite::memory:").await.unwrap());
    let watched = FaultyJournal::new(journal, move |call| {
        if let Call::Read(name) = call {
            on_read(name);
        }
        None
    });
    let config = config(GatewayConfig::DEFAULT_HOLD);
    Gateway::start(Arc::new(watched), Vec::new(), config).await.unwrap()
}

/// A gateway that counts how often events are read.
async fn counting() -> (Gateway, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let gateway = gateway(move |name| {
        if name == "read" {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    })
    .await;
    (gateway, reads)
}

#[tokio::test]
async fn a_long_poll_reads_no_events() {
    let (gateway, reads) = counting().await;
    let asked = ask(&gateway, "waited for").await;
    for n in 0..MEANWHILE {
        ask(&gateway, &n.to_string()).await;
    }
    let waited = gateway.wait_settled(&program(), asked.clone(), Duration::from_millis(10)).await.unwrap();
    assert_eq!(waited.state, AskState::Open);
    let waiting = {
        let (gateway, read) = (gateway.clone(), asked.clone());
        tokio::spawn(async move { gateway.wait_settled(&program(), read, PATIENCE).await })
    };
    respond(&gateway, &asked.request, approve()).await.unwrap();
    let settled = waiting.await.unwrap().unwrap();
    assert_eq!(settled.state, AskState::Settled { settlement: Settlement::Approved });
    assert_eq!(reads.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn whoever_comes_back_for_a_tools_answer_reads_no_events_before_there_is_one() {
    let (gateway, reads) = counting().await;
    let session = ask(&gateway, "0").await.session_id;
    let call = |name: &str, input: Value| ToolCall {
        owner: owner("ada"),
        session,
        turn: None,
        tool_call_id: ToolCallId::new(name).unwrap(),
        name: name.to_owned(),
        input,
        when_nobody: WhenNobody::Wait,
    };
    let approval = call("request_approval", json!({ "action": "deploy" }));
    let Called::Waiting(id) = gateway.call_tool_within(approval, Duration::from_millis(10)).await.unwrap()
    else {
        panic!("nobody answered it")
    };
    for n in 1..MEANWHILE {
        ask(&gateway, &n.to_string()).await;
    }
    let again = call("await_answer", json!({ "interaction_id": id }));
    let pending = gateway.call_tool_within(again.clone(), Duration::from_millis(10)).await.unwrap();
    assert_eq!(pending, Called::Waiting(id));
    assert_eq!(reads.load(Ordering::SeqCst), 0);
    let shown = gateway.interaction(&owner("ada"), id).await.unwrap();
    respond(&gateway, &shown.request, approve()).await.unwrap();
    let Called::Done(result) = gateway.call_tool_within(again, PATIENCE).await.unwrap() else {
        panic!("it was answered")
    };
    assert_eq!(result["approved"], json!(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_not_missed_between_the_first_read_and_the_next() {
    let (at_read, mut read) = mpsc::unbounded_channel::<std::sync::mpsc::Sender<()>>();
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let counted = Arc::clone(&left);
    let gateway = gateway(move |name| {
        if name == "ask" && counted.fetch_sub(1, Ordering::SeqCst) == 0 {
            let (go_on, answered) = std::sync::mpsc::channel();
            at_read.send(go_on).unwrap();
            tokio::task::block_in_place(|| answered.recv_timeout(PATIENCE)).unwrap();
        }
    })
    .await;
    let asked = ask(&gateway, "k").await;
    left.store(0, Ordering::SeqCst);
    let waiting = {
        let (gateway, open) = (gateway.clone(), asked.clone());
        tokio::spawn(async move { gateway.wait_settled(&program(), open, PATIENCE * 2).await })
    };
    let go_on = tokio::time::timeout(PATIENCE, read.recv()).await.unwrap().unwrap();
    respond(&gateway, &asked.request, approve()).await.unwrap();
    go_on.send(()).unwrap();
    let settled = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap();
    assert_eq!(settled.state, AskState::Settled { settlement: Settlement::Approved });
}
