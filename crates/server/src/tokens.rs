//! Tokens of devices, and the links and tickets that work once. Only a hash of each is ever stored.

use std::time::Duration;

use holdstead_core::{BadName, handle_of, person_name};
use holdstead_gateway::BROWSER_LIFETIME;
use holdstead_protocol::api::{LoginLink, Role, Ticket};
use holdstead_protocol::{DeviceId, DeviceKind, OwnerId, PersonId, SessionId, Timestamp};
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

/// Makes the token of the browser that a link logs in.
pub(crate) async fn issue_browser_token(
    journal: &dyn Journal,
    code: &str,
    person: PersonId,
    name: &str,
) -> Result<String, StoreError> {
    let secret = secret_of_link(code);
    let expires_at = Some(journal.now().await?.after(BROWSER_LIFETIME));
    let device = NewDevice { kind: DeviceKind::Browser, name, session: None, expires_at };
    register(journal, &secret, person, device).await?;
    Ok(secret)
}

/// Makes a ticket that opens one socket for the token with this hash.
pub(crate) async fn issue_ticket(journal: &dyn Journal, token: [u8; 32]) -> Result<Ticket, StoreError> {
    let ticket = secret("");
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

/// The secret for the browser that a link logs in: random, and bound to the link. The link does not tell it, and it tells
/// whether it came of the link.
fn secret_of_link(code: &str) -> String {
    let random: [u8; 32] = rand::random();
    bound(&hex(&random), code)
}

/// Whether this secret was made for the browser that this link logged in.
pub(crate) fn comes_of(secret: &str, code: &str) -> bool {
    let random = secret.strip_prefix("hs_").and_then(|rest| rest.get(..64));
    random.is_some_and(|random| bound(random, code) == secret)
}

fn bound(random: &str, code: &str) -> String {
    format!("hs_{random}{}", hex(&token_hash(&format!("browser {random} {code}"))[..8]))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browsers_secret_is_random_and_tells_the_link_it_came_of() {
        let one = secret_of_link("code");
        assert_ne!(one, secret_of_link("code"));
        assert!(comes_of(&one, "code"));
        assert!(!comes_of(&one, "other") && !comes_of("hs_é", "code") && !comes_of("", "code"));
        assert!(!comes_of(&secret("hs_"), "code"));
    }
}
