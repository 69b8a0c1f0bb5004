//! Approvals: what may be approved, and how far.

use holdstead_protocol::{Capabilities, Response, ResponseDraft, Scope};

use crate::{Rejection, spec};

/// The draft, checked against the scopes that are offered and what the agent's wire can carry.
pub(crate) fn check(
    scopes: &[Scope],
    can: Capabilities,
    draft: &ResponseDraft,
) -> Result<Response, Rejection> {
    match draft {
        ResponseDraft::Approve { scope, edited_input } => {
            let scope = scope.unwrap_or(Scope::Once);
            if scope != Scope::Once && !scopes.contains(&scope) {
                return Err(Rejection::invalid("scope", "this scope is not offered for this ask"));
            }
            match edited_input {
                None => {}
                Some(_) if !can.edit_input => {
                    return Err(Rejection::invalid(
                        "editedInput",
                        "this agent cannot be given an edited input: deny with words",
                    ));
                }
                Some(_) if scope != Scope::Once => {
                    let why = "an edited input can be approved once, not remembered";
                    return Err(Rejection::invalid("scope", why));
                }
                Some(edited) if !edited.is_object() => {
                    let why = "must be an object like the input it replaces";
                    return Err(Rejection::invalid("editedInput", why));
                }
                Some(_) => {}
            }
            Ok(Response::Approve { scope, edited_input: edited_input.clone() })
        }
        ResponseDraft::Deny { reason } => {
            let reason = spec::words(reason.as_deref());
            if reason.is_some() && !can.reason {
                return Err(Rejection::invalid(
                    "reason",
                    "this agent cannot be told a reason: deny without one",
                ));
            }
            Ok(Response::Deny { reason })
        }
        ResponseDraft::Submit { .. } | ResponseDraft::Cancel { .. } => {
            Err(Rejection::WrongAction { why: "this ask needs an approval: approve or deny it" })
        }
    }
}
