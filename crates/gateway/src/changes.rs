//! Waiting for something to change: subscribe, then read, and read again when told.
//!
//! Whatever is committed after the subscription wakes the waiter, so nothing is missed between its two reads, and
//! nothing that happened before has to be read for it.

use std::sync::Arc;

use holdstead_protocol::{InteractionId, SessionId};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::hub::Live;
use crate::{Gateway, GatewayError, Told};

/// What happens in one session from now on.
#[derive(Debug)]
pub(crate) struct Changes {
    live: broadcast::Receiver<Live<Arc<Told>>>,
    shutdown: CancellationToken,
}

impl Gateway {
    /// To be called before the first read.
    pub(crate) fn changes(&self, session: SessionId) -> Changes {
        Changes { live: self.inner.hub.watch_session(session), shutdown: self.serving_token() }
    }
}

impl Changes {
    /// Returns when something may have happened to this ask.
    pub(crate) async fn of_ask(&mut self, id: InteractionId) -> Result<(), GatewayError> {
        while let Some(told) = self.next().await? {
            if told.event.body.ask() == Some(id) {
                break;
            }
        }
        Ok(())
    }

    /// Returns when something happened in the session.
    pub(crate) async fn any(&mut self) -> Result<(), GatewayError> {
        self.next().await.map(drop)
    }

    /// `None`: so much happened that nobody knows what.
    async fn next(&mut self) -> Result<Option<Arc<Told>>, GatewayError> {
        let live = tokio::select! {
            biased;
            live = self.live.recv() => live,
            () = self.shutdown.cancelled() => return Err(GatewayError::Closing),
        };
        match live {
            Ok(Live::Told(told)) => Ok(Some(told)),
            Ok(Live::Look) | Err(RecvError::Lagged(_)) => Ok(None),
            Err(RecvError::Closed) => Err(GatewayError::Closing),
        }
    }
}
