//! What can be asked of a session, one file per command.
//!
//! Each file answers one question: given this state and this command, which events follow, or why none do?

pub(crate) mod acknowledge;
pub(crate) mod allow;
pub(crate) mod archive;
pub(crate) mod based;
pub(crate) mod begin;
pub(crate) mod block_end;
pub(crate) mod cancel;
pub(crate) mod delivered;
pub(crate) mod delivering;
pub(crate) mod end;
pub(crate) mod exit;
pub(crate) mod expire;
pub(crate) mod fenced;
pub(crate) mod finish;
pub(crate) mod forget;
pub(crate) mod grant;
pub(crate) mod identify;
pub(crate) mod late_answer;
pub(crate) mod message;
pub(crate) mod not_run;
pub(crate) mod open;
pub(crate) mod outcome;
pub(crate) mod overhear;
pub(crate) mod overtake;
pub(crate) mod park;
pub(crate) mod queue;
pub(crate) mod ran_other;
pub(crate) mod record;
pub(crate) mod request;
pub(crate) mod respond;
pub(crate) mod resume;
pub(crate) mod retell;
pub(crate) mod revoke;
pub(crate) mod rule_saved;
pub(crate) mod rules_file;
pub(crate) mod set_variables;
pub(crate) mod snooze;
pub(crate) mod start;
pub(crate) mod stay;
pub(crate) mod trust;
pub(crate) mod withdraw;

use std::collections::BTreeSet;

use holdstead_protocol::{
    AgentSeq, AgentState, EventBody, Grant, GrantId, InTerminal, Incarnation, InteractionId,
    InteractionRequest, InteractionSnoozed, InteractionUnsnoozed, LeftOut, NotRun, RulesFileChanged, Seq,
    SessionArchived, SessionId, SessionOpened, SessionUnarchived, Timestamp, Trust, TrustId, TurnEndBlocked,
    TurnId, VariablesSet,
};
use serde_json::Value;

use based::Rules;
use fenced::Passed;

use crate::{
    Allow, Ask, Based, Basis, Cancel, Exit, Expire, Fence, Fenced, Finish, Message, Outcome, Output,
    Overhear, RanOther, Rejection, Request, Respond, Resume, Retell, Start, Verdict, Withdraw,
};
use crate::{Head, Session, State};

