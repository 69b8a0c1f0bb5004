//! The rows that a journal comes to. Each is a function of the session's events and of nothing else.

use holdstead_core::{Archived, Ask, Head, STATE_VERSION, Session, due_at, is_unfinished};
use holdstead_protocol::{InteractionId, OwnerId, Seq, SessionId, SessionOpened, Timestamp};

use crate::chain::{self, Hash, Salt};
use crate::search::FoundRow;
use crate::{StoreError, UnderWay};

/// The agent of an owner's own journal, which is no conversation and is not listed.
const OWNER_JOURNAL: &str = "owner";

/// What to write for one session.
#[derive(Debug)]
pub(crate) struct SessionPlan {
    pub(crate) head: HeadRow,
    /// Set if the batch opens the session.
    pub(crate) opening: Option<OpeningRow>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) new_asks: Vec<AskRow>,
    pub(crate) changed_asks: Vec<AskRow>,
    pub(crate) found: Vec<FoundRow>,
    /// What all of it comes to, with the asks that were loaded or made.
    pub(crate) session: Session,
}

#[derive(Debug)]
pub(crate) struct HeadRow {
    pub(crate) id: SessionId,
    pub(crate) last_seq: Seq,
    pub(crate) last_at: Timestamp,
    pub(crate) hash: Hash,
    pub(crate) state_version: u32,
    pub(crate) state: Vec<u8>,
    pub(crate) agent_state: Vec<u8>,
    pub(crate) unfinished: bool,
    pub(crate) title: Option<Vec<u8>>,
    pub(crate) archived: Option<Archived>,
}

/// What never changes about a session.
#[derive(Debug, PartialEq)]
pub(crate) struct OpeningRow {
    pub(crate) owner: String,
    pub(crate) agent: Vec<u8>,
    pub(crate) opened: Vec<u8>,
    pub(crate) opened_at: Timestamp,
    pub(crate) listed: bool,
}

#[derive(Debug)]
pub(crate) struct EventRow {
    pub(crate) line: chain::Line,
    pub(crate) data: Vec<u8>,
    pub(crate) salt: Salt,
    pub(crate) hash: Hash,
}

#[derive(Debug, PartialEq)]
pub(crate) struct AskRow {
    pub(crate) id: InteractionId,
    pub(crate) session: SessionId,
    pub(crate) owner: String,
    pub(crate) live: bool,
    pub(crate) opened_at: Timestamp,
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) request_seq: Seq,
    pub(crate) response_seq: Option<Seq>,
    pub(crate) decided_at: Option<Timestamp>,
    pub(crate) under_way: Option<UnderWay>,
    pub(crate) doc: Vec<u8>,
}

pub(crate) fn head_row(
    id: SessionId,
    state: &Head,
    last_seq: Seq,
    last_at: Timestamp,
    hash: Hash,
) -> Result<HeadRow, StoreError> {
    Ok(HeadRow {
        id,
        last_seq,
        last_at,
        hash,
        state_version: STATE_VERSION,
        state: bytes(state)?,
        agent_state: bytes(&state.agent)?,
        unfinished: is_unfinished(state),
        title: state.title.clone().map(String::into_bytes),
        archived: state.archived.clone(),
    })
}

pub(crate) fn opening_row(opened: &SessionOpened, opened_at: Timestamp) -> Result<OpeningRow, StoreError> {
    Ok(OpeningRow {
        owner: opened.owner.as_str().to_owned(),
        agent: opened.agent.clone().into_bytes(),
        opened: bytes(opened)?,
        opened_at,
        listed: opened.agent != OWNER_JOURNAL,
    })
}

/// The row that stands for an ask.
pub(crate) fn ask_row(
    session: SessionId,
    owner: &OwnerId,
    id: InteractionId,
    ask: &Ask,
) -> Result<AskRow, StoreError> {
    Ok(AskRow {
        id,
        session,
        owner: owner.as_str().to_owned(),
        live: ask.is_live(),
        opened_at: ask.opened_at,
        due_at: due_at(ask),
        request_seq: ask.request_seq,
        response_seq: ask.responses.last().map(|response| response.seq),
        decided_at: ask.decided_at,
        under_way: UnderWay::of(ask),
        doc: bytes(ask)?,
    })
}

pub(crate) fn bytes(value: &impl serde::Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| StoreError::corrupt(error.to_string()))
}
