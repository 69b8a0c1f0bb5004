//! Words that streamed, put together: a message came as hundreds of events, and one with all its words is left of them.
//!
//! What will stand for what is written to the journal first, with a signature. Only then the others go. Whoever checks the chain
//! reads there how it goes on where events are gone; whoever stops halfway leaves everything as it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdstead_core::Command;
use holdstead_protocol::{
    AgentSeq, Digest, Event, EventBody, GatheredRun, Seq, SessionId, WordsGathered, heard_in,
};
use serde::Deserialize;

use crate::audit::Signed;
use crate::chain::{self, Hash};
use crate::db::{Db, Param, Row, Snapshot};
use crate::notary::{self, Notary};
use crate::{AppendError, Journal, StoreError, decode, gathered, sql};

/// How many events become one run at most, and about how many bytes of words.
const MOST_EVENTS: usize = 10_000;
const MOST_BYTES: usize = 256 * 1024;
/// How many runs are announced by one event, and about how many bytes of words wait for that.
const MOST_RUNS: usize = 200;
const MOST_WAITING: usize = 8 * 1024 * 1024;
/// How many events are read at a time.
const PAGE: u32 = 500;
/// Where the words of an event that stands for others were cut before: it comes first in its data.
const PIECES: &[u8] = b"{\"pieces\":";

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Events that are gone.
    pub events: u64,
    /// Events that have their words.
    pub kept: u64,
}

/// Puts together what streamed in this session and is complete.
pub(crate) async fn gather(
    db: &dyn Db,
    journal: &dyn Journal,
    notary: Option<&Arc<Notary>>,
    session: SessionId,
) -> Result<Gathered, StoreError> {
    let mut done = Gathered::default();
    let mut reading = Reading::begin(db, session).await?;
    loop {
        let mut found = Vec::new();
        let mut bytes = 0;
        while found.len() < MOST_RUNS && bytes < MOST_WAITING {
            let Some(run) = reading.next(db).await? else { break };
            bytes += run.data.len();
            found.push(run);
        }
        if found.is_empty() {
            return Ok(done);
        }
        let new = found.iter().filter(|run| run.standing == Standing::New).map(|run| run.run.clone());
        let runs: Vec<_> = new.collect();
        if !runs.is_empty() {
            let signed = notary.map(|notary| gathered::sign(&notary.key, session, &runs));
            match journal.append(session, Command::Gather(WordsGathered { runs, signed })).await {
                Ok(_) => {}
                // Erased meanwhile: there is nothing to gather any more.
                Err(AppendError::Rejected(_)) => return Ok(done),
                Err(AppendError::Store(error)) => return Err(error),
                Err(error @ (AppendError::Closed | AppendError::TooLarge { .. })) => {
                    return Err(StoreError::corrupt(error.to_string()));
                }
            }
        }
        if let Some(notary) = notary {
            notary::sign_one(db, notary, session).await?;
        }
        for run in &found {
            done.events += drop_others(db, session, run).await?;
            done.kept += 1;
        }
    }
}

/// Whether the journal says already what stands for these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    New,
    Announced,
}

/// A run, and what its last event says from now on.
#[derive(Debug)]
struct Found {
    run: GatheredRun,
    data: Vec<u8>,
    /// How many are there now.
    events: usize,
    standing: Standing,
}

/// In one step: there are all of them, or the last.
async fn drop_others(db: &dyn Db, session: SessionId, found: &Found) -> Result<u64, StoreError> {
    let id = || Param::Id(session.uuid());
    let [first, last] = [found.run.first, found.run.last].map(|seq| Param::Int(decode::number(seq)));
    let mut locked = db.begin(Some(session)).await?;
    let head = locked.query(sql::SESSION, vec![id()]).await?;
    if head.first().map(decode::erasure).transpose()?.flatten().is_some() {
        return Ok(0);
    }
    locked.query(sql::DROP_EVENTS, vec![id(), first, last.clone()]).await?;
    locked.query(sql::REPLACE_WORDS, vec![id(), last, Param::Bytes(found.data.clone())]).await?;
    locked.commit().await?;
    Ok((found.events - 1) as u64)
}

/// A walk along the journal, from one run to the next.
struct Reading {
    session: SessionId,
    /// By the last event of each.
    announced: BTreeMap<Seq, GatheredRun>,
    /// The events that a checkpoint is about: they stay in their places.
    signed: Vec<Seq>,
    after: Seq,
    hash: Hash,
    rows: std::vec::IntoIter<Row>,
    run: Run,
}

