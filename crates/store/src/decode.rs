//! Rows into records.

use std::sync::Arc;

use holdstead_core::{Archived, Ask, Head, STATE_VERSION};
use holdstead_protocol::{
    AgentState, Event, EventBody, EventId, EventType, InteractionId, InteractionRequest, InteractionResponse,
    OwnerId, Seq, SessionError, SessionId, SessionOpened, Timestamp, heard_in,
};
use serde::de::DeserializeOwned;

use crate::chain::{Hash, Line};
use crate::db::Row;
use crate::plan::StoredHead;
use crate::rows::{self, AskRow, HeadRow, OpeningRow};
use crate::seen::Place;
use crate::{
    AskRecord, Checkpoint, DecidedRecord, Erasure, PublicKey, SessionRecord, StoreError, UnderWay, erase,
    old_format,
};

pub(crate) fn event(row: &Row) -> Result<Event, StoreError> {
    let event_type: EventType = event_type(&row.text("type")?)?;
    let data = row.bytes("data")?;
    let (heard, body) = (heard_in(&data), body(event_type, &data)?);
    let (id, seq, at) = (EventId::from_uuid(row.id("id")?), seq(row, "seq")?, moment(row, "at")?);
    Ok(Event { id, seq, at, heard, body })
}

/// An event that cannot be read says so in its place: what follows it can be read.
pub(crate) fn event_in_place(row: &Row) -> Result<Event, StoreError> {
    event(row).or_else(|error| {
        let seq = seq(row, "seq")?;
        tracing::error!(%seq, %error, "an event cannot be read");
        let message =
            format!("Event {seq} cannot be read. `holdstead audit verify` says what is wrong with it.");
        let body = EventBody::Error(SessionError { turn_id: None, message });
        Ok(Event { id: EventId::from_uuid(row.id("id")?), seq, at: moment(row, "at")?, heard: None, body })
    })
}

pub(crate) fn place(session: SessionId, row: &Row) -> Result<Place, StoreError> {
    Ok(Place { session, seq: seq(row, "seq")?, hash: hash(row, "hash")?, at: moment(row, "at")? })
}

/// What can be read of these rows. What cannot is told, and keeps nobody from the rest.
pub(crate) fn readable<T>(rows: &[Row], decode: impl Fn(&Row) -> Result<T, StoreError>) -> Vec<T> {
    let told = |row: &Row, error: &StoreError| {
        let id = row.id("id").map(|id| id.to_string()).unwrap_or_default();
        tracing::error!(id, %error, "a row cannot be read and is left out: run `holdstead audit verify`");
    };
    rows.iter().filter_map(|row| decode(row).inspect_err(|error| told(row, error)).ok()).collect()
}

pub(crate) fn event_type(text: &str) -> Result<EventType, StoreError> {
    text.parse().map_err(|why: String| match text {
        old_format::COMPACTED => StoreError::corrupt("an earlier version compacted its text"),
        _ => StoreError::corrupt(why),
    })
}

pub(crate) fn body(event_type: EventType, data: &[u8]) -> Result<EventBody, StoreError> {
    EventBody::from_data(event_type, data).map_err(|error| StoreError::corrupt(format!("an event: {error}")))
}

/// An event's line, whose data may be gone.
pub(crate) fn line(session: SessionId, row: &Row) -> Result<Line, StoreError> {
    Ok(Line {
        id: EventId::from_uuid(row.id("id")?),
        session,
        seq: seq(row, "seq")?,
        at: moment(row, "at")?,
        event_type: event_type(&row.text("type")?)?,
    })
}

pub(crate) fn checkpoint(row: &Row) -> Result<Checkpoint, StoreError> {
    let signature = row.bytes("signature")?.try_into();
    Ok(Checkpoint {
        session: SessionId::from_uuid(row.id("session_id")?),
        number: u64::try_from(row.int("number")?).unwrap_or_default(),
        seq: seq(row, "seq")?,
        hash: hash(row, "hash")?,
        at: moment(row, "at")?,
        previous: hash(row, "previous")?,
        erased_by: row.maybe_text("erased_by")?,
        key: PublicKey(hash(row, "key")?),
        // One of another length is no signature, and is found out as such.
        signature: signature.unwrap_or([0; 64]),
    })
}

