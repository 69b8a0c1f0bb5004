//! One ask, many who answer it at the same moment.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdstead_protocol::api::{Interaction, Receipt};
use holdstead_protocol::{Code, Decider, Problem, ResponseDraft};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::client::{Answered, Client, approve};
use crate::{Result, ensure};

/// A person at a connection of their own.
#[derive(Debug, Clone)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) client: Client,
}

/// How a race went: one won, and all others were told who.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) winner: &'static str,
    pub(crate) action: &'static str,
    pub(crate) losers: usize,
    /// How long the winning answer took.
    pub(crate) took: Duration,
}

impl Race {
    /// Every other contender approves, the rest deny, all at once.
    pub(crate) async fn run(contenders: &[Contender], ask: &Interaction) -> Result<Self> {
        let barrier = Arc::new(Barrier::new(contenders.len()));
        let ask = Arc::new(ask.clone());
        let mut answers = JoinSet::new();
        for (number, contender) in contenders.iter().enumerate() {
            let (barrier, ask, contender) = (Arc::clone(&barrier), Arc::clone(&ask), contender.clone());
            answers.spawn(async move {
                let (action, response) = decision(number);
                barrier.wait().await;
                let begin = Instant::now();
                let answered = contender.client.respond(&ask, response).await;
                (contender.name, action, answered, begin.elapsed())
            });
        }
        let mut won: Vec<(Self, Receipt)> = Vec::new();
        let mut lost: Vec<Problem> = Vec::new();
        while let Some(answer) = answers.join_next().await {
            let (winner, action, answered, took) = answer?;
            match answered? {
                Answered::Won(receipt) => won.push((Self { winner, action, losers: 0, took }, *receipt)),
                Answered::Refused(problem) => lost.push(*problem),
            }
        }
        ensure!(won.len() == 1, "{} answers won one prompt", won.len());
        let (mut race, receipt) = won.pop().ok_or("nobody won")?;
        for problem in &lost {
            race.check_loser(problem, &receipt)?;
        }
        race.losers = lost.len();
        Ok(race)
    }

    /// A loser is told who was first, with what, and when.
    fn check_loser(&self, problem: &Problem, receipt: &Receipt) -> Result<()> {
        ensure!(
            problem.status == 409 && problem.refusal.code == Code::AlreadyAnswered,
            "a loser got {} {:?}: {}",
            problem.status,
            problem.refusal.code,
            problem.refusal.detail
        );
        let named = problem.refusal.winner.as_ref().ok_or("a loser was not told who won")?;
        let right = is_person(&named.decider, self.winner)
            && named.action == self.action
            && named.at == receipt.at
            && named.interaction_id == receipt.interaction_id;
        ensure!(right, "{} won with {}, and a loser was told {named:?}", self.winner, self.action);
        Ok(())
    }

    /// The program that asked gets the winner's decision.
    pub(crate) fn check_fetched(&self, fetched: &Interaction) -> Result<()> {
        let response = fetched.response.as_ref().ok_or("the program that asked got no response")?;
        let action = holdstead_core::Action::of(&response.response).as_str();
        ensure!(
            is_person(&response.decider, self.winner) && action == self.action,
            "{} won with {}, and the program that asked got {response:?}",
            self.winner,
            self.action
        );
        Ok(())
    }
}

fn decision(number: usize) -> (&'static str, ResponseDraft) {
    if number.is_multiple_of(2) {
        ("approve", approve())
    } else {
        ("deny", ResponseDraft::Deny { reason: Some(format!("client {number} says no")) })
    }
}

fn is_person(decider: &Decider, wanted: &str) -> bool {
    match decider {
        Decider::Person { name, .. } => name == wanted,
        Decider::Grant { .. } | Decider::Rule { .. } | Decider::Earlier { .. } => false,
    }
}
