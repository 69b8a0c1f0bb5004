//! What follows from judging a call, accepted only while the rules that judged it are the rules that count.
//!
//! A call is judged before its session is locked, because that may take a while: paths are looked up where the agent runs.
//! Meanwhile a person may stop the turn, revoke a grant or change a rule. So the command carries the revision of everything
//! that it was judged on, and the revisions are compared under the lock. If one differs, the call is judged again.

use holdstead_protocol::{InteractionId, Seq, SessionId, Timestamp};

use super::Command;
use crate::{Head, Rejection};

/// The revisions of what a call was judged on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    /// [`Head::rules_seq`] of the session. Nothing where only the owner's grants were looked at: the session's own are in
    /// its head.
    pub session: Option<Seq>,
    /// The journal of the session's owner, and its [`Head::rules_seq`].
    pub owner: (SessionId, Seq),
    /// When the first of the grants that counted expires.
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Based {
    pub basis: Basis,
    /// The ask that the call opened if it was asked about before: its answer comes before any rule.
    pub earlier_ask: Option<InteractionId>,
    pub command: Command,
}

/// Whether a command may allow something in a person's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// The rules it was judged by count now. This is the ask that its call opened before, if it did.
    Current {
        earlier_ask: Option<InteractionId>,
    },
    Unchecked,
}

impl Rules {
    pub(crate) const fn check(self) -> Result<Option<InteractionId>, Rejection> {
        match self {
            Self::Current { earlier_ask } => Ok(earlier_ask),
            Self::Unchecked => Err(Rejection::RulesChanged),
        }
    }
}

impl Based {
    /// `owner` is the revision of the owner's journal, read in the same transaction.
    pub(crate) fn check(&self, head: &Head, owner: Option<Seq>, now: Timestamp) -> Result<Rules, Rejection> {
        let Basis { session, owner: (_, owner_then), until } = self.basis;
        let expired = until.is_some_and(|until| now >= until);
        if session.is_some_and(|session| session != head.rules_seq) || owner != Some(owner_then) || expired {
            return Err(Rejection::RulesChanged);
        }
        Ok(Rules::Current { earlier_ask: self.earlier_ask })
    }
}

/// Nothing is allowed in a person's place while a person stops the turn.
pub(crate) fn not_stopped(head: &Head) -> Result<(), Rejection> {
    match &head.stopped_by {
        Some(by) => Err(Rejection::TurnStopped { by: by.clone() }),
        None => Ok(()),
    }
}
