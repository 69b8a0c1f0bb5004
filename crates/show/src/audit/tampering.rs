//! What somebody with the database and without the key can do to a session.

use holdstead_protocol::SessionId;
use holdstead_store::{AuditKey, Heads, Notary};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::tables::{Line, Tables};
use crate::database::Kind;
use crate::{Result, ensure};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tampering {
    ChangedByte,
    DroppedLine,
    DroppedLineClosed,
    SwappedLines,
    CutTail,
    CutTailAndCheckpoint,
    Rewritten,
    RewrittenAndResigned,
    HiddenData,
    ChangedCheckpoint,
    DroppedCheckpoint,
    DroppedSession,
    ChangedState,
    ChangedAsk,
    ChangedOwner,
}

pub(crate) const TAMPERINGS: [Tampering; 15] = [
    Tampering::ChangedByte,
    Tampering::DroppedLine,
    Tampering::DroppedLineClosed,
    Tampering::SwappedLines,
    Tampering::CutTail,
    Tampering::CutTailAndCheckpoint,
    Tampering::Rewritten,
    Tampering::RewrittenAndResigned,
    Tampering::HiddenData,
    Tampering::ChangedCheckpoint,
    Tampering::DroppedCheckpoint,
    Tampering::DroppedSession,
    Tampering::ChangedState,
    Tampering::ChangedAsk,
    Tampering::ChangedOwner,
];

const DROP_CHECKPOINTS: &str = "DELETE FROM checkpoints WHERE session_id = {id}";

impl Tampering {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ChangedByte => "a changed byte",
            Self::DroppedLine => "a dropped line",
            Self::DroppedLineClosed => "a dropped line, the gap closed",
            Self::SwappedLines => "two lines swapped",
            Self::CutTail => "a tail cut off before a checkpoint",
            Self::CutTailAndCheckpoint => "the same, the checkpoint dropped too",
            Self::Rewritten => "a word changed and every hash behind it computed anew",
            Self::RewrittenAndResigned => "the same, signed with a key of one's own",
            Self::HiddenData => "data taken away as if it had been erased",
            Self::ChangedCheckpoint => "a changed checkpoint",
            Self::DroppedCheckpoint => "a dropped checkpoint",
            Self::DroppedSession => "a whole session dropped from every table",
            Self::ChangedState => "a changed state beside the journal",
            Self::ChangedAsk => "a changed ask beside the journal",
            Self::ChangedOwner => "a session given to somebody else",
        }
    }

    /// Does it, and returns the words in which it must be found.
    pub(crate) async fn carry_out(self, tables: &Tables, session: SessionId) -> Result<String> {
        let run = async |sql: &str| tables.run(session, sql).await;
        let last = tables.number(session, "SELECT last_seq FROM sessions WHERE id = {id}").await?;
        let signed = "SELECT max(seq) FROM checkpoints WHERE session_id = {id}";
        ensure!(tables.number(session, signed).await? == last, "the last event of {session} is not signed");
        Ok(match self {
            Self::ChangedByte => {
                run(match tables.kind {
                    Kind::Sqlite => {
                        "UPDATE events SET data = CAST(substr(data, 1, 9) || '~' || substr(data, 11) AS BLOB) \
                         WHERE session_id = {id} AND seq = 4"
                    }
                    Kind::Postgres => {
                        "UPDATE events SET data = set_byte(data, 9, 126) WHERE session_id = {id} AND seq = 4"
                    }
                })
                .await?;
                "event 4 was changed".to_owned()
            }
            Self::DroppedLine => {
                run("DELETE FROM events WHERE session_id = {id} AND seq = 4").await?;
                "event 4 is missing".to_owned()
            }
            Self::DroppedLineClosed => {
                run("DELETE FROM events WHERE session_id = {id} AND seq = 4").await?;
                for seq in 5..=last {
                    move_line(tables, session, seq, seq - 1).await?;
                }
                run("UPDATE sessions SET last_seq = last_seq - 1 WHERE id = {id}").await?;
                "event 4 was changed".to_owned()
            }
            Self::SwappedLines => {
                for (from, to) in [(4, 1_000), (5, 4), (1_000, 5)] {
                    move_line(tables, session, from, to).await?;
                }
                "event 4 was changed, or its place".to_owned()
            }
            Self::CutTail | Self::CutTailAndCheckpoint => {
                cut(tables, session, last - 3).await?;
                if self == Self::CutTailAndCheckpoint {
                    run(DROP_CHECKPOINTS).await?;
                }
                format!("the journal ends at event {}, and event {last} was signed", last - 3)
            }
            Self::Rewritten => {
                rewrite(tables, session).await?;
                format!("event {last} is not the one that was signed")
            }
            Self::RewrittenAndResigned => {
                rewrite(tables, session).await?;
                run(DROP_CHECKPOINTS).await?;
                let folder = TempDir::new()?;
                let journal = holdstead_store::open(&tables.url).await?;
                let key = AuditKey::generate();
                let theirs = key.public();
                journal.sign_with(Notary::new(key, folder.path().join("log")));
                journal.checkpoint(Heads::All).await?;
                journal.close().await;
                format!("checkpoint 1, at event {last}, is signed by a key you do not trust: {theirs}")
            }
            Self::HiddenData => {
                let journal = holdstead_store::open(&tables.url).await?;
                journal.erase(session, "nobody").await?;
                journal.close().await;
                format!("event {last} has lost its data, and nobody signed for erasing it")
            }
            Self::ChangedCheckpoint => {
                run("UPDATE checkpoints SET at = at + 1 WHERE session_id = {id}").await?;
                format!("checkpoint 1, at event {last}, was changed")
            }
            Self::DroppedCheckpoint => {
                run(DROP_CHECKPOINTS).await?;
                format!("checkpoint 1, at event {last}, is missing")
            }
            Self::DroppedSession => {
                run("DELETE FROM events WHERE session_id = {id}").await?;
                run("DELETE FROM asks WHERE session_id = {id}").await?;
                run("DELETE FROM sessions WHERE id = {id}").await?;
                run(DROP_CHECKPOINTS).await?;
                "there is no such session".to_owned()
            }
            Self::ChangedState => {
                run(match tables.kind {
                    Kind::Sqlite => {
                        "UPDATE sessions SET state = CAST(replace(CAST(state AS TEXT), '\"ended\"', '\"idle\"') \
                         AS BLOB) WHERE id = {id}"
                    }
                    Kind::Postgres => {
                        "UPDATE sessions SET state = convert_to(replace(convert_from(state, 'UTF8'), '\"ended\"', \
                         '\"idle\"'), 'UTF8') WHERE id = {id}"
                    }
                })
                .await?;
                format!("the stored state is not what the events to {last} come to")
            }
            Self::ChangedAsk => {
                run("UPDATE asks SET live = TRUE WHERE session_id = {id}").await?;
                "the stored ask".to_owned()
            }
            Self::ChangedOwner => {
                run("UPDATE sessions SET owner = 'mallory' WHERE id = {id}").await?;
                "what is stored about its opening".to_owned()
            }
        })
    }
}

