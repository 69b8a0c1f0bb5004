//! What the store remembers, as clients see it.

use holdstead_protocol::AgentState;
use holdstead_protocol::api::{Archived, Erased, Interaction, Messages, Session};
use holdstead_store::{AskRecord, SessionRecord};

use crate::presence::Audience;

pub(crate) fn interaction(record: AskRecord) -> Interaction {
    let (snoozed_until, snoozed_by) =
        record.ask.snoozed.clone().map(|snoozed| (snoozed.until, snoozed.by)).unzip();
    let parked = match record.agent_state {
        AgentState::Parking | AgentState::Parked => true,
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Detached
        | AgentState::Ended => false,
    };
    Interaction {
        session_id: record.session,
        session_title: record.session_title,
        agent: record.agent,
        seq: record.ask.seq,
        opened_at: record.ask.opened_at,
        responded_at: record.ask.responses.last().map(|response| response.at),
        parked: parked && record.ask.is_blocking(),
        snoozed_until,
        snoozed_by,
        state: record.ask.state,
        closed_by: record.ask.closed_by,
        in_terminal: record.ask.in_terminal,
        delivery: record.ask.delivery,
        ran_other_than_approved: record.ask.ran_other_than_approved,
        request: record.request,
        response: record.response,
        late: None,
        failure: None,
        cut: None,
    }
}

pub(crate) fn session(record: SessionRecord, audience: Audience, messages: Messages) -> Session {
    Session {
        session_id: record.id,
        agent: record.opened.agent,
        title: record.title,
        cwd: record.opened.cwd,
        permission_mode: record.opened.permission_mode,
        seq: record.head,
        state: record.state.agent,
        last_stop: record.state.last_stop,
        in_terminal: record.opened.terminal.is_some(),
        messages,
        asks_in_terminal: u32::try_from(record.state.left_to_terminal.len()).unwrap_or(u32::MAX),
        boxed: record.state.boxed,
        variables: record.state.variables,
        open_asks: u32::try_from(record.state.live).unwrap_or(u32::MAX),
        interactive_clients: audience.interactive,
        enabled_clients: audience.enabled,
        opened_at: record.opened_at,
        opened_by: record.opened.opened_by.map(|opener| *opener),
        changed_at: record.changed_at,
        archived: record.archived.map(|archived| Archived { at: archived.at, by: archived.by }),
        erased: record.erased.map(|erasure| Erased { at: erasure.at, by: erasure.by }),
    }
}
