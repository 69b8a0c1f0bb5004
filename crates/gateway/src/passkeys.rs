//! A person confirms what is risky with a passkey, where they asked for that.
//!
//! A challenge is for one purpose: this answer to this prompt about this input, this session, this change. Answered well, it
//! lets the same device do that once. Challenges are kept in memory: after a restart the page just asks again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdstead_core::{
    PasskeyAnswer, PasskeyChallengeBytes, PasskeyQuestion, check_new_passkey, check_passkey, digest,
    passkey_bytes, passkey_site, passkey_text, person_name,
};
use holdstead_protocol::api::{
    NewPasskey, OpenSession, Passkey, PasskeyChallenge, PasskeyConfirmation, PasskeyPage, PasskeyPurpose,
    Respond,
};
use holdstead_protocol::{Actor, Digest, PasskeyId, PermissionMode, ResponseDraft};
use holdstead_store::{AskRecord, PasskeyRecord, PasskeyRule};
use serde_json::json;
use tokio::time::Instant;

use crate::{Gateway, GatewayError, Person};

/// How long a challenge, and then what it confirmed, is good.
const LIFETIME: Duration = Duration::from_secs(120);
/// One device has so many at a time; one more, and its oldest goes.
const MOST_PER_DEVICE: usize = 8;
/// A person has so many passkeys.
const MOST_PASSKEYS: usize = 20;

/// What needs a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedsPasskey {
    Approval,
    AutoSession,
    Change,
}

impl NeedsPasskey {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Approval => {
                "it is marked as risky, and you chose that a passkey confirms such approvals: approve this one in the page"
            }
            Self::AutoSession => {
                "nothing would ask in this session, and you chose that a passkey confirms such sessions: open it in the page"
            }
            Self::Change => "this needs one of your passkeys: do it in the page",
        }
    }
}

/// The challenges that are good now.
#[derive(Debug, Default)]
pub(crate) struct Challenges(Mutex<HashMap<PasskeyChallengeBytes, Pending>>);

#[derive(Debug, Clone)]
struct Pending {
    /// Who asked, and from where: nobody else may answer or use it.
    actor: Actor,
    origin: String,
    purpose: Digest,
    until: Instant,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Asked,
    Confirmed(PasskeyId),
}

impl Challenges {
    fn lock(&self) -> MutexGuard<'_, HashMap<PasskeyChallengeBytes, Pending>> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        pending.retain(|_, one| one.until > now);
        pending
    }

    fn ask(&self, actor: Actor, origin: &str, purpose: Digest) -> PasskeyChallengeBytes {
        let challenge = rand::random();
        let mut pending = self.lock();
        let own = |one: &Pending| one.actor.device_id == actor.device_id;
        if pending.values().filter(|one| own(one)).count() >= MOST_PER_DEVICE {
            let oldest = pending.iter().filter(|(_, one)| own(one)).min_by_key(|(_, one)| one.until);
            if let Some(oldest) = oldest.map(|(challenge, _)| *challenge) {
                pending.remove(&oldest);
            }
        }
        let until = Instant::now() + LIFETIME;
        let one = Pending { actor, origin: origin.to_owned(), purpose, until, state: State::Asked };
        pending.insert(challenge, one);
        challenge
    }

    /// The question behind this text, which is used up by that: an answer is tried once.
    fn answer(&self, actor: Actor, text: &str) -> Option<(PasskeyChallengeBytes, Pending)> {
        let challenge: PasskeyChallengeBytes = passkey_bytes(text)?.try_into().ok()?;
        let mut pending = self.lock();
        let is_its =
            pending.get(&challenge).is_some_and(|one| one.actor == actor && one.state == State::Asked);
        is_its.then(|| pending.remove(&challenge)).flatten().map(|one| (challenge, one))
    }

    fn confirmed(&self, challenge: PasskeyChallengeBytes, one: Pending, by: PasskeyId) {
        self.lock().insert(challenge, Pending { state: State::Confirmed(by), ..one });
    }

    /// The passkey that confirmed this purpose on this device. It is used up by that.
    fn take(&self, actor: Actor, purpose: &Digest) -> Option<PasskeyId> {
        let mut pending = self.lock();
        let found = pending.iter().find_map(|(challenge, one)| match one.state {
            State::Confirmed(by) if one.actor == actor && one.purpose == *purpose => Some((*challenge, by)),
            State::Confirmed(_) | State::Asked => None,
        });
        let (challenge, by) = found?;
        pending.remove(&challenge);
        Some(by)
    }
}

