//! What a connection knows of one conversation, and what it called the daemon for.

use tokio::time::Instant;

#[derive(Debug, Clone)]
pub(super) enum Called {
    Hello,
    Loaded,
    Read,
    Resume {
        thread: String,
    },
    Rest,
    /// With whether it is to be tried as a turn of its own if this one is over.
    Say {
        thread: String,
        words: String,
        steers: bool,
    },
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) cwd: String,
    pub(super) path: Option<String>,
    pub(super) state: Subscription,
    /// The turn that runs.
    pub(super) turn: Option<String>,
    /// The command that was the last to say something.
    pub(super) spoke: Option<String>,
    /// Of the last one that waits for words.
    pub(super) waiter: u64,
    /// When something happened in it last.
    pub(super) last: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subscription {
    Not {
        at: Instant,
        tries: u32,
    },
    Asked {
        tries: u32,
    },
    Yes {
        since: Instant,
    },
    /// It was, and is again when something happens.
    Resting,
}
