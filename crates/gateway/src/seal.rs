//! Seals secret answers with a key that is not in the database.

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use holdstead_core::Secrets;
use holdstead_protocol::{InteractionId, PromptId};
use holdstead_store::Guard;
use sha2::Sha256;

/// What a key file begins with, so that nobody takes one key for another.
const PREFIX: &str = "holdstead-secrets-key-";
const NONCE: usize = 24;

/// The key. Whoever has it and the database can read the secrets that are on their way.
#[derive(Clone)]
pub struct SecretsKey([u8; 32]);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a key for secrets: it starts with `{PREFIX}` and has 64 digits")]
pub struct SecretsKeyError;

impl std::fmt::Debug for SecretsKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SecretsKey")
    }
}

impl SecretsKey {
    pub fn generate() -> Self {
        Self(rand::random())
    }

    pub fn from_secret_text(text: &str) -> Result<Self, SecretsKeyError> {
        let digits =
            text.trim().strip_prefix(PREFIX).filter(|digits| digits.len() == 64 && digits.is_ascii());
        let digits = digits.ok_or(SecretsKeyError)?;
        let mut key = [0; 32];
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).map_err(|_| SecretsKeyError)?;
        }
        Ok(Self(key))
    }

    /// For the key's file, and no other place.
    pub fn to_secret_text(&self) -> String {
        PREFIX.to_owned() + &hex(&self.0)
    }

    pub(crate) fn seal(&self, ask: InteractionId, prompt: PromptId, secrets: &Secrets) -> Option<Vec<u8>> {
        let nonce: [u8; NONCE] = rand::random();
        let plain = serde_json::to_vec(secrets).ok()?;
        let payload = Payload { msg: &plain, aad: &bound_to(ask, prompt) };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload).ok()?;
        Some([nonce.as_slice(), &sealed].concat())
    }

    /// Nothing, if it was sealed with another key, for another prompt, or was changed.
    pub(crate) fn open(&self, ask: InteractionId, prompt: PromptId, sealed: &[u8]) -> Option<Secrets> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: sealed, aad: &bound_to(ask, prompt) };
        let plain = self.cipher().decrypt(&XNonce::from(*nonce), payload).ok()?;
        serde_json::from_slice(&plain).ok()
    }

    /// Tells whether two answers to a prompt have the same secrets, to whoever has the key.
    pub(crate) fn mac(&self, ask: InteractionId, prompt: PromptId, secrets: &Secrets) -> Option<String> {
        let plain = serde_json::to_vec(secrets).ok()?;
        Some(hex(&self.derive(b"mac", &[&bound_to(ask, prompt), &plain])))
    }

    /// What an agent proves with that it is this life of this session's agent.
    pub(crate) fn agent_token(&self, life: &str) -> String {
        format!("hs_{}", hex(&self.derive(b"token", &[life.as_bytes()])))
    }

    /// Tells this key from others, and nothing else about it.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.derive(b"fingerprint", &[])
    }

    /// Shows that a node of this deployment issued a nonce.
    pub(crate) fn nonce_mark(&self, named: &[u8]) -> [u8; 32] {
        self.derive(b"nonce", &[named])
    }

    pub(crate) fn is_nonce_mark(&self, named: &[u8], mark: &[u8]) -> bool {
        self.mac_of(b"nonce", &[named]).is_some_and(|mac| mac.verify_slice(mark).is_ok())
    }

    /// Shows that a node of this deployment asked a passkey this.
    pub(crate) fn challenge_mark(&self, actor: &[u8; 32], question: &[u8]) -> [u8; 32] {
        self.derive(b"challenge", &[actor, question])
    }

    pub(crate) fn is_challenge_mark(&self, actor: &[u8; 32], question: &[u8], mark: &[u8]) -> bool {
        self.mac_of(b"challenge", &[actor, question]).is_some_and(|mac| mac.verify_slice(mark).is_ok())
    }

    /// What rows that let somebody in are marked with.
    pub fn guard(&self) -> Guard {
        Guard::new(self.derive(b"rows", &[]))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.derive(b"seal", &[]).into())
    }

    /// A key or a mark for one purpose. No purpose is the beginning of another, and ids have a fixed length.
    fn derive(&self, purpose: &[u8], parts: &[&[u8]]) -> [u8; 32] {
        self.mac_of(purpose, parts).map_or([0; 32], |mac| mac.finalize().into_bytes().into())
    }

    /// HMAC takes keys of any length, so there always is one.
    fn mac_of(&self, purpose: &[u8], parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(purpose);
        for part in parts {
            mac.update(part);
        }
        Some(mac)
    }
}

fn bound_to(ask: InteractionId, prompt: PromptId) -> Vec<u8> {
    [ask.uuid().as_bytes().as_slice(), prompt.uuid().as_bytes()].concat()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdstead_protocol::{OwnerId, SessionId};

    #[test]
    fn only_the_same_key_and_the_same_prompt_open_it() {
        let owner = OwnerId::new("ada").unwrap();
        let ask = InteractionId::derive(SessionId::generate(&owner), "call");
        let (prompt, other_prompt) = (PromptId::generate(), PromptId::generate());
        let key = SecretsKey::generate();
        let secrets = Secrets::from([("pin".to_owned(), "hunter2".to_owned())]);
        let sealed = key.seal(ask, prompt, &secrets).unwrap();
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"));
        let same = SecretsKey::from_secret_text(&key.to_secret_text()).unwrap();
        assert_eq!(same.open(ask, prompt, &sealed), Some(secrets.clone()));
        assert_eq!(SecretsKey::generate().open(ask, prompt, &sealed), None);
        assert_eq!(key.open(ask, other_prompt, &sealed), None);
        let mut changed = sealed;
        changed[30] ^= 1;
        assert_eq!(key.open(ask, prompt, &changed), None);
        assert_eq!(key.open(ask, prompt, &[1, 2]), None);
        assert_eq!(key.mac(ask, prompt, &secrets), same.mac(ask, prompt, &secrets));
        assert_ne!(key.mac(ask, prompt, &secrets), key.mac(ask, other_prompt, &secrets));
        assert_ne!(key.mac(ask, prompt, &secrets), SecretsKey::generate().mac(ask, prompt, &secrets));
        assert!(SecretsKey::from_secret_text("holdstead-audit-secret-00").is_err());
    }
}
