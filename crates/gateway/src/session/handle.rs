//! How others tell a session's task that there is something to look at.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdstead_core::Head;
use holdstead_protocol::Seq;
use holdstead_runner::Runner;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::runners::Attached;

#[derive(Debug, Clone)]
pub(crate) struct SessionHandle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    attached: Arc<Attached>,
    notify: Notify,
    woken: Mutex<Woken>,
    /// Its place among those that a gateway takes up when it starts.
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

/// What a task is to look at.
#[derive(Debug, Default)]
pub(crate) enum Woken {
    #[default]
    No,
    /// The journal, which stood like this behind this event, and nothing else.
    At(Seq, Box<Head>),
    /// Whatever there is.
    Look,
}

impl SessionHandle {
    pub(super) fn new(attached: Arc<Attached>) -> Self {
        let shared =
            Shared { attached, notify: Notify::new(), woken: Mutex::default(), place: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Whether its task speaks to the session's agent over this connection.
    pub(crate) fn is_of(&self, attached: &Arc<Attached>) -> bool {
        Arc::ptr_eq(&self.shared.attached, attached)
    }

    pub(crate) fn is_of_own_runner(&self) -> bool {
        self.shared.attached.id().is_none()
    }

    pub(crate) fn runner(&self) -> &Arc<Runner> {
        &self.shared.attached.runner
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    fn woken(&self) -> MutexGuard<'_, Woken> {
        self.shared.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something changed.
    pub(crate) fn wake(&self) {
        self.keep_awake();
        self.shared.notify.notify_one();
    }

    /// The session's journal changed, and stands like this behind this event.
    pub(crate) fn wake_at(&self, seq: Seq, head: &Head) {
        let mut woken = self.woken();
        match &*woken {
            // It has to look anyway, or knows better: those who tell it may overtake each other.
            Woken::Look => {}
            Woken::At(known, _) if *known >= seq => {}
            Woken::No | Woken::At(..) => *woken = Woken::At(seq, Box::new(head.clone())),
        }
        drop(woken);
        self.shared.notify.notify_one();
    }

    /// An earlier gateway left it: the place is kept until it has nothing to do, or has to rest.
    pub(crate) fn take_up(&self, place: OwnedSemaphorePermit) {
        *self.shared.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        self.wake();
    }

    pub(super) fn is_taken_up(&self) {
        self.shared.place.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// What the last wake-up was for is not done: it is looked at again after a rest.
    pub(super) fn keep_awake(&self) {
        *self.woken() = Woken::Look;
    }

    pub(super) async fn told(&self) {
        self.shared.notify.notified().await;
    }

    pub(super) fn take_wake(&self) -> Woken {
        std::mem::take(&mut *self.woken())
    }

    pub(crate) fn is_quiet(&self) -> bool {
        matches!(*self.woken(), Woken::No)
    }
}
