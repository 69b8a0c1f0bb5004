//! The state of a session: what its journal folds to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdstead_protocol::{
    AgentBox, AgentSeq, AgentState, AskState, CallSource, Capabilities, Decider, Delivery, DeviceId, Digest,
    Grant, GrantId, Hold, InTerminal, Incarnation, InteractionId, MessageId, Origin, OwnerId, PromptId,
    Response, ResponseDraft, RunnerId, Scope, Seq, Settlement, StopReason, Timestamp, ToolCallId, Trust,
    TrustId, TurnId, Variables,
};
use serde::{Deserialize, Serialize};

use crate::{AskSpec, Rejection, RulesFiles};

/// The shape of what is stored beside the journal. A store that finds another number folds the journal again.
pub const STATE_VERSION: u32 = 21;

/// How often a rule decided, and when last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleUse {
    pub count: u64,
    pub last: Timestamp,
}

impl RuleUse {
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, last: self.last.max(other.last) }
    }
}

/// So many inputs are remembered whose approval may have taken effect in an agent that died.
const MOST_MAY_HAVE_RUN: usize = 32;

/// Inputs whose approval may have taken effect in an agent that died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MayHaveRun {
    These(BTreeSet<Digest>),
    /// There were too many to remember: from then on any input may be one of them.
    Any,
}

impl MayHaveRun {
    pub(crate) const NONE: Self = Self::These(BTreeSet::new());

    pub fn covers(&self, input: &Digest) -> bool {
        match self {
            Self::These(inputs) => inputs.contains(input),
            Self::Any => true,
        }
    }

    pub(crate) fn add(&mut self, input: &Digest) {
        match self {
            Self::These(inputs) if inputs.len() < MOST_MAY_HAVE_RUN || inputs.contains(input) => {
                inputs.insert(input.clone());
            }
            Self::These(_) | Self::Any => *self = Self::Any,
        }
    }
}

/// So many rules of answers are remembered that a person took back.
const MOST_TAKEN_BACK: usize = 256;

/// Rules that answers gave and that a person took back. A gateway that does not know whether it saved the rule of an answer
/// saves it again: these stay taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenBack {
    grants: BTreeMap<GrantId, Timestamp>,
    /// There were too many to remember: any that was given up to this time may be one of them.
    forgotten: Option<Timestamp>,
}

impl TakenBack {
    /// Whether the rule of an answer must not be saved again.
    pub(crate) fn covers(&self, grant: &Grant) -> bool {
        let forgotten = self.forgotten.is_some_and(|forgotten| grant.given_at <= forgotten);
        grant.interaction_id.is_some() && (forgotten || self.grants.contains_key(&grant.grant_id))
    }

    pub(crate) fn add(&mut self, grant: &Grant) {
        match grant.scope {
            // It was saved with its answer.
            Scope::Once | Scope::Session => return,
            Scope::Hour | Scope::Always => {}
        }
        if grant.interaction_id.is_none() {
            return;
        }
        self.grants.insert(grant.grant_id, grant.given_at);
        if self.grants.len() > MOST_TAKEN_BACK
            && let Some((oldest, given_at)) = self.grants.iter().min_by_key(|(_, given_at)| **given_at)
        {
            let (oldest, given_at) = (*oldest, *given_at);
            self.grants.remove(&oldest);
            self.forgotten = self.forgotten.max(Some(given_at));
        }
    }
}

/// A session's journal, folded.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// No event yet.
    Unopened,
    Opened(Box<Session>),
}

/// An opened session with asks of it: all, after a fold of the whole journal, or those that a command concerns.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Shared with whoever was told of it: it is copied when it changes after that.
    pub head: Arc<Head>,
    pub asks: BTreeMap<InteractionId, Ask>,
}

