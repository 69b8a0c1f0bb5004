//! What was typed before somebody could read an ask does not answer it.

use std::time::Duration;

/// An ask takes no answer this long after it appears: the same rest as a card's on the web.
pub(crate) const REST: Duration = Duration::from_millis(400);

/// Throws away what was typed and not read yet, also the beginning of a line.
pub(crate) fn discard() {
    #[cfg(unix)]
    {
        use rustix::termios::{QueueSelector, tcflush};
        // Without a terminal there is nothing that was typed ahead.
        if let Err(error) = tcflush(std::io::stdin(), QueueSelector::IFlush) {
            tracing::debug!(%error, "what was typed ahead could not be thrown away");
        }
    }
}