impl Gateway {
    pub async fn passkeys(&self, person: &Person) -> Result<PasskeyPage, GatewayError> {
        let actor = actor(person)?;
        let passkeys = self.inner.journal.passkeys(actor.person_id).await?;
        let passkeys = passkeys.into_iter().map(|one| Passkey {
            passkey_id: one.id,
            name: one.name,
            site: one.site,
            created_at: one.created_at,
            last_used_at: one.last_used_at,
        });
        Ok(PasskeyPage { passkeys: passkeys.collect(), required: self.requires_passkey(person).await? })
    }

    /// What to ask a passkey on the page of this origin.
    pub async fn passkey_challenge(
        &self,
        person: &Person,
        origin: &str,
        purpose: PasskeyPurpose,
    ) -> Result<PasskeyChallenge, GatewayError> {
        let actor = actor(person)?;
        let site = passkey_site(origin).ok_or(GatewayError::NoPasskeysHere)?;
        let known = self.inner.journal.passkeys(actor.person_id).await?;
        let is_new = purpose == PasskeyPurpose::Register;
        let here: Vec<_> = known.iter().filter(|one| one.site == site).collect();
        if here.is_empty() && !is_new {
            return Err(GatewayError::NoPasskeyFor { site: site.to_owned() });
        }
        let credentials = here.into_iter().map(|one| passkey_text(&one.credential)).collect();
        let purpose = match purpose {
            PasskeyPurpose::Approve { interaction_id, prompt_id, response } => {
                let ask = self.ask_of(&person.owner, interaction_id).await?;
                approval(&ask, prompt_id, &response)
            }
            PasskeyPurpose::OpenSession { session } => opening(&session),
            PasskeyPurpose::Register
            | PasskeyPurpose::AddPasskey
            | PasskeyPurpose::RemovePasskey { .. }
            | PasskeyPurpose::SwitchOff => change(&purpose),
        };
        let challenge = self.inner.challenges.ask(actor, origin, purpose);
        Ok(PasskeyChallenge {
            challenge: passkey_text(&challenge),
            site: site.to_owned(),
            credentials,
            person_id: actor.person_id,
            name: person.name.clone(),
        })
    }

    /// Takes a passkey's answer: what it was asked for may now be done once.
    pub async fn confirm_with_passkey(
        &self,
        person: &Person,
        given: PasskeyConfirmation,
    ) -> Result<(), GatewayError> {
        let actor = actor(person)?;
        let (challenge, pending) =
            self.inner.challenges.answer(actor, &given.challenge).ok_or(GatewayError::ChallengeGone)?;
        let bytes = |text: &str| passkey_bytes(text).ok_or(holdstead_core::BadPasskey::Unreadable);
        let credential = bytes(&given.credential_id)?;
        let known = self.inner.journal.passkeys(actor.person_id).await?;
        let passkey = known.into_iter().find(|one| {
            one.credential == credential && passkey_site(&pending.origin) == Some(one.site.as_str())
        });
        let passkey = passkey.ok_or(GatewayError::NoPasskey)?;
        let (client_data, authenticator_data, signature) =
            (bytes(&given.client_data)?, bytes(&given.authenticator_data)?, bytes(&given.signature)?);
        let question = PasskeyQuestion { challenge: &challenge, origin: &pending.origin };
        let answer = PasskeyAnswer {
            client_data: &client_data,
            authenticator_data: &authenticator_data,
            signature: &signature,
        };
        let count = check_passkey(question, &passkey.public_key, passkey.count, answer)?;
        self.inner.journal.use_passkey(passkey.id, count).await?;
        self.inner.challenges.confirmed(challenge, pending, passkey.id);
        Ok(())
    }

    /// Where passkeys are required, one of them has to say yes to another.
    pub async fn add_passkey(&self, person: &Person, new: NewPasskey) -> Result<PasskeyPage, GatewayError> {
        let actor = actor(person)?;
        let name = person_name(&new.name).map_err(GatewayError::PasskeyName)?;
        if self.inner.journal.passkeys(actor.person_id).await?.len() >= MOST_PASSKEYS {
            return Err(GatewayError::TooManyPasskeys { most: MOST_PASSKEYS });
        }
        // Before the new one's challenge is used up: what is refused here is sent again.
        self.confirmed_change(person, &PasskeyPurpose::AddPasskey).await?;
        let (challenge, pending) =
            self.inner.challenges.answer(actor, &new.challenge).ok_or(GatewayError::ChallengeGone)?;
        if pending.purpose != change(&PasskeyPurpose::Register) {
            return Err(GatewayError::ChallengeGone);
        }
        let bytes = |text: &str| passkey_bytes(text).ok_or(holdstead_core::BadPasskey::Unreadable);
        let question = PasskeyQuestion { challenge: &challenge, origin: &pending.origin };
        let made = check_new_passkey(question, &bytes(&new.client_data)?, &bytes(&new.authenticator_data)?)?;
        let site = passkey_site(&pending.origin).ok_or(GatewayError::NoPasskeysHere)?;
        let record = PasskeyRecord {
            id: PasskeyId::generate(),
            person: actor.person_id,
            credential: made.credential,
            public_key: made.public_key,
            site: site.to_owned(),
            name,
            count: made.count,
            created_at: self.inner.journal.now().await?,
            last_used_at: None,
        };
        self.inner.journal.add_passkey(record).await?;
        self.passkeys(person).await
    }

