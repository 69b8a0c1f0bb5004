//! Whose turn it is to call a tool about an answer, where several nodes could: its caller may wait on one, the answer may have come
//! to another. One calls it; the others wait for what it says.

use holdstead_protocol::PromptId;
use holdstead_store::Claimed;
use uuid::Uuid;

use crate::{Gateway, GatewayError};

/// The turn of one who calls the tool. Dropped, it is another one's, if there is still something to do.
#[derive(Debug)]
pub(super) struct Turn {
    gateway: Gateway,
    what: Uuid,
    by: Uuid,
}

impl Turn {
    /// `None`: somebody else calls it now.
    pub(super) async fn take(gateway: &Gateway, prompt: PromptId) -> Result<Option<Self>, GatewayError> {
        // Before the first try: a reply may be lost, and whoever waits may go away.
        let turn = Self { gateway: gateway.clone(), what: prompt.uuid(), by: Uuid::new_v4() };
        let claim = || async {
            match (&gateway.inner.node, gateway.inner.journal.cluster()) {
                (Some(node), Some(cluster)) => cluster.claim(node.member(), turn.what, turn.by).await,
                (_, _) => Ok(Claimed::Here),
            }
        };
        Ok(match gateway.patiently(claim).await? {
            Claimed::Here => Some(turn),
            Claimed::Elsewhere => None,
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (gateway, what, by) = (self.gateway.clone(), self.what, self.by);
        if gateway.inner.node.is_none() {
            return;
        }
        self.gateway.inner.tasks.spawn(async move {
            let Some(cluster) = gateway.inner.journal.cluster() else { return };
            if let Err(error) = gateway.patiently(|| cluster.release(what, by)).await {
                tracing::warn!(%error, "a tool that gave up keeps its turn until this node is gone");
            }
        });
    }
}
