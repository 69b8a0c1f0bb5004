//! What events make of a session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdstead_protocol::{
    AgentSeq, AgentState, AskChange, AskState, CallDecision, Decider, Delivery, Done, Event, EventBody,
    Incarnation, InteractionClosed, InteractionId, InteractionRequest, InteractionResponse, KnownBy,
    LateAnswer, Origin, ProcessChange, Response, Seq, SessionOpened, SessionStatus, Settlement, StopReason,
    Timestamp, ToolCallId,
};
use serde_json::Value;

use crate::command::set_variables;
use crate::policy::used_by;
use crate::rules_files::RulesFiles;
use crate::search::asked_text;
use crate::state::{Action, MayHaveRun, PendingTurn, ResponseRecord, SaidLast, TakenBack};
use crate::title::title_of;
use crate::{Archived, Ask, AskSpec, Head, RuleUse, Session, Snoozed, State, UnconfirmedResult, shape};

/// The agent of a session whose program only asks.
pub const CALLER: &str = "caller";

/// Where the input of a call names the ask it waits for.
const AWAITED: &str = "interaction_id";

/// The head is written at every append: so many rules are counted in a session.
const MAX_RULES_COUNTED: usize = 64;

/// Takes one event into the state.
pub fn fold(state: &mut State, event: &Event) {
    let session = match (state, &event.body) {
        (state @ State::Unopened, EventBody::SessionOpened(opened)) => {
            *state = State::Opened(Box::new(opened_session(opened, event.seq)));
            return;
        }
        (State::Unopened, _) => return,
        (State::Opened(session), _) => session,
    };
    let mut session = Folding { head: Arc::make_mut(&mut session.head), asks: &mut session.asks };
    let (seq, at) = (event.seq, event.at);
    if let Some(heard) = event.heard {
        session.head.heard = heard;
    }
    if changes_rules(&event.body) {
        session.head.rules_seq = seq;
    }
    match &event.body {
        EventBody::SessionArchived(archived) => {
            session.head.archived = Some(Archived { at, by: archived.by.clone() });
        }
        EventBody::SessionUnarchived(_) => session.head.archived = None,
        EventBody::UserMessage(message) => {
            session.head.archived = None;
            if session.head.title.is_none() {
                session.head.title = title_of(&message.text);
            }
            session.head.pending.push(PendingTurn { turn_id: message.turn_id, seq });
            let forgotten = (session.head.last_said.len() + 1).saturating_sub(SaidLast::MOST);
            session.head.last_said.drain(..forgotten);
            session.head.last_said.push(SaidLast { message_id: message.message_id, seq });
        }
        EventBody::InteractionRequest(request) => session.request(request, seq, at),
        EventBody::InteractionResponse(response) => session.response(response, seq, at),
        EventBody::InteractionUpdate(update) => match &update.change {
            AskChange::Settled { settlement, .. } => {
                session.settle(update.interaction_id, *settlement, seq, at)
            }
            AskChange::Queued { .. } => {
                session.change(update.interaction_id, seq, |ask| ask.state = AskState::Queued)
            }
            AskChange::Delivery { delivery } => session.deliver(update.interaction_id, delivery, seq),
            AskChange::RanOtherThanApproved { .. } => {
                session.change(update.interaction_id, seq, |ask| ask.ran_other_than_approved = true)
            }
            AskChange::InTerminal { how } => {
                session.change(update.interaction_id, seq, |ask| ask.in_terminal = Some(*how))
            }
            AskChange::RuleSaved { grant_id } => {
                session.head.unsaved.remove(grant_id);
                // Another answer to the same ask may have given another one.
                let unsaved = session.has_unsaved(update.interaction_id);
                session.change(update.interaction_id, seq, |ask| ask.rule_unsaved = unsaved);
            }
        },
        EventBody::InteractionClosed(closed) => {
            session.left_to_terminal(closed);
            session.change(closed.interaction_id, seq, |ask| {
                ask.state = AskState::Closed { closing: closed.closing };
                ask.decided_at = Some(at);
                ask.closed_by.clone_from(&closed.by);
                ask.in_terminal = closed.in_terminal;
            });
        }
        EventBody::InteractionSnoozed(snoozed) => session.change(snoozed.interaction_id, seq, |ask| {
            ask.snoozed = Some(Snoozed { until: snoozed.until, by: snoozed.by.clone() });
        }),
        EventBody::InteractionUnsnoozed(unsnoozed) => {
            session.change(unsnoozed.interaction_id, seq, |ask| ask.snoozed = None)
        }
        EventBody::LateAnswer(late) => session.late(late, seq, at),
        EventBody::GrantAdded(added) => {
            session.head.grants.insert(added.grant.grant_id, added.grant.clone());
        }
        EventBody::GrantRevoked(revoked) => {
            if let Some(grant) = session.head.grants.remove(&revoked.grant_id) {
                session.head.taken_back.add(&grant);
            }
        }
        EventBody::TrustAdded(added) => {
            let trust = &added.trust;
            session.head.trusts.retain(|_, old| old.agent != trust.agent || old.folder != trust.folder);
            session.head.trusts.insert(trust.trust_id, trust.clone());
        }
        EventBody::TrustRevoked(revoked) => {
            session.head.trusts.remove(&revoked.trust_id);
        }
        EventBody::RulesFileChanged(changed) => session.head.rules_files.take(changed),
        EventBody::VariablesSet(set) => set_variables::apply(&mut session.head.variables, &set.variables),
        EventBody::SessionInitialised(_) => session.head.initialised = true,
        EventBody::TurnEndBlocked(blocked) => session.head.stop_attempts = blocked.attempt,
        EventBody::SessionStatus(status) => session.status(status, seq),
        EventBody::ToolCallEnd(end) => {
            session.awaits(&end.tool_call_id, &end.input);
            if let Some(decision) = &end.decision {
                session.decided(decision, at);
            }
        }
        EventBody::ToolResult(result) => session.heard(&result.tool_call_id, &result.output),
        EventBody::Done(done) => session.done(done),
        EventBody::SessionOpened(_)
        | EventBody::TextDelta(_)
        | EventBody::ThinkingDelta(_)
        | EventBody::ToolCallStart(_)
        | EventBody::ToolCallDelta(_)
        | EventBody::Error(_) => {}
    }
}

