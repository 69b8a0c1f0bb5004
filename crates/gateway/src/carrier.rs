//! How hints travel: through the database that the nodes share, or through a NATS server.

use std::sync::Arc;

use bytes::Bytes;
use holdstead_store::{Cluster, Journal, Notices, StoreError};

use crate::nats::{Nats, NatsError, NatsUrl, Subscribed};

/// What nodes on one database tell each other through where to read again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HintsBy {
    /// `NOTIFY` of the database itself.
    #[default]
    Notify,
    Nats(NatsUrl),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CarrierError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Nats(#[from] NatsError),
}

#[derive(Debug)]
pub(crate) enum Carrier {
    Notify(Arc<dyn Journal>),
    Nats(Box<Nats>),
}

impl Carrier {
    pub(crate) async fn new(
        by: &HintsBy,
        journal: &Arc<dyn Journal>,
        cluster: &dyn Cluster,
    ) -> Result<Self, StoreError> {
        Ok(match by {
            HintsBy::Notify => Self::Notify(Arc::clone(journal)),
            // Several deployments may use one server: each has its own subject.
            HintsBy::Nats(url) => Self::Nats(Box::new(Nats::new(url.clone(), cluster.deployment().await?))),
        })
    }

    pub(crate) async fn tell(&self, notice: String) -> Result<(), CarrierError> {
        match self {
            Self::Notify(journal) => match journal.cluster() {
                Some(cluster) => Ok(cluster.notify(&notice).await?),
                None => Ok(()),
            },
            Self::Nats(nats) => Ok(nats.tell(notice.into()).await?),
        }
    }

    pub(crate) async fn listen(&self) -> Result<Listening, CarrierError> {
        match self {
            Self::Notify(journal) => match journal.cluster() {
                Some(cluster) => Ok(Listening::Notify(cluster.listen().await?)),
                None => std::future::pending().await,
            },
            Self::Nats(nats) => Ok(Listening::Nats(nats.listen().await?)),
        }
    }
}

/// What was told since it began to listen.
#[derive(Debug)]
pub(crate) enum Listening {
    Notify(Box<dyn Notices>),
    Nats(Subscribed),
}

impl Listening {
    /// The next notice, whoever wrote it. `None`: the connection broke and there is a new one; what was told in between is
    /// lost.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, CarrierError> {
        match self {
            Self::Notify(notices) => Ok(notices.next().await?.map(Bytes::from)),
            Self::Nats(subscribed) => Ok(subscribed.next().await?),
        }
    }
}
