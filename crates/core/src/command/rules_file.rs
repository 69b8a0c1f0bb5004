//! A file of rules is another one than the last by which calls were judged.

use holdstead_protocol::{EventBody, RulesFileChanged, Seq};

use super::still_open;
use crate::{Head, Recorded, Rejection};

pub(crate) fn decide(
    head: &Head,
    changed: &RulesFileChanged,
    after: Seq,
) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    // Another reader may have seen a newer file since.
    if head.rules_seq != after {
        return Err(Rejection::RulesChanged);
    }
    match head.rules_files.compare(changed) {
        Recorded::Same => Ok(Vec::new()),
        Recorded::Other => Ok(vec![EventBody::RulesFileChanged(changed.clone())]),
        Recorded::Newer => Err(Rejection::RulesChanged),
    }
}
