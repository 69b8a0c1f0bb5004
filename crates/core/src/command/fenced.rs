//! What whoever speaks for a session says, taken only if the session is as they believe it to be.
//!
//! Two may believe at once that they speak for it: one that was cut off and one that took its place. Neither needs a
//! clock to be kept apart. What an agent said is numbered within one life of its process, and the journal has it once and
//! in its order, whoever brings it.

use holdstead_protocol::{AgentSeq, Incarnation};

use super::Command;
use crate::{Head, Rejection};

#[derive(Debug, Clone, PartialEq)]
pub struct Fenced {
    pub fence: Fence,
    pub command: Command,
}

/// What whoever says it believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// This process lives, the journal has what it said up to `after`, and this follows from what it said then, up to
    /// `upto`.
    Heard { incarnation: Incarnation, after: AgentSeq, upto: AgentSeq },
    /// This process lives. What is said is not its own: whoever hosts it has words about it.
    Alive { incarnation: Incarnation },
    /// No process lives, and so many have.
    NoProcess { lives: u32 },
}

/// Whether a command is decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    Now,
    /// All that it follows from was taken before: nothing follows from it again.
    Before,
}

impl Fence {
    pub(crate) const fn heard(self) -> Option<AgentSeq> {
        match self {
            Self::Heard { upto, .. } => Some(upto),
            Self::Alive { .. } | Self::NoProcess { .. } => None,
        }
    }

    pub(crate) fn check(self, head: &Head) -> Result<Passed, Rejection> {
        match self {
            Self::Heard { incarnation, .. } | Self::Alive { incarnation }
                if head.alive != Some(incarnation) =>
            {
                Err(Rejection::StaleIncarnation)
            }
            Self::Heard { upto, .. } if upto <= head.heard => Ok(Passed::Before),
            // Some of it is missing, or somebody else has brought a part of it.
            Self::Heard { after, .. } if after != head.heard => {
                Err(Rejection::OutOfStep { heard: head.heard })
            }
            Self::NoProcess { lives } if head.alive.is_some() || head.incarnations != lives => {
                Err(Rejection::StaleIncarnation)
            }
            Self::Heard { .. } | Self::Alive { .. } | Self::NoProcess { .. } => Ok(Passed::Now),
        }
    }
}
