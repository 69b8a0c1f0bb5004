//! What an attacker with the database and without the key can do to a session.

use holdstead_protocol::SessionId;
use holdstead_store::{AuditKey, Heads, Notary};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::tables::{Line, Tables};
use crate::{Result, ensure};

pub(super) struct Tampering {
    pub(super) name: &'static str,
    how: How,
    /// The words in which it must be found.
    finding: &'static str,
}

/// In SQL `{id}` stands for the session, `{last}` for its last event and `{cut}` for the third before that.
enum How {
    Sql(&'static str),
    /// For SQLite and for PostgreSQL.
    SqlOfEach([&'static str; 2]),
    /// A word is changed, and every hash from there on is computed anew.
    Rewrite,
    RewriteAndSign,
    /// Data is taken away as if it had been erased.
    Hide,
}

/// Cuts the journal off, with a head to match. A state of another version is folded again by the program that opens the
/// journal next, so that all that stands beside the journal agrees with what is left of it.
macro_rules! cut {
    ($more:literal) => {
        concat!(
            "DELETE FROM events WHERE session_id = {id} AND seq > {cut}; \
             UPDATE sessions SET last_seq = {cut}, state_version = 0, \
             head_hash = (SELECT hash FROM events WHERE session_id = {id} AND seq = {cut}), \
             last_at = (SELECT at FROM events WHERE session_id = {id} AND seq = {cut}) WHERE id = {id}; ",
            $more
        )
    };
}
const DROP_CHECKPOINTS: &str = "DELETE FROM checkpoints WHERE session_id = {id}";

const fn sql(name: &'static str, sql: &'static str, finding: &'static str) -> Tampering {
    Tampering { name, how: How::Sql(sql), finding }
}

pub(super) const TAMPERINGS: [Tampering; 15] = [
    Tampering {
        name: "a changed byte",
        how: How::SqlOfEach([
            "UPDATE events SET data = CAST(substr(data, 1, 9) || '~' || substr(data, 11) AS BLOB) \
             WHERE session_id = {id} AND seq = 4",
            "UPDATE events SET data = set_byte(data, 9, 126) WHERE session_id = {id} AND seq = 4",
        ]),
        finding: "event 4 was changed",
    },
    sql("a dropped line", "DELETE FROM events WHERE session_id = {id} AND seq = 4", "event 4 is missing"),
    sql(
        "a dropped line, the gap closed",
        "DELETE FROM events WHERE session_id = {id} AND seq = 4; \
         UPDATE events SET seq = -seq WHERE session_id = {id} AND seq > 4; \
         UPDATE events SET seq = -seq - 1 WHERE session_id = {id} AND seq < 0; \
         UPDATE sessions SET last_seq = last_seq - 1 WHERE id = {id}",
        "event 4 was changed",
    ),
    sql(
        "two lines swapped",
        "UPDATE events SET seq = 1000 WHERE session_id = {id} AND seq = 4; \
         UPDATE events SET seq = 4 WHERE session_id = {id} AND seq = 5; \
         UPDATE events SET seq = 5 WHERE session_id = {id} AND seq = 1000",
        "event 4 was changed, or its place",
    ),
    sql(
        "a tail cut off before a checkpoint",
        cut!(""),
        "the journal ends at event {cut}, and event {last} was signed",
    ),
    sql(
        "the same, the checkpoint dropped too",
        cut!("DELETE FROM checkpoints WHERE session_id = {id}"),
        "the journal ends at event {cut}, and event {last} was signed",
    ),
    Tampering {
        name: "a word changed and every hash behind it computed anew",
        how: How::Rewrite,
        finding: "event {last} is not the one that was signed",
    },
    Tampering {
        name: "the same, signed with a key of one's own",
        how: How::RewriteAndSign,
        finding: "checkpoint 1, at event {last}, is signed by a key you do not trust",
    },
    Tampering {
        name: "data taken away as if it had been erased",
        how: How::Hide,
        finding: "event {last} has lost its data, and nobody signed for erasing it",
    },
    sql(
        "a changed checkpoint",
        "UPDATE checkpoints SET at = at + 1 WHERE session_id = {id}",
        "checkpoint 1, at event {last}, was changed",
    ),
    sql("a dropped checkpoint", DROP_CHECKPOINTS, "checkpoint 1, at event {last}, is missing"),
    sql(
        "a whole session dropped from every table",
        "DELETE FROM events WHERE session_id = {id}; DELETE FROM asks WHERE session_id = {id}; \
         DELETE FROM sessions WHERE id = {id}; DELETE FROM checkpoints WHERE session_id = {id}",
        "there is no such session",
    ),
    Tampering {
        name: "a changed state beside the journal",
        how: How::SqlOfEach([
            "UPDATE sessions SET state = CAST(replace(CAST(state AS TEXT), '\"ended\"', '\"idle\"') AS BLOB) \
             WHERE id = {id}",
            "UPDATE sessions SET state = convert_to(replace(convert_from(state, 'UTF8'), '\"ended\"', \
             '\"idle\"'), 'UTF8') WHERE id = {id}",
        ]),
        finding: "the stored state is not what the events to {last} come to",
    },
    sql(
        "a changed ask beside the journal",
        "UPDATE asks SET live = TRUE WHERE session_id = {id}",
        "the stored ask",
    ),
    sql(
        "a session given to another owner",
        "UPDATE sessions SET owner = 'mallory' WHERE id = {id}",
        "what is stored about its opening",
    ),
];

impl Tampering {
    /// Does it, and returns the words in which it must be found.
    pub(super) async fn carry_out(&self, tables: &Tables<'_>, session: SessionId) -> Result<String> {
        let last = tables.number(session, "SELECT last_seq FROM sessions WHERE id = {id}").await?;
        let signed = "SELECT max(seq) FROM checkpoints WHERE session_id = {id}";
        ensure!(tables.number(session, signed).await? == last, "the last event of {session} is not signed");
        let fill =
            |text: &str| text.replace("{last}", &last.to_string()).replace("{cut}", &(last - 3).to_string());
        match &self.how {
            How::Sql(sql) => tables.run(session, &fill(sql)).await?,
            How::SqlOfEach(each) => tables.run(session, tables.of_each(*each)).await?,
            How::Rewrite => rewrite(tables, session).await?,
            How::RewriteAndSign => {
                rewrite(tables, session).await?;
                tables.run(session, DROP_CHECKPOINTS).await?;
                let folder = TempDir::new()?;
                let journal = holdstead_store::open(&tables.database.url()).await?;
                journal.sign_with(Notary::new(AuditKey::generate(), folder.path().join("log")));
                journal.checkpoint(Heads::All).await?;
                journal.close().await;
            }
            How::Hide => {
                let journal = holdstead_store::open(&tables.database.url()).await?;
                journal.erase(session, "nobody").await?;
                journal.close().await;
            }
        }
        Ok(fill(self.finding))
    }
}

/// Changes what the agent said last, and computes every hash from there on. Nothing in the database contradicts it.
async fn rewrite(tables: &Tables<'_>, session: SessionId) -> Result<()> {
    let mut lines = tables.lines(session).await?;
    let said = lines.iter_mut().rev().find(|line| line.3 == "text_delta").ok_or("the agent said nothing")?;
    let text = String::from_utf8(said.4.clone())?;
    ensure!(text.contains("words"), "the agent's last words are {text}");
    said.4 = text.replace("words", "facts").into_bytes();
    let (seq, data) = (said.0, tables.bytes(&said.4));
    let mut sql = format!("UPDATE events SET data = {data} WHERE session_id = {{id}} AND seq = {seq};");
    let mut hash = [0; 32];
    for line in &lines {
        hash = link(&hash, session, line);
        let (seq, new) = (line.0, tables.bytes(&hash));
        sql += &format!("UPDATE events SET hash = {new} WHERE session_id = {{id}} AND seq = {seq};");
    }
    sql += &format!("UPDATE sessions SET head_hash = {} WHERE id = {{id}}", tables.bytes(&hash));
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
