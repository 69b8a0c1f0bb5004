//! Begin a journal.

use holdstead_protocol::{EventBody, SessionOpened};

pub(crate) fn decide(opened: &SessionOpened) -> Vec<EventBody> {
    vec![EventBody::SessionOpened(opened.clone())]
}
