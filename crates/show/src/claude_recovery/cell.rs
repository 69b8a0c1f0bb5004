//! What is killed, when, and what was asked.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Gateway,
    Agent,
    Both,
}

/// How far the ask is when the kill comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The model's call is on its way; nobody has seen an ask.
    Announced,
    /// The ask was shown this very moment; the program may not have written its call down.
    Shown,
    Open,
    /// It was parked; its answer is durable, and the process that will get it is starting.
    Answered,
    /// The answer lies in the pipe, and the program has not read it.
    Delivering,
    /// The program has read it, and the command runs.
    Running,
    /// The model has it, and thinks.
    Acknowledged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Question,
    Approval,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) step: Step,
    pub(super) kind: Kind,
    pub(super) victim: Victim,
}

impl Cell {
    /// A question has nothing that runs.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let steps = [
            Step::Announced,
            Step::Shown,
            Step::Open,
            Step::Answered,
            Step::Delivering,
            Step::Running,
            Step::Acknowledged,
        ];
        let victims = [Victim::Gateway, Victim::Agent, Victim::Both];
        let cells = steps.into_iter().flat_map(move |step| {
            [Kind::Question, Kind::Approval]
                .into_iter()
                .flat_map(move |kind| victims.map(|victim| Self { step, kind, victim }))
        });
        cells.filter(|cell| cell.step != Step::Running || cell.kind == Kind::Approval)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.step, self.kind, self.victim)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Announced => "before-ask",
            Self::Shown => "just-shown",
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Delivering => "delivering",
            Self::Running => "running",
            Self::Acknowledged => "acknowledged",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Question => "question",
            Self::Approval => "approval",
        })
    }
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gateway => "gateway",
            Self::Agent => "agent",
            Self::Both => "both",
        })
    }
}
