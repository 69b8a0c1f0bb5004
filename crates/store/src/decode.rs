//! Rows into records.

use holdpoint_core::{Ask, STATE_VERSION, Session};
use holdpoint_protocol::{
    AgentState, Event, EventBody, EventId, EventType, InteractionId, InteractionRequest, InteractionResponse,
    OwnerId, Seq, SessionId, SessionOpened, Timestamp,
};
use serde::de::DeserializeOwned;

use crate::chain::Hash;
use crate::db::Row;
use crate::plan::Head;
use crate::rows::AskRow;
use crate::{AskRecord, SessionRecord, StoreError};

pub(crate) fn event(row: &Row) -> Result<Event, StoreError> {
    let event_type: EventType = row.text("type")?.parse().map_err(StoreError::corrupt)?;
    let body = EventBody::from_data(event_type, &row.bytes("data")?)
        .map_err(|error| StoreError::corrupt(format!("an event: {error}")))?;
    Ok(Event { id: EventId::from_uuid(row.id("id")?), seq: seq(row, "seq")?, at: moment(row, "at")?, body })
}

pub(crate) fn head(row: &Row) -> Result<(SessionId, Head), StoreError> {
    let id = SessionId::from_uuid(row.id("id")?);
    let head = Head {
        state: state(id, row)?,
        last_seq: seq(row, "last_seq")?,
        last_at: moment(row, "last_at")?,
        hash: hash(row, "head_hash")?,
    };
    Ok((id, head))
}

pub(crate) fn session(row: &Row) -> Result<SessionRecord, StoreError> {
    let id = SessionId::from_uuid(row.id("id")?);
    let opened: SessionOpened = json(&row.bytes("opened")?)?;
    Ok(SessionRecord {
        id,
        owner: opened.owner.clone(),
        agent: opened.agent.clone(),
        title: opened.title.clone(),
        cwd: opened.cwd.clone(),
        permission_mode: opened.permission_mode,
        head: seq(row, "last_seq")?,
        state: state(id, row)?,
        opened_at: moment(row, "opened_at")?,
        changed_at: moment(row, "changed_at")?,
        opened,
    })
}

fn state(session: SessionId, row: &Row) -> Result<Session, StoreError> {
    check_version(session, row)?;
    json(&row.bytes("state")?)
}

/// Older states are folded again before anything is read, newer ones are not for us.
fn check_version(session: SessionId, row: &Row) -> Result<(), StoreError> {
    let found = row.int("state_version")?;
    if found == i64::from(STATE_VERSION) {
        Ok(())
    } else {
        Err(StoreError::NewerVersion { session, found, wanted: STATE_VERSION })
    }
}

pub(crate) fn loaded_ask(row: &Row) -> Result<(SessionId, InteractionId, Ask), StoreError> {
    Ok((
        SessionId::from_uuid(row.id("session_id")?),
        InteractionId::from_uuid(row.id("id")?),
        json(&row.bytes("doc")?)?,
    ))
}

pub(crate) fn ask(row: &Row) -> Result<AskRecord, StoreError> {
    let (session, id, ask) = loaded_ask(row)?;
    let request: InteractionRequest = json(&row.bytes("request")?)?;
    let response: Option<InteractionResponse> =
        row.maybe_bytes("response")?.map(|data| json(&data)).transpose()?;
    let agent_state: AgentState = json(&row.bytes("agent_state")?)?;
    let session_title = row.maybe_bytes("title")?.map(text).transpose()?;
    let agent = text(row.bytes("agent")?)?;
    Ok(AskRecord { id, session, ask, request, response, session_title, agent, agent_state })
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
        doc: row.bytes("doc")?,
    })
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

fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::corrupt(error.to_string()))
}

fn text(bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|error| StoreError::corrupt(error.to_string()))
}