pub(crate) fn archived(row: &Row) -> Result<Option<Archived>, StoreError> {
    let by = row.maybe_text("archived_by")?;
    Ok(maybe_moment(row, "archived_at")?.zip(by).map(|(at, by)| Archived { at, by }))
}

pub(crate) fn erasure(row: &Row) -> Result<Option<Erasure>, StoreError> {
    let by = row.maybe_text("erased_by")?;
    Ok(maybe_moment(row, "erased_at")?.zip(by).map(|(at, by)| Erasure { at, by }))
}

/// The head of a session of which nothing is left to fold. It is unfinished while it is being emptied.
pub(crate) fn erased_head(session: SessionId, row: &Row) -> Result<HeadRow, StoreError> {
    let state = erase::erased(&json(&row.bytes("opened")?)?)?;
    let (seq, at) = (seq(row, "last_seq")?, moment(row, "last_at")?);
    let head = rows::head_row(session, &state, seq, at, hash(row, "head_hash")?)?;
    Ok(HeadRow { unfinished: row.flag("unfinished")?, archived: archived(row)?, ..head })
}

pub(crate) fn opening_row(row: &Row) -> Result<OpeningRow, StoreError> {
    let opened_at = moment(row, "opened_at")?;
    Ok(OpeningRow {
        owner: row.text("owner")?,
        agent: row.bytes("agent")?,
        // An older version may have written the same facts in other bytes.
        opened: rows::opening_row(&json(&row.bytes("opened")?)?, opened_at)?.opened,
        opened_at,
        listed: row.flag("listed")?,
    })
}

/// The version that wrote the state in this row, if that is another one: an older one, or a newer one that runs beside
/// this one.
pub(crate) fn other_version(row: &Row) -> Result<Option<i64>, StoreError> {
    let version = row.int("state_version")?;
    Ok((version != i64::from(STATE_VERSION)).then_some(version))
}

pub(crate) fn head(row: &Row) -> Result<(SessionId, StoredHead), StoreError> {
    let id = SessionId::from_uuid(row.id("id")?);
    let head = StoredHead {
        state: Arc::new(state(id, row)?),
        last_seq: seq(row, "last_seq")?,
        last_at: moment(row, "last_at")?,
        hash: hash(row, "head_hash")?,
        erased: row.maybe_int("erased_at")?.is_some(),
    };
    Ok((id, head))
}

pub(crate) fn session(row: &Row) -> Result<SessionRecord, StoreError> {
    let id = SessionId::from_uuid(row.id("id")?);
    let opened: SessionOpened = json(&row.bytes("opened")?)?;
    let state = state(id, row)?;
    Ok(SessionRecord {
        id,
        owner: opened.owner.clone(),
        agent: opened.agent.clone(),
        title: state.title.clone(),
        cwd: opened.cwd.clone(),
        permission_mode: opened.permission_mode,
        head: seq(row, "last_seq")?,
        state,
        opened_at: moment(row, "opened_at")?,
        changed_at: moment(row, "changed_at")?,
        archived: archived(row)?,
        erased: erasure(row)?,
        aged_out_to: row.maybe_text("aged_out_to")?,
        opened,
    })
}

fn state(session: SessionId, row: &Row) -> Result<Head, StoreError> {
    is_ours(session, row)?;
    json(&row.bytes("state")?)
}

/// What another version wrote could be read as something else.
fn is_ours(session: SessionId, row: &Row) -> Result<(), StoreError> {
    match other_version(row)? {
        None => Ok(()),
        Some(found) if found > i64::from(STATE_VERSION) => {
            Err(StoreError::NewerVersion { session, found, wanted: STATE_VERSION })
        }
        Some(_) => Err(StoreError::corrupt(format!(
            "session {session} was written by an older version and could not be folded again"
        ))),
    }
}