/// Everything that can happen to a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Begin the journal.
    Open(Box<SessionOpened>),
    /// A person says something to the agent.
    Message(Box<Message>),
    /// A person sets variables.
    SetVariables(VariablesSet),
    /// A person puts the session out of the way of lists.
    Archive(SessionArchived),
    /// And brings it back.
    Unarchive(SessionUnarchived),
    /// A person wants to see an ask later.
    Snooze(InteractionSnoozed),
    /// And now after all.
    Unsnooze(InteractionUnsnoozed),
    /// The agent is given the next message. With its first one the session is initialised.
    Begin { turn_id: TurnId, start: Start },
    /// A person wrote something where the agent runs, and its turn has begun with it.
    Overhear(Box<Overhear>),
    /// A rule keeps the agent from ending its turn.
    BlockEnd(Box<TurnEndBlocked>),
    /// The agent said something.
    Record(Vec<Output>),
    /// Somebody needs a person.
    Request(Box<Request>),
    /// A person answers.
    Respond(Box<Respond>),
    /// Rules allow an ask that waits.
    Allow(Allow),
    /// The asking tool says what follows.
    Outcome(Box<Outcome>),
    /// The agent is told that the answer comes later.
    Queue { interaction_id: InteractionId, message: String },
    /// An ask's time ran out.
    Expire(Expire),
    /// Asks are taken back.
    Cancel(Cancel),
    /// The program that asked takes its ask back.
    Withdraw(Withdraw),
    /// The agent is about to be told to go away until the answer comes.
    Park {
        interaction_id: InteractionId,
        incarnation: Incarnation,
        /// The asks of calls that its agent has had no reply to.
        awaited: BTreeSet<InteractionId>,
    },
    /// The agent would not go: it keeps waiting.
    Stay { incarnation: Incarnation },
    /// A process is about to be started, to go on with this turn if there is one.
    Start { incarnation: Incarnation, turn: Option<TurnId> },
    /// It was started.
    Resume(Resume),
    /// The agent told us its own name for the conversation.
    Identify { incarnation: Incarnation, agent_ref: String },
    /// The agent does not know its conversation any more.
    Forget { incarnation: Incarnation },
    /// A process is gone.
    Exit(Exit),
    /// The agent ended its turn, or a turn without a process is given up.
    Finish(Finish),
    /// A settlement is about to be written to the agent.
    Delivering { interaction_id: InteractionId, incarnation: Incarnation },
    /// It was written.
    Delivered { interaction_id: InteractionId, incarnation: Incarnation },
    /// The asker showed that it has it.
    Acknowledge { interaction_id: InteractionId },
    /// It was answered in the agent's own terminal.
    Overtake { interaction_id: InteractionId, how: InTerminal },
    /// What was approved reached the agent, and the call did not run.
    NotRun { interaction_id: InteractionId, because: NotRun },
    /// A call ran with another input than the one that was approved.
    RanOther(RanOther),
    /// The agent went away before its tool could tell it.
    Retell(Box<Retell>),
    /// Remember an approval.
    Grant(Grant),
    /// The rule that an approval gave is in the owner's journal.
    RuleSaved { interaction_id: InteractionId, grant_id: GrantId },
    /// Forget one.
    Revoke { grant_id: GrantId, name: String },
    /// A folder's own files are trusted.
    Trust(Box<Trust>),
    /// And not any more.
    Distrust { trust_id: TrustId, name: String },
    /// A file of rules changed, if the last event that changed what calls are judged by is still this one.
    SeeRulesFile { changed: RulesFileChanged, after: Seq },
    /// End the session.
    End { name: String },
    /// This person removed the machine of its agent: it ends, and what ran there is gone.
    RemoveRunner { by: String, machine: String },
    /// What follows from judging a call, if the rules that judged it are the rules that count.
    Based(Box<Based>),
    /// Any of these from whoever speaks for the session, if it is as they believe it to be.
    Fenced(Box<Fenced>),
}

