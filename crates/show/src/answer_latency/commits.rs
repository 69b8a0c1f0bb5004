//! What an answer costs at the least: it is made durable, and so is that it is about to be written to the agent.

use std::time::{Duration, Instant};

use holdstead_core::{Command, Resume};
use holdstead_protocol::{AgentBox, Incarnation, Origin, SessionId};
use holdstead_store::Journal;
use std::sync::Arc;

use crate::Result;
use crate::database::{Database, Kind};
use crate::growth::load::{approval, opening, owner, request};

/// A journal with one session, in a file of its own beside the gateway's.
#[derive(Debug)]
pub(super) struct Commits {
    journal: Arc<dyn Journal>,
    session: SessionId,
    number: usize,
    /// Its file goes with it.
    _database: Database,
}

const LIFE: Incarnation = Incarnation(1);

impl Commits {
    pub(super) async fn new() -> Result<Self> {
        let database = Database::new(Kind::Sqlite).await?;
        let journal = holdstead_store::open(&database.url()).await?;
        let session = SessionId::generate(&owner()?);
        journal.append(session, Command::Open(Box::new(opening(&owner()?, 1)))).await?;
        journal
            .append(
                session,
                Command::Resume(Resume {
                    incarnation: LIFE,
                    pid: 1,
                    left_out: None,
                    boxed: AgentBox::Landlock,
                }),
            )
            .await?;
        Ok(Self { journal, session, number: 0, _database: database })
    }

    /// Asks, and measures what an answer to that needs.
    pub(super) async fn two(&mut self) -> Result<Duration> {
        self.number += 1;
        let (ask, command) = request(self.session, self.number, Origin::Agent);
        self.journal.append(self.session, command).await?;
        let interaction_id = ask.id;
        let begin = Instant::now();
        self.journal.append(self.session, approval(ask)).await?;
        self.journal.append(self.session, Command::Delivering { interaction_id, incarnation: LIFE }).await?;
        let took = begin.elapsed();
        // So that the session stays as small as the gateway's does.
        self.journal.append(self.session, Command::Acknowledge { interaction_id }).await?;
        Ok(took)
    }
}