/// What there is of a session without its asks, always whole. It holds states, counts and small values, and of what was
/// said its title alone: it is read and written at every append. However many asks there are, it does not grow with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub owner: OwnerId,
    /// As it was opened with; else the beginning of its first message.
    pub title: Option<String>,
    /// Out of the way of lists.
    pub archived: Option<Archived>,
    /// It has an agent that reads messages. A program that only asks has none.
    pub hosted: bool,
    /// Which agent, by its driver's name.
    pub agent_name: String,
    /// The folder that it was opened in.
    pub folder: Option<String>,
    /// The agent runs in a person's own terminal: its turns begin and end there.
    pub in_terminal: bool,
    /// The machine that runs it; the gateway's own where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerId>,
    pub agent: AgentState,
    /// The process that lives now, or is being started.
    pub alive: Option<Incarnation>,
    /// The last that was taken of what it said.
    pub heard: AgentSeq,
    /// Calls about which the program asks in its terminal alone.
    pub left_to_terminal: BTreeSet<ToolCallId>,
    /// The number of its process, to be looked for before another one is started. Unknown while it is being started.
    pub pid: Option<u32>,
    /// The box of the last process that was started; nothing in journals from before there were boxes.
    pub boxed: Option<AgentBox>,
    /// How many processes there were.
    pub incarnations: u32,
    /// It was parked, and nothing was written to it since: whatever becomes of its process, it comes back to its call.
    pub resumes_at_call: bool,
    /// The agent's own name for the conversation.
    pub agent_ref: Option<String>,
    /// The agent does not know that conversation any more: the next process begins another one.
    pub forgotten: bool,
    pub turn: Option<TurnId>,
    /// How the last turn ended, while no other one began.
    pub last_stop: Option<StopReason>,
    /// Who wants this turn to stop.
    pub stopped_by: Option<String>,
    /// Messages that the agent has not been given yet, in order.
    pub pending: Vec<PendingTurn>,
    /// The last messages of people: one that is sent again is not said twice.
    pub last_said: Vec<SaidLast>,
    /// The last event that changed what calls are judged by: a grant, trust, a variable, a stop.
    pub rules_seq: Seq,
    /// Approvals remembered in this journal.
    pub grants: BTreeMap<GrantId, Grant>,
    /// Rules of approvals here that reach further than this session, until they are known to be saved in the owner's journal.
    pub unsaved: BTreeMap<GrantId, Grant>,
    /// In an owner's journal.
    pub taken_back: TakenBack,
    /// How often rules decided about calls of this session, by the key of the rule.
    pub rule_uses: BTreeMap<String, RuleUse>,
    /// Folders whose own files are trusted, in an owner's journal.
    pub trusts: BTreeMap<TrustId, Trust>,
    /// Files of rules as calls were last judged by them, in an owner's journal.
    pub rules_files: RulesFiles,
    /// What was set, for conditions of rules.
    pub variables: Variables,
    /// The agent was told what its session starts with.
    pub initialised: bool,
    /// How often a rule kept the agent from ending this turn, or the last one.
    pub stop_attempts: u32,
    /// How many asks a person can still answer or a handler still decides.
    pub live: usize,
    /// What those show, in bytes.
    pub live_bytes: u64,
    /// How many of them keep the agent waiting.
    pub blocking: usize,
    /// How many asks are [`Ask::undelivered`].
    pub undelivered: usize,
    /// How many asks have a tool that was given a response and has not said yet what follows.
    pub submitted: usize,
    /// Answers that a tool has, and the agent that called it has not shown to have.
    pub unconfirmed_results: BTreeMap<InteractionId, UnconfirmedResult>,
    /// Calls of this turn that wait for an ask which another call opened.
    pub awaiting: BTreeMap<ToolCallId, InteractionId>,
    pub may_have_run: MayHaveRun,
}

/// Who archived a session, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    pub at: Timestamp,
    pub by: String,
}

/// A person's message, by the id that whoever sent it may have chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidLast {
    pub message_id: MessageId,
    pub seq: Seq,
}

impl SaidLast {
    /// How many are remembered: whoever was not told that it arrived sends it again soon.
    pub const MOST: usize = 4;
}

/// A message that waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTurn {
    pub turn_id: TurnId,
    /// The event that has its text.
    pub seq: Seq,
}

/// An answer on its way from a tool to the agent that called it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnconfirmedResult {
    /// The call that asked.
    pub tool_call_id: ToolCallId,
    /// The life of the agent that called.
    pub asked_in: Incarnation,
    pub turn_id: Option<TurnId>,
}

/// One ask, with what is needed to check a response and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub prompt_id: PromptId,
    pub attempt: u32,
    pub origin: Origin,
    /// The device of the program that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<DeviceId>,
    /// The life of the agent that asked, if it had one.
    pub asked_in: Option<Incarnation>,
    pub turn_id: Option<TurnId>,
    pub response_id: Option<MessageId>,
    pub tool_call_id: Option<ToolCallId>,
    pub tool_name: String,
    /// Whose call it is about.
    pub source: CallSource,
    /// Something in it is risky.
    pub is_marked: bool,
    pub input_digest: Digest,
    /// What was asked at the first showing: see [`crate::asked`].
    pub asked: Digest,
    /// What it is found by once it is decided: a bounded part of what it shows.
    pub asked_text: String,
    pub spec: AskSpec,
    /// What it shows, in bytes.
    pub bytes: u64,
    pub state: AskState,
    pub delivery: Option<Delivery>,
    /// It is the agent's, settled, and its delivery is not over or may be tried again before the turn ends. What tools and
    /// programs fetch is not: nobody knows whether they ever will.
    pub undelivered: bool,
    /// It was approved with another input than the one asked about.
    pub edited: bool,
    /// Its call ran, and not with the input that was approved.
    pub ran_other_than_approved: bool,
    /// Its approval gave a rule that is not known to be saved yet.
    pub rule_unsaved: bool,
    pub hold: Hold,
    pub deadline: Option<Timestamp>,
    pub can_park: bool,
    pub capabilities: Capabilities,
    pub has_handler: bool,
    pub opened_at: Timestamp,
    /// The event that showed the current prompt.
    pub request_seq: Seq,
    /// The event that changed it last.
    pub seq: Seq,
    /// The responses that won, one per prompt at most.
    pub responses: Vec<ResponseRecord>,
    /// An answer that came too late to settle it.
    pub late: Option<ResponseRecord>,
    /// When it was settled or closed.
    pub decided_at: Option<Timestamp>,
    /// The person who stopped its turn or ended its session.
    pub closed_by: Option<String>,
    /// It was answered in the agent's own terminal, and closed here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_terminal: Option<InTerminal>,
    /// Only while a person can answer it.
    pub snoozed: Option<Snoozed>,
}

