//! Rows that let somebody in carry a mark that only a gateway with its key can make: whoever can write the database and
//! has no key can let nobody in.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use holdstead_protocol::IdentifiedBy;

use crate::people_rows::{identified_by_name, kind_name};
use crate::{
    ConfirmationRecord, DeviceRecord, LoginLinkRecord, PasskeyRecord, PasskeyRule, PersonRecord, TicketRecord,
};

/// The key that marks rows. It is never shown.
#[derive(Clone)]
pub struct Guard([u8; 32]);

impl std::fmt::Debug for Guard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Guard")
    }
}

/// What becomes of rows without a mark when a guard is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmarked {
    /// They let nobody in.
    Refused,
    /// They are of the time before there were marks, and are marked now.
    TakenOver,
}

pub(crate) type Mark = [u8; 32];

impl Guard {
    pub const fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    pub(crate) fn person(&self, person: &PersonRecord) -> Mark {
        let (id, owner) = (person.id.uuid(), person.owner.to_string());
        let mut parts: Vec<&[u8]> = vec![
            b"person",
            id.as_bytes(),
            owner.as_bytes(),
            person.name.as_bytes(),
            person.handle.as_bytes(),
            person.role.as_str().as_bytes(),
        ];
        match person.passkey_rule {
            // As rows were marked before there were passkeys.
            PasskeyRule::NotRequired => {}
            PasskeyRule::Required => parts.push(b"passkey"),
        }
        self.mark(&parts)
    }

    /// Not when it was used last, nor how often.
    pub(crate) fn passkey(&self, passkey: &PasskeyRecord) -> Mark {
        self.mark(&[
            b"passkey",
            passkey.id.uuid().as_bytes(),
            passkey.person.uuid().as_bytes(),
            &passkey.credential,
            &passkey.public_key,
            passkey.site.as_bytes(),
        ])
    }

    /// Not when it was used last, nor that it was revoked: what is revoked has no mark at all.
    pub(crate) fn device(&self, device: &DeviceRecord) -> Mark {
        let session = device.session.map(|session| session.uuid().into_bytes());
        let expires = device.expires_at.map(|at| at.micros().to_be_bytes());
        let (id, person) = (device.id.uuid(), device.person.uuid());
        let mut parts: Vec<&[u8]> = vec![
            b"device",
            id.as_bytes(),
            person.as_bytes(),
            &device.hash,
            kind_name(device.kind).as_bytes(),
            session.as_ref().map_or(&[], <[u8; 16]>::as_slice),
            expires.as_ref().map_or(&[], <[u8; 8]>::as_slice),
        ];
        match device.identified_by {
            // As rows were marked before browsers had keys.
            IdentifiedBy::Token => {}
            IdentifiedBy::Key | IdentifiedBy::Bearer => {
                parts.push(identified_by_name(device.identified_by).as_bytes());
            }
        }
        self.mark(&parts)
    }

    pub(crate) fn confirmation(&self, confirmation: &ConfirmationRecord) -> Mark {
        self.mark(&[
            b"confirmation",
            &confirmation.challenge,
            confirmation.device.uuid().as_bytes(),
            &confirmation.purpose,
            confirmation.passkey.uuid().as_bytes(),
            &confirmation.expires_at.micros().to_be_bytes(),
        ])
    }

    pub(crate) fn link(&self, link: &LoginLinkRecord) -> Mark {
        let expires = link.expires_at.micros().to_be_bytes();
        self.mark(&[b"link", &link.hash, link.person.uuid().as_bytes(), &expires])
    }

    pub(crate) fn ticket(&self, ticket: &TicketRecord) -> Mark {
        self.mark(&[b"ticket", &ticket.hash, &ticket.token, &ticket.expires_at.micros().to_be_bytes()])
    }

    /// Each part behind its length, so that no two lists of parts are the same bytes.
    fn mark(&self, parts: &[&[u8]]) -> Mark {
        // HMAC takes keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return [0; 32] };
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}
