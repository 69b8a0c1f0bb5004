//! What became of the agents of this machine when their gateway stopped.

use std::fmt;

use holdstead_core::CannotPark;
use holdstead_protocol::SessionId;

use crate::session::PARKING_AT_STOP;

/// The agents that ended with their gateway in the middle of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stopped {
    /// They waited for a person, and each goes on at its call when it is answered.
    pub parked: Vec<StoppedAgent>,
    /// They waited for a person, and could not be parked.
    pub not_parked: Vec<(StoppedAgent, NotParked)>,
    /// They waited for no person.
    pub at_work: Vec<StoppedAgent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedAgent {
    pub session: SessionId,
    /// The title of its session, or the agent's own name.
    pub title: String,
}

/// Why an agent that waited was not parked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotParked {
    Cannot(CannotPark),
    /// The agent would not go, in its own words.
    Stays(String),
    TooSlow,
    /// It waits in a call of one of our own tools, which ends with its process.
    InTool,
    /// Its process ended otherwise.
    Ended,
    /// The journal did not take it, in the words of the error.
    NotWritten(String),
}

impl fmt::Display for NotParked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cannot(why) => why.fmt(f),
            Self::Stays(words) => f.write_str(words),
            Self::TooSlow => write!(f, "it did not go within {} seconds", PARKING_AT_STOP.as_secs()),
            Self::InTool => {
                f.write_str("it waits in a tool of Holdstead's, whose call ends with its process")
            }
            Self::Ended => f.write_str("its process ended before it was parked"),
            Self::NotWritten(error) => write!(f, "that could not be written down: {error}"),
        }
    }
}

/// What one agent was doing.
#[derive(Debug)]
pub(crate) enum Left {
    Parked,
    NotParked(NotParked),
    AtWork,
}

impl Stopped {
    pub(crate) fn add(&mut self, agent: StoppedAgent, left: Left) {
        match left {
            Left::Parked => self.parked.push(agent),
            Left::NotParked(why) => self.not_parked.push((agent, why)),
            Left::AtWork => self.at_work.push(agent),
        }
    }
}