/// A person wants to see the ask later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snoozed {
    pub until: Timestamp,
    pub by: String,
}

/// A response that won a prompt, without its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRecord {
    pub prompt_id: PromptId,
    pub decider: Decider,
    pub action: Action,
    pub key: Option<String>,
    pub body_digest: Option<Digest>,
    pub seq: Seq,
    pub at: Timestamp,
}

/// What a response did, without its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    Approve,
    Deny,
    Submit,
    Cancel,
}

impl Action {
    pub const fn of(response: &Response) -> Self {
        match response {
            Response::Approve { .. } => Self::Approve,
            Response::Deny { .. } => Self::Deny,
            Response::Answer { .. } | Response::Submit { .. } => Self::Submit,
            Response::Cancel { .. } => Self::Cancel,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Submit => "submit",
            Self::Cancel => "cancel",
        }
    }
}

impl Ask {
    /// The draft, checked against what was asked and what the agent's wire can carry.
    pub(crate) fn check(&self, draft: &ResponseDraft) -> Result<Response, Rejection> {
        self.spec.check(self.capabilities, draft)
    }

    pub fn is_approval(&self) -> bool {
        self.spec.is_approval()
    }

    /// A person can still answer it, or its tool still decides.
    pub fn is_live(&self) -> bool {
        match self.state {
            AskState::Open | AskState::Submitted { .. } | AskState::Queued => true,
            AskState::Settled { .. } | AskState::Closed { .. } => false,
        }
    }

    /// Its tool has a response and has not said yet what follows.
    pub fn is_submitted(&self) -> bool {
        match self.state {
            AskState::Submitted { .. } => true,
            AskState::Open | AskState::Queued | AskState::Settled { .. } | AskState::Closed { .. } => false,
        }
    }

    /// A person can still answer it.
    pub fn is_answerable(&self) -> bool {
        match self.state {
            AskState::Open | AskState::Queued => true,
            AskState::Submitted { .. } | AskState::Settled { .. } | AskState::Closed { .. } => false,
        }
    }

    /// It keeps a hosted agent waiting.
    pub fn is_blocking(&self) -> bool {
        let undecided = match self.state {
            AskState::Open | AskState::Submitted { .. } => true,
            AskState::Queued | AskState::Settled { .. } | AskState::Closed { .. } => false,
        };
        undecided && self.origin.is_agent()
    }

    /// What was decided is still to be told to a hosted agent: nobody told it yet, or it may not have heard. An
    /// approval that may have arrived is never told again.
    pub fn needs_delivery(&self) -> bool {
        if !self.origin.is_agent() {
            return false;
        }
        match &self.delivery {
            Some(Delivery::Accepted) => true,
            // A secret is not kept to be told twice.
            Some(Delivery::Unknown { .. }) => !self.is_approval() && !self.spec.has_secrets(),
            None
            | Some(
                Delivery::Delivering { .. }
                | Delivery::Delivered { .. }
                | Delivery::Acknowledged
                | Delivery::Undeliverable { .. }
                | Delivery::NotRun { .. },
            ) => false,
        }
    }

    /// What was decided has to get from its tool to an agent. An approval is never told twice, and a secret is not kept
    /// for that.
    pub(crate) fn awaits_confirmation(&self) -> Option<(ToolCallId, Incarnation)> {
        let by_person =
            matches!(self.responses.last(), Some(ResponseRecord { decider: Decider::Person { .. }, .. }));
        let approved = self.state == AskState::Settled { settlement: Settlement::Approved };
        if self.origin != Origin::Tool || !by_person || approved || self.spec.has_secrets() {
            return None;
        }
        self.tool_call_id.clone().zip(self.asked_in)
    }

    pub fn is_due(&self, now: Timestamp) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }

    /// The response recorded under this idempotency key, late or not.
    pub fn response_with_key(&self, key: &str) -> Option<&ResponseRecord> {
        self.responses.iter().chain(self.late.as_ref()).find(|record| record.key.as_deref() == Some(key))
    }
}

impl Head {
    /// Answers of tools whose caller is gone, with its process or with its turn.
    pub fn orphaned_answers(&self) -> impl Iterator<Item = InteractionId> {
        let gone = |one: &UnconfirmedResult| self.alive != Some(one.asked_in) || self.turn != one.turn_id;
        self.unconfirmed_results.iter().filter(move |(_, one)| gone(one)).map(|(id, _)| *id)
    }
}

impl Session {
    pub(crate) fn undelivered(&self) -> impl Iterator<Item = (InteractionId, &Ask)> {
        self.asks.iter().filter(|(_, ask)| ask.undelivered).map(|(id, ask)| (*id, ask))
    }
}

impl State {
    pub fn session(&self) -> Option<&Session> {
        match self {
            Self::Unopened => None,
            Self::Opened(session) => Some(session),
        }
    }
}
