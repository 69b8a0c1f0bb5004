//! Rules that answers give to all sessions of their owner.
//!
//! The answer is durable in its session's journal together with the rule that it gives, and the rule counts once it is in the
//! owner's journal. Until the session's journal says so, the rule is saved again by each gateway that takes the session up:
//! neither a lost connection nor a killed gateway undoes it. A rule that a person took back meanwhile stays taken back.

use std::time::Duration;

use holdstead_core::{Command, Head};
use holdstead_protocol::{Event, EventBody, InteractionId, SessionId};

use crate::{Gateway, GatewayError, owner_journal};

/// How long an answer waits for its rule to be saved. The answer counts, and the rule is saved, however long that takes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether one of these events is an answer that gives a rule.
pub(crate) fn gives_rule(events: &[Event]) -> bool {
    let gives = |event: &Event| matches!(&event.body, EventBody::InteractionResponse(response) if response.gives.is_some());
    events.iter().any(gives)
}

impl Gateway {
    /// Saves the rules that answers in this session gave, in a task of its own.
    pub(crate) fn save_rules(&self, session: SessionId, head: &Head) {
        if head.unsaved.is_empty() {
            return;
        }
        let (gateway, owner, unsaved) = (self.clone(), head.owner.clone(), head.unsaved.clone());
        self.inner.tasks.spawn(async move {
            for grant in unsaved.into_values() {
                let Some(interaction_id) = grant.interaction_id else { continue };
                let grant_id = grant.grant_id;
                let save = async {
                    let remember = || owner_journal::remember(&gateway, &owner, grant.clone());
                    gateway.patiently(remember).await?;
                    let saved = || gateway.append(session, Command::RuleSaved { interaction_id, grant_id });
                    gateway.patiently(saved).await
                };
                match save.await {
                    Ok(_) | Err(GatewayError::Closing) => {}
                    Err(error) => tracing::error!(%session, %grant_id, %error, "a rule was not saved"),
                }
            }
        });
    }

    /// Waits until the rule that an answer to this ask gave is saved, so that the person who answered finds it.
    pub(crate) async fn rule_saved(&self, session: SessionId, ask: InteractionId) {
        let mut changes = self.changes(session);
        let saved = async {
            while self.inner.journal.ask(ask).await?.is_some_and(|record| record.ask.rule_unsaved) {
                changes.of_ask(ask).await?;
            }
            Ok::<_, GatewayError>(())
        };
        // Also where that cannot be known now, the answer is durable.
        drop(tokio::time::timeout(PATIENCE, saved).await);
    }
}
