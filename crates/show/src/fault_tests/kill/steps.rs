//! How far each ask really was when the gateway died, read from the journal afterwards.

use std::fmt;

use holdstead_protocol::{AskChange, Delivery, EventBody, InteractionId, Seq, Timestamp};

use super::history::History;

/// The way of an ask, step by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// In the journal, and no client had it.
    Written,
    /// A client had it.
    Shown,
    Accepted,
    Delivering,
    Delivered,
    /// The agent had said so, and its turn was not over.
    Acknowledged,
}

impl Step {
    pub(crate) const ALL: [Self; 6] =
        [Self::Written, Self::Shown, Self::Accepted, Self::Delivering, Self::Delivered, Self::Acknowledged];

    /// Those that a kill finds if it is aimed at them often enough. That an answer was handed over is written together with its
    /// acknowledgement, as a rule: who is killed in between is found delivering.
    pub(crate) const AIMED: [Self; 5] =
        [Self::Written, Self::Shown, Self::Accepted, Self::Delivering, Self::Acknowledged];
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Written => "ask written",
            Self::Shown => "shown",
            Self::Accepted => "answer accepted",
            Self::Delivering => "delivering written",
            Self::Delivered => "bytes written",
            Self::Acknowledged => "acknowledged",
        })
    }
}

/// An ask that was on its way when the gateway died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) step: Step,
    pub(crate) ask: InteractionId,
}

/// Every death of the gateway that found an ask of this session on its way. A death is the moment just before the
/// next gateway was started: what was written before it was written by the one that died.
pub(crate) fn hits(history: &History, deaths: &[Timestamp]) -> Vec<Hit> {
    let mut hits = Vec::new();
    let Some(last) = history.journal.last() else { return hits };
    let mut before = Timestamp::from_micros(0);
    for (life, death) in deaths.iter().copied().enumerate() {
        if last.at >= before {
            hits.extend(at_death(history, life, before, death));
        }
        before = death;
    }
    hits
}

/// An ask, as far as it had come.
#[derive(Debug)]
struct Way {
    hit: Hit,
    turn: Option<holdstead_protocol::TurnId>,
    moved: Timestamp,
    /// Unknown or undeliverable, or its turn ended: nothing more happens to it.
    over: bool,
}

fn at_death(
    history: &History,
    life: usize,
    before: Timestamp,
    death: Timestamp,
) -> impl Iterator<Item = Hit> {
    let mut ways: Vec<Way> = Vec::new();
    for event in history.journal.iter().take_while(|event| event.at < death) {
        let mut change = |id: InteractionId, step: Option<Step>| {
            if let Some(way) = ways.iter_mut().rev().find(|way| way.hit.ask == id) {
                way.moved = event.at;
                way.over = step.is_none();
                way.hit.step = step.unwrap_or(way.hit.step);
            }
        };
        if let EventBody::InteractionRequest(request) = &event.body {
            let step = if was_shown(history, event.seq, life) { Step::Shown } else { Step::Written };
            let hit = Hit { step, ask: request.interaction_id };
            ways.push(Way { hit, turn: request.turn_id, moved: event.at, over: false });
        } else if let EventBody::InteractionResponse(response) = &event.body {
            change(response.interaction_id, Some(Step::Accepted));
        } else if let EventBody::InteractionUpdate(update) = &event.body
            && let AskChange::Delivery { delivery } = &update.change
        {
            change(update.interaction_id, step_of(delivery));
        } else if let EventBody::Done(done) = &event.body {
            ways.iter_mut().filter(|way| way.turn == Some(done.turn_id)).for_each(|way| way.over = true);
        }
    }
    // Acknowledged before an earlier death, it was hit then.
    let was_on_its_way = move |way: &Way| {
        let settled_before = way.hit.step == Step::Acknowledged && way.moved < before;
        !way.over && !settled_before
    };
    ways.into_iter().filter(was_on_its_way).map(|way| way.hit)
}

const fn step_of(delivery: &Delivery) -> Option<Step> {
    match delivery {
        Delivery::Accepted => Some(Step::Accepted),
        Delivery::Delivering { .. } => Some(Step::Delivering),
        Delivery::Delivered { .. } => Some(Step::Delivered),
        Delivery::Acknowledged => Some(Step::Acknowledged),
        Delivery::Unknown { .. } | Delivery::Undeliverable { .. } | Delivery::NotRun { .. } => None,
    }
}

/// A client had it before this life of the gateway ended.
fn was_shown(history: &History, seq: Seq, life: usize) -> bool {
    history.seen.iter().flatten().any(|seen| seen.seq == seq && seen.life <= life)
}

#[cfg(test)]
mod tests {
    use super::super::history::tests::{ask_id, good};
    use super::*;

    /// The events of the good history are a millisecond apart: a death half a millisecond after one finds just that.
    fn hit_after(history: &History, seq: i64) -> Vec<(Step, InteractionId)> {
        let hits = hits(history, &[Timestamp::from_micros(seq * 1_000 + 500)]);
        hits.iter().map(|hit| (hit.step, hit.ask)).collect()
    }

    #[test]
    fn a_death_finds_each_ask_where_it_is() {
        let history = good();
        let (write, way, again) = (ask_id("write"), ask_id("way"), ask_id("write again"));
        assert_eq!(hit_after(&history, 1), []);
        assert_eq!(hit_after(&history, 2), [(Step::Shown, write)]);
        assert_eq!(hit_after(&history, 3), [(Step::Accepted, write)]);
        assert_eq!(hit_after(&history, 4), [(Step::Delivering, write)]);
        assert_eq!(hit_after(&history, 5), [(Step::Delivering, write), (Step::Shown, way)]);
        assert_eq!(hit_after(&history, 9), [], "nothing more happens to what is unknown");
        assert_eq!(hit_after(&history, 13), [(Step::Delivered, again)]);
        assert_eq!(hit_after(&history, 14), [(Step::Acknowledged, again)]);
        assert_eq!(hit_after(&history, 99), [], "the turn is over");
    }

    #[test]
    fn what_no_client_had_was_only_written() {
        let mut history = good();
        history.seen[0].retain_mut(|seen| {
            seen.life = 1;
            true
        });
        assert_eq!(hit_after(&history, 2), [(Step::Written, ask_id("write"))]);
        let second = hits(&history, &[Timestamp::from_micros(1_500), Timestamp::from_micros(2_500)]);
        assert_eq!(second.iter().map(|hit| hit.step).collect::<Vec<_>>(), [Step::Shown]);
    }

    #[test]
    fn what_was_acknowledged_is_hit_once() {
        let deaths = [14_500, 14_700].map(Timestamp::from_micros);
        let hits = hits(&good(), &deaths);
        let again = hits.iter().filter(|hit| hit.ask == ask_id("write again")).count();
        assert_eq!(again, 1);
    }
}
