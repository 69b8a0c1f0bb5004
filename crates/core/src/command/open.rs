//! Begin a journal.

use holdstead_protocol::{EventBody, SessionOpened};

use crate::Rejection;

pub(crate) fn decide(opened: &SessionOpened) -> Result<Vec<EventBody>, Rejection> {
    super::set_variables::check_all(&opened.variables)?;
    match opened.allowed_tools.iter().find(|name| !is_name(name)) {
        Some(name) => Err(Rejection::NoToolName { name: name.clone() }),
        None => Ok(vec![EventBody::SessionOpened(opened.clone())]),
    }
}

/// A rule that can never match would be taken for one that does.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "_-.:/".contains(letter))
}
