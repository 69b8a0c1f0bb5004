//! Calls of before, from the journals of an owner's newest sessions, with what people decided about them.

use std::collections::HashMap;

use holdstead_core::policy::Decided;
use holdstead_protocol::api::PastRead;
use holdstead_protocol::{
    AskBody, Decider, EventBody, InteractionId, InteractionRequest, OwnerId, Response, Rule, Seq, ToolCallId,
};
use holdstead_store::{SessionQuery, SessionRecord, SessionsOnly};
use serde_json::Value;

use crate::{Gateway, GatewayError};

const SESSIONS: u32 = 200;
const CALLS: usize = 10_000;
/// Of all journals together.
const EVENTS: usize = 200_000;
/// Of all inputs together.
const BYTES: usize = 32 * 1024 * 1024;
const PAGE: u32 = 500;

/// A hosted session with calls of before.
#[derive(Debug)]
pub(crate) struct PastSession {
    pub(crate) record: SessionRecord,
    pub(crate) calls: Vec<MadeCall>,
}

#[derive(Debug)]
pub(crate) struct MadeCall {
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) cwd: Option<String>,
    pub(crate) depth: usize,
    pub(crate) decided: Decided,
    pub(crate) asked: Asked,
}

/// Whether a person was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Rules, an approval of before, or the permission mode decided.
    Nobody,
    /// A rule could not have saved it, or nobody should have been offered one.
    WithoutOffer,
    WithOffer,
}

/// What is still read.
#[derive(Debug)]
struct Left {
    events: usize,
    calls: usize,
    bytes: usize,
}

impl Gateway {
    /// What was read, the newest session first.
    pub(crate) async fn past(&self, owner: &OwnerId) -> Result<(Vec<PastSession>, PastRead), GatewayError> {
        let newest =
            SessionQuery { owner: owner.clone(), before: None, only: SessionsOnly::All, limit: SESSIONS };
        let records = self.inner.journal.sessions(newest).await?;
        let mut read = PastRead { is_all: records.len() < SESSIONS as usize, ..PastRead::default() };
        let mut left = Left { events: EVENTS, calls: CALLS, bytes: BYTES };
        let mut sessions = Vec::new();
        for record in records {
            // Rules decide for hosted agents only, and of what was erased nothing is left to read.
            if record.erased.is_some() || self.driver(&record.opened.agent).is_err() {
                continue;
            }
            let (calls, to_its_end) = self.calls_of(&record, &mut left).await?;
            read.sessions += 1;
            read.calls += calls.len();
            sessions.push(PastSession { record, calls });
            if !to_its_end {
                read.is_all = false;
                break;
            }
        }
        Ok((sessions, read))
    }

    async fn calls_of(
        &self,
        record: &SessionRecord,
        left: &mut Left,
    ) -> Result<(Vec<MadeCall>, bool), GatewayError> {
        let mut reading = Reading::default();
        let mut after = Seq(0);
        loop {
            let events = self.inner.journal.read(record.id, after, PAGE).await?;
            let Some(last) = events.last() else { return Ok((reading.calls, true)) };
            after = last.seq;
            for event in events {
                if left.events == 0 || left.calls == 0 || left.bytes == 0 {
                    return Ok((reading.calls, false));
                }
                left.events -= 1;
                if let Some(bytes) = reading.add(event.body) {
                    left.calls -= 1;
                    left.bytes = left.bytes.saturating_sub(bytes);
                }
            }
        }
    }
}

/// One journal, as far as it was read.
#[derive(Debug, Default)]
struct Reading {
    calls: Vec<MadeCall>,
    /// Names of tools, and how many agents stand between the call and the person.
    started: HashMap<ToolCallId, (String, usize)>,
    asks: HashMap<InteractionId, usize>,
}

impl Reading {
    /// The size of a call that it adds.
    fn add(&mut self, body: EventBody) -> Option<usize> {
        match body {
            EventBody::ToolCallStart(start) => {
                self.started.insert(start.tool_call_id, (start.tool_name, start.parents.len()));
                None
            }
            EventBody::ToolCallEnd(end) => {
                end.decision?;
                let (tool, depth) = self.started.get(&end.tool_call_id)?.clone();
                Some(self.push(MadeCall {
                    tool,
                    input: end.input,
                    cwd: None,
                    depth,
                    decided: Decided::ByNobody,
                    asked: Asked::Nobody,
                }))
            }
            EventBody::InteractionRequest(request) => self.ask(*request),
            EventBody::InteractionResponse(response) => {
                if matches!(response.decider, Decider::Person { .. }) {
                    self.decide(response.interaction_id, &response.response);
                }
                None
            }
            EventBody::LateAnswer(late) => {
                self.decide(late.interaction_id, &late.response);
                None
            }
            EventBody::SessionOpened(_)
            | EventBody::SessionArchived(_)
            | EventBody::SessionUnarchived(_)
            | EventBody::InteractionSnoozed(_)
            | EventBody::InteractionUnsnoozed(_)
            | EventBody::UserMessage(_)
            | EventBody::TextDelta(_)
            | EventBody::ThinkingDelta(_)
            | EventBody::ToolCallDelta(_)
            | EventBody::ToolResult(_)
            | EventBody::InteractionUpdate(_)
            | EventBody::InteractionClosed(_)
            | EventBody::GrantAdded(_)
            | EventBody::GrantRevoked(_)
            | EventBody::TrustAdded(_)
            | EventBody::TrustRevoked(_)
            | EventBody::RulesFileChanged(_)
            | EventBody::VariablesSet(_)
            | EventBody::SessionInitialised(_)
            | EventBody::TurnEndBlocked(_)
            | EventBody::SessionStatus(_)
            | EventBody::Error(_)
            | EventBody::Done(_) => None,
        }
    }

    fn ask(&mut self, request: InteractionRequest) -> Option<usize> {
        let AskBody::Approval { offered_scopes, is_plan: false, .. } = &request.body else { return None };
        // Asked again, it is still one call.
        if self.asks.contains_key(&request.interaction_id) {
            return None;
        }
        let with_offer = offered_scopes.iter().any(|offered| matches!(offered.rule, Rule::Lines { .. }));
        self.asks.insert(request.interaction_id, self.calls.len());
        Some(self.push(MadeCall {
            tool: request.tool_name,
            input: request.input,
            cwd: request.cwd,
            depth: request.parents.len(),
            decided: Decided::ByNobody,
            asked: if with_offer { Asked::WithOffer } else { Asked::WithoutOffer },
        }))
    }

    fn decide(&mut self, ask: InteractionId, response: &Response) {
        let Some(call) = self.asks.get(&ask).and_then(|place| self.calls.get_mut(*place)) else { return };
        call.decided = match response {
            Response::Approve { edited_input: None, .. } => Decided::Approved,
            Response::Deny { .. } => Decided::Denied,
            // Another input was approved, not this one.
            Response::Approve { edited_input: Some(_), .. }
            | Response::Answer { .. }
            | Response::Submit { .. }
            | Response::Cancel { .. } => Decided::ByNobody,
        };
    }

    fn push(&mut self, call: MadeCall) -> usize {
        let bytes = call.input.to_string().len();
        self.calls.push(call);
        bytes
    }
}
