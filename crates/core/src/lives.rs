//! What becomes of a session when a process of its agent is gone, or could not be started.

use holdstead_protocol::{Incarnation, StopReason, TurnId};
use serde::{Deserialize, Serialize};

use crate::{Exit, FailedTurn, MAX_FRUITLESS_STARTS, TurnEnd};

/// A process that is gone, as far as its host knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone<'a> {
    /// Its host heard its end.
    Heard(HeardEnd<'a>),
    /// It went with the gateway that hosted it.
    WithItsGateway,
    /// It was being started when the gateway went that was to host it. There may never have been a process.
    WhileStarting,
    /// It could not be started, for this reason.
    NotStarted(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeardEnd<'a> {
    /// It went because it was told to park.
    pub parked: bool,
    pub code: Option<i32>,
    /// Its last words that were not for us.
    pub stderr: &'a str,
    /// A person stopped its turn before.
    pub turn_stopped: bool,
    pub ended_by: EndedBy,
}

/// Who had a process end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndedBy {
    /// Nobody, or somebody beside us.
    Itself,
    /// It had nothing to do.
    LetGo,
    /// The gateway is going away.
    GatewayStopping,
    /// It ran with files of its folder that no person trusts as they are now.
    TrustEnded,
}

const WITH_ITS_GATEWAY: &str = "the gateway that hosted it is gone";
const WHILE_STARTING: &str = "the gateway that was starting it went away";
const GATEWAY_STOPPED: &str = "the gateway was stopped";
const TRUST_ENDED: &str = "it ran with files of its folder that nobody trusts as they are now";
const LET_GO: &str = "it had nothing to do for an hour; the next message starts it again";

/// What is recorded about it. `forgotten`: the agent does not know its conversation any more, so its turn begins anew with
/// the next process instead of ending with this one.
pub fn exit(incarnation: Incarnation, gone: Gone<'_>, forgotten: bool) -> Exit {
    // A life in which nothing happened takes no turn with it: it is started again, or given up with words of its own.
    let never_lived =
        |why: &str| Exit { incarnation, parked: false, message: Some(why.to_owned()), turn_end: None };
    let (parked, message, reason) = match gone {
        Gone::WithItsGateway => (false, Some(WITH_ITS_GATEWAY.to_owned()), StopReason::Failed),
        Gone::WhileStarting => return never_lived(WHILE_STARTING),
        Gone::NotStarted(why) => return never_lived(why),
        Gone::Heard(end) => {
            let reason = if end.turn_stopped { StopReason::Interrupted } else { StopReason::Failed };
            (end.parked, why(end), reason)
        }
    };
    let failed = match gone {
        Gone::Heard(HeardEnd { ended_by: EndedBy::TrustEnded, .. }) => FailedTurn::TrustEnded,
        Gone::Heard(_) | Gone::WithItsGateway | Gone::WhileStarting | Gone::NotStarted(_) => {
            FailedTurn::WentAway
        }
    };
    let words = (reason == StopReason::Failed).then(|| failed.words().to_owned());
    let turn_end = (!forgotten).then_some(TurnEnd { reason, words });
    Exit { incarnation, parked, message, turn_end }
}

fn why(end: HeardEnd<'_>) -> Option<String> {
    if end.parked {
        return None;
    }
    match (end.ended_by, end.stderr.trim()) {
        (EndedBy::LetGo, _) => Some(LET_GO.to_owned()),
        (EndedBy::TrustEnded, _) => Some(TRUST_ENDED.to_owned()),
        (EndedBy::GatewayStopping, "") => Some(GATEWAY_STOPPED.to_owned()),
        (EndedBy::Itself, "") => {
            end.code.filter(|code| *code != 0).map(|code| format!("its process ended with code {code}"))
        }
        (EndedBy::Itself | EndedBy::GatewayStopping, stderr) => Some(stderr.to_owned()),
    }
}

/// What becomes of a session whose agent could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterStartError {
    /// It may be a passing shortage.
    TryAgain,
    /// Nobody waits for ever.
    EndTurn(TurnId),
    /// Nothing, until somebody acts.
    Rest,
}

/// `fruitless_starts` counts this one.
pub const fn after_start_error(turn: Option<TurnId>, fruitless_starts: u32) -> AfterStartError {
    match turn {
        _ if fruitless_starts < MAX_FRUITLESS_STARTS => AfterStartError::TryAgain,
        Some(turn) => AfterStartError::EndTurn(turn),
        None => AfterStartError::Rest,
    }
}
