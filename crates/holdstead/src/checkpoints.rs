//! Signs where journals stand, every minute while the gateway runs.

use std::time::Duration;

use holdstead_gateway::Gateway;
use holdstead_store::{Heads, Journal};

/// What is changed sooner than this after it was written may go unnoticed.
const EVERY: Duration = Duration::from_secs(60);

/// Until the gateway stops. What it writes while it stops is signed by whoever stopped it.
pub(crate) async fn keep_signing(gateway: Gateway) {
    let stopped = gateway.shutdown_token();
    // An earlier gateway may have been killed before it could.
    sign(gateway.journal().as_ref(), Heads::All).await;
    loop {
        tokio::select! {
            () = stopped.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        sign(gateway.journal().as_ref(), Heads::Changed).await;
    }
}

/// A gateway that cannot sign goes on: its people wait for answers, and the next minute may do better.
pub(crate) async fn sign(journal: &dyn Journal, heads: Heads) {
    if let Err(error) = journal.checkpoint(heads).await {
        tracing::error!(%error, "what was written could not be signed");
    }
}