impl Reading {
    async fn begin(db: &dyn Db, session: SessionId) -> Result<Self, StoreError> {
        let mut snapshot = db.snapshot().await?;
        let rows = snapshot.query(sql::GATHERED, vec![Param::Id(session.uuid())]).await?;
        let mut announced = BTreeMap::new();
        for row in &rows {
            if let EventBody::WordsGathered(gathered) = decode::event(row)?.body {
                announced.extend(gathered.runs.into_iter().map(|run| (run.last, run)));
            }
        }
        let signed = signed(&mut *snapshot, session).await?;
        let (after, hash, run) = (Seq::START, chain::START, Run::default());
        let rows = Vec::new().into_iter();
        Ok(Self { session, announced, signed, after, hash, rows, run })
    }

    /// `None`: there are no more.
    async fn next(&mut self, db: &dyn Db) -> Result<Option<Found>, StoreError> {
        loop {
            let Some(row) = self.rows.next() else {
                let page = sql::page(self.session, self.after, PAGE);
                let rows = db.query(sql::READ_CHAIN, page).await?;
                if rows.is_empty() {
                    // What is said last may go on.
                    return Ok(None);
                }
                self.rows = rows.into_iter();
                continue;
            };
            if let Some(found) = self.take(&row)? {
                return Ok(Some(found));
            }
        }
    }

    fn take(&mut self, row: &Row) -> Result<Option<Found>, StoreError> {
        let line = decode::line(self.session, row)?;
        let before = std::mem::replace(&mut self.hash, decode::hash(row, "hash")?);
        self.after = line.seq;
        if row.maybe_bytes("data_hash")?.is_some() {
            // Erased.
            return Ok(None);
        }
        let body = decode::body(line.event_type, &row.bytes("data")?)?;
        let goes_on = self.run.goes_on_with(&body) && !self.is_end(self.run.last());
        let done = if goes_on { None } else { self.close(&body)? };
        if words(&body).is_some() {
            self.run.add(Piece::of(line, body, row)?, before);
        }
        Ok(done)
    }

    /// Whether a run ends here, whatever follows: it is signed, or was announced so.
    fn is_end(&self, seq: Seq) -> bool {
        self.signed.binary_search(&seq).is_ok() || self.announced.contains_key(&seq)
    }

    /// What was read so far is complete, as this event is none of it.
    fn close(&mut self, by: &EventBody) -> Result<Option<Found>, StoreError> {
        let run = std::mem::take(&mut self.run);
        if run.pieces.len() < 2 {
            return Ok(None);
        }
        let found = run.put_together(by)?;
        match self.announced.get(&found.run.last) {
            None => Ok(Some(found)),
            Some(announced) if *announced == found.run => {
                Ok(Some(Found { standing: Standing::Announced, ..found }))
            }
            Some(announced) => {
                tracing::error!(session = %self.session, first = %announced.first,
                    "what was to stand for these events is not what they say: run `holdstead audit verify`");
                Ok(None)
            }
        }
    }
}

/// In their order.
async fn signed(snapshot: &mut dyn Snapshot, session: SessionId) -> Result<Vec<Seq>, StoreError> {
    let (id, mut signed, mut seqs) = (Param::Id(session.uuid()), Signed::new(), Vec::new());
    while let Some(next) = signed.peek(snapshot, &id).await? {
        seqs.push(next.seq);
        signed.page.pop_front();
    }
    Ok(seqs)
}

/// Events that follow each other and are words of one stream.
#[derive(Debug, Default)]
struct Run {
    pieces: Vec<Piece>,
    bytes: usize,
    /// The hash of the event before the first.
    before: Hash,
}

#[derive(Debug)]
struct Piece {
    line: chain::Line,
    body: EventBody,
    heard: Option<AgentSeq>,
    salt: Vec<u8>,
    hash: Hash,
}

impl Piece {
    fn of(line: chain::Line, body: EventBody, row: &Row) -> Result<Self, StoreError> {
        let (heard, salt) = (heard_in(&row.bytes("data")?), row.bytes("salt")?);
        Ok(Self { line, body, heard, salt, hash: decode::hash(row, "hash")? })
    }
}

impl Run {
    fn goes_on_with(&self, body: &EventBody) -> bool {
        let is_full = self.pieces.len() >= MOST_EVENTS || self.bytes >= MOST_BYTES;
        !is_full && self.pieces.last().is_some_and(|last| is_same(&last.body, body))
    }

    fn last(&self) -> Seq {
        self.pieces.last().map_or(Seq::START, |piece| piece.line.seq)
    }

    fn add(&mut self, piece: Piece, before: Hash) {
        if self.pieces.is_empty() {
            self.before = before;
        }
        self.bytes += words(&piece.body).map_or(0, str::len);
        self.pieces.push(piece);
    }

