//! What all who take part share: whether the gateway is up, who answers, and what the killer waits for.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdstead_client::Http;
use holdstead_protocol::{AskChange, Delivery, Event, EventBody};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::client::Client;

/// How long a gateway may be down.
const DOWN: Duration = Duration::from_secs(60);

/// A moment that somebody sees from outside the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The agent said what it is about to ask for.
    Announced,
    Shown,
    /// A client is about to answer.
    Answering,
    Accepted,
    Delivering,
    Delivered,
    Acknowledged,
}

impl Moment {
    pub(crate) fn of(event: &Event) -> Option<Self> {
        if let EventBody::ToolCallEnd(_) = &event.body {
            Some(Self::Announced)
        } else if let EventBody::InteractionRequest(_) = &event.body {
            Some(Self::Shown)
        } else if let EventBody::InteractionResponse(_) = &event.body {
            Some(Self::Accepted)
        } else if let EventBody::InteractionUpdate(update) = &event.body
            && let AskChange::Delivery { delivery } = &update.change
        {
            match delivery {
                Delivery::Delivering { .. } => Some(Self::Delivering),
                Delivery::Delivered { .. } => Some(Self::Delivered),
                Delivery::Acknowledged => Some(Self::Acknowledged),
                Delivery::Accepted
                | Delivery::Unknown { .. }
                | Delivery::Undeliverable { .. }
                | Delivery::NotRun { .. } => None,
            }
        } else {
            None
        }
    }
}

/// One life of the gateway after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) number: usize,
    pub(crate) up: bool,
}

/// A person with a token of their own.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) name: &'static str,
    pub(crate) client: Http,
}

/// How much is said at once, and how patient clients are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// So many tasks in a message, one after the other; each asks once or twice.
    pub(crate) tasks: u64,
    /// A moment to breathe before something is tried again.
    pub(crate) pause: Duration,
    /// How long a session may stand still while one gateway lives.
    pub(crate) patience: Duration,
}

#[derive(Debug)]
pub(crate) struct Arena {
    pub(crate) seed: u64,
    pub(crate) pace: Pace,
    /// The machines that agents run on, if they are not the gateway's own.
    pub(crate) machines: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) people: [Person; 2],
    pub(crate) reader: Client,
    life: watch::Sender<Life>,
    armed: Mutex<Option<(Moment, oneshot::Sender<()>)>>,
    looking: watch::Sender<bool>,
    over: AtomicBool,
    sessions: AtomicUsize,
}

impl Arena {
    pub(crate) fn new(
        seed: u64,
        pace: Pace,
        machines: Vec<String>,
        folder: PathBuf,
        people: [Person; 2],
        reader: Client,
    ) -> Self {
        let life = watch::Sender::new(Life { number: 0, up: true });
        let (armed, looking) = (Mutex::new(None), watch::Sender::new(true));
        let (over, sessions) = (AtomicBool::new(false), AtomicUsize::new(0));
        Self { seed, pace, machines, folder, people, reader, life, armed, looking, over, sessions }
    }

    /// The number of a new session.
    pub(crate) fn number(&self) -> usize {
        self.sessions.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn set(&self, life: Life) {
        self.life.send_replace(life);
    }

    pub(crate) fn life(&self) -> Life {
        *self.life.borrow()
    }

    /// Waits until the gateway runs; says which life it is. Nothing, if it stays down.
    pub(crate) async fn up(&self) -> Option<usize> {
        let mut life = self.life.subscribe();
        let up = timeout(DOWN, life.wait_for(|life| life.up)).await;
        up.ok().and_then(Result::ok).map(|life| life.number)
    }

    /// Whether those who follow sessions look at them, or have gone away for a while.
    pub(crate) fn set_looking(&self, looking: bool) {
        self.looking.send_replace(looking);
    }

    pub(crate) fn looking(&self) -> watch::Receiver<bool> {
        self.looking.subscribe()
    }

    /// No more kills: what has begun is brought to its end.
    pub(crate) fn set_over(&self, over: bool) {
        self.over.store(over, Ordering::SeqCst);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Somebody saw this.
    pub(crate) fn saw(&self, moment: Moment) {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, fire)) = armed.take_if(|(wanted, _)| *wanted == moment) {
            let _nobody_waits_any_more = fire.send(());
        }
    }

    /// Resolves when somebody sees the moment.
    pub(crate) fn next(&self, moment: Moment) -> oneshot::Receiver<()> {
        let (fire, fired) = oneshot::channel();
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some((moment, fire));
        fired
    }
}