    /// With the last one, passkeys are required no longer: nobody could confirm anything.
    pub async fn remove_passkey(&self, person: &Person, id: PasskeyId) -> Result<(), GatewayError> {
        let actor = actor(person)?;
        let known = self.inner.journal.passkeys(actor.person_id).await?;
        if !known.iter().any(|one| one.id == id) {
            return Err(GatewayError::NoPasskey);
        }
        self.confirmed_change(person, &PasskeyPurpose::RemovePasskey { passkey_id: id }).await?;
        if known.len() == 1 {
            self.inner.journal.set_passkey_rule(actor.person_id, PasskeyRule::NotRequired).await?;
        }
        self.inner.journal.remove_passkey(id).await?;
        Ok(())
    }

    pub async fn require_passkey(&self, person: &Person, rule: PasskeyRule) -> Result<(), GatewayError> {
        let actor = actor(person)?;
        match rule {
            PasskeyRule::Required => {
                if self.inner.journal.passkeys(actor.person_id).await?.is_empty() {
                    return Err(GatewayError::NoPasskeyYet);
                }
            }
            PasskeyRule::NotRequired => self.confirmed_change(person, &PasskeyPurpose::SwitchOff).await?,
        }
        self.inner.journal.set_passkey_rule(actor.person_id, rule).await?;
        Ok(())
    }

    /// The passkey that confirmed this answer, where one has to: whoever approves what is marked. To deny never takes one.
    pub(crate) async fn confirmed_answer(
        &self,
        person: &Person,
        ask: &AskRecord,
        body: &Respond,
    ) -> Result<Option<PasskeyId>, GatewayError> {
        match &body.response {
            ResponseDraft::Approve { .. } if !ask.request.marks.is_empty() => {}
            ResponseDraft::Approve { .. }
            | ResponseDraft::Deny { .. }
            | ResponseDraft::Submit { .. }
            | ResponseDraft::Cancel { .. } => return Ok(None),
        }
        // It was taken before, and is only sent again.
        if ask.ask.response_with_key(&body.idempotency_key).is_some() {
            return Ok(None);
        }
        let purpose = approval(ask, body.prompt_id, &body.response);
        self.confirmed(person, &purpose, NeedsPasskey::Approval).await
    }

    /// The passkey that confirmed this session, where one has to: in `auto`, nothing in it asks.
    pub(crate) async fn confirmed_session(
        &self,
        person: &Person,
        open: &OpenSession,
    ) -> Result<Option<PasskeyId>, GatewayError> {
        match open.permission_mode {
            PermissionMode::Auto => self.confirmed(person, &opening(open), NeedsPasskey::AutoSession).await,
            PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Plan => Ok(None),
        }
    }

    async fn confirmed_change(&self, person: &Person, purpose: &PasskeyPurpose) -> Result<(), GatewayError> {
        self.confirmed(person, &change(purpose), NeedsPasskey::Change).await.map(drop)
    }

    async fn confirmed(
        &self,
        person: &Person,
        purpose: &Digest,
        what: NeedsPasskey,
    ) -> Result<Option<PasskeyId>, GatewayError> {
        // Who acts in this process is its own business: see `Person::new`.
        let Some(actor) = person.actor else { return Ok(None) };
        if !self.requires_passkey(person).await? {
            return Ok(None);
        }
        self.inner.challenges.take(actor, purpose).map(Some).ok_or(GatewayError::PasskeyRequired { what })
    }

    async fn requires_passkey(&self, person: &Person) -> Result<bool, GatewayError> {
        let record = self.inner.journal.person(actor(person)?.person_id).await?;
        Ok(record.is_none_or(|record| record.passkey_rule == PasskeyRule::Required))
    }
}

fn actor(person: &Person) -> Result<Actor, GatewayError> {
    person.actor.ok_or(GatewayError::NoPasskeysHere)
}

/// This answer to this prompt about this input.
fn approval(ask: &AskRecord, prompt: holdstead_protocol::PromptId, response: &ResponseDraft) -> Digest {
    digest(&json!(["approve", ask.id, prompt, ask.ask.input_digest, response]))
}

fn opening(open: &OpenSession) -> Digest {
    digest(&json!(["open_session", open]))
}

fn change(purpose: &PasskeyPurpose) -> Digest {
    digest(&json!(["change", purpose]))
}
