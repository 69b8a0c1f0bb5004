//! What the host of a session does next: one decision, from what the journal says and what only the host knows.

use holdstead_protocol::{AgentState, Delivery, Incarnation, TurnId};

use crate::{Ask, Head, PendingTurn};

/// After how many starts in a row that came to nothing the agent is not started again until somebody acts.
pub const MAX_FRUITLESS_STARTS: u32 = 3;

/// What only the host knows.
#[derive(Debug, Clone)]
pub struct Hosting<'a> {
    pub agent: Hosted,
    pub process: ProcessHere,
    /// The agent does not know its conversation any more: the next process begins another one.
    pub forgotten: bool,
    /// Starts in a row after which the agent took nothing and ended no turn.
    pub fruitless_starts: u32,
    /// The message that its turn began with can be told again. Needed for an agent that has forgotten it.
    pub first_message: bool,
    /// The asks among those that are [`Ask::undelivered`] that the agent must still be told about. Needed while there is a turn and no
    /// process here.
    pub untold: &'a [Ask],
}

/// The agent of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosted {
    /// A program that only asks: there is nothing to start.
    Nobody,
    /// When it comes back it makes every call again that it had no answer to.
    ReasksAll,
    /// When it comes back it makes only the call again that it was parked at. It must be told of others in words.
    ReasksParked,
    /// It runs in a person's own terminal. Nobody starts it: it shows itself.
    InTerminal(Terminal),
}

/// The terminal of an agent that nobody here starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// It is there, and can be listened to.
    There,
    /// It is closed, or has not shown itself since the gateway or its runner was started.
    Away,
}

/// The process that this host has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessHere {
    None,
    /// It is being started. That it is there wakes us again.
    Starting,
    InTurn,
    /// It was told to end its turn.
    Stopping,
    /// Its turn has begun, and it was not given the message that it began with.
    Untold,
    /// It is free for a message.
    Free,
    /// It has been free for as long as one is kept for nothing.
    Idle,
    /// It was ended, and is not gone yet. Whatever it were told now would be lost with it.
    Leaving,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing, until somebody acts.
    Nothing,
    /// The session has ended: its process goes.
    Kill,
    /// A process that this host does not have went with the gateway that had it: see that it is gone, and record it.
    SeeGone { incarnation: Incarnation, pid: Option<u32> },
    /// Nobody needs its process now: it goes, and the next message starts another.
    LetGo,
    /// A person wants its turn to end: it is told.
    Stop,
    /// The agent works: it is told what became of its asks, and parked if it was held long enough.
    Attend,
    /// The agent is given the next message.
    Begin(PendingTurn),
    /// Its turn has begun, and it has not been given the message that it began with.
    SayBegun,
    /// A process is started.
    Start(StartAt),
    /// The turn is over: nobody can go on with it.
    FailTurn { turn_id: TurnId, why: FailedTurn },
    /// A message waits and the agent cannot be started: the person is told, and the next message tries again.
    GiveUpStarting,
}

/// Where a started agent goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAt {
    /// At the calls that it had no answer to.
    OpenAsks,
    /// Ready for the next message.
    NextMessage,
    /// Within its turn, with words about the calls that were lost with its last process.
    Loss,
    /// Within its turn, whose first message it must be given again: it has forgotten it.
    Anew,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedTurn {
    /// The process is gone and nothing is open that another one could be told.
    WentAway,
    /// It went away each time before it took the answer.
    NeverTookIt,
    /// It ran with files of its folder that no person trusts any more.
    TrustEnded,
}

impl FailedTurn {
    /// What the person is told.
    pub const fn words(self) -> &'static str {
        match self {
            Self::WentAway => {
                "The agent's process went away in the middle of its turn. Send a message to go on."
            }
            Self::NeverTookIt => {
                "The agent could not be started again: it went away each time before it took the answer."
            }
            Self::TrustEnded => {
                "Files that run in this folder changed since a person trusted them, so the agent was ended before its next call. \
                 Send a message to go on: it starts without these files until a person trusts them as they are now."
            }
        }
    }
}

