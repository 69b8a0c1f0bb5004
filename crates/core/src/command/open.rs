//! Begin a journal.

use holdstead_protocol::{EventBody, SessionOpened};

use crate::Rejection;
use crate::policy::rule;

/// What stands before a tool that is allowed, to make a rule of it.
pub(crate) const ALLOW: &str = "allow ";

pub(crate) fn decide(opened: &SessionOpened) -> Result<Vec<EventBody>, Rejection> {
    super::set_variables::check_all(&opened.variables)?;
    for tool in &opened.allowed_tools {
        // A rule that can never match would be taken for one that does.
        rule::parse(&format!("{ALLOW}{tool}")).map_err(|wrong| Rejection::WrongAllowedTool {
            text: tool.clone(),
            column: wrong.column.saturating_sub(ALLOW.len()).max(1),
            what: wrong.what,
            hint: wrong.hint,
        })?;
    }
    Ok(vec![EventBody::SessionOpened(opened.clone())])
}