/// What an agent or a tool says with a command. It is checked and masked before it is written.
#[derive(Debug)]
pub enum Said<'a> {
    /// The command is a person's or the gateway's own.
    Nothing,
    Ask(&'a mut InteractionRequest),
    Outputs(&'a mut [Output]),
    /// What a tool made of an answer.
    Result(&'a mut Value),
    Words(Vec<&'a mut String>),
    Ran(&'a mut RanOther),
    /// Names of files: an agent may have made them.
    LeftOut(&'a mut LeftOut),
}

impl Command {
    /// The same, if the session is as whoever says it believes.
    #[must_use]
    pub fn fenced(self, fence: Fence) -> Self {
        Self::Fenced(Box::new(Fenced { fence, command: self }))
    }

    /// The same, if the rules that judged its call are the rules that count. `earlier_ask` is the ask that the call opened
    /// if it was asked about before.
    #[must_use]
    pub fn based_on(self, basis: Basis, earlier_ask: Option<InteractionId>) -> Self {
        Self::Based(Box::new(Based { basis, earlier_ask, command: self }))
    }

    /// Whether it opens an ask, whatever its conditions.
    pub fn is_request(&self) -> bool {
        if let Self::Fenced(fenced) = self {
            fenced.command.is_request()
        } else if let Self::Based(based) = self {
            based.command.is_request()
        } else {
            matches!(self, Self::Request(_))
        }
    }

    /// The command without its conditions.
    pub fn inner_mut(&mut self) -> &mut Self {
        if let Self::Fenced(fenced) = self {
            fenced.command.inner_mut()
        } else if let Self::Based(based) = self {
            based.command.inner_mut()
        } else {
            self
        }
    }

    /// The other journal that the command is decided on: its revision is read in the same transaction.
    pub fn reads(&self) -> Option<SessionId> {
        if let Self::Fenced(fenced) = self {
            fenced.command.reads()
        } else if let Self::Based(based) = self {
            Some(based.basis.owner.0)
        } else {
            None
        }
    }

    /// The number that the last event of this command carries: what the agent said is taken up to there.
    pub fn heard(&self) -> Option<AgentSeq> {
        if let Self::Fenced(fenced) = self { fenced.fence.heard() } else { None }
    }

    pub fn said(&mut self) -> Said<'_> {
        match self {
            Self::Fenced(fenced) => fenced.command.said(),
            Self::Based(based) => based.command.said(),
            Self::Request(request) => Said::Ask(&mut request.request),
            Self::Record(outputs) => Said::Outputs(outputs),
            Self::Outcome(outcome) => match &mut outcome.verdict {
                Verdict::Complete { result } => result.as_mut().map_or(Said::Nothing, Said::Result),
                Verdict::Reprompt(again) => Said::Ask(again),
                Verdict::Pending { message } | Verdict::Failed { message } => Said::Words(vec![message]),
            },
            Self::Retell(retell) => retell.result.as_mut().map_or(Said::Nothing, Said::Result),
            Self::RanOther(other) => Said::Ran(other),
            Self::Exit(exit) => {
                let end = exit.turn_end.as_mut().and_then(|end| end.words.as_mut());
                Said::Words(exit.message.as_mut().into_iter().chain(end).collect())
            }
            Self::Finish(finish) => Said::Words(finish.words.as_mut().into_iter().collect()),
            Self::Overhear(heard) => Said::Words(vec![&mut heard.message.text]),
            Self::Resume(resume) => resume.left_out.as_mut().map_or(Said::Nothing, Said::LeftOut),
            Self::Open(_)
            | Self::Message(_)
            | Self::SetVariables(_)
            | Self::Archive(_)
            | Self::Unarchive(_)
            | Self::Snooze(_)
            | Self::Unsnooze(_)
            | Self::Begin { .. }
            | Self::BlockEnd(_)
            | Self::Respond(_)
            | Self::Allow(_)
            | Self::Queue { .. }
            | Self::Expire(_)
            | Self::Cancel(_)
            | Self::Withdraw(_)
            | Self::Park { .. }
            | Self::Stay { .. }
            | Self::Start { .. }
            | Self::Forget { .. }
            | Self::Identify { .. }
            | Self::Delivering { .. }
            | Self::Delivered { .. }
            | Self::Acknowledge { .. }
            | Self::Overtake { .. }
            | Self::NotRun { .. }
            | Self::RuleSaved { .. }
            | Self::Grant(_)
            | Self::Revoke { .. }
            | Self::Trust(_)
            | Self::Distrust { .. }
            | Self::SeeRulesFile { .. }
            | Self::RemoveRunner { .. }
            | Self::End { .. } => Said::Nothing,
        }
    }

    /// The asks that the command itself names: they are known before the session is read.
    pub fn names(&self) -> Vec<InteractionId> {
        match self {
            Self::Fenced(fenced) => fenced.command.names(),
            Self::Based(based) => based.command.names().into_iter().chain(based.earlier_ask).collect(),
            // A call may wait for an ask which another call opened.
            Self::Record(outputs) => outputs.iter().filter_map(Output::awaits).collect(),
            Self::Open(_)
            | Self::Message(_)
            | Self::SetVariables(_)
            | Self::Archive(_)
            | Self::Unarchive(_)
            | Self::Begin { .. }
            | Self::Overhear(_)
            | Self::BlockEnd(_)
            | Self::Stay { .. }
            | Self::Start { .. }
            | Self::Forget { .. }
            | Self::Resume(_)
            | Self::Identify { .. }
            | Self::Grant(_)
            | Self::Trust(_)
            | Self::Distrust { .. }
            | Self::SeeRulesFile { .. }
            | Self::Revoke { .. }
            | Self::Exit(_)
            | Self::Finish(_)
            | Self::RemoveRunner { .. }
            | Self::End { .. }
            | Self::Cancel(Cancel::Turn { .. }) => Vec::new(),
            Self::Request(request) => vec![request.request.interaction_id],
            Self::Respond(respond) => vec![respond.interaction_id],
            Self::Allow(allow) => vec![allow.interaction_id],
            Self::Snooze(snooze) => vec![snooze.interaction_id],
            Self::Unsnooze(unsnooze) => vec![unsnooze.interaction_id],
            Self::Retell(retell) => vec![retell.interaction_id],
            Self::Outcome(outcome) => vec![outcome.interaction_id],
            Self::Expire(expire) => vec![expire.interaction_id],
            Self::Withdraw(withdraw) => vec![withdraw.interaction_id],
            Self::Queue { interaction_id, .. }
            | Self::Park { interaction_id, .. }
            | Self::Delivering { interaction_id, .. }
            | Self::Delivered { interaction_id, .. }
            | Self::Acknowledge { interaction_id }
            | Self::Overtake { interaction_id, .. }
            | Self::NotRun { interaction_id, .. }
            | Self::RuleSaved { interaction_id, .. }
            | Self::Cancel(Cancel::Ask(interaction_id)) => vec![*interaction_id],
            Self::RanOther(ran) => vec![ran.interaction_id],
        }
    }

    /// Which others of its session it is decided on.
    pub fn needs(&self) -> Needs {
        match self {
            Self::Fenced(fenced) => fenced.command.needs(),
            Self::Based(based) => based.command.needs(),
            // It may be the repeat of a call whose approval never arrived.
            Self::Request(request)
                if request.request.body.is_approval() && request.request.origin.is_agent() =>
            {
                Needs::Undelivered
            }
            // One of them may have an answer that the agent has to hear first.
            Self::Park { .. } => Needs::Undelivered,
            Self::Exit(_)
            | Self::Cancel(Cancel::Turn { .. })
            | Self::Finish(_)
            | Self::Overhear(_)
            | Self::RemoveRunner { .. }
            | Self::End { .. } => Needs::NotOver,
            Self::Open(_)
            | Self::Message(_)
            | Self::SetVariables(_)
            | Self::Archive(_)
            | Self::Unarchive(_)
            | Self::Snooze(_)
            | Self::Unsnooze(_)
            | Self::Begin { .. }
            | Self::BlockEnd(_)
            | Self::Record(_)
            | Self::Stay { .. }
            | Self::Start { .. }
            | Self::Forget { .. }
            | Self::Resume(_)
            | Self::Identify { .. }
            | Self::Grant(_)
            | Self::Trust(_)
            | Self::Distrust { .. }
            | Self::SeeRulesFile { .. }
            | Self::Revoke { .. }
            | Self::Request(_)
            | Self::Respond(_)
            | Self::Allow(_)
            | Self::Retell(_)
            | Self::Outcome(_)
            | Self::Expire(_)
            | Self::Withdraw(_)
            | Self::Queue { .. }
            | Self::Delivering { .. }
            | Self::Delivered { .. }
            | Self::Acknowledge { .. }
            | Self::Overtake { .. }
            | Self::NotRun { .. }
            | Self::RuleSaved { .. }
            | Self::RanOther(_)
            | Self::Cancel(Cancel::Ask(_)) => Needs::NoOthers,
        }
    }
}

/// Which asks a command is decided on, beside those that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    NoOthers,
    /// All of its session that are [`Ask::undelivered`].
    Undelivered,
    /// Those, and all that are live.
    NotOver,
}

impl Needs {
    pub fn include(self, ask: &Ask) -> bool {
        match self {
            Self::NoOthers => false,
            Self::Undelivered => ask.undelivered,
            Self::NotOver => ask.undelivered || ask.is_live(),
        }
    }
}

/// What follows from a command now. Nothing, if it happened already: the same command twice is the command once.
///
/// `owner` is [`Head::rules_seq`] of the journal that [`Command::reads`] names, read in the same transaction.
pub fn decide(
    state: &State,
    command: &Command,
    owner: Option<Seq>,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    decide_by(state, command, Rules::Unchecked, owner, now)
}

fn decide_by(
    state: &State,
    command: &Command,
    rules: Rules,
    owner: Option<Seq>,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    let session = match (state, command) {
        (State::Unopened, Command::Open(opened)) => return open::decide(opened),
        (State::Unopened, _) => return Err(Rejection::NotOpened),
        (State::Opened(_), Command::Open(_)) => return Err(Rejection::AlreadyOpen),
        (State::Opened(session), _) => session,
    };
    match command {
        Command::Open(_) => Err(Rejection::AlreadyOpen),
        Command::Message(message) => message::decide(&session.head, message),
        Command::SetVariables(set) => set_variables::decide(&session.head, set),
        Command::Archive(archived) => archive::decide(&session.head, archived),
        Command::Unarchive(unarchived) => archive::undo(&session.head, unarchived),
        Command::Snooze(snooze) => snooze::decide(session, snooze, now),
        Command::Unsnooze(unsnooze) => snooze::undo(session, unsnooze),
        Command::Begin { turn_id, start } => begin::decide(&session.head, *turn_id, start),
        Command::Overhear(heard) => overhear::decide(session, heard),
        Command::BlockEnd(blocked) => block_end::decide(&session.head, blocked),
        Command::Record(outputs) => record::decide(session, outputs, rules),
        Command::Request(request) => request::decide(session, request, rules, now),
        Command::Respond(respond) => respond::decide(session, respond, now),
        Command::Allow(allow) => allow::decide(session, allow, rules, now),
        Command::Outcome(outcome) => outcome::decide(session, outcome, now),
        Command::Queue { interaction_id, message } => queue::decide(session, *interaction_id, message),
        Command::Expire(expire) => expire::decide(session, expire, now),
        Command::Cancel(cancel) => cancel::decide(session, cancel),
        Command::Withdraw(withdraw) => withdraw::decide(session, withdraw),
        Command::Park { interaction_id, incarnation, awaited } => {
            park::decide(session, *interaction_id, *incarnation, awaited)
        }
        Command::Stay { incarnation } => stay::decide(&session.head, *incarnation),
        Command::Start { incarnation, turn } => start::decide(&session.head, *incarnation, *turn),
        Command::Resume(resume) => resume::decide(&session.head, resume),
        Command::Forget { incarnation } => forget::decide(&session.head, *incarnation),
        Command::Identify { incarnation, agent_ref } => {
            identify::decide(&session.head, *incarnation, agent_ref)
        }
        Command::Exit(exit) => exit::decide(session, exit),
        Command::Finish(finish) => finish::decide(session, finish),
        Command::Delivering { interaction_id, incarnation } => {
            delivering::decide(session, *interaction_id, *incarnation)
        }
        Command::Delivered { interaction_id, incarnation } => {
            delivered::decide(session, *interaction_id, *incarnation)
        }
        Command::Acknowledge { interaction_id } => acknowledge::decide(session, *interaction_id),
        Command::Overtake { interaction_id, how } => overtake::decide(session, *interaction_id, *how),
        Command::NotRun { interaction_id, because } => not_run::decide(session, *interaction_id, *because),
        Command::RanOther(ran) => ran_other::decide(session, ran),
        Command::Retell(retell) => retell::decide(session, retell),
        Command::RuleSaved { interaction_id, grant_id } => {
            rule_saved::decide(session, *interaction_id, *grant_id)
        }
        Command::Grant(grant) => grant::decide(&session.head, grant),
        Command::Revoke { grant_id, name } => revoke::decide(&session.head, *grant_id, name),
        Command::Trust(trust) => trust::decide(&session.head, trust),
        Command::SeeRulesFile { changed, after } => rules_file::decide(&session.head, changed, *after),
        Command::Distrust { trust_id, name } => trust::revoke(&session.head, *trust_id, name),
        Command::End { name } => end::decide(session, name),
        Command::RemoveRunner { by, machine } => end::remove(session, by, machine),
        Command::Fenced(fenced) => match fenced.fence.check(&session.head)? {
            Passed::Now => decide_by(state, &fenced.command, rules, owner, now),
            Passed::Before => Ok(Vec::new()),
        },
        Command::Based(based) => {
            let rules = based.check(&session.head, owner, now)?;
            decide_by(state, &based.command, rules, owner, now)
        }
    }
}

fn ask(session: &Session, id: InteractionId) -> Result<&Ask, Rejection> {
    session.asks.get(&id).ok_or(Rejection::UnknownAsk)
}

fn still_open(head: &Head) -> Result<(), Rejection> {
    match head.agent {
        AgentState::Ended => Err(Rejection::Ended),
        AgentState::Idle
        | AgentState::Running
        | AgentState::Waiting
        | AgentState::Parking
        | AgentState::Parked
        | AgentState::Detached => Ok(()),
    }
}
