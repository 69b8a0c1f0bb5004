//! Many owners with open asks, one of them with a tenth of all.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use holdstead_core::Command;
use holdstead_protocol::{Origin, OwnerId, SessionId};
use holdstead_store::Journal;
use sqlx::{Connection as _, PgConnection};

use crate::growth::load::{OpenAsk, opening, request};
use crate::{Result, ensure};

pub(super) const OWNERS: usize = 1_000;
/// The one who has a tenth of all is the owner of the gateway.
const LARGEST_OWNER: &str = "local";
/// So many are open in a session of theirs: a gateway lets a thousand be.
const OPEN_IN_SESSION: usize = 900;
/// How many sessions are loaded at once.
const AT_ONCE: usize = 32;

/// What the calls need to know of a database: all of it is of the largest owner.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) sessions: Vec<SessionId>,
    pub(super) open: Vec<OpenAsk>,
    /// In bytes.
    pub(super) largest_head: i64,
}

impl Loaded {
    pub(super) async fn new(url: &str, asks: usize) -> Result<Self> {
        let journal = holdstead_store::open(url).await?;
        let largest = OwnerId::new(LARGEST_OWNER)?;
        let loaded: Vec<_> = stream::iter(sessions(asks)?)
            .map(|(owner, asks)| one_session(journal.as_ref(), owner, asks))
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let (mut sessions, mut open) = (Vec::new(), Vec::new());
        for (owner, session, asked) in loaded {
            if owner == largest {
                sessions.push(session);
                open.extend(asked);
            }
        }
        let counted = journal.live_count(&largest).await?;
        ensure!(counted == open.len() as u64, "{counted} asks are open after loading, not {}", open.len());
        journal.close().await;
        let mut connection = PgConnection::connect(url).await?;
        let head = sqlx::query_scalar("SELECT max(length(state))::bigint FROM sessions");
        let largest_head = head.fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(Self { sessions, open, largest_head })
    }
}

/// Whose sessions there are, and how many asks are open in each.
fn sessions(asks: usize) -> Result<Vec<(OwnerId, usize)>> {
    let mut sessions = Vec::new();
    let mut left = asks / 10;
    while left > 0 {
        let some = left.min(OPEN_IN_SESSION);
        sessions.push((OwnerId::new(LARGEST_OWNER)?, some));
        left -= some;
    }
    let (others, rest) = (OWNERS - 1, asks - asks / 10);
    for other in 0..others {
        let some = rest * (other + 1) / others - rest * other / others;
        sessions.push((OwnerId::new(format!("owner-{other}"))?, some));
    }
    Ok(sessions)
}

/// All is queued in order and then waited for.
async fn one_session(
    journal: &dyn Journal,
    owner: OwnerId,
    asks: usize,
) -> Result<(OwnerId, SessionId, Vec<OpenAsk>)> {
    let session = SessionId::generate(&owner);
    let mut appends = vec![journal.append(session, Command::Open(Box::new(opening(&owner, asks))))];
    let mut open = Vec::with_capacity(asks);
    for ask in 0..asks {
        let (asked, command) = request(session, ask, Origin::Caller);
        appends.push(journal.append(session, command));
        open.push(asked);
    }
    for append in appends {
        append.await?;
    }
    Ok((owner, session, open))
}
