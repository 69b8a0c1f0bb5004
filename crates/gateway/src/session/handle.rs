//! How others tell a session's task that there is something to look at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holdstead_protocol::TurnId;
use tokio::sync::{Notify, OwnedSemaphorePermit};

#[derive(Debug, Clone, Default)]
pub(crate) struct SessionHandle {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    notify: Notify,
    woken: AtomicBool,
    interrupted: Mutex<Option<TurnId>>,
    /// Its place among those that a gateway takes up when it starts.
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl SessionHandle {
    /// Something changed in the journal.
    pub(crate) fn wake(&self) {
        self.shared.woken.store(true, Ordering::SeqCst);
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
        self.shared.woken.store(true, Ordering::SeqCst);
    }

    /// A person stops this turn, and no other that may follow it.
    pub(crate) fn interrupt(&self, turn: TurnId) {
        *self.shared.interrupted.lock().unwrap_or_else(PoisonError::into_inner) = Some(turn);
        self.shared.notify.notify_one();
    }

    pub(super) async fn told(&self) {
        self.shared.notify.notified().await;
    }

    pub(super) fn take_wake(&self) -> bool {
        self.shared.woken.swap(false, Ordering::SeqCst)
    }

    pub(super) fn take_interrupt(&self) -> Option<TurnId> {
        self.shared.interrupted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn is_quiet(&self) -> bool {
        let interrupted = self.shared.interrupted.lock().unwrap_or_else(PoisonError::into_inner);
        !self.shared.woken.load(Ordering::SeqCst) && interrupted.is_none()
    }
}
