//! Erasing: what was said in an ended session goes, and who asked for that stays on record.

use std::time::Duration;

use holdstead_protocol::{Code, Refusal, SessionId};
use holdstead_store::EraseError;
use tokio::time::sleep;

use crate::{Gateway, GatewayError, Person};

/// How long an agent that was just ended may take to go before whoever erases is told to come back.
const PAUSE: Duration = Duration::from_millis(50);
const LOOKS: u32 = 100;

impl Gateway {
    pub async fn erase(&self, person: &Person, session: SessionId) -> Result<(), Refusal> {
        self.record(&person.owner, session).await.map_err(|error| Refusal::from(&error))?;
        let mut looks = 0;
        loop {
            match self.inner.journal.erase(session, &person.name).await {
                Ok(_) => return Ok(()),
                Err(EraseError::StillGoing) if looks < LOOKS => looks += 1,
                Err(error) => return Err(refused(error)),
            }
            sleep(PAUSE).await;
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
        EraseError::Store(error) => Refusal::from(&GatewayError::from(error)),
    }
}
