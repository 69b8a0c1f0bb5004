//! Who may do what: facts of a person, in plain tables.

use holdstead_protocol::{SessionId, api::Role};
use sha2::{Digest as _, Sha256};

use crate::db::{Db, Param, Row};
use crate::{LinkUse, LoginLinkRecord, StoreError, TicketRecord, TokenRecord, decode, sql};

/// What is stored of a token or a link: never its secret.
pub fn token_hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

pub(crate) async fn add(db: &dyn Db, token: TokenRecord) -> Result<(), StoreError> {
    let params = vec![
        Param::Bytes(token.hash.to_vec()),
        Param::Text(token.owner.to_string()),
        Param::Text(role_name(token.role).to_owned()),
        Param::Text(token.name),
        Param::MaybeId(token.session.map(SessionId::uuid)),
        Param::Int(token.created_at.micros()),
        Param::MaybeInt(token.expires_at.map(|at| at.micros())),
        Param::MaybeInt(token.revoked_at.map(|at| at.micros())),
    ];
    db.execute(sql::ADD_TOKEN, params).await.map(|_| ())
}

pub(crate) async fn find(db: &dyn Db, hash: &[u8; 32]) -> Result<Option<TokenRecord>, StoreError> {
    let rows = db.query(sql::TOKEN, vec![Param::Bytes(hash.to_vec())]).await?;
    rows.first().map(token).transpose()
}

pub(crate) async fn revoke(db: &dyn Db, hash: &[u8; 32]) -> Result<bool, StoreError> {
    let now = db.now().await?;
    let params = vec![Param::Bytes(hash.to_vec()), Param::Int(now.micros())];
    Ok(!db.execute(sql::REVOKE_TOKEN, params).await?.is_empty())
}

pub(crate) async fn add_link(db: &dyn Db, link: LoginLinkRecord) -> Result<(), StoreError> {
    let params = vec![
        Param::Bytes(link.hash.to_vec()),
        Param::Text(link.owner.to_string()),
        Param::Text(link.name),
        Param::Int(link.expires_at.micros()),
    ];
    db.execute(sql::ADD_LINK, params).await.map(|_| ())
}

pub(crate) async fn use_link(db: &dyn Db, hash: &[u8; 32]) -> Result<LinkUse, StoreError> {
    // Looked for first: guessing costs no write.
    if db.query(sql::LINK, vec![Param::Bytes(hash.to_vec())]).await?.is_empty() {
        return Ok(LinkUse::Unknown);
    }
    let now = db.now().await?;
    let params = vec![Param::Bytes(hash.to_vec()), Param::Int(now.micros())];
    if let Some(row) = db.execute(sql::USE_LINK, params).await?.first() {
        return Ok(LinkUse::Ok { owner: decode::owner(row)?, name: row.text("name")? });
    }
    let rows = db.query(sql::LINK, vec![Param::Bytes(hash.to_vec())]).await?;
    let Some(row) = rows.first() else { return Ok(LinkUse::Unknown) };
    Ok(match decode::maybe_moment(row, "used_at")? {
        Some(used_at) => LinkUse::UsedAt(used_at),
        None => LinkUse::Expired(decode::moment(row, "expires_at")?),
    })
}

pub(crate) async fn add_ticket(db: &dyn Db, ticket: TicketRecord) -> Result<(), StoreError> {
    let now = db.now().await?;
    db.execute(sql::DROP_OLD_TICKETS, vec![Param::Int(now.micros())]).await?;
    let params = vec![
        Param::Bytes(ticket.hash.to_vec()),
        Param::Bytes(ticket.token.to_vec()),
        Param::Int(ticket.expires_at.micros()),
    ];
    db.execute(sql::ADD_TICKET, params).await.map(|_| ())
}

pub(crate) async fn use_ticket(db: &dyn Db, hash: &[u8; 32]) -> Result<Option<[u8; 32]>, StoreError> {
    let now = db.now().await?;
    let params = vec![Param::Bytes(hash.to_vec()), Param::Int(now.micros())];
    // Looked for first: guessing costs no write.
    if db.query(sql::TICKET, params.clone()).await?.is_empty() {
        return Ok(None);
    }
    let used = db.execute(sql::USE_TICKET, params).await?;
    used.first().map(|row| decode::hash(row, "token")).transpose()
}

fn token(row: &Row) -> Result<TokenRecord, StoreError> {
    let name = row.text("role")?;
    let role = ROLES.into_iter().find(|role| role_name(*role) == name);
    Ok(TokenRecord {
        hash: decode::hash(row, "hash")?,
        owner: decode::owner(row)?,
        role: role.ok_or_else(|| StoreError::corrupt(format!("`{name}` is no role")))?,
        name: row.text("name")?,
        session: row.maybe_id("session_id")?.map(SessionId::from_uuid),
        created_at: decode::moment(row, "created_at")?,
        expires_at: decode::maybe_moment(row, "expires_at")?,
        revoked_at: decode::maybe_moment(row, "revoked_at")?,
    })
}

const ROLES: [Role; 5] = [Role::Person, Role::Viewer, Role::Agent, Role::Runner, Role::Admin];

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Person => "person",
        Role::Viewer => "viewer",
        Role::Agent => "agent",
        Role::Runner => "runner",
        Role::Admin => "admin",
    }
}
