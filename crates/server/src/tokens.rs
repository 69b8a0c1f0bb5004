//! Tokens of devices, and the links and tickets that work once. Only a hash of each is ever stored.

use std::time::Duration;

use holdstead_core::{BadName, handle_of, person_name};
use holdstead_gateway::{BROWSER_LIFETIME, Gateway};
use holdstead_protocol::api::{LoginLink, Role, Ticket};
use holdstead_protocol::{DeviceId, DeviceKind, IdentifiedBy, OwnerId, PersonId, SessionId, Timestamp};
use holdstead_store::{
    DeviceRecord, Journal, LoginLinkRecord, PasskeyRule, PersonRecord, StoreError, TicketRecord, token_hash,
};

/// How long a link can be used.
pub const LINK_LIFETIME: Duration = Duration::from_secs(600);
/// How long a ticket can be used: a page opens its socket at once.
const TICKET_LIFETIME: Duration = Duration::from_secs(30);

/// Why somebody is given no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("{0}")]
    Name(#[from] BadName),
    #[error("The name {name} belongs to {}.", who(*role))]
    Taken { name: String, role: Role },
    #[error("{name} was removed. The name stays theirs: take another one.")]
    Removed { name: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

const fn who(role: Role) -> &'static str {
    match role {
        Role::Person => "a person",
        Role::Viewer => "a viewer",
        Role::Agent => "an agent",
        Role::Runner => "a runner",
        Role::Metrics => "a program that reads metrics",
        Role::Admin => "an admin",
    }
}

/// What a device is, and how long its token is good.
#[derive(Debug, Clone, Copy)]
pub struct NewDevice<'a> {
    pub kind: DeviceKind,
    pub name: &'a str,
    /// The one session that an agent's token is good for.
    pub session: Option<SessionId>,
    pub expires_at: Option<Timestamp>,
}

impl NewDevice<'static> {
    /// A token that is good until it is revoked.
    pub const TOKEN: Self = Self { kind: DeviceKind::Token, name: "Token", session: None, expires_at: None };
}

/// The person or program of this name; made, if there is none. Nobody gets somebody else's name.
pub async fn named(
    journal: &dyn Journal,
    owner: &OwnerId,
    role: Role,
    name: &str,
) -> Result<PersonRecord, TokenError> {
    let name = person_name(name)?;
    let wanted = PersonRecord {
        id: PersonId::generate(),
        owner: owner.clone(),
        handle: handle_of(&name),
        name,
        role,
        passkey_rule: PasskeyRule::NotRequired,
        created_at: journal.now().await?,
        removed_at: None,
    };
    let found = journal.add_person(wanted).await?;
    match found.removed_at {
        Some(_) => Err(TokenError::Removed { name: found.name }),
        None if found.role != role => Err(TokenError::Taken { name: found.name, role: found.role }),
        None => Ok(found),
    }
}

/// Makes a token for the person or program of this name; its secret is returned and kept nowhere.
pub async fn issue_token(
    journal: &dyn Journal,
    owner: &OwnerId,
    role: Role,
    name: &str,
    session: Option<SessionId>,
) -> Result<String, TokenError> {
    let person = named(journal, owner, role, name).await?;
    let device = NewDevice { session, ..NewDevice::TOKEN };
    Ok(add_device(journal, person.id, device).await?.1)
}

/// Gives a person another device, with a secret that is returned and kept nowhere.
pub async fn add_device(
    journal: &dyn Journal,
    person: PersonId,
    device: NewDevice<'_>,
) -> Result<(DeviceId, String), StoreError> {
    let secret = secret("hs_");
    Ok((register(journal, &secret, person, device).await?, secret))
}

/// Makes a secret that exists already the token of a person's device.
pub async fn register(
    journal: &dyn Journal,
    secret: &str,
    person: PersonId,
    device: NewDevice<'_>,
) -> Result<DeviceId, StoreError> {
    let id = DeviceId::generate();
    let record = DeviceRecord {
        id,
        person,
        hash: token_hash(secret),
        kind: device.kind,
        identified_by: IdentifiedBy::Token,
        name: device.name.to_owned(),
        session: device.session,
        created_at: journal.now().await?,
        last_used_at: None,
        expires_at: device.expires_at,
        revoked_at: None,
    };
    journal.add_device(record).await?;
    Ok(id)
}

/// Makes a browser that a link logged in one of this person's devices. The hash is of its key or of its token.
pub(crate) async fn add_browser(
    journal: &dyn Journal,
    person: PersonId,
    name: &str,
    hash: [u8; 32],
    identified_by: IdentifiedBy,
) -> Result<(), StoreError> {
    let created_at = journal.now().await?;
    let record = DeviceRecord {
        id: DeviceId::generate(),
        person,
        hash,
        kind: DeviceKind::Browser,
        identified_by,
        name: name.to_owned(),
        session: None,
        created_at,
        last_used_at: None,
        expires_at: Some(created_at.after(BROWSER_LIFETIME)),
        revoked_at: None,
    };
    journal.add_device(record).await
}

/// A token for a browser that cannot sign. It works under one address: see `holdstead_store::bearer_hash`.
pub(crate) fn browser_bearer() -> String {
    secret(BROWSER_BEARER)
}

/// What such a token begins with.
pub(crate) const BROWSER_BEARER: &str = "hsb_";

/// Makes a ticket that opens one socket for the device with this hash. The nonce in it counts while this process runs.
pub(crate) async fn issue_ticket(gateway: &Gateway, token: [u8; 32]) -> Result<Ticket, StoreError> {
    let journal = gateway.journal();
    let ticket = format!("{}.{}", secret(""), gateway.nonce());
    let expires_at = journal.now().await?.after(TICKET_LIFETIME);
    journal.add_ticket(TicketRecord { hash: token_hash(&ticket), token, expires_at }).await?;
    Ok(Ticket { ticket, expires_at })
}

/// Makes a link that logs a browser of this person in, once, for a while.
pub async fn issue_link(journal: &dyn Journal, person: PersonId) -> Result<LoginLink, StoreError> {
    let code = secret("");
    let expires_at = journal.now().await?.after(LINK_LIFETIME);
    journal.add_login_link(LoginLinkRecord { hash: token_hash(&code), person, expires_at }).await?;
    Ok(LoginLink { code, expires_at })
}

/// 256 bits from the operating system's generator.
fn secret(prefix: &str) -> String {
    let bytes: [u8; 32] = rand::random();
    format!("{prefix}{}", hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
