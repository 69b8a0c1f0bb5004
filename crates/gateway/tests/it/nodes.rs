//! Two gateways on one PostgreSQL: what is written on one is seen on the other, and wakes whoever waits there.

use std::sync::Arc;
use std::time::Duration;

use holdstead_gateway::{CallerAsk, Gateway, GatewayConfig, InboxFrame};
use holdstead_protocol::api::{AskCall, Interaction, OpenSession};
use holdstead_protocol::{AskState, InteractionId, Seq, Settlement};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use uuid::Uuid;

use crate::world::{PATIENCE, Talk, ada, approve, config, opening, owner, respond, scripted};

/// A schema of its own on the server that the environment names.
struct Schema {
    server: String,
    name: String,
    folder: TempDir,
}

impl Schema {
    async fn new() -> Self {
        let server = std::env::var("HOLDSTEAD_TEST_POSTGRES").expect(
            "these tests need PostgreSQL: run `just test`, or `scripts/postgres with cargo nextest run -p holdstead-gateway`",
        );
        let schema = Self {
            server,
            name: format!("test_{}", Uuid::now_v7().simple()),
            folder: TempDir::new().unwrap(),
        };
        schema.run(format!("CREATE SCHEMA {}", schema.name)).await;
        schema
    }

    async fn run(&self, sql: String) {
        let mut connection = PgConnection::connect(&self.server).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// A gateway of this name, with the scripted agent.
    async fn node(&self, name: &str) -> Gateway {
        let schema = &self.name;
        let url = format!("{}?options[search_path]={schema}&application_name={schema}_{name}", self.server);
        let journal = holdstead_store::open(&url).await.unwrap();
        let driver = Arc::new(scripted(&self.folder));
        Gateway::start(journal, vec![driver], config(GatewayConfig::DEFAULT_HOLD)).await.unwrap()
    }

    async fn break_connections_of(&self, name: &str) {
        self.run(format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}_{name}'",
            self.name
        ))
        .await;
    }

    fn opening(&self) -> OpenSession {
        OpenSession { cwd: Some(self.folder.path().display().to_string()), ..opening("scripted") }
    }

    async fn end(self, nodes: [Gateway; 2]) {
        for node in nodes {
            node.stop().await;
            node.journal().close().await;
        }
        self.run(format!("DROP SCHEMA {} CASCADE", self.name)).await;
    }
}

async fn ask(gateway: &Gateway, n: usize) -> Interaction {
    let call =
        json!({ "key": format!("key {n}"), "toolName": "deploy", "kind": "approval", "input": { "n": n } });
    let call: AskCall = serde_json::from_value(call).unwrap();
    gateway.ask(&ada(), CallerAsk::Own, call).await.unwrap()
}

#[tokio::test]
async fn an_agent_on_one_node_is_watched_and_answered_on_the_other() {
    let schema = Schema::new().await;
    let (first, second) = (schema.node("first").await, schema.node("second").await);
    let session = first.open_session(&ada(), schema.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&second, session, Seq(0)).await;
    talk.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
    let request = talk.ask().await;
    respond(&second, &request, approve()).await.unwrap();
    talk.completed().await;
    let (journal, _) = first.read(&owner("ada"), session, Seq(0), 1_000).await.unwrap();
    assert_eq!(talk.seen, journal[..talk.seen.len()], "no gap and no double");
    schema.end([first, second]).await;
}

#[tokio::test]
async fn a_caller_who_waits_on_one_node_is_answered_on_the_other() {
    let schema = Schema::new().await;
    let (first, second) = (schema.node("first").await, schema.node("second").await);
    let asked = ask(&second, 1).await;
    let waiting = tokio::spawn({
        let (second, read) = (second.clone(), asked.clone());
        async move { second.wait_settled(&ada(), read, PATIENCE).await }
    });
    respond(&first, &asked.request, approve()).await.unwrap();
    let settled = waiting.await.unwrap().unwrap();
    assert_eq!(settled.state, AskState::Settled { settlement: Settlement::Approved });
    schema.end([first, second]).await;
}

