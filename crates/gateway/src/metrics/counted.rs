//! Counters and histograms: atomics, so that whoever writes does not wait for whoever reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holdstead_protocol::{
    AskChange, Decider, Delivery, Event, EventBody, EventType, InteractionResponse, InteractionUpdate,
};
use holdstead_store::Appended;

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The upper ends of a histogram's buckets, in seconds: from a commit to a person who comes back the next day.
pub(crate) const BOUNDS: [f64; 16] = [
    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 300.0, 3_600.0, 86_400.0,
];

#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// How many were in each bucket, and how many above the last.
    counts: [Counter; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    pub(crate) fn observe(&self, long: Duration) {
        let seconds = long.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.counts[bucket].add();
        self.micros.fetch_add(u64::try_from(long.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(Counter::get).collect()
    }

    pub(crate) fn seconds(&self) -> f64 {
        Duration::from_micros(self.micros.load(Ordering::Relaxed)).as_secs_f64()
    }
}

/// The states of a delivery, as they are counted.
pub(crate) const DELIVERIES: [&str; 7] =
    ["accepted", "delivering", "delivered", "acknowledged", "unknown", "undeliverable", "not_run"];

const fn delivery_place(delivery: &Delivery) -> usize {
    match delivery {
        Delivery::Accepted => 0,
        Delivery::Delivering { .. } => 1,
        Delivery::Delivered { .. } => 2,
        Delivery::Acknowledged => 3,
        Delivery::Unknown { .. } => 4,
        Delivery::Undeliverable { .. } => 5,
        Delivery::NotRun { .. } => 6,
    }
}

/// What this process did since it began.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    events: [Counter; EventType::ALL.len()],
    deliveries: [Counter; DELIVERIES.len()],
    /// From when an append was queued until it was durable and told here.
    pub(crate) append: Histogram,
    /// From when an ask was opened until a person's answer won it.
    pub(crate) answered: Histogram,
    /// From when an answer was durable until its agent had it.
    pub(crate) delivered: Histogram,
    /// From when a hint was heard until whoever follows its session here was told.
    pub(crate) followed: Histogram,
    /// A session's task failed at something, and rests before it tries again.
    pub(crate) session_stalls: Counter,
    /// The store could not be read, and is asked again.
    pub(crate) read_stalls: Counter,
    /// An agent is not listened to, because the journal lacks what it had of it.
    pub(crate) lacking: Counter,
    /// Hints were missed, so everything that is followed here was read again.
    pub(crate) hints_missed: Counter,
    /// This node could not renew in time.
    pub(crate) silences: Counter,
}

impl Counted {
    pub(crate) fn events(&self) -> impl Iterator<Item = (&'static str, u64)> {
        EventType::ALL.iter().zip(&self.events).map(|(one, count)| (one.as_str(), count.get()))
    }

    pub(crate) fn deliveries(&self) -> impl Iterator<Item = (&'static str, u64)> {
        DELIVERIES.into_iter().zip(&self.deliveries).map(|(state, count)| (state, count.get()))
    }

    /// This was written here. It waited for so long before it was queued: see `later`.
    pub(crate) fn written(&self, appended: &Appended, waited: Duration) {
        for event in &appended.events {
            self.events[event.body.event_type() as usize].add();
            if let EventBody::InteractionResponse(response) = &event.body {
                self.response(appended, event, response);
            } else if let EventBody::InteractionUpdate(update) = &event.body {
                self.update(appended, event, update, waited);
            }
        }
    }

    fn response(&self, appended: &Appended, event: &Event, response: &InteractionResponse) {
        if response.settlement.is_some() {
            self.delivery(&Delivery::Accepted);
        }
        if let Decider::Person { .. } = &response.decider
            && let Some(ask) = appended.session.asks.get(&response.interaction_id)
        {
            self.answered.observe(event.at.since(ask.opened_at));
        }
    }

    fn update(&self, appended: &Appended, event: &Event, update: &InteractionUpdate, waited: Duration) {
        match &update.change {
            AskChange::Settled { .. } => self.delivery(&Delivery::Accepted),
            AskChange::Delivery { delivery } => {
                self.delivery(delivery);
                if let Delivery::Delivered { .. } = delivery
                    && let Some(ask) = appended.session.asks.get(&update.interaction_id)
                    && let Some(decided_at) = ask.decided_at
                {
                    self.delivered.observe(event.at.since(decided_at).saturating_sub(waited));
                }
            }
            AskChange::Queued { .. }
            | AskChange::RanOtherThanApproved { .. }
            | AskChange::InTerminal { .. }
            | AskChange::RuleSaved { .. } => {}
        }
    }

    fn delivery(&self, delivery: &Delivery) {
        self.deliveries[delivery_place(delivery)].add();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_observed_is_in_the_first_bucket_that_holds_it() {
        let histogram = Histogram::default();
        for millis in [0, 1, 2, 100, 101, 100_000_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let counts = histogram.counts();
        assert_eq!((counts[0], counts[1], counts[6], counts[7], counts[16]), (2, 1, 1, 1, 1));
        assert_eq!(counts.iter().sum::<u64>(), 6);
        assert!((histogram.seconds() - 100_000.204).abs() < 0.001);
    }

    #[test]
    fn each_kind_of_event_has_its_own_place() {
        for (place, one) in EventType::ALL.iter().enumerate() {
            assert_eq!(*one as usize, place);
        }
    }
}