pub fn next_step(head: &Head, host: &Hosting<'_>) -> Step {
    match host.process {
        ProcessHere::None => without_process(head, host),
        // That it is up, or its end, wakes us again.
        ProcessHere::Starting | ProcessHere::Leaving => Step::Nothing,
        ProcessHere::InTurn
        | ProcessHere::Stopping
        | ProcessHere::Untold
        | ProcessHere::Free
        | ProcessHere::Idle
            if head.agent == AgentState::Ended =>
        {
            Step::Kill
        }
        ProcessHere::Untold => Step::SayBegun,
        ProcessHere::InTurn if head.stopped_by.is_some() => Step::Stop,
        ProcessHere::InTurn | ProcessHere::Stopping => Step::Attend,
        ProcessHere::Free | ProcessHere::Idle => match (head.turn, head.pending.first()) {
            (None, Some(next)) => Step::Begin(*next),
            (None, None) if host.process == ProcessHere::Idle && is_dispensable(head) => Step::LetGo,
            (Some(_), _) | (None, None) => Step::Nothing,
        },
    }
}

/// Nothing is lost with the process: nobody is asked, nothing is on its way to it, and it can be resumed.
fn is_dispensable(head: &Head) -> bool {
    let nothing_open = head.live == 0;
    let nothing_on_its_way = head.undelivered == 0 && head.unconfirmed_results.is_empty();
    nothing_open && nothing_on_its_way && head.agent_ref.is_some()
}

fn without_process(head: &Head, host: &Hosting<'_>) -> Step {
    if host.agent == Hosted::Nobody {
        return Step::Nothing;
    }
    if let Some(incarnation) = head.alive {
        return Step::SeeGone { incarnation, pid: head.pid };
    }
    if head.agent == AgentState::Ended {
        return Step::Nothing;
    }
    if let Hosted::InTerminal(terminal) = host.agent {
        return match terminal {
            Terminal::There => Step::Start(StartAt::OpenAsks),
            Terminal::Away => Step::Nothing,
        };
    }
    let Some(turn_id) = head.turn else {
        return match head.pending.first() {
            Some(_) if host.fruitless_starts >= MAX_FRUITLESS_STARTS => Step::GiveUpStarting,
            Some(_) => Step::Start(StartAt::NextMessage),
            None => Step::Nothing,
        };
    };
    let loses_calls = host.agent == Hosted::ReasksParked && head.agent != AgentState::Parked;
    let resumed = if loses_calls { lost_calls(head, host) } else { repeated_calls(head, host) };
    match resumed {
        Resumed::Waits => Step::Nothing,
        Resumed::Never => Step::FailTurn { turn_id, why: FailedTurn::WentAway },
        Resumed::At(_) if host.fruitless_starts >= MAX_FRUITLESS_STARTS => {
            Step::FailTurn { turn_id, why: FailedTurn::NeverTookIt }
        }
        Resumed::At(at) => Step::Start(at),
    }
}

/// What becomes of a turn without a process.
enum Resumed {
    /// A person has to answer first: that needs no process.
    Waits,
    At(StartAt),
    /// There is nothing that another process could be told.
    Never,
}

/// Its calls belong to one message of the model's, so it goes on when all of them are decided.
fn lost_calls(head: &Head, host: &Hosting<'_>) -> Resumed {
    if head.blocking > 0 {
        Resumed::Waits
    } else if host.untold.is_empty() && !(host.forgotten && host.first_message) {
        Resumed::Never
    } else if host.forgotten {
        Resumed::At(StartAt::Anew)
    } else {
        Resumed::At(StartAt::Loss)
    }
}

/// Whatever it waited for is told at the very same call.
fn repeated_calls(head: &Head, host: &Hosting<'_>) -> Resumed {
    let answered = host.untold.iter().any(|ask| ask.delivery == Some(Delivery::Accepted));
    // All that it asked may have reached an agent that repeats whatever did not: it would ask nothing, and wait for ever.
    let reached =
        host.agent == Hosted::ReasksAll && head.blocking == 0 && !host.untold.is_empty() && !answered;
    if reached {
        Resumed::Never
    } else if head.blocking == 0 || answered {
        Resumed::At(StartAt::OpenAsks)
    } else {
        Resumed::Waits
    }
}