/// Reads on until the inbox says this of the ask. What it was told in between may be a snapshot.
async fn until(inbox: &mut holdstead_gateway::InboxStream, id: InteractionId, state: &AskState) {
    loop {
        let frame = tokio::time::timeout(PATIENCE, inbox.next()).await.expect("a frame in time").unwrap();
        match frame.expect("a frame") {
            InboxFrame::Upsert(upsert) if upsert.interaction_id == id && upsert.state == *state => return,
            InboxFrame::Upsert(_) => {}
            InboxFrame::Snapshot(page) => {
                let found = page.interactions.iter().find(|ask| ask.request.interaction_id == id);
                match (found, state) {
                    (Some(ask), state) if ask.state == *state => return,
                    (None, AskState::Settled { .. }) => return,
                    (_, _) => {}
                }
            }
        }
    }
}

#[tokio::test]
async fn an_inbox_on_one_node_has_what_is_asked_and_answered_on_the_other() {
    let schema = Schema::new().await;
    let (first, second) = (schema.node("first").await, schema.node("second").await);
    let mut inbox = second.inbox(&owner("ada"));
    let asked = ask(&first, 1).await.request;
    until(&mut inbox, asked.interaction_id, &AskState::Open).await;
    respond(&first, &asked, approve()).await.unwrap();
    let approved = AskState::Settled { settlement: Settlement::Approved };
    until(&mut inbox, asked.interaction_id, &approved).await;
    schema.end([first, second]).await;
}

#[tokio::test]
async fn what_was_told_while_a_node_could_not_listen_is_found() {
    let schema = Schema::new().await;
    let (first, second) = (schema.node("first").await, schema.node("second").await);
    let session = first.open_session(&ada(), schema.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&second, session, Seq(0)).await;
    let mut inbox = second.inbox(&owner("ada"));
    for round in 1..=3 {
        schema.break_connections_of("second").await;
        let asked = ask(&first, round).await.request;
        first.message(&ada(), session, "say hello".to_owned()).await.unwrap();
        talk.completed().await;
        until(&mut inbox, asked.interaction_id, &AskState::Open).await;
        // The one that has the agent hears of a message, too.
        schema.break_connections_of("first").await;
        second.message(&ada(), session, "say hello".to_owned()).await.unwrap();
        talk.completed().await;
    }
    schema.end([first, second]).await;
}

#[tokio::test]
async fn a_deadline_passes_once_whoever_sees_to_it() {
    let schema = Schema::new().await;
    let (first, second) = (schema.node("first").await, schema.node("second").await);
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
    schema.end([first, second]).await;
}

#[tokio::test]
async fn a_node_that_is_taken_for_dead_ends_its_streams_and_begins_again() {
    let schema = Schema::new().await;
    let (first, second) = (schema.node("first").await, schema.node("second").await);
    let session = first.open_session(&ada(), schema.opening()).await.unwrap().session_id;
    let mut watched = Talk::watch(&first, session, Seq(0)).await;
    watched.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
    let request = watched.ask().await;
    let mut inbox = first.inbox(&owner("ada"));
    schema.run(format!("UPDATE {}.nodes SET epoch = epoch + 1", schema.name)).await;
    let ended = async { while inbox.next().await.unwrap().is_some() {} };
    tokio::time::timeout(PATIENCE, ended).await.expect("its streams end");
    // Its agent lived on, and is spoken for again as soon as the node could renew.
    respond(&second, &request, approve()).await.unwrap();
    let serves = async {
        while first.serving_token().is_cancelled() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, serves).await.expect("it serves again");
    let mut again = Talk::watch(&first, session, Seq(0)).await;
    again.completed().await;
    schema.end([first, second]).await;
}
