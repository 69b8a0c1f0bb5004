//! What events are found by: rows beside the journal, written with it and gone with it.

use std::fmt::Write as _;

use holdstead_core::{Findable, SearchWords, words_of};
use holdstead_protocol::api::FoundKind;
use holdstead_protocol::{Event, InteractionId, OwnerId, Seq, SessionId, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::db::{Db, Param, Row, Snapshot};
use crate::{StoreError, decode, refold, sql};

/// So many words that begin alike are looked for one by one. More of them are each in few events.
const MOST_WORDS: i64 = 32;

/// What to look for.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    pub owner: OwnerId,
    pub words: SearchWords,
    /// Left out: whatever it is.
    pub kind: Option<FoundKind>,
    /// The last of the page before.
    pub before: Option<FoundPlace>,
    pub limit: u32,
}

/// Where something stands among all that can be found, which is in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundPlace {
    pub at: Timestamp,
    pub session: SessionId,
    pub seq: Seq,
}

/// An event that has all the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRecord {
    pub kind: FoundKind,
    pub place: FoundPlace,
    pub interaction: Option<InteractionId>,
    pub text: String,
    pub session_title: Option<String>,
}

/// How a database is asked for words: each has a language of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Language {
    pub(crate) find: &'static str,
    pub(crate) add: &'static str,
    /// Follows where words are not kept with their row. Does nothing for a row that was there.
    pub(crate) add_words: Option<&'static str>,
    /// Lists words that begin so, where looking for all of them is faster than for their beginning.
    pub(crate) vocabulary: Option<&'static str>,
    /// Between a word that may go on and the next one.
    pub(crate) beginning: &'static str,
    pub(crate) quote: char,
    pub(crate) and: &'static str,
    pub(crate) or: &'static str,
}

/// What stands for one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundRow {
    pub(crate) session: SessionId,
    pub(crate) seq: Seq,
    pub(crate) kind: &'static str,
    pub(crate) owner: String,
    pub(crate) at: Timestamp,
    pub(crate) interaction: Option<InteractionId>,
    pub(crate) text: String,
    pub(crate) words: String,
}

impl FoundRow {
    pub(crate) fn of(session: SessionId, owner: &OwnerId, event: &Event, findable: Findable) -> Self {
        let marks = [owner_mark(owner), kind_mark(findable.kind)];
        let words: Vec<_> = marks.into_iter().chain(words_of(&findable.text)).collect();
        Self {
            session,
            seq: event.seq,
            kind: findable.kind.as_str(),
            owner: owner.as_str().to_owned(),
            at: event.at,
            interaction: findable.interaction_id,
            text: findable.text,
            words: words.join(" "),
        }
    }

    pub(crate) fn params(self) -> Vec<Param> {
        vec![
            Param::Id(self.session.uuid()),
            Param::Int(decode::number(self.seq)),
            Param::Text(self.kind.to_owned()),
            Param::Text(self.owner),
            Param::Int(self.at.micros()),
            Param::MaybeId(self.interaction.map(InteractionId::uuid)),
            Param::Text(self.text),
            Param::Text(self.words),
        ]
    }

    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            session: SessionId::from_uuid(row.id("session_id")?),
            seq: decode::seq(row, "seq")?,
            kind: kind(row)?.as_str(),
            owner: row.text("owner")?,
            at: decode::moment(row, "at")?,
            interaction: row.maybe_id("interaction_id")?.map(InteractionId::from_uuid),
            text: row.text("text")?,
            words: row.text("words")?,
        })
    }
}

/// Words have no `_` in them, so nobody can write one of these. They keep what others wrote out of the way; that nothing of
/// others is found does not rest on them.
fn owner_mark(owner: &OwnerId) -> String {
    let hash = Sha256::digest(owner.as_str().as_bytes());
    hash.iter().take(8).fold("_o".to_owned(), |mut mark, byte| {
        // Writing to a string does not fail.
        let _never = write!(mark, "{byte:02x}");
        mark
    })
}

fn kind_mark(kind: FoundKind) -> String {
    format!("_{}", kind.as_str())
}

