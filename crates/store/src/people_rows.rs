//! Rows of people, devices, links and tickets, read.

use holdstead_protocol::api::Role;
use holdstead_protocol::{DeviceId, DeviceKind, IdentifiedBy, PasskeyId, PersonId, SessionId};

use crate::db::Row;
use crate::{
    ConfirmationRecord, DeviceRecord, LoginLinkRecord, PasskeyRecord, PasskeyRule, PersonRecord, StoreError,
    TicketRecord, decode,
};

pub(crate) fn to_link(row: &Row) -> Result<LoginLinkRecord, StoreError> {
    Ok(LoginLinkRecord {
        hash: decode::hash(row, "hash")?,
        person: PersonId::from_uuid(row.id("person_id")?),
        expires_at: decode::moment(row, "expires_at")?,
    })
}

pub(crate) fn to_ticket(row: &Row) -> Result<TicketRecord, StoreError> {
    Ok(TicketRecord {
        hash: decode::hash(row, "hash")?,
        token: decode::hash(row, "token")?,
        expires_at: decode::moment(row, "expires_at")?,
    })
}

pub(crate) fn to_person(row: &Row) -> Result<PersonRecord, StoreError> {
    Ok(PersonRecord {
        id: PersonId::from_uuid(row.id("person_id")?),
        owner: decode::owner(row)?,
        name: row.text("person_name")?,
        handle: row.text("handle")?,
        role: named(&row.text("role")?, &Role::ALL, Role::as_str)?,
        passkey_rule: match row.int("passkey_required")? {
            0 => PasskeyRule::NotRequired,
            _ => PasskeyRule::Required,
        },
        created_at: decode::moment(row, "person_created_at")?,
        removed_at: decode::maybe_moment(row, "removed_at")?,
    })
}

pub(crate) fn to_device(row: &Row) -> Result<DeviceRecord, StoreError> {
    Ok(DeviceRecord {
        id: DeviceId::from_uuid(row.id("id")?),
        person: PersonId::from_uuid(row.id("person_id")?),
        hash: decode::hash(row, "hash")?,
        kind: named(&row.text("kind")?, &KINDS, kind_name)?,
        identified_by: named(&row.text("identified_by")?, &WAYS, identified_by_name)?,
        name: row.text("name")?,
        session: row.maybe_id("session_id")?.map(SessionId::from_uuid),
        created_at: decode::moment(row, "created_at")?,
        last_used_at: decode::maybe_moment(row, "last_used_at")?,
        expires_at: decode::maybe_moment(row, "expires_at")?,
        revoked_at: decode::maybe_moment(row, "revoked_at")?,
    })
}

pub(crate) fn to_passkey(row: &Row) -> Result<PasskeyRecord, StoreError> {
    let count = row.int("count")?;
    Ok(PasskeyRecord {
        id: PasskeyId::from_uuid(row.id("id")?),
        person: PersonId::from_uuid(row.id("person_id")?),
        credential: row.bytes("credential")?,
        public_key: row.bytes("public_key")?,
        site: row.text("site")?,
        name: row.text("name")?,
        count: u32::try_from(count)
            .map_err(|_| StoreError::corrupt(format!("a passkey was used {count} times")))?,
        created_at: decode::moment(row, "created_at")?,
        last_used_at: decode::maybe_moment(row, "last_used_at")?,
    })
}

fn named<T: Copy>(name: &str, all: &[T], name_of: fn(T) -> &'static str) -> Result<T, StoreError> {
    let found = all.iter().copied().find(|one| name_of(*one) == name);
    found.ok_or_else(|| StoreError::corrupt(format!("`{name}` is neither a role nor a kind of device")))
}

pub(crate) fn to_confirmation(row: &Row) -> Result<ConfirmationRecord, StoreError> {
    Ok(ConfirmationRecord {
        challenge: decode::hash(row, "challenge")?,
        device: DeviceId::from_uuid(row.id("device_id")?),
        purpose: decode::hash(row, "purpose")?,
        passkey: PasskeyId::from_uuid(row.id("passkey_id")?),
        expires_at: decode::moment(row, "expires_at")?,
    })
}

const KINDS: [DeviceKind; 3] = [DeviceKind::Browser, DeviceKind::Terminal, DeviceKind::Token];

const WAYS: [IdentifiedBy; 3] = [IdentifiedBy::Key, IdentifiedBy::Bearer, IdentifiedBy::Token];

pub(crate) const fn identified_by_name(way: IdentifiedBy) -> &'static str {
    match way {
        IdentifiedBy::Key => "key",
        IdentifiedBy::Bearer => "bearer",
        IdentifiedBy::Token => "token",
    }
}

pub(crate) const fn kind_name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Browser => "browser",
        DeviceKind::Terminal => "terminal",
        DeviceKind::Token => "token",
    }
}
