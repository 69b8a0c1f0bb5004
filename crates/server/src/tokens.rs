//! Tokens, and the links and tickets that work once. Only a hash of each is ever stored.

use std::time::Duration;

use holdstead_protocol::api::{LoginLink, Role, Ticket};
use holdstead_protocol::{OwnerId, SessionId, Timestamp};
use holdstead_store::{Journal, LoginLinkRecord, StoreError, TicketRecord, TokenRecord, token_hash};

/// How long a link can be used.
pub const LINK_LIFETIME: Duration = Duration::from_secs(600);
/// How long a browser stays logged in.
const BROWSER_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How long a ticket can be used: a page opens its socket at once.
const TICKET_LIFETIME: Duration = Duration::from_secs(30);

/// Makes a token; its secret is returned and kept nowhere.
pub async fn issue_token(
    journal: &dyn Journal,
    owner: &OwnerId,
    role: Role,
    name: &str,
    session: Option<SessionId>,
) -> Result<String, StoreError> {
    let secret = secret("hs_");
    register_token(journal, &secret, owner, role, name, session).await?;
    Ok(secret)
}

/// Makes a secret that exists already valid, if this journal does not know it.
pub async fn register_token(
    journal: &dyn Journal,
    secret: &str,
    owner: &OwnerId,
    role: Role,
    name: &str,
    session: Option<SessionId>,
) -> Result<(), StoreError> {
    if journal.token(&token_hash(secret)).await?.is_some() {
        return Ok(());
    }
    journal.add_token(record(secret, owner, role, name, session, journal.now().await?)).await
}

/// Makes the token of the browser that a link logs in.
pub(crate) async fn issue_browser_token(
    journal: &dyn Journal,
    code: &str,
    owner: &OwnerId,
    name: &str,
) -> Result<String, StoreError> {
    let secret = secret_of_link(code);
    let token = record(&secret, owner, Role::Person, name, None, journal.now().await?);
    let expires_at = Some(token.created_at.after(BROWSER_LIFETIME));
    journal.add_token(TokenRecord { expires_at, ..token }).await?;
    Ok(secret)
}

fn record(
    secret: &str,
    owner: &OwnerId,
    role: Role,
    name: &str,
    session: Option<SessionId>,
    created_at: Timestamp,
) -> TokenRecord {
    TokenRecord {
        hash: token_hash(secret),
        owner: owner.clone(),
        role,
        name: name.to_owned(),
        session,
        created_at,
        expires_at: None,
        revoked_at: None,
    }
}

/// Makes a ticket that opens one socket for the token with this hash.
pub(crate) async fn issue_ticket(journal: &dyn Journal, token: [u8; 32]) -> Result<Ticket, StoreError> {
    let ticket = secret("");
    let expires_at = journal.now().await?.after(TICKET_LIFETIME);
    journal.add_ticket(TicketRecord { hash: token_hash(&ticket), token, expires_at }).await?;
    Ok(Ticket { ticket, expires_at })
}

/// Makes a link that works once, for a while.
pub async fn issue_link(journal: &dyn Journal, owner: &OwnerId, name: &str) -> Result<LoginLink, StoreError> {
    let code = secret("");
    let expires_at = journal.now().await?.after(LINK_LIFETIME);
    let record =
        LoginLinkRecord { hash: token_hash(&code), owner: owner.clone(), name: name.to_owned(), expires_at };
    journal.add_login_link(record).await?;
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