/// The newest first. Nothing is found of sessions that are erased, even while they are being emptied.
pub(crate) async fn find(db: &dyn Db, query: SearchQuery) -> Result<Vec<FoundRecord>, StoreError> {
    let Language { find, quote, and, .. } = db.language();
    let marks = std::iter::once(owner_mark(&query.owner)).chain(query.kind.map(kind_mark));
    let whole = marks.chain(query.words.whole.iter().cloned()).map(|word| format!("{quote}{word}{quote}"));
    let mut words: Vec<_> = whole.collect();
    if let Some(beginning) = &query.words.beginning {
        let Some(begins) = beginning_with(db, beginning).await? else { return Ok(Vec::new()) };
        words.push(begins);
    }
    let words = words.join(and);
    let before =
        query.before.map_or((i64::MAX, uuid::Uuid::max(), i64::MAX), |FoundPlace { at, session, seq }| {
            (at.micros(), session.uuid(), decode::number(seq))
        });
    let params = vec![
        Param::Text(query.owner.to_string()),
        Param::Text(words),
        Param::Int(before.0),
        Param::Id(before.1),
        Param::Int(before.2),
        Param::Int(query.limit.into()),
    ];
    let rows = refold::find(db, find, params).await?;
    Ok(decode::readable(&rows, |row| {
        Ok(FoundRecord {
            kind: kind(row)?,
            place: FoundPlace {
                at: decode::moment(row, "at")?,
                session: SessionId::from_uuid(row.id("session_id")?),
                seq: decode::seq(row, "seq")?,
            },
            interaction: row.maybe_id("interaction_id")?.map(InteractionId::from_uuid),
            text: row.text("text")?,
            session_title: row.maybe_bytes("title")?.map(decode::text).transpose()?,
        })
    }))
}

/// Words that begin so, as a query; `None` where there are none.
async fn beginning_with(db: &dyn Db, beginning: &str) -> Result<Option<String>, StoreError> {
    let Language { vocabulary, beginning: goes_on, quote, or, .. } = db.language();
    let any = Some(format!("{quote}{beginning}{quote}{goes_on}"));
    let Some(sql) = vocabulary else { return Ok(any) };
    let last = format!("{beginning}{}", char::MAX);
    let params = vec![Param::Text(beginning.to_owned()), Param::Text(last), Param::Int(MOST_WORDS + 1)];
    let rows = db.query(sql, params).await?;
    if rows.len() as i64 > MOST_WORDS {
        return Ok(any);
    }
    let word = |row: &Row| row.text("term").map(|word| format!("{quote}{word}{quote}"));
    let words = rows.iter().map(word).collect::<Result<Vec<_>, _>>()?;
    Ok((!words.is_empty()).then(|| format!("({})", words.join(or))))
}

fn kind(row: &Row) -> Result<FoundKind, StoreError> {
    let written = row.text("kind")?;
    let found = FoundKind::ALL.into_iter().find(|kind| kind.as_str() == written);
    found.ok_or_else(|| StoreError::corrupt(format!("`{written}` cannot be found")))
}

/// What a session's events are found by, in one number: two that differ in anything have two.
#[derive(Debug, Default)]
pub(crate) struct Sum(Sha256);

impl Sum {
    pub(crate) fn add(&mut self, row: &FoundRow) {
        let interaction = row.interaction.map(|id| id.to_string()).unwrap_or_default();
        let (seq, at) = (row.seq.to_string(), row.at.micros().to_string());
        for field in [&seq, row.kind, &row.owner, &at, &interaction, &row.text, &row.words] {
            self.0.update((field.len() as u64).to_be_bytes());
            self.0.update(field.as_bytes());
        }
    }

    /// Whether the session's rows are those that were added.
    pub(crate) async fn holds(
        self,
        snapshot: &mut dyn Snapshot,
        session: SessionId,
    ) -> Result<bool, StoreError> {
        let mut stored = Self::default();
        let mut after = Seq::START;
        loop {
            let page = vec![Param::Id(session.uuid()), Param::Int(decode::number(after)), Param::Int(500)];
            let rows = snapshot.query(sql::FOUND_ROWS, page).await?;
            let Some(last) = rows.last() else { break };
            after = decode::seq(last, "seq")?;
            for row in &rows {
                match FoundRow::read(row) {
                    Ok(row) => stored.add(&row),
                    Err(_) => return Ok(false),
                }
            }
        }
        Ok(stored.0.finalize() == self.0.finalize())
    }
}