pub(crate) fn loaded_ask(row: &Row) -> Result<(SessionId, InteractionId, Ask), StoreError> {
    Ok((
        SessionId::from_uuid(row.id("session_id")?),
        InteractionId::from_uuid(row.id("id")?),
        json(&row.bytes("doc")?)?,
    ))
}

/// The same, from a row that says of which version it is.
pub(crate) fn ask_of_ours(row: &Row) -> Result<(SessionId, InteractionId, Ask), StoreError> {
    is_ours(SessionId::from_uuid(row.id("session_id")?), row)?;
    loaded_ask(row)
}

pub(crate) fn ask(row: &Row) -> Result<AskRecord, StoreError> {
    let (session, id, ask) = ask_of_ours(row)?;
    let request: InteractionRequest = json(&row.bytes("request")?)?;
    let response: Option<InteractionResponse> =
        row.maybe_bytes("response")?.map(|data| json(&data)).transpose()?;
    let agent_state: AgentState = json(&row.bytes("agent_state")?)?;
    let session_title = row.maybe_bytes("title")?.map(text).transpose()?;
    let agent = text(row.bytes("agent")?)?;
    Ok(AskRecord {
        id,
        session,
        owner: owner(row)?,
        ask,
        request,
        response,
        session_title,
        agent,
        agent_state,
    })
}

pub(crate) fn decided(row: &Row) -> Result<DecidedRecord, StoreError> {
    let opened: SessionOpened = json(&row.bytes("opened")?)?;
    Ok(DecidedRecord { record: ask(row)?, decided_at: moment(row, "decided_at")?, cwd: opened.cwd })
}

pub(crate) fn ask_row(row: &Row) -> Result<AskRow, StoreError> {
    Ok(AskRow {
        id: InteractionId::from_uuid(row.id("id")?),
        session: SessionId::from_uuid(row.id("session_id")?),
        owner: row.text("owner")?,
        live: row.flag("live")?,
        opened_at: moment(row, "opened_at")?,
        due_at: maybe_moment(row, "due_at")?,
        request_seq: seq(row, "request_seq")?,
        response_seq: row.maybe_int("response_seq")?.map(to_seq).transpose()?,
        decided_at: maybe_moment(row, "decided_at")?,
        under_way: row.maybe_text("under_way")?.map(|written| under_way(&written)).transpose()?,
        doc: row.bytes("doc")?,
    })
}

fn under_way(written: &str) -> Result<UnderWay, StoreError> {
    let known = [UnderWay::Submitted, UnderWay::Undelivered].into_iter().find(|one| one.as_str() == written);
    known.ok_or_else(|| StoreError::corrupt(format!("`{written}` is nothing that an ask can be")))
}

pub(crate) fn owner(row: &Row) -> Result<OwnerId, StoreError> {
    OwnerId::new(row.text("owner")?).map_err(|error| StoreError::corrupt(error.to_string()))
}

pub(crate) fn hash(row: &Row, column: &str) -> Result<Hash, StoreError> {
    row.bytes(column)?.try_into().map_err(|_| StoreError::corrupt(format!("{column} is not 32 bytes")))
}

pub(crate) fn moment(row: &Row, column: &str) -> Result<Timestamp, StoreError> {
    row.int(column).map(Timestamp::from_micros)
}

pub(crate) fn maybe_moment(row: &Row, column: &str) -> Result<Option<Timestamp>, StoreError> {
    Ok(row.maybe_int(column)?.map(Timestamp::from_micros))
}

pub(crate) fn seq(row: &Row, column: &str) -> Result<Seq, StoreError> {
    to_seq(row.int(column)?)
}

fn to_seq(number: i64) -> Result<Seq, StoreError> {
    u64::try_from(number).map(Seq).map_err(|_| StoreError::corrupt(format!("{number} is no seq")))
}

/// A seq as the databases keep it. They count to 2^63 - 1, and so does no journal.
pub(crate) fn number(seq: Seq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}

/// The same for the number of a checkpoint.
pub(crate) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::corrupt(error.to_string()))
}

pub(crate) fn text(bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|error| StoreError::corrupt(error.to_string()))
}
