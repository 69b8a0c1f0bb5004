//! A person confirms what is risky with a passkey, where they asked for that.
//!
//! A challenge is for one purpose: this answer to this prompt about this input, this session, this change. Answered well, it
//! lets the same device do that once, on any node. No node keeps challenges: they are sealed with the secrets key. The database
//! has what was confirmed until that expires, so nothing counts twice.

use std::time::Duration;

use holdstead_core::{
    Act, Confirmed, PasskeyAnswer, PasskeyQuestion, base64url, check_new_passkey, check_passkey, digest,
    from_base64url, needs_passkey, passkey_site, person_name,
};
use holdstead_protocol::api::{
    NewPasskey, NewRule, OpenSession, Passkey, PasskeyChallenge, PasskeyConfirmation, PasskeyPage,
    PasskeyPurpose, Respond, TrustFolder,
};
use holdstead_protocol::{Actor, Digest, PasskeyId, ResponseDraft, Timestamp};
use holdstead_store::{AskRecord, ConfirmationRecord, PasskeyRecord, PasskeyRule};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{Gateway, GatewayError, Person, SecretsKey};

/// How long a challenge, and then what it confirmed, is good.
const LIFETIME: Duration = Duration::from_secs(120);
/// A person has so many passkeys.
const MOST_PASSKEYS: usize = 20;

/// What a passkey is asked: sealed, so that any node can read it back and none has to remember it.
#[derive(Debug, Serialize, Deserialize)]
struct Question {
    random: Uuid,
    origin: String,
    purpose: Digest,
    until: Timestamp,
}

impl Question {
    /// The question, and a mark of the secrets key over it and over who was asked: no other device may answer.
    fn seal(&self, key: &SecretsKey, actor: Actor) -> Vec<u8> {
        let mut challenge = serde_json::to_vec(self).unwrap_or_default();
        let mark = key.challenge_mark(&actor_bytes(actor), &challenge);
        challenge.extend_from_slice(&mark);
        challenge
    }

    fn open(key: &SecretsKey, actor: Actor, challenge: &[u8]) -> Option<Self> {
        let (question, mark) = challenge.split_last_chunk::<32>()?;
        if !key.is_challenge_mark(&actor_bytes(actor), question, mark) {
            return None;
        }
        serde_json::from_slice(question).ok()
    }
}

/// Of a fixed length, so what follows it begins in one place.
fn actor_bytes(actor: Actor) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(actor.person_id.uuid().as_bytes());
    bytes[16..].copy_from_slice(actor.device_id.uuid().as_bytes());
    bytes
}

/// Whether a passkey confirmed an act, and what was used up for it.
#[derive(Debug)]
pub(crate) struct Confirmation {
    pub(crate) confirmed: Confirmed,
    used: Option<ConfirmationRecord>,
}

impl Confirmation {
    const fn none(confirmed: Confirmed) -> Self {
        Self { confirmed, used: None }
    }

