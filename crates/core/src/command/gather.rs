//! Words that streamed are put together. It is about the past alone, so that it matters to nobody where the session stands.

use holdstead_protocol::{EventBody, WordsGathered};

pub(crate) fn decide(gathered: &WordsGathered) -> Vec<EventBody> {
    if gathered.runs.is_empty() { Vec::new() } else { vec![EventBody::WordsGathered(gathered.clone())] }
}
