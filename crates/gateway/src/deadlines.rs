//! One timer for every deadline: it asks the store what is due, and closes that, or shows it again where its snooze is over.
//!
//! No ask has a timer of its own, and firing is an ordinary append: if the ask was answered or shown again
//! meanwhile, nothing happens.

use std::time::Duration;

use futures_util::future::join_all;
use holdstead_core::{Command, Expire, ExpireCause};
use holdstead_store::DueAsk;

use crate::{Gateway, GatewayError};

/// How many are closed before looking again.
const BATCH: u32 = 256;
/// The longest sleep: another node may have opened an ask meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(2);

/// How late another node may be with what is its turn.
const TURN: Duration = Duration::from_secs(3);

pub(crate) async fn run(gateway: Gateway) {
    let shutdown = gateway.shutdown_token();
    let mut new_deadline = gateway.inner.new_deadline.subscribe();
    loop {
        let sleep = match close_due(&gateway).await {
            Ok(next) => next.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP),
            Err(error) => {
                tracing::error!(%error, "deadlines could not be checked");
                LONGEST_SLEEP
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = new_deadline.changed() => {}
            () = tokio::time::sleep(sleep) => {}
        }
    }
}

/// How long until the next one.
async fn close_due(gateway: &Gateway) -> Result<Option<Duration>, GatewayError> {
    let list = gateway.inner.journal.due(BATCH).await?;
    let mut closed = false;
    let due: Vec<&DueAsk> = list.due.iter().filter(|ask| is_ours(gateway, ask)).collect();
    // All are queued before the first is awaited, so that they commit together.
    let expiring = due.iter().map(|ask| {
        let expire =
            Expire { interaction_id: ask.interaction, prompt_id: ask.prompt, cause: ExpireCause::Deadline };
        gateway.append(ask.session, Command::Expire(expire))
    });
    for (ask, expired) in due.iter().zip(join_all(expiring).await) {
        match expired {
            Ok(_) => closed = true,
            Err(GatewayError::Rejected(rejection)) => tracing::debug!(%rejection, "an ask did not expire"),
            // One session that cannot be read keeps no other from its deadlines.
            Err(error) if !error.may_pass() => {
                tracing::error!(%error, session = %ask.session, "an ask did not expire")
            }
            Err(error) => return Err(error),
        }
    }
    let more = list.due.len() == BATCH as usize && closed;
    Ok(if more { Some(Duration::ZERO) } else { list.next_in })
}

/// Nodes take turns, so that not every one of them closes everything; nobody relies on another for long.
fn is_ours(gateway: &Gateway, ask: &DueAsk) -> bool {
    gateway.inner.node.as_ref().is_none_or(|node| ask.late_by > TURN || node.is_its_turn(ask.session))
}
