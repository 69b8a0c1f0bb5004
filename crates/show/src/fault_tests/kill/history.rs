//! What was seen of one session from all sides, and what is wrong with it. Pure: it can be given any history.
//!
//! Three witnesses that do not know each other: the journal; what each client was shown and told; and what the agent
//! did outside of the journal. Nothing here trusts the fold of the gateway.

mod agent;
mod answers;
mod events;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeMap;

use holdstead_protocol::{
    Event, EventId, InteractionId, PromptId, ResponseDraft, Seq, Timestamp, ToolCallId,
};
use serde_json::Value;

/// One session, from all sides.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// As it is at the end.
    pub(crate) journal: Vec<Event>,
    /// What the stream of each client brought, in the order it came, over all its connections.
    pub(crate) seen: Vec<Vec<Seen>>,
    /// Every answer that a client tried to give.
    pub(crate) sent: Vec<Sent>,
    /// The marks that the agent left on disk, in order: one for each time it did what was approved.
    pub(crate) effects: Vec<String>,
    /// Calls that the agent's own file said it had an answer for, and when: read while no gateway ran.
    pub(crate) taken: Vec<(ToolCallId, Timestamp)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) seq: Seq,
    pub(crate) id: EventId,
    /// Which life of the gateway brought it, from 0.
    pub(crate) life: usize,
}

/// An answer that a client sent, as often as it took to be told what became of it.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) by: &'static str,
    pub(crate) interaction: InteractionId,
    pub(crate) prompt: PromptId,
    pub(crate) key: String,
    pub(crate) draft: ResponseDraft,
    pub(crate) told: Told,
}

/// What a client was told about its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing: the gateway died each time, or the show ended.
    Nothing,
    /// It was first, and this event says so.
    Won { seq: Seq },
    /// Somebody else was: who, if it was a person, and with what.
    Lost { winner: Option<String>, action: String },
    /// It was refused for another reason.
    Refused { why: String },
}

/// What must never be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finding {
    /// A client saw an event that the journal lacks or has otherwise, or its stream skipped one.
    LostEvent,
    /// The same event twice, in the journal or in a client's stream.
    DoubledEvent,
    /// The journal skips a seq.
    Gap,
    /// One prompt, two answers that won.
    TwoWinners,
    /// A client was told of an answer that the journal lacks.
    LostAnswer,
    /// The agent acted, or was told that it may, and nobody said so.
    AllowNobodyGave,
    /// An approval reached the agent twice, or what it allowed happened twice.
    WrittenTwice,
    /// The agent was told of a refusal, or of a closed ask, and nobody refused or closed it.
    RefusalNobodyGave,
    /// The agent was told another answer than the one that won.
    WrongAnswer,
    /// A settlement or a turn that did not come to an end.
    Unfinished,
    /// A client that answered an open ask was not told in the end who won it.
    Unanswerable,
    /// It may have run before, and the person who was asked again was not told.
    Unmarked,
}

impl Finding {
    pub(crate) const ALL: [Self; 12] = [
        Self::LostEvent,
        Self::DoubledEvent,
        Self::Gap,
        Self::TwoWinners,
        Self::LostAnswer,
        Self::AllowNobodyGave,
        Self::WrittenTwice,
        Self::RefusalNobodyGave,
        Self::WrongAnswer,
        Self::Unfinished,
        Self::Unanswerable,
        Self::Unmarked,
    ];

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::LostEvent => "lost events",
            Self::DoubledEvent => "doubled events",
            Self::Gap => "gaps in a journal",
            Self::TwoWinners => "asks with two winners",
            Self::LostAnswer => "accepted answers lost",
            Self::AllowNobodyGave => "allows nobody gave",
            Self::WrittenTwice => "approvals written twice",
            Self::RefusalNobodyGave => "refusals nobody gave",
            Self::WrongAnswer => "answers changed on the way",
            Self::Unfinished => "settlements or turns without an end",
            Self::Unanswerable => "answers without an outcome",
            Self::Unmarked => "repeats not marked as maybe run",
        }
    }
}

/// A finding and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) finding: Finding,
    pub(crate) words: String,
}

/// All that is wrong with it.
pub(crate) fn check(history: &History) -> Vec<Found> {
    let mut found = Vec::new();
    events::check(history, &mut found);
    answers::check(history, &mut found);
    agent::check(history, &mut found);
    found
}

/// The figures that every show of histories ends with.
pub(crate) fn counted(found: &BTreeMap<Finding, usize>) -> String {
    let count = |finding: Finding| found.get(&finding).copied().unwrap_or_default();
    format!(
        "lost {}, doubled {}, two winners {}, allows nobody gave {}, approvals written twice {}, refusals nobody gave {}",
        count(Finding::LostEvent) + count(Finding::Gap) + count(Finding::LostAnswer),
        count(Finding::DoubledEvent),
        count(Finding::TwoWinners),
        count(Finding::AllowNobodyGave),
        count(Finding::WrittenTwice),
        count(Finding::RefusalNobodyGave),
    )
}

fn add(found: &mut Vec<Found>, finding: Finding, words: String) {
    found.push(Found { finding, words });
}

/// What an approved edit leaves on disk: the line that it puts before the end of the file.
pub(crate) fn mark(input: &Value) -> Option<&str> {
    input["new_string"].as_str()?.lines().next()
}