    pub(crate) fn passkey(&self) -> Option<PasskeyId> {
        self.used.as_ref().map(|used| used.passkey)
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
        let credentials = here.into_iter().map(|one| base64url(&one.credential)).collect();
        let purpose = match purpose {
            PasskeyPurpose::Approve { interaction_id, prompt_id, response } => {
                let ask = self.ask_of(&person.owner, interaction_id).await?;
                approval(&ask, prompt_id, &response)
            }
            PasskeyPurpose::OpenSession { session } => opening(&session),
            PasskeyPurpose::Register
            | PasskeyPurpose::TrustFolder { .. }
            | PasskeyPurpose::SaveRule { .. }
            | PasskeyPurpose::AddPasskey
            | PasskeyPurpose::RemovePasskey { .. }
            | PasskeyPurpose::SwitchOff => change(&purpose),
        };
        let until = self.inner.journal.now().await?.after(LIFETIME);
        let question = Question { random: Uuid::new_v4(), origin: origin.to_owned(), purpose, until };
        let challenge = question.seal(&self.inner.config.secrets_key, actor);
        Ok(PasskeyChallenge {
            challenge: base64url(&challenge),
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
        let (challenge, asked) = self.asked(actor, &given.challenge).await?;
        let bytes = |text: &str| from_base64url(text).ok_or(holdstead_core::BadPasskey::Unreadable);
        let credential = bytes(&given.credential_id)?;
        let known = self.inner.journal.passkeys(actor.person_id).await?;
        let passkey = known.into_iter().find(|one| {
            one.credential == credential && passkey_site(&asked.origin) == Some(one.site.as_str())
        });
        let passkey = passkey.ok_or(GatewayError::NoPasskey)?;
        let (client_data, authenticator_data, signature) =
            (bytes(&given.client_data)?, bytes(&given.authenticator_data)?, bytes(&given.signature)?);
        let question = PasskeyQuestion { challenge: &challenge, origin: &asked.origin };
        let answer = PasskeyAnswer {
            client_data: &client_data,
            authenticator_data: &authenticator_data,
            signature: &signature,
        };
        let count = check_passkey(question, &passkey.public_key, passkey.count, answer)?;
        if !self.inner.journal.use_passkey(passkey.id, count).await? {
            return Err(holdstead_core::BadPasskey::Copied.into());
        }
        self.confirm(actor, &challenge, &asked, passkey.id).await
    }

    /// The question behind this text, if it was put to this device and is not too old.
    async fn asked(&self, actor: Actor, text: &str) -> Result<(Vec<u8>, Question), GatewayError> {
        let challenge = from_base64url(text).ok_or(GatewayError::ChallengeGone)?;
        let asked = Question::open(&self.inner.config.secrets_key, actor, &challenge);
        let asked = asked.ok_or(GatewayError::ChallengeGone)?;
        if self.inner.journal.now().await? >= asked.until {
            return Err(GatewayError::ChallengeGone);
        }
        Ok((challenge, asked))
    }

    /// Notes that the question was answered, which counts once on all nodes.
    async fn confirm(
        &self,
        actor: Actor,
        challenge: &[u8],
        asked: &Question,
        by: PasskeyId,
    ) -> Result<(), GatewayError> {
        let confirmation = ConfirmationRecord {
            challenge: Sha256::digest(challenge).into(),
            device: actor.device_id,
            purpose: hash(&asked.purpose),
            passkey: by,
            expires_at: asked.until,
        };
        let is_first = self.inner.journal.add_confirmation(confirmation).await?;
        if is_first { Ok(()) } else { Err(GatewayError::ChallengeGone) }
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
        let (challenge, asked) = self.asked(actor, &new.challenge).await?;
        if asked.purpose != change(&PasskeyPurpose::Register) {
            return Err(GatewayError::ChallengeGone);
        }
        let bytes = |text: &str| from_base64url(text).ok_or(holdstead_core::BadPasskey::Unreadable);
        let question = PasskeyQuestion { challenge: &challenge, origin: &asked.origin };
        let made = check_new_passkey(question, &bytes(&new.client_data)?, &bytes(&new.authenticator_data)?)?;
        let site = passkey_site(&asked.origin).ok_or(GatewayError::NoPasskeysHere)?;
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
        self.confirm(actor, &challenge, &asked, record.id).await?;
        self.inner.journal.add_passkey(record).await?;
        self.passkeys(person).await
    }

    pub async fn remove_passkey(&self, person: &Person, id: PasskeyId) -> Result<(), GatewayError> {
        let actor = actor(person)?;
        let known = self.inner.journal.passkeys(actor.person_id).await?;
        if !known.iter().any(|one| one.id == id) {
            return Err(GatewayError::NoPasskey);
        }
        self.confirmed_change(person, &PasskeyPurpose::RemovePasskey { passkey_id: id }).await?;
        if self.inner.journal.remove_passkey(actor.person_id, id).await? {
            Ok(())
        } else {
            Err(GatewayError::NoPasskey)
        }
    }

    pub async fn require_passkey(&self, person: &Person, rule: PasskeyRule) -> Result<(), GatewayError> {
        let actor = actor(person)?;
        match rule {
            PasskeyRule::Required => {}
            PasskeyRule::NotRequired => self.confirmed_change(person, &PasskeyPurpose::SwitchOff).await?,
        }
        match self.inner.journal.set_passkey_rule(actor.person_id, rule).await? {
            true => Ok(()),
            false => Err(GatewayError::NoPasskeyYet),
        }
    }

    /// Uses up what confirmed this answer, where one has to. Whether one has to is decided again with the answer itself.
    pub(crate) async fn confirm_answer(
        &self,
        person: &Person,
        ask: &AskRecord,
        body: &Respond,
    ) -> Result<Confirmation, GatewayError> {
        // It was taken before, and is only sent again.
        if ask.ask.response_with_key(&body.idempotency_key).is_some() {
            return Ok(Confirmation::none(Confirmed::Missing));
        }
        let act = Act::Answer { is_marked: ask.ask.is_marked, response: &body.response };
        match &body.response {
            ResponseDraft::Approve { .. } => {
                self.use_confirmation(person, act, &approval(ask, body.prompt_id, &body.response)).await
            }
            ResponseDraft::Deny { .. } | ResponseDraft::Submit { .. } | ResponseDraft::Cancel { .. } => {
                Ok(Confirmation::none(Confirmed::Missing))
            }
        }
    }

    pub(crate) async fn confirm_session(
        &self,
        person: &Person,
        open: &OpenSession,
    ) -> Result<Confirmation, GatewayError> {
        self.confirmed(person, Act::OpenSession(open), &opening(open)).await
    }

    pub(crate) async fn confirm_trust(
        &self,
        person: &Person,
        trust: &TrustFolder,
    ) -> Result<Confirmation, GatewayError> {
        let purpose = PasskeyPurpose::TrustFolder { trust: trust.clone() };
        self.confirmed(person, Act::TrustFolder, &change(&purpose)).await
    }

    pub(crate) async fn confirm_rule(
        &self,
        person: &Person,
        rule: &NewRule,
    ) -> Result<Confirmation, GatewayError> {
        let purpose = PasskeyPurpose::SaveRule { rule: rule.clone() };
        self.confirmed(person, Act::SaveRule, &change(&purpose)).await
    }

    async fn confirmed_change(&self, person: &Person, purpose: &PasskeyPurpose) -> Result<(), GatewayError> {
        self.confirmed(person, Act::ChangePasskeys, &change(purpose)).await.map(drop)
    }

    async fn confirmed(
        &self,
        person: &Person,
        act: Act<'_>,
        purpose: &Digest,
    ) -> Result<Confirmation, GatewayError> {
        if needs_passkey(act).is_none() {
            return Ok(Confirmation::none(Confirmed::Missing));
        }
        let confirmation = self.use_confirmation(person, act, purpose).await?;
        confirmation.confirmed.check(act)?;
        Ok(confirmation)
    }

    async fn use_confirmation(
        &self,
        person: &Person,
        act: Act<'_>,
        purpose: &Digest,
    ) -> Result<Confirmation, GatewayError> {
        // Who acts in this process is its own business: see `Person::new`.
        let Some(actor) = person.actor else { return Ok(Confirmation::none(Confirmed::NotRequired)) };
        if !self.requires_passkey(person).await? {
            return Ok(Confirmation::none(Confirmed::NotRequired));
        }
        if needs_passkey(act).is_none() {
            return Ok(Confirmation::none(Confirmed::Missing));
        }
        let used = self.inner.journal.use_confirmation(actor.device_id, &hash(purpose)).await?;
        let confirmed = used.as_ref().map_or(Confirmed::Missing, |used| Confirmed::By(used.passkey));
        Ok(Confirmation { confirmed, used })
    }

    /// What an act came to. If it was not written, what confirmed it is good for another try.
    pub(crate) async fn after_confirmation<T>(
        &self,
        confirmation: Confirmation,
        result: Result<T, GatewayError>,
    ) -> Result<T, GatewayError> {
        if let (Some(used), Err(error)) = (confirmation.used, &result)
            && error.wrote_nothing()
            && let Err(error) = self.inner.journal.give_confirmation_back(&used).await
        {
            // The person is asked for a passkey once more.
            tracing::warn!(%error, "a confirmation is used up, and its act was not written");
        }
        result
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

fn hash(purpose: &Digest) -> [u8; 32] {
    Sha256::digest(purpose.as_str()).into()
}

fn change(purpose: &PasskeyPurpose) -> Digest {
    digest(&json!(["change", purpose]))
}
