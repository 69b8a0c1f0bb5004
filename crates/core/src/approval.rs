//! Approvals: what may be approved, and how far.

use holdstead_protocol::{Capabilities, OfferedScope, Response, ResponseDraft, Rule, Scope};

use crate::{Rejection, spec};

/// The draft, checked against the scopes that are offered and what the agent's wire can carry.
pub(crate) fn check(
    offered: &[OfferedScope],
    can: Capabilities,
    draft: &ResponseDraft,
) -> Result<Response, Rejection> {
    match draft {
        ResponseDraft::Approve { scope, lines, edited_input } => {
            let scope = scope.unwrap_or(Scope::Once);
            let saved = saved(offered, scope, lines)?;
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
            Ok(Response::Approve { scope, lines: saved, edited_input: edited_input.clone() })
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

/// The lines that are saved: those of an offer, all of them and as they were shown.
fn saved(offered: &[OfferedScope], scope: Scope, lines: &[String]) -> Result<Vec<String>, Rejection> {
    if scope == Scope::Once {
        return match lines {
            [] => Ok(Vec::new()),
            [_, ..] => {
                Err(Rejection::invalid("lines", "an approval for once saves no rule: say how far it reaches"))
            }
        };
    }
    if !offered.iter().any(|offer| offer.scope == scope) {
        return Err(Rejection::invalid("scope", "this scope is not offered for this ask"));
    }
    match offered_rule(offered, scope, lines) {
        Some(Rule::Lines { lines }) => Ok(lines.clone()),
        Some(Rule::ExactInput { .. } | Rule::Key { .. }) => Ok(Vec::new()),
        None => Err(Rejection::invalid("lines", "these rules are not offered for this ask and scope")),
    }
}

/// Without lines, the first of this scope, which is the narrowest.
pub(crate) fn offered_rule<'a>(
    offered: &'a [OfferedScope],
    scope: Scope,
    lines: &[String],
) -> Option<&'a Rule> {
    let meant = |rule: &Rule| match rule {
        Rule::Lines { lines: offered } => lines.is_empty() || offered == lines,
        Rule::ExactInput { .. } | Rule::Key { .. } => lines.is_empty(),
    };
    offered.iter().filter(|offer| offer.scope == scope).map(|offer| &offer.rule).find(|rule| meant(rule))
}
