//! The calls whose cost must not grow.

use std::fmt;
use std::time::{Duration, Instant};

use holdstead_core::Command;
use holdstead_protocol::{InteractionId, Origin, Seq, Timestamp};
use holdstead_store::{AskFilter, AskQuery};
use rand::seq::IndexedRandom as _;

use super::load::{Loaded, approval, owner, request};
use crate::database::Kind;
use crate::{Result, ensure};

const INBOX_PAGE: u32 = 50;
const REPLAY_PAGE: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Ask,
    Answer,
    Inbox,
    DeepInbox,
    Replay,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ask => "ask",
            Self::Answer => "answer",
            Self::Inbox => "inbox, first page",
            Self::DeepInbox => "inbox, deep page",
            Self::Replay => "replay page",
        })
    }
}

impl Call {
    pub(crate) const ALL: [Self; 5] = [Self::Ask, Self::Answer, Self::Inbox, Self::DeepInbox, Self::Replay];

    /// Makes the call at a place chosen by chance, and says how long it took.
    pub(crate) async fn make(self, loaded: &mut Loaded) -> Result<Duration> {
        match self {
            Self::Ask => ask(loaded).await,
            Self::Answer => answer(loaded).await,
            Self::Inbox => inbox(loaded, None).await,
            Self::DeepInbox => inbox(loaded, Some(loaded.deep)).await,
            Self::Replay => replay(loaded).await,
        }
    }

    /// What a larger database can make slower here, by what is known of the two.
    pub(crate) const fn limited_by(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Ask | Self::Answer, Kind::Sqlite | Kind::Postgres) => {
                "What limits it: one append dirties pages of the events and asks that lie further apart."
            }
            (Self::Inbox, Kind::Postgres) => {
                "What limits it: above some size the planner prefers to plan this page anew at every call."
            }
            (Self::DeepInbox, Kind::Postgres) => {
                "What limits it: the index does not lead to the cursor, and all that is open before it is read."
            }
            (Self::Inbox | Self::DeepInbox, Kind::Sqlite) | (Self::Replay, Kind::Sqlite | Kind::Postgres) => {
                "What limits it: the rows of one page lie on more pages than the database's cache holds."
            }
        }
    }
}

/// Asks in the session of an open ask.
async fn ask(loaded: &mut Loaded) -> Result<Duration> {
    let session = loaded.open.choose(&mut rand::rng()).ok_or("nothing is open")?.session;
    let (asked, command) = request(session, loaded.open.len(), Origin::Caller);
    let begin = Instant::now();
    loaded.journal.append(session, command).await?;
    let took = begin.elapsed();
    loaded.open.push(asked);
    Ok(took)
}

/// Answers an open ask; with as many asks before it, the number of open ones stays what it was.
async fn answer(loaded: &mut Loaded) -> Result<Duration> {
    ensure!(!loaded.open.is_empty(), "nothing is open");
    let asked = loaded.open.swap_remove(rand::random_range(0..loaded.open.len()));
    let begin = Instant::now();
    loaded.journal.append(asked.session, approval(asked)).await?;
    let took = begin.elapsed();
    loaded.journal.append(asked.session, Command::Acknowledge { interaction_id: asked.id }).await?;
    Ok(took)
}

async fn inbox(loaded: &Loaded, after: Option<(Timestamp, InteractionId)>) -> Result<Duration> {
    let query = AskQuery { owner: owner()?, session: None, only: AskFilter::Live, after, limit: INBOX_PAGE };
    let begin = Instant::now();
    let page = loaded.journal.asks(query).await?;
    let took = begin.elapsed();
    ensure!(page.len() == INBOX_PAGE as usize, "a page of the inbox has {} asks", page.len());
    Ok(took)
}

async fn replay(loaded: &Loaded) -> Result<Duration> {
    let session = *loaded.sessions.choose(&mut rand::rng()).ok_or("there are no sessions")?;
    let after = Seq(rand::random_range(0..20));
    let begin = Instant::now();
    let events = loaded.journal.read(session, after, REPLAY_PAGE).await?;
    let took = begin.elapsed();
    ensure!(events.len() == REPLAY_PAGE as usize, "a replay page has {} events", events.len());
    Ok(took)
}