/// Whether a call that was judged before this event may be judged otherwise after it.
fn changes_rules(body: &EventBody) -> bool {
    match body {
        EventBody::SessionOpened(_)
        | EventBody::GrantAdded(_)
        | EventBody::GrantRevoked(_)
        | EventBody::TrustAdded(_)
        | EventBody::TrustRevoked(_)
        | EventBody::RulesFileChanged(_)
        | EventBody::VariablesSet(_)
        | EventBody::TurnEndBlocked(_) => true,
        EventBody::SessionStatus(status) => status.by.is_some(),
        // A call with this input may have run already.
        EventBody::InteractionUpdate(update) => match &update.change {
            AskChange::Delivery { delivery: Delivery::Unknown { .. } } => true,
            AskChange::Delivery { .. }
            | AskChange::Settled { .. }
            | AskChange::Queued { .. }
            | AskChange::InTerminal { .. }
            | AskChange::RuleSaved { .. }
            | AskChange::RanOtherThanApproved { .. } => false,
        },
        EventBody::SessionArchived(_)
        | EventBody::SessionUnarchived(_)
        | EventBody::SessionInitialised(_)
        | EventBody::UserMessage(_)
        | EventBody::InteractionRequest(_)
        | EventBody::InteractionResponse(_)
        | EventBody::InteractionClosed(_)
        | EventBody::InteractionSnoozed(_)
        | EventBody::InteractionUnsnoozed(_)
        | EventBody::LateAnswer(_)
        | EventBody::ToolCallStart(_)
        | EventBody::ToolCallDelta(_)
        | EventBody::ToolCallEnd(_)
        | EventBody::ToolResult(_)
        | EventBody::TextDelta(_)
        | EventBody::ThinkingDelta(_)
        | EventBody::Error(_)
        | EventBody::Done(_) => false,
    }
}

fn opened_session(opened: &SessionOpened, seq: Seq) -> Session {
    let head = Head {
        owner: opened.owner.clone(),
        title: opened.title.clone().filter(|title| !title.trim().is_empty()),
        archived: None,
        hosted: opened.agent != CALLER,
        agent_name: opened.agent.clone(),
        folder: opened.cwd.clone(),
        in_terminal: opened.terminal.is_some(),
        runner: opened.runner,
        agent: AgentState::Idle,
        alive: None,
        heard: AgentSeq::START,
        left_to_terminal: BTreeSet::new(),
        pid: None,
        boxed: None,
        incarnations: 0,
        resumes_at_call: false,
        agent_ref: None,
        forgotten: false,
        turn: None,
        last_stop: None,
        stopped_by: None,
        pending: Vec::new(),
        last_said: Vec::new(),
        rules_seq: seq,
        grants: BTreeMap::new(),
        unsaved: BTreeMap::new(),
        taken_back: TakenBack::default(),
        rule_uses: BTreeMap::new(),
        trusts: BTreeMap::new(),
        rules_files: RulesFiles::default(),
        variables: opened.variables.clone(),
        initialised: false,
        stop_attempts: 0,
        live: 0,
        live_bytes: 0,
        blocking: 0,
        undelivered: 0,
        submitted: 0,
        unconfirmed_results: BTreeMap::new(),
        awaiting: BTreeMap::new(),
        may_have_run: MayHaveRun::NONE,
    };
    Session { head: Arc::new(head), asks: BTreeMap::new() }
}