async fn move_line(tables: &Tables, session: SessionId, from: i64, to: i64) -> Result<()> {
    let sql = format!("UPDATE events SET seq = {to} WHERE session_id = {{id}} AND seq = {from}");
    tables.run(session, &sql).await
}

/// Cuts the journal off, with a head to match. A state of another version is folded again by whoever opens the journal
/// next, so that all that stands beside the journal agrees with what is left of it.
async fn cut(tables: &Tables, session: SessionId, last: i64) -> Result<()> {
    tables.run(session, &format!("DELETE FROM events WHERE session_id = {{id}} AND seq > {last}")).await?;
    let of_last =
        |column: &str| format!("(SELECT {column} FROM events WHERE session_id = {{id}} AND seq = {last})");
    let sql = format!(
        "UPDATE sessions SET last_seq = {last}, head_hash = {}, last_at = {}, state_version = 0 WHERE id = {{id}}",
        of_last("hash"),
        of_last("at")
    );
    tables.run(session, &sql).await
}

/// Changes what the agent said last, and computes every hash from there on. Nothing in the database speaks against it.
async fn rewrite(tables: &Tables, session: SessionId) -> Result<()> {
    let mut lines = tables.lines(session).await?;
    let said = lines.iter_mut().rev().find(|line| line.3 == "text_delta").ok_or("the agent said nothing")?;
    let text = String::from_utf8(said.4.clone())?;
    ensure!(text.contains("words"), "the agent's last words are {text}");
    said.4 = text.replace("words", "facts").into_bytes();
    let changed = said.0;
    let data = tables.bytes(&said.4.clone());
    let sql = format!("UPDATE events SET data = {data} WHERE session_id = {{id}} AND seq = {changed}");
    tables.run(session, &sql).await?;
    let mut hash = [0; 32];
    for line in &lines {
        hash = link(&hash, session, line);
        let new = tables.bytes(&hash);
        let sql = format!("UPDATE events SET hash = {new} WHERE session_id = {{id}} AND seq = {}", line.0);
        tables.run(session, &sql).await?;
    }
    let sql = format!("UPDATE sessions SET head_hash = {} WHERE id = {{id}}", tables.bytes(&hash));
    tables.run(session, &sql).await
}

/// The chain as `docs/security.md` describes it, written a second time.
fn link(previous: &[u8], session: SessionId, (seq, id, at, kind, data, salt): &Line) -> [u8; 32] {
    let inner = fields(&[salt, data]);
    let (seq, at) = (seq.to_be_bytes(), at.to_be_bytes());
    fields(&[previous, id.as_bytes(), session.uuid().as_bytes(), &seq, &at, kind.as_bytes(), &inner])
}

fn fields(fields: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for field in fields {
        hasher.update((field.len() as u64).to_be_bytes());
        hasher.update(field);
    }
    hasher.finalize().into()
}
