//! `/readyz` says whether anything can be decided.

use std::sync::Arc;

use async_trait::async_trait;
use holdstead_core::Command;
use holdstead_protocol::api::Role;
use holdstead_protocol::{OwnerId, SessionId, SessionOpened};
use holdstead_server::ServerConfig;
use holdstead_store::backend::{Backend, Item, Patience, WriteError, Written};
use holdstead_store::{SqliteJournal, SystemClock};

use crate::running::Running;

/// A database that takes a batch and never answers.
#[derive(Debug)]
struct Hangs;

#[async_trait]
impl Backend for Hangs {
    async fn write(&self, _items: &[&Item], _patience: Patience) -> Result<Vec<Written>, WriteError> {
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_cannot_write_is_not_ready() {
    let between = |_| Arc::new(Hangs) as Arc<dyn Backend>;
    let journal = SqliteJournal::open_between("sqlite::memory:", Arc::new(SystemClock), between).await;
    let running =
        Running::on(Arc::new(journal.expect("a journal")), ServerConfig::default(), Vec::new()).await;
    let ana = running.client(Role::Person, "ana").await;
    assert_eq!(ana.get("/readyz").await.0, 204);
    let owner = OwnerId::new("local").expect("a name");
    let opened = Command::Open(Box::new(SessionOpened::new(owner.clone(), "scripted")));
    drop(running.gateway.journal().append(SessionId::generate(&owner), opened));
    let (status, problem) = ana.get("/readyz").await;
    assert_eq!((status, &problem["code"]), (503, &serde_json::json!("unavailable")), "{problem}");
    assert_eq!(ana.get("/healthz").await.0, 204, "the process itself answers");
}