/// The ask that the input of a call names as what the call waits for.
pub(crate) fn awaited(input: &Value) -> Option<InteractionId> {
    input.get(AWAITED).and_then(Value::as_str).and_then(|id| id.parse().ok())
}

/// What one ask counts for in its session's head.
#[derive(Clone, Copy, Default)]
struct Counts {
    live: usize,
    live_bytes: u64,
    blocking: usize,
    undelivered: usize,
    submitted: usize,
}

impl Counts {
    fn of(ask: &Ask) -> Self {
        Self {
            live: ask.is_live().into(),
            live_bytes: if ask.is_live() { ask.bytes } else { 0 },
            blocking: ask.is_blocking().into(),
            undelivered: ask.undelivered.into(),
            submitted: ask.is_submitted().into(),
        }
    }
}

/// A session while an event is taken in.
struct Folding<'a> {
    head: &'a mut Head,
    asks: &'a mut BTreeMap<InteractionId, Ask>,
}

impl Folding<'_> {
    fn request(&mut self, request: &InteractionRequest, seq: Seq, at: Timestamp) {
        self.head.archived = None;
        let id = request.interaction_id;
        let earlier = self.asks.remove(&id);
        let before = earlier.as_ref().map(Counts::of).unwrap_or_default();
        let opened_at = earlier.as_ref().map_or(at, |ask| ask.opened_at);
        let asked = earlier.as_ref().map(|ask| ask.asked.clone());
        let asked = asked.unwrap_or_else(|| crate::asked(&request.input, &request.body));
        let responses = earlier.map(|ask| ask.responses).unwrap_or_default();
        self.asks.insert(
            id,
            Ask {
                prompt_id: request.prompt_id,
                attempt: request.attempt,
                origin: request.origin,
                asked_by: request
                    .asked_by
                    .as_ref()
                    .and_then(|asker| asker.actor)
                    .map(|actor| actor.device_id),
                asked_in: self.head.alive,
                turn_id: request.turn_id,
                response_id: request.response_id,
                tool_call_id: request.tool_call_id.clone(),
                tool_name: request.tool_name.clone(),
                source: self.head.source_of(request),
                is_marked: !request.marks.is_empty(),
                input_digest: request.input_digest.clone(),
                asked,
                asked_text: asked_text(request),
                spec: AskSpec::of(&request.body),
                bytes: shape::bytes(request),
                state: AskState::Open,
                delivery: None,
                undelivered: false,
                edited: false,
                ran_other_than_approved: false,
                rule_unsaved: self.has_unsaved(id),
                hold: request.hold,
                deadline: request.deadline,
                can_park: request.can_park,
                capabilities: request.capabilities,
                has_handler: request.has_handler,
                opened_at,
                request_seq: seq,
                seq,
                responses,
                late: None,
                decided_at: None,
                closed_by: None,
                in_terminal: None,
                snoozed: None,
            },
        );
        self.recount(id, before);
    }

    fn has_unsaved(&self, id: InteractionId) -> bool {
        self.head.unsaved.values().any(|grant| grant.interaction_id == Some(id))
    }

    fn response(&mut self, response: &InteractionResponse, seq: Seq, at: Timestamp) {
        let record = ResponseRecord {
            prompt_id: response.prompt_id,
            decider: response.decider.clone(),
            action: Action::of(&response.response),
            key: response.idempotency_key.clone(),
            body_digest: response.body_digest.clone(),
            seq,
            at,
        };
        let edited = match &response.response {
            Response::Approve { edited_input, .. } => edited_input.is_some(),
            Response::Deny { .. }
            | Response::Answer { .. }
            | Response::Submit { .. }
            | Response::Cancel { .. } => false,
        };
        let prompt_id = response.prompt_id;
        if let Some(grant) = &response.gives {
            self.head.unsaved.insert(grant.grant_id, grant.clone());
        }
        self.change(response.interaction_id, seq, |ask| {
            ask.responses.push(record);
            ask.edited = edited;
            ask.rule_unsaved |= response.gives.is_some();
            ask.state = AskState::Submitted { prompt_id };
        });
        if let Some(settlement) = response.settlement {
            self.settle(response.interaction_id, settlement, seq, at);
        }
    }

    fn settle(&mut self, id: InteractionId, settlement: Settlement, seq: Seq, at: Timestamp) {
        self.change(id, seq, |ask| {
            ask.state = AskState::Settled { settlement };
            ask.decided_at = Some(at);
            ask.delivery = Some(Delivery::Accepted);
        });
        let Some(ask) = self.asks.get(&id) else { return };
        if let Some((tool_call_id, asked_in)) = ask.awaits_confirmation() {
            self.head
                .unconfirmed_results
                .insert(id, UnconfirmedResult { tool_call_id, asked_in, turn_id: ask.turn_id });
        }
    }

    /// A call that names an ask of this session as what it waits for: its result may carry the answer.
    /// Rules are counted as they decide.
    fn decided(&mut self, decision: &CallDecision, at: Timestamp) {
        let used = RuleUse { count: 1, last: at };
        for key in used_by(decision) {
            let uses = &mut self.head.rule_uses;
            if uses.len() < MAX_RULES_COUNTED || uses.contains_key(&key) {
                uses.entry(key).and_modify(|sum| *sum = sum.and(used)).or_insert(used);
            }
        }
    }

    fn awaits(&mut self, call: &ToolCallId, input: &Value) {
        let known = |id: &InteractionId| {
            self.asks.get(id).is_some_and(Ask::is_live) || self.head.unconfirmed_results.contains_key(id)
        };
        if let Some(id) = awaited(input).filter(known) {
            self.head.awaiting.insert(call.clone(), id);
        }
    }

    /// The program asks about this call in its terminal alone, until the call comes to something.
    fn left_to_terminal(&mut self, closed: &InteractionClosed) {
        let how = closed.in_terminal.map(|how| how.known_by);
        if let (Some(KnownBy::LeftToTerminal), Some(ask)) = (how, self.asks.get(&closed.interaction_id)) {
            self.head.left_to_terminal.extend(ask.tool_call_id.clone());
        }
    }

    /// The agent has a result: of the call that asked, or of one that waited for that ask. A result that names the ask
    /// only says that it still waits, and carries no answer.
    fn heard(&mut self, call: &ToolCallId, output: &Value) {
        self.head.left_to_terminal.remove(call);
        let awaited = self.head.awaiting.remove(call);
        let asked = self.head.unconfirmed_results.iter().find(|(_, one)| one.tool_call_id == *call);
        let Some(id) = awaited.or(asked.map(|(id, _)| *id)) else { return };
        if self.head.unconfirmed_results.contains_key(&id) && !output.to_string().contains(&id.to_string()) {
            self.head.unconfirmed_results.remove(&id);
        }
    }

    fn deliver(&mut self, id: InteractionId, delivery: &Delivery, seq: Seq) {
        let approved = AskState::Settled { settlement: Settlement::Approved };
        if let (Delivery::Unknown { .. }, Some(ask)) = (delivery, self.asks.get(&id))
            && ask.state == approved
        {
            self.head.may_have_run.add(&ask.input_digest);
        }
        if let Delivery::Delivering { .. } = delivery {
            self.head.resumes_at_call = false;
        }
        self.change(id, seq, |ask| ask.delivery = Some(delivery.clone()));
    }

    fn late(&mut self, late: &LateAnswer, seq: Seq, at: Timestamp) {
        let record = ResponseRecord {
            prompt_id: late.prompt_id,
            decider: Decider::Person { name: late.name.clone(), surface: late.surface, actor: late.actor },
            action: Action::of(&late.response),
            key: Some(late.idempotency_key.clone()),
            body_digest: Some(late.body_digest.clone()),
            seq,
            at,
        };
        self.head.archived = None;
        self.head.unconfirmed_results.remove(&late.interaction_id);
        self.change(late.interaction_id, seq, |ask| match ask.state {
            // Settled in time; this event only repeats it to the agent.
            AskState::Settled { .. } => {}
            AskState::Open | AskState::Submitted { .. } | AskState::Queued | AskState::Closed { .. } => {
                ask.late = Some(record);
            }
        });
        // A program reads it with its ask; only an agent is sent messages.
        let to_program = self.asks.get(&late.interaction_id).is_some_and(|ask| ask.origin == Origin::Caller);
        if self.head.hosted && !to_program {
            self.head.pending.push(PendingTurn { turn_id: late.turn_id, seq });
        }
    }

    fn status(&mut self, status: &SessionStatus, seq: Seq) {
        self.head.agent = status.agent;
        if status.agent == AgentState::Parked {
            self.head.resumes_at_call = true;
        }
        if status.agent == AgentState::Ended {
            self.head.unconfirmed_results.clear();
            self.head.awaiting.clear();
            self.head.left_to_terminal.clear();
            self.forget_final_deliveries();
        } else if status.by.is_some() {
            self.head.stopped_by.clone_from(&status.by);
        }
        if let Some(agent_ref) = &status.agent_ref {
            self.head.agent_ref = Some(agent_ref.clone());
            self.head.forgotten = false;
        }
        self.head.forgotten |= status.forgotten;
        if let Some(turn) = status.turn_id {
            self.head.turn = Some(turn);
            self.head.last_stop = None;
            if std::mem::take(&mut self.head.stop_attempts) > 0 {
                self.head.rules_seq = seq;
            }
            self.head.pending.retain(|pending| pending.turn_id != turn);
        }
        if let Some(boxed) = &status.boxed {
            self.head.boxed = Some(boxed.clone());
        }
        match status.process() {
            Some(ProcessChange::Starting { incarnation }) => self.begin_life(incarnation),
            Some(ProcessChange::Began { incarnation, pid }) => {
                // In journals of before, nothing said that it would be started.
                if self.head.alive != Some(incarnation) {
                    self.begin_life(incarnation);
                }
                self.head.pid = Some(pid);
            }
            Some(ProcessChange::Ended { .. }) => {
                self.head.alive = None;
                self.head.pid = None;
            }
            None => {}
        }
    }

    fn begin_life(&mut self, incarnation: Incarnation) {
        self.head.alive = Some(incarnation);
        self.head.heard = AgentSeq::START;
        self.head.pid = None;
        self.head.incarnations = incarnation.0;
    }

    fn done(&mut self, done: &Done) {
        if self.head.turn == Some(done.turn_id) {
            self.head.turn = None;
            self.head.last_stop = Some(done.reason);
            self.head.stopped_by = None;
            self.head.resumes_at_call = false;
        }
        match done.reason {
            // It went away, and may not have heard what its tools were told. One that never named its conversation was never
            // told what it starts with.
            StopReason::Failed => self.head.initialised &= self.head.agent_ref.is_some(),
            StopReason::Completed | StopReason::Interrupted => self.head.unconfirmed_results.clear(),
        }
        self.head.awaiting.clear();
        self.head.left_to_terminal.clear();
        self.forget_final_deliveries();
        self.head.agent = match self.head.agent {
            AgentState::Ended => AgentState::Ended,
            AgentState::Idle
            | AgentState::Running
            | AgentState::Waiting
            | AgentState::Parking
            | AgentState::Parked
            | AgentState::Detached => AgentState::Idle,
        };
    }

    /// Nobody waits for an answer that may not have arrived any more.
    fn forget_final_deliveries(&mut self) {
        for ask in self.asks.values_mut().filter(|ask| ask.undelivered) {
            if ask.delivery.as_ref().is_some_and(Delivery::is_final) {
                ask.undelivered = false;
                self.head.undelivered = self.head.undelivered.saturating_sub(1);
            }
        }
    }

    fn change(&mut self, id: InteractionId, seq: Seq, change: impl FnOnce(&mut Ask)) {
        if let Some(ask) = self.asks.get_mut(&id) {
            let before = Counts::of(ask);
            change(ask);
            ask.seq = seq;
            if !ask.is_answerable() {
                ask.snoozed = None;
            }
            self.recount(id, before);
        }
    }

    /// Brings the counts in line with one ask, and the agent's state with the counts.
    fn recount(&mut self, id: InteractionId, before: Counts) {
        let Some(ask) = self.asks.get_mut(&id) else { return };
        let on_its_way = ask.delivery.as_ref().is_some_and(|delivery| !delivery.is_final());
        let again = ask.needs_delivery() && self.head.agent != AgentState::Ended;
        ask.undelivered = ask.origin.is_agent() && (on_its_way || again);
        let after = Counts::of(ask);
        let head = &mut *self.head;
        head.live = (head.live + after.live).saturating_sub(before.live);
        head.live_bytes = (head.live_bytes + after.live_bytes).saturating_sub(before.live_bytes);
        head.blocking = (head.blocking + after.blocking).saturating_sub(before.blocking);
        head.undelivered = (head.undelivered + after.undelivered).saturating_sub(before.undelivered);
        head.submitted = (head.submitted + after.submitted).saturating_sub(before.submitted);
        head.agent = match (head.agent, head.blocking) {
            (AgentState::Running, 1..) => AgentState::Waiting,
            (AgentState::Waiting, 0) => AgentState::Running,
            (agent, _) => agent,
        };
    }
}
