//! A person wants to see an ask later, or again. It is out of sight on every screen meanwhile, and stays as it is.

use std::time::Duration;

use holdstead_protocol::{AskState, EventBody, InteractionSnoozed, InteractionUnsnoozed, Timestamp};

use super::ask;
use crate::{Ask, Rejection, Session, Snoozed};

/// Who comes back after a week has forgotten what it was about.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub(crate) fn decide(
    session: &Session,
    snooze: &InteractionSnoozed,
    now: Timestamp,
) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, snooze.interaction_id)?;
    match ask.state {
        AskState::Open | AskState::Queued => {}
        AskState::Closed { closing } => return Err(Rejection::Dead { closing }),
        AskState::Submitted { .. } | AskState::Settled { .. } => return Err(Rejection::Answered),
    }
    if ask.prompt_id != snooze.prompt_id {
        return Err(Rejection::StalePrompt { current: ask.prompt_id });
    }
    if snooze.until <= now || snooze.until > now.after(LONGEST) {
        return Err(Rejection::BadSnooze);
    }
    let wanted = Snoozed { until: snooze.until, by: snooze.by.clone() };
    if ask.snoozed.as_ref() == Some(&wanted) {
        return Ok(Vec::new());
    }
    Ok(vec![EventBody::InteractionSnoozed(snooze.clone())])
}

/// A person wants to see it now.
pub(crate) fn undo(session: &Session, unsnoozed: &InteractionUnsnoozed) -> Result<Vec<EventBody>, Rejection> {
    let ask = ask(session, unsnoozed.interaction_id)?;
    let event = InteractionUnsnoozed { prompt_id: ask.prompt_id, ..unsnoozed.clone() };
    Ok(ask.snoozed.iter().map(|_| EventBody::InteractionUnsnoozed(event.clone())).collect())
}

/// Its time has come.
pub(super) fn is_over(ask: &Ask, now: Timestamp) -> bool {
    ask.snoozed.as_ref().is_some_and(|snoozed| now >= snoozed.until)
}
