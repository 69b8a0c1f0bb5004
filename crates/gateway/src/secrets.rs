//! Secret answers: kept sealed from the answer until the one who asked has them, and never in the journal.

use holdstead_core::{Ask, Command, Respond, Secrets, digest, is_concealed, reveal};
use holdstead_protocol::{
    AgentState, AskBody, AskState, Delivery, Digest, Event, EventBody, InteractionId, InteractionResponse,
    PromptId, SessionId, Timestamp,
};
use holdstead_store::{Appended, SealedSecret, SecretsOf, StoreError};
use serde_json::json;
use std::time::Duration;

use crate::{Gateway, GatewayError};

/// A secret of another node may be about to win its prompt: this young, it is left alone.
const YOUNG: Duration = Duration::from_secs(60);

/// Whether a response is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revealed {
    Whole,
    /// It had a secret that is gone, or that this gateway's key does not open.
    Gone,
}

impl Gateway {
    /// Appends an answer whose secrets were taken out. They are kept first, so that no answer wins without them.
    pub(crate) async fn respond_secretly(
        &self,
        session: SessionId,
        mut command: Respond,
        secrets: Secrets,
        asked: &AskBody,
    ) -> Result<Appended, GatewayError> {
        let (ask, prompt) = (command.interaction_id, command.prompt_id);
        let key = &self.inner.config.secrets_key;
        let (mac, sealed) = (key.mac(ask, prompt, &secrets), key.seal(ask, prompt, &secrets));
        let (Some(mac), Some(sealed)) = (mac, sealed) else { return Err(GatewayError::SecretGone) };
        command.secrets_mac = Some(mac);
        let answer = answer(ask, prompt, &command.idempotency_key, &command.body_digest());
        // Before the agent can have it, and say it.
        self.inner.masks().add(session, &secrets, asked);
        let gateway = self.clone();
        // To the end, even if whoever answers goes away: a secret that did not win is not left lying about.
        let answered = self.inner.tasks.spawn(async move {
            let journal = &gateway.inner.journal;
            let at = journal.now().await?;
            let secret =
                SealedSecret { answer: answer.clone(), session, interaction: ask, prompt, sealed, at };
            journal.keep_secret(secret).await?;
            let result = gateway.append(session, Command::Respond(Box::new(command))).await;
            let on_its_way = match &result {
                Ok(appended) => {
                    appended.session.asks.get(&ask).is_some_and(|now| on_its_way(ask, now, &answer))
                }
                // It may have won.
                Err(GatewayError::Store(StoreError::Unknown { .. })) => true,
                Err(_) => false,
            };
            if !on_its_way {
                gateway.drop_secrets(SecretsOf::Answer(ask, answer)).await;
            }
            result
        });
        answered.await.unwrap_or(Err(GatewayError::Closing))
    }

    /// Puts the secrets back into a response, for the one who asked.
    pub(crate) async fn reveal(
        &self,
        session: SessionId,
        body: &AskBody,
        response: &mut InteractionResponse,
    ) -> Result<Revealed, GatewayError> {
        if !is_concealed(body, &response.response) {
            return Ok(Revealed::Whole);
        }
        let (ask, prompt) = (response.interaction_id, response.prompt_id);
        let (Some(key), Some(digest)) = (&response.idempotency_key, &response.body_digest) else {
            return Ok(Revealed::Gone);
        };
        let Some(kept) = self.inner.journal.secret(ask, &answer(ask, prompt, key, digest)).await? else {
            return Ok(Revealed::Gone);
        };
        let Some(secrets) = self.inner.config.secrets_key.open(ask, prompt, &kept.sealed) else {
            tracing::error!(%session, interaction = %ask, "a secret answer was sealed with another key");
            return Ok(Revealed::Gone);
        };
        self.inner.masks().add(session, &secrets, body);
        reveal(&mut response.response, &secrets);
        Ok(Revealed::Whole)
    }

    /// Drops the secrets that nobody waits for any more.
    pub(crate) fn forget_secrets(&self, session: SessionId, appended: &Appended) {
        let ends = |event: &Event| matches!(&event.body, EventBody::SessionStatus(status) if status.agent == AgentState::Ended);
        if appended.events.iter().any(ends) {
            let gateway = self.clone();
            self.inner.tasks.spawn(async move { gateway.drop_secrets(SecretsOf::Session(session)).await });
        }
        for id in appended.events.iter().filter_map(|event| event.body.ask()) {
            if let Some(ask) = appended.session.asks.get(&id).filter(|ask| ask.spec.has_secrets())
                && let Some(which) = unneeded(id, ask)
            {
                let gateway = self.clone();
                self.inner.tasks.spawn(async move { gateway.drop_secrets(which).await });
            }
        }
    }

    /// Drops what an earlier gateway left behind when it was killed.
    pub(crate) async fn sweep_secrets(&self) -> Result<(), GatewayError> {
        let journal = &self.inner.journal;
        let now = journal.now().await?;
        for secret in journal.secrets().await? {
            let needed = match journal.ask(secret.interaction).await.map_err(GatewayError::from) {
                Ok(Some(record)) => {
                    on_its_way(secret.interaction, &record.ask, &secret.answer)
                        || may_still_win(&record.ask, &secret, now)
                }
                Ok(None) => false,
                Err(error) if error.may_pass() => return Err(error),
                Err(error) => {
                    let ask = secret.interaction;
                    tracing::error!(%ask, %error, "an ask with a secret cannot be read; its secret is kept");
                    true
                }
            };
            if !needed {
                journal.drop_secrets(SecretsOf::Answer(secret.interaction, secret.answer)).await?;
            }
        }
        Ok(())
    }

    async fn drop_secrets(&self, which: SecretsOf) {
        if let Err(error) = self.inner.journal.drop_secrets(which).await {
            tracing::error!(%error, "a sealed secret could not be dropped; the next start does it");
        }
    }
}

/// Names one answer to one prompt, from what the journal keeps of it.
fn answer(ask: InteractionId, prompt: PromptId, key: &str, body: &Digest) -> String {
    digest(&json!([ask, prompt, key, body])).as_str().to_owned()
}

/// This answer won, and the one who asked does not have it yet.
fn on_its_way(id: InteractionId, ask: &Ask, wanted: &str) -> bool {
    let undelivered = match &ask.state {
        AskState::Submitted { .. } => true,
        AskState::Settled { .. } => !ask.delivery.as_ref().is_some_and(Delivery::is_final),
        AskState::Open | AskState::Queued | AskState::Closed { .. } => false,
    };
    undelivered
        && ask.responses.last().is_some_and(|won| match (&won.key, &won.body_digest) {
            (Some(key), Some(body)) => answer(id, won.prompt_id, key, body) == wanted,
            (_, _) => false,
        })
}

fn may_still_win(ask: &Ask, secret: &SealedSecret, now: Timestamp) -> bool {
    ask.state == AskState::Open && ask.prompt_id == secret.prompt && now.since(secret.at) < YOUNG
}

/// The secrets of this ask that nobody waits for.
fn unneeded(id: InteractionId, ask: &Ask) -> Option<SecretsOf> {
    match &ask.state {
        AskState::Submitted { .. } => None,
        AskState::Settled { .. } => {
            ask.delivery.as_ref().is_some_and(Delivery::is_final).then_some(SecretsOf::Ask(id))
        }
        AskState::Queued | AskState::Closed { .. } => Some(SecretsOf::Ask(id)),
        // It is shown again: what was answered before is used up, and somebody may be answering anew.
        AskState::Open => ask.responses.last().map(|before| SecretsOf::Prompt(id, before.prompt_id)),
    }
}
