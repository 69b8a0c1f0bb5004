//! Erasing: what was said in an ended session goes, and who asked for that stays on record.

use std::time::Duration;

use holdstead_core::may_manage;
use holdstead_protocol::{Code, Refusal, SessionId};
use holdstead_store::{EraseError, Going};
use tokio::time::sleep;

use crate::{Gateway, GatewayError, Person};

/// How long an agent that was just ended may take to go before whoever erases is told to come back.
const PAUSE: Duration = Duration::from_millis(50);
const LOOKS: u32 = 100;

impl Gateway {
    pub async fn erase(&self, person: &Person, session: SessionId) -> Result<(), Refusal> {
        let record = self.record(&person.owner, session).await.map_err(|error| Refusal::from(&error))?;
        // Who opened it was erased, too. It is no more than done again.
        if record.erased.is_none() {
            may_manage(person.manages, person.actor, &record.opened)
                .map_err(|rejection| Refusal::from(&GatewayError::from(rejection)))?;
        }
        let (gateway, shutdown, by) = (self.clone(), self.shutdown_token(), person.name.clone());
        // To the end, even if whoever asked for it goes away.
        let erased = self.inner.tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => Err(Refusal::from(&GatewayError::Closing)),
                erased = gateway.erase_ended(session, &by) => erased,
            }
        });
        erased.await.unwrap_or_else(|_| Err(Refusal::from(&GatewayError::Closing)))
    }

    async fn erase_ended(&self, session: SessionId, by: &str) -> Result<(), Refusal> {
        let mut looks = 0;
        loop {
            match self.inner.journal.erase(session, by).await {
                Ok(_) => return Ok(()),
                Err(EraseError::StillGoing) if looks < LOOKS => looks += 1,
                Err(error) => {
                    if let EraseError::Store(_) = error {
                        self.go_on_erasing(session);
                    }
                    return Err(refused(error));
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// What was begun is done, however often the store fails. If nothing was begun, nothing happens.
    pub(crate) fn go_on_erasing(&self, session: SessionId) {
        let (gateway, shutdown) = (self.clone(), self.shutdown_token());
        self.inner.tasks.spawn(async move {
            let erased = tokio::select! {
                () = shutdown.cancelled() => return,
                erased = gateway.patiently(|| gateway.erase_begun(session)) => erased,
            };
            if let Err(error) = erased {
                tracing::error!(%session, %error, "an erased session is not empty yet; the next start goes on");
            }
        });
    }

    async fn erase_begun(&self, session: SessionId) -> Result<(), GatewayError> {
        let Some(record) = self.inner.journal.session(session).await? else { return Ok(()) };
        let Some(begun) = record.erased else { return Ok(()) };
        let done = match &record.aged_out_to {
            Some(to) => {
                // Its file has its name. If the session is back from there meanwhile, nothing is taken away.
                let back = || Err(std::io::Error::other("the session is back from its file"));
                self.inner.journal.age_out(session, Going::new(to, record.head, None, back)).await
            }
            None => self.inner.journal.erase(session, &begun.by).await,
        };
        match done {
            Err(EraseError::Store(error)) => Err(error.into()),
            Ok(_)
            | Err(
                EraseError::NoSession
                | EraseError::NotEnded
                | EraseError::StillGoing
                | EraseError::LostPlace
                | EraseError::NoFile(_),
            ) => Ok(()),
        }
    }
}

fn refused(error: EraseError) -> Refusal {
    match error {
        EraseError::NoSession => Refusal::from(&GatewayError::NoSession),
        EraseError::NotEnded => {
            Refusal::new(Code::Conflict, "This session has not ended. End it first, then erase it.")
        }
        EraseError::StillGoing => Refusal::new(
            Code::Conflict,
            "This session has ended and its agent is still going. Try again in a moment.",
        ),
        // They come of sessions that go to a file.
        EraseError::LostPlace | EraseError::NoFile(_) => Refusal::from(&GatewayError::Closing),
        EraseError::Store(error) => Refusal::from(&GatewayError::from(error)),
    }
}
