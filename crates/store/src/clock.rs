//! The clock of a SQLite journal. PostgreSQL has its own.

use std::fmt;
use std::pin::pin;
use std::task::Poll;

use holdstead_protocol::Timestamp;

/// What time it is.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
    }
}

impl fmt::Debug for dyn Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Runs a call to the database without ever letting the runtime fall asleep.
///
/// SQLite works on a thread of its own. To a runtime whose time is paused, waiting for that thread looks like
/// having nothing to do, and it would jump to the next timer: an ask would expire while it is being written.
pub(crate) async fn keep_runtime_busy<T>(call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    std::future::poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(value),
        Poll::Pending => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}