    fn put_together(self, by: &EventBody) -> Result<Found, StoreError> {
        let nothing = || StoreError::corrupt("a run of no events");
        let first = self.pieces.first().ok_or_else(nothing)?.line.seq;
        let last = self.pieces.last().ok_or_else(nothing)?;
        let (mut body, mut pieces, mut all) = (last.body.clone(), Vec::new(), String::new());
        // Of a call, what it was called with says all that streamed.
        if !is_ended(&body, by) {
            for piece in &self.pieces {
                let said = words(&piece.body).unwrap_or_default();
                all.push_str(said);
                pieces.push((piece.line.seq.0, said.len()));
            }
        }
        if let Some(text) = words_mut(&mut body) {
            *text = all;
        }
        let data = bytes(&body, &pieces, last.heard)?;
        let salt = last.salt.as_slice().try_into().map_err(|_| StoreError::corrupt("a salt"))?;
        let digest = chain::standing(last.line, &chain::data_hash(salt, &data));
        let [before, hash, digest] = [self.before, last.hash, digest].map(|hash| Digest::from_bytes(&hash));
        let run = GatheredRun { first, last: last.line.seq, before, hash, digest };
        Ok(Found { run, data, events: self.pieces.len(), standing: Standing::New })
    }
}

fn bytes(body: &EventBody, pieces: &[(u64, usize)], heard: Option<AgentSeq>) -> Result<Vec<u8>, StoreError> {
    let bad = |error: serde_json::Error| StoreError::corrupt(error.to_string());
    let data = body.stored_bytes(heard).map_err(bad)?;
    if pieces.len() < 2 {
        return Ok(data);
    }
    let mut bytes = PIECES.to_vec();
    serde_json::to_writer(&mut bytes, pieces).map_err(bad)?;
    bytes.push(b',');
    bytes.extend_from_slice(data.strip_prefix(b"{").unwrap_or(&data));
    Ok(bytes)
}

/// Whoever has read up to `after` may have some of the words that an event stands for: only the rest is new to them.
pub(crate) fn only_new(events: &mut [Event], rows: &[Row], after: Seq) -> Result<(), StoreError> {
    #[derive(Deserialize)]
    struct Cut {
        pieces: Vec<(u64, usize)>,
    }
    if after == Seq::START {
        return Ok(());
    }
    // If `after` is one of a run, the next event is the last of it.
    let (Some(event), Some(row)) = (events.first_mut(), rows.first()) else { return Ok(()) };
    let Some(text) = words_mut(&mut event.body) else { return Ok(()) };
    let data = row.bytes("data")?;
    if !data.starts_with(PIECES) {
        return Ok(());
    }
    let bad = |error: serde_json::Error| StoreError::corrupt(error.to_string());
    let cut: Cut = serde_json::from_slice(&data).map_err(bad)?;
    let known: usize = cut.pieces.iter().filter(|(seq, _)| *seq <= after.0).map(|(_, bytes)| bytes).sum();
    if text.is_char_boundary(known) {
        text.drain(..known);
    }
    Ok(())
}

/// `None` for whatever else an event is: only these stream.
fn words(body: &EventBody) -> Option<&str> {
    if let EventBody::TextDelta(delta) = body {
        Some(&delta.text)
    } else if let EventBody::ThinkingDelta(delta) = body {
        Some(&delta.text)
    } else if let EventBody::ToolCallDelta(delta) = body {
        Some(&delta.text)
    } else {
        None
    }
}

fn words_mut(body: &mut EventBody) -> Option<&mut String> {
    if let EventBody::TextDelta(delta) = body {
        Some(&mut delta.text)
    } else if let EventBody::ThinkingDelta(delta) = body {
        Some(&mut delta.text)
    } else if let EventBody::ToolCallDelta(delta) = body {
        Some(&mut delta.text)
    } else {
        None
    }
}

fn is_same(one: &EventBody, other: &EventBody) -> bool {
    if let (EventBody::TextDelta(one), EventBody::TextDelta(other)) = (one, other) {
        (one.turn_id, one.message_id, &one.parents) == (other.turn_id, other.message_id, &other.parents)
    } else if let (EventBody::ThinkingDelta(one), EventBody::ThinkingDelta(other)) = (one, other) {
        (one.turn_id, one.message_id, &one.parents) == (other.turn_id, other.message_id, &other.parents)
    } else if let (EventBody::ToolCallDelta(one), EventBody::ToolCallDelta(other)) = (one, other) {
        (one.turn_id, &one.tool_call_id) == (other.turn_id, &other.tool_call_id)
    } else {
        false
    }
}

fn is_ended(body: &EventBody, by: &EventBody) -> bool {
    matches!((body, by), (EventBody::ToolCallDelta(delta), EventBody::ToolCallEnd(end)) if delta.tool_call_id == end.tool_call_id)
}
