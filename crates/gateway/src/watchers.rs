//! Tells other nodes who watches here, and hears who watches there.

use std::time::Duration;

use holdstead_store::{Cluster, StoreError, WatchersSeen};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::Gateway;
use crate::node::Node;

/// How often: a screen counts on every node within twice that.
const LOOK: Duration = Duration::from_secs(1);
/// How long the database may take.
const PATIENCE: Duration = Duration::from_secs(4);

/// What the other nodes were told, and what was heard of them.
#[derive(Debug, Default)]
struct Shared {
    /// The number of changes, and in which life of this node.
    told: Option<(u64, i64)>,
    seen: WatchersSeen,
}

/// For as long as the gateway runs.
pub(crate) async fn share(gateway: Gateway) {
    let (Some(node), Some(cluster)) = (&gateway.inner.node, gateway.inner.journal.cluster()) else { return };
    let shutdown = gateway.shutdown_token();
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shared = Shared::default();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = ticks.tick() => {}
        }
        // That the database is away is told by whoever renews.
        if let Ok(Err(error)) = timeout(PATIENCE, shared.go_on(&gateway, node, cluster)).await {
            tracing::debug!(%error, "who watches could not be shared with other nodes");
        }
    }
}

impl Shared {
    async fn go_on(
        &mut self,
        gateway: &Gateway,
        node: &Node,
        cluster: &dyn Cluster,
    ) -> Result<(), StoreError> {
        let (member, presence) = (node.member(), &gateway.inner.presence);
        let told = self.told.filter(|(_, epoch)| *epoch == member.epoch).map(|(changes, _)| changes);
        if let Some((changes, watchers)) = presence.since(told) {
            cluster.share_watchers(member, &watchers).await?;
            self.told = Some((changes, member.epoch));
        }
        if let Some((seen, watchers)) = cluster.watchers_elsewhere(node.id, &self.seen).await? {
            presence.set_elsewhere(watchers);
            self.seen = seen;
        }
        Ok(())
    }
}
