//! Who may do what: people, their devices, and the links and tickets that work once. Plain tables, no journal.

use std::fmt::Debug;

use async_trait::async_trait;
use holdstead_protocol::api::Role;
use holdstead_protocol::{DeviceId, IdentifiedBy, OwnerId, PasskeyId, PersonId, SessionId, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::db::{Db, Param, Row, Snapshot};
use crate::guard::{Guard, Mark, Unmarked};
use crate::people_rows::{
    identified_by_name, kind_name, to_confirmation, to_device, to_link, to_passkey, to_person, to_ticket,
};
use crate::store::Store;
use crate::{
    ConfirmationRecord, DeviceRecord, LinkUse, LoginLinkRecord, PasskeyRecord, PasskeyRule, PersonRecord,
    StoreError, TicketRecord, decode, sql,
};

/// Counts the changes that open connections must hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(i64);

/// Remembers who may do what.
#[async_trait]
pub trait People: Send + Sync + Debug {
    /// Adds a person, unless somebody has the handle already. Returns who has it now.
    async fn add_person(&self, person: PersonRecord) -> Result<PersonRecord, StoreError>;

    async fn person(&self, id: PersonId) -> Result<Option<PersonRecord>, StoreError>;

    /// All of them, also those who were removed.
    async fn people(&self, owner: &OwnerId) -> Result<Vec<PersonRecord>, StoreError>;

    /// `false`: there is no such person, or they have the role.
    async fn change_role(&self, id: PersonId, role: Role) -> Result<bool, StoreError>;

    /// Removes a person with all devices. The name stays theirs.
    async fn remove_person(&self, id: PersonId) -> Result<bool, StoreError>;

    async fn add_device(&self, device: DeviceRecord) -> Result<(), StoreError>;

    /// The device with this secret, by its hash, and whose it is. Also one that was revoked or is too old.
    async fn device_by_hash(
        &self,
        hash: &[u8; 32],
    ) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError>;

    async fn device(&self, id: DeviceId) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError>;

    /// Those that were not revoked, the oldest first.
    async fn devices(&self, person: PersonId) -> Result<Vec<DeviceRecord>, StoreError>;

    /// It was used now, and from now on expires then, if that is said.
    async fn use_device(&self, id: DeviceId, expires_at: Option<Timestamp>) -> Result<(), StoreError>;

    /// A device with the first hash has the second one from now on, stays good until then, and keeps all else. `None`: no device
    /// that is good has the first one.
    async fn exchange_device(
        &self,
        old: &[u8; 32],
        new: &[u8; 32],
        identified_by: IdentifiedBy,
        expires_at: Timestamp,
    ) -> Result<Option<DeviceId>, StoreError>;

    /// `false`: there is no such device, or it was revoked before.
    async fn revoke_device(&self, id: DeviceId) -> Result<bool, StoreError>;

    /// All devices of a person. Returns how many were good until now.
    async fn revoke_devices(&self, person: PersonId) -> Result<usize, StoreError>;

    /// Where the changes that open connections must hear of have got to.
    async fn revision(&self) -> Result<Revision, StoreError>;

    /// The devices that were revoked, or whose person was given another role, behind that revision.
    async fn changed_devices(&self, after: Revision) -> Result<Vec<DeviceId>, StoreError>;

    async fn add_login_link(&self, link: LoginLinkRecord) -> Result<(), StoreError>;

    /// Uses a link up. Of many who try at once, one gets in.
    async fn use_login_link(&self, hash: &[u8; 32]) -> Result<LinkUse, StoreError>;

    async fn add_ticket(&self, ticket: TicketRecord) -> Result<(), StoreError>;

    /// Uses a ticket up, and returns the hash of the token that it stands for. `None`: it is unknown, old, or was used.
    async fn use_ticket(&self, hash: &[u8; 32]) -> Result<Option<[u8; 32]>, StoreError>;

    async fn add_passkey(&self, passkey: PasskeyRecord) -> Result<(), StoreError>;

    /// The oldest first.
    async fn passkeys(&self, person: PersonId) -> Result<Vec<PasskeyRecord>, StoreError>;

    /// It was used now, and says how often. `false`: another answer said as much before, so this one may be from a copy.
    async fn use_passkey(&self, id: PasskeyId, count: u32) -> Result<bool, StoreError>;

    /// Notes what a passkey confirmed. `false`: the challenge was answered before.
    async fn add_confirmation(&self, confirmation: ConfirmationRecord) -> Result<bool, StoreError>;

    /// Uses up what was confirmed for this purpose on this device, and returns it. Of many who try at once, one gets it.
    async fn use_confirmation(
        &self,
        device: DeviceId,
        purpose: &[u8; 32],
    ) -> Result<Option<ConfirmationRecord>, StoreError>;

    /// Makes a confirmation good again that was used up for an act which was not written.
    async fn give_confirmation_back(&self, used: &ConfirmationRecord) -> Result<(), StoreError>;

    /// With the last one, none is required any longer: nothing could be confirmed. `false`: the person has no such passkey.
    async fn remove_passkey(&self, person: PersonId, id: PasskeyId) -> Result<bool, StoreError>;

    /// `false`: there is no such person, or a passkey is to be required of a person who has none.
    async fn set_passkey_rule(&self, person: PersonId, rule: PasskeyRule) -> Result<bool, StoreError>;

    /// From now on rows are written with this guard's mark, and rows without it let nobody in. The first one stays.
    async fn guard_with(&self, guard: Guard, unmarked: Unmarked) -> Result<(), StoreError>;

    /// Who would get in by a row that nobody with the key wrote, in words. Nothing without a guard.
    async fn audit_people(&self) -> Result<Vec<String>, StoreError>;
}

/// What is stored of a token, a link or a ticket: never its secret.
pub fn token_hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// What is stored of a browser's public key. No token has it: the bytes that are hashed begin with one that no token has.
pub fn key_hash(public_key: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(b"\0holdstead key 1").chain_update(public_key).finalize().into()
}

/// What is stored of a token that works under one address only, as `192.168.1.20:4780`.
pub fn bearer_hash(host: &str, token: &str) -> [u8; 32] {
    let hash = Sha256::new().chain_update(b"\x01holdstead bearer 1").chain_update(host.to_ascii_lowercase());
    hash.chain_update(b"\0").chain_update(token).finalize().into()
}

#[async_trait]
impl<D: Db + 'static> People for Store<D> {
    async fn add_person(&self, person: PersonRecord) -> Result<PersonRecord, StoreError> {
        let handle = vec![Param::Text(person.owner.to_string()), Param::Text(person.handle.clone())];
        let params = vec![
            Param::Id(person.id.uuid()),
            Param::Text(person.owner.to_string()),
            Param::Text(person.name.clone()),
            Param::Text(person.handle.clone()),
            Param::Text(person.role.as_str().to_owned()),
            Param::Int(person.created_at.micros()),
            self.mark(|guard| guard.person(&person)),
        ];
        self.db.execute(sql::ADD_PERSON, params).await?;
        let rows = self.db.query(sql::PERSON_BY_HANDLE, handle).await?;
        let Some(row) = rows.first() else { return Ok(person) };
        let name = &person.name;
        self.known_person(row)?.ok_or_else(|| {
            StoreError::corrupt(format!(
                "somebody without the key wrote a row for {name}: run `holdstead audit verify`"
            ))
        })
    }

    async fn person(&self, id: PersonId) -> Result<Option<PersonRecord>, StoreError> {
        let rows = self.db.look(sql::PERSON, vec![Param::Id(id.uuid())]).await?;
        rows.first().map_or(Ok(None), |row| self.known_person(row))
    }

    async fn people(&self, owner: &OwnerId) -> Result<Vec<PersonRecord>, StoreError> {
        let rows = self.db.query(sql::PEOPLE, vec![Param::Text(owner.to_string())]).await?;
        rows.iter().filter_map(|row| self.known_person(row).transpose()).collect()
    }

    async fn change_role(&self, id: PersonId, role: Role) -> Result<bool, StoreError> {
        let mut change = Change::begin(&*self.db).await?;
        let Some(person) = self.person_in(&mut change, id).await? else { return Ok(false) };
        let mark = self.mark(|guard| guard.person(&PersonRecord { role, ..person }));
        let params = vec![Param::Id(id.uuid()), Param::Text(role.as_str().to_owned()), mark];
        if change.run(sql::CHANGE_ROLE, params).await? == 0 {
            return Ok(false);
        }
        let params = vec![Param::Id(id.uuid()), Param::Int(change.revision)];
        change.run(sql::MARK_DEVICES, params).await?;
        change.commit().await.map(|()| true)
    }

    async fn remove_person(&self, id: PersonId) -> Result<bool, StoreError> {
        let mut change = Change::begin(&*self.db).await?;
        if change.run(sql::REMOVE_PERSON, vec![Param::Id(id.uuid()), change.now()]).await? == 0 {
            return Ok(false);
        }
        change.revoke(sql::REVOKE_DEVICES, Param::Id(id.uuid())).await?;
        change.commit().await.map(|()| true)
    }

    async fn add_device(&self, device: DeviceRecord) -> Result<(), StoreError> {
        let moment = |at: Option<Timestamp>| Param::MaybeInt(at.map(|at| at.micros()));
        let mark = self.mark(|guard| guard.device(&device));
        let params = vec![
            Param::Id(device.id.uuid()),
            Param::Id(device.person.uuid()),
            Param::Bytes(device.hash.to_vec()),
            Param::Text(kind_name(device.kind).to_owned()),
            Param::Text(device.name),
            Param::MaybeId(device.session.map(SessionId::uuid)),
            Param::Int(device.created_at.micros()),
            moment(device.last_used_at),
            moment(device.expires_at),
            moment(device.revoked_at),
            mark,
            Param::Text(identified_by_name(device.identified_by).to_owned()),
        ];
        self.db.execute(sql::ADD_DEVICE, params).await.map(|_| ())
    }

    async fn device_by_hash(
        &self,
        hash: &[u8; 32],
    ) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError> {
        let rows = self.db.look(sql::DEVICE_BY_HASH, vec![Param::Bytes(hash.to_vec())]).await?;
        rows.first().map_or(Ok(None), |row| self.known_device(row))
    }

    async fn device(&self, id: DeviceId) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError> {
        let rows = self.db.look(sql::DEVICE, vec![Param::Id(id.uuid())]).await?;
        rows.first().map_or(Ok(None), |row| self.known_device(row))
    }

    async fn devices(&self, person: PersonId) -> Result<Vec<DeviceRecord>, StoreError> {
        let rows = self.db.query(sql::DEVICES, vec![Param::Id(person.uuid())]).await?;
        let known = rows.iter().filter_map(|row| self.known_device(row).transpose());
        let mut devices: Vec<_> =
            known.map(|known| known.map(|(device, _)| device)).collect::<Result<_, _>>()?;
        devices.sort_by_key(|device| (device.created_at, device.id));
        Ok(devices)
    }

    async fn use_device(&self, id: DeviceId, expires_at: Option<Timestamp>) -> Result<(), StoreError> {
        let mut params = vec![Param::Id(id.uuid()), Param::Int(self.db.now().await?.micros())];
        let Some(until) = expires_at else {
            return self.db.execute(sql::USE_DEVICE, params).await.map(|_| ());
        };
        let Some((device, _)) = self.device(id).await? else { return Ok(()) };
        let hash = Param::Bytes(device.hash.to_vec());
        let mark = self.mark(|guard| guard.device(&DeviceRecord { expires_at, ..device }));
        params.extend([Param::Int(until.micros()), mark, hash]);
        self.db.execute(sql::PROLONG_DEVICE, params).await.map(|_| ())
    }

    async fn exchange_device(
        &self,
        old: &[u8; 32],
        new: &[u8; 32],
        identified_by: IdentifiedBy,
        expires_at: Timestamp,
    ) -> Result<Option<DeviceId>, StoreError> {
        let Some((device, _)) = self.device_by_hash(old).await? else { return Ok(None) };
        let id = device.id;
        let exchanged = DeviceRecord { hash: *new, identified_by, expires_at: Some(expires_at), ..device };
        let mark = self.mark(|guard| guard.device(&exchanged));
        let mut change = Change::begin(&*self.db).await?;
        let params = vec![
            Param::Bytes(old.to_vec()),
            Param::Bytes(new.to_vec()),
            Param::Text(identified_by_name(identified_by).to_owned()),
            Param::Int(expires_at.micros()),
            mark,
            Param::Int(change.revision),
        ];
        if change.run(sql::EXCHANGE_DEVICE, params).await? == 0 {
            return Ok(None);
        }
        change.commit().await.map(|()| Some(id))
    }

    async fn revoke_device(&self, id: DeviceId) -> Result<bool, StoreError> {
        let mut change = Change::begin(&*self.db).await?;
        if change.revoke(sql::REVOKE_DEVICE, Param::Id(id.uuid())).await? == 0 {
            return Ok(false);
        }
        change.commit().await.map(|()| true)
    }

    async fn revoke_devices(&self, person: PersonId) -> Result<usize, StoreError> {
        let mut change = Change::begin(&*self.db).await?;
        let revoked = change.revoke(sql::REVOKE_DEVICES, Param::Id(person.uuid())).await?;
        if revoked == 0 {
            return Ok(0);
        }
        change.commit().await.map(|()| revoked)
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        to_revision(&self.db.look(sql::REVISION, Vec::new()).await?).map(Revision)
    }

    async fn changed_devices(&self, after: Revision) -> Result<Vec<DeviceId>, StoreError> {
        let rows = self.db.query(sql::CHANGED_DEVICES, vec![Param::Int(after.0)]).await?;
        rows.iter().map(|row| row.id("id").map(DeviceId::from_uuid)).collect()
    }

    async fn add_login_link(&self, link: LoginLinkRecord) -> Result<(), StoreError> {
        let params = vec![
            Param::Bytes(link.hash.to_vec()),
            Param::Id(link.person.uuid()),
            Param::Int(link.expires_at.micros()),
            self.mark(|guard| guard.link(&link)),
        ];
        self.db.execute(sql::ADD_LINK, params).await.map(|_| ())
    }

    async fn use_login_link(&self, hash: &[u8; 32]) -> Result<LinkUse, StoreError> {
        let link = || self.db.query(sql::LINK, vec![Param::Bytes(hash.to_vec())]);
        // Looked for first: guessing costs no write.
        if link().await?.is_empty() {
            return Ok(LinkUse::Unknown);
        }
        let now = self.db.now().await?;
        let params = vec![Param::Bytes(hash.to_vec()), Param::Int(now.micros())];
        if let Some(row) = self.db.execute(sql::USE_LINK, params).await?.first() {
            let link = to_link(row)?;
            let known = self.is_marked(row, "mac", |guard| guard.link(&link))?;
            return Ok(if known { LinkUse::Ok(link.person) } else { LinkUse::Unknown });
        }
        let rows = link().await?;
        let Some(row) = rows.first() else { return Ok(LinkUse::Unknown) };
        Ok(match decode::maybe_moment(row, "used_at")? {
            Some(used_at) => LinkUse::UsedAt(used_at),
            None => LinkUse::Expired(decode::moment(row, "expires_at")?),
        })
    }

    async fn add_ticket(&self, ticket: TicketRecord) -> Result<(), StoreError> {
        let now = self.db.now().await?;
        self.db.execute(sql::DROP_OLD_TICKETS, vec![Param::Int(now.micros())]).await?;
        let params = vec![
            Param::Bytes(ticket.hash.to_vec()),
            Param::Bytes(ticket.token.to_vec()),
            Param::Int(ticket.expires_at.micros()),
            self.mark(|guard| guard.ticket(&ticket)),
        ];
        self.db.execute(sql::ADD_TICKET, params).await.map(|_| ())
    }

    async fn use_ticket(&self, hash: &[u8; 32]) -> Result<Option<[u8; 32]>, StoreError> {
        let now = self.db.now().await?;
        let params = vec![Param::Bytes(hash.to_vec()), Param::Int(now.micros())];
        // Looked for first: guessing costs no write.
        if self.db.query(sql::TICKET, params.clone()).await?.is_empty() {
            return Ok(None);
        }
        let used = self.db.execute(sql::USE_TICKET, params).await?;
        let Some(row) = used.first() else { return Ok(None) };
        let ticket = to_ticket(row)?;
        let known = self.is_marked(row, "mac", |guard| guard.ticket(&ticket))?;
        Ok(known.then_some(ticket.token))
    }

    async fn add_passkey(&self, passkey: PasskeyRecord) -> Result<(), StoreError> {
        let mark = self.mark(|guard| guard.passkey(&passkey));
        let params = vec![
            Param::Id(passkey.id.uuid()),
            Param::Id(passkey.person.uuid()),
            Param::Bytes(passkey.credential),
            Param::Bytes(passkey.public_key),
            Param::Text(passkey.site),
            Param::Text(passkey.name),
            Param::Int(passkey.count.into()),
            Param::Int(passkey.created_at.micros()),
            mark,
        ];
        self.db.execute(sql::ADD_PASSKEY, params).await.map(|_| ())
    }

    async fn passkeys(&self, person: PersonId) -> Result<Vec<PasskeyRecord>, StoreError> {
        let mut passkeys = Vec::new();
        for row in self.db.query(sql::PASSKEYS, vec![Param::Id(person.uuid())]).await? {
            let passkey = to_passkey(&row)?;
            if self.is_marked(&row, "mac", |guard| guard.passkey(&passkey))? {
                passkeys.push(passkey);
            }
        }
        passkeys.sort_by_key(|passkey| (passkey.created_at, passkey.id));
        Ok(passkeys)
    }

    async fn use_passkey(&self, id: PasskeyId, count: u32) -> Result<bool, StoreError> {
        let now = self.db.now().await?;
        let params = vec![Param::Id(id.uuid()), Param::Int(now.micros()), Param::Int(count.into())];
        Ok(!self.db.execute(sql::USE_PASSKEY, params).await?.is_empty())
    }

    async fn add_confirmation(&self, confirmation: ConfirmationRecord) -> Result<bool, StoreError> {
        let now = self.db.now().await?;
        self.db.execute(sql::DROP_OLD_CONFIRMATIONS, vec![Param::Int(now.micros())]).await?;
        let params = vec![
            Param::Bytes(confirmation.challenge.to_vec()),
            Param::Id(confirmation.device.uuid()),
            Param::Bytes(confirmation.purpose.to_vec()),
            Param::Id(confirmation.passkey.uuid()),
            Param::Int(confirmation.expires_at.micros()),
            self.mark(|guard| guard.confirmation(&confirmation)),
        ];
        Ok(!self.db.execute(sql::ADD_CONFIRMATION, params).await?.is_empty())
    }

    async fn use_confirmation(
        &self,
        device: DeviceId,
        purpose: &[u8; 32],
    ) -> Result<Option<ConfirmationRecord>, StoreError> {
        let now = self.db.now().await?;
        let params = vec![Param::Id(device.uuid()), Param::Bytes(purpose.to_vec()), Param::Int(now.micros())];
        for row in self.db.query(sql::CONFIRMATIONS, params).await? {
            let found = to_confirmation(&row)?;
            if !self.is_marked(&row, "mac", |guard| guard.confirmation(&found))? {
                continue;
            }
            let challenge = vec![Param::Bytes(found.challenge.to_vec())];
            if !self.db.execute(sql::USE_CONFIRMATION, challenge).await?.is_empty() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    async fn give_confirmation_back(&self, used: &ConfirmationRecord) -> Result<(), StoreError> {
        let challenge = vec![Param::Bytes(used.challenge.to_vec())];
        self.db.execute(sql::GIVE_CONFIRMATION_BACK, challenge).await.map(drop)
    }

    async fn remove_passkey(&self, person: PersonId, id: PasskeyId) -> Result<bool, StoreError> {
        let mut change = Change::begin(&*self.db).await?;
        let which = vec![Param::Id(id.uuid()), Param::Id(person.uuid())];
        if change.run(sql::REMOVE_PASSKEY, which).await? == 0 {
            return Ok(false);
        }
        if !self.has_passkey(&mut change, person).await? {
            self.write_passkey_rule(&mut change, person, PasskeyRule::NotRequired).await?;
        }
        change.commit().await.map(|()| true)
    }

    async fn set_passkey_rule(&self, person: PersonId, rule: PasskeyRule) -> Result<bool, StoreError> {
        let mut change = Change::begin(&*self.db).await?;
        if rule == PasskeyRule::Required && !self.has_passkey(&mut change, person).await? {
            return Ok(false);
        }
        if !self.write_passkey_rule(&mut change, person, rule).await? {
            return Ok(false);
        }
        change.commit().await.map(|()| true)
    }

    async fn guard_with(&self, guard: Guard, unmarked: Unmarked) -> Result<(), StoreError> {
        let guard = self.guard.get_or_init(|| guard);
        match unmarked {
            Unmarked::Refused => Ok(()),
            Unmarked::TakenOver => take_over(&*self.db, guard).await,
        }
    }

    async fn audit_people(&self) -> Result<Vec<String>, StoreError> {
        let mut found = Vec::new();
        for row in self.db.query(sql::ALL_PEOPLE, Vec::new()).await? {
            let person = to_person(&row)?;
            if !self.is_marked(&row, "person_mac", |guard| guard.person(&person))? {
                found.push(format!("the row of {}, with the role `{}`", person.name, person.role.as_str()));
            }
        }
        for row in self.db.query(sql::ALL_DEVICES, Vec::new()).await? {
            let (device, person) = (to_device(&row)?, to_person(&row)?);
            if !self.is_marked(&row, "mac", |guard| guard.device(&device))? {
                found.push(format!("a {} of {}, {}", kind_name(device.kind), person.name, device.id));
            }
        }
        Ok(found)
    }
}

impl<D> Store<D> {
    fn mark(&self, mark: impl FnOnce(&Guard) -> Mark) -> Param {
        Param::MaybeBytes(self.guard.get().map(|guard| mark(guard).to_vec()))
    }

    /// Without a guard every row counts.
    fn is_marked(
        &self,
        row: &Row,
        column: &str,
        mark: impl FnOnce(&Guard) -> Mark,
    ) -> Result<bool, StoreError> {
        let Some(guard) = self.guard.get() else { return Ok(true) };
        Ok(row.maybe_bytes(column)?.is_some_and(|found| found == mark(guard)))
    }

    /// Nobody, if somebody without the key wrote or changed the row. Whoever was removed needs no mark.
    fn known_person(&self, row: &Row) -> Result<Option<PersonRecord>, StoreError> {
        let person = to_person(row)?;
        if person.removed_at.is_some() || self.is_marked(row, "person_mac", |guard| guard.person(&person))? {
            return Ok(Some(person));
        }
        tracing::error!(person = %person.id, "a person's row was written without the key: run `holdstead audit verify`");
        Ok(None)
    }

    /// The same for a device. What was revoked needs no mark.
    fn known_device(&self, row: &Row) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError> {
        let device = to_device(row)?;
        let Some(person) = self.known_person(row)? else { return Ok(None) };
        if device.revoked_at.is_some() || self.is_marked(row, "mac", |guard| guard.device(&device))? {
            return Ok(Some((device, person)));
        }
        tracing::error!(device = %device.id, "a device's row was written without the key: run `holdstead audit verify`");
        Ok(None)
    }

    /// A person as they are while no other change is made: their mark covers all of their row.
    async fn person_in(&self, change: &mut Change, id: PersonId) -> Result<Option<PersonRecord>, StoreError> {
        let rows = change.transaction.query(sql::PERSON, vec![Param::Id(id.uuid())]).await?;
        rows.first().map_or(Ok(None), |row| self.known_person(row))
    }

    async fn has_passkey(&self, change: &mut Change, person: PersonId) -> Result<bool, StoreError> {
        for row in change.transaction.query(sql::PASSKEYS, vec![Param::Id(person.uuid())]).await? {
            let passkey = to_passkey(&row)?;
            if self.is_marked(&row, "mac", |guard| guard.passkey(&passkey))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn write_passkey_rule(
        &self,
        change: &mut Change,
        id: PersonId,
        rule: PasskeyRule,
    ) -> Result<bool, StoreError> {
        let Some(person) = self.person_in(change, id).await? else { return Ok(false) };
        let mark = self.mark(|guard| guard.person(&PersonRecord { passkey_rule: rule, ..person }));
        let required = match rule {
            PasskeyRule::NotRequired => 0,
            PasskeyRule::Required => 1,
        };
        let params = vec![Param::Id(id.uuid()), Param::Int(required), mark];
        Ok(change.run(sql::SET_PASSKEY_RULE, params).await? > 0)
    }
}

/// Marks what was written before there were marks.
async fn take_over(db: &dyn Db, guard: &Guard) -> Result<(), StoreError> {
    for row in db.query(sql::UNMARKED_PEOPLE, Vec::new()).await? {
        let person = to_person(&row)?;
        let mark = vec![Param::Id(person.id.uuid()), Param::Bytes(guard.person(&person).to_vec())];
        db.execute(sql::MARK_PERSON, mark).await?;
    }
    for row in db.query(sql::UNMARKED_DEVICES, Vec::new()).await? {
        let device = to_device(&row)?;
        let mark = vec![Param::Id(device.id.uuid()), Param::Bytes(guard.device(&device).to_vec())];
        db.execute(sql::MARK_DEVICE, mark).await?;
    }
    Ok(())
}

/// A change with its revision: both are written, or neither is. Changes are written one after the other, so whoever has
/// seen a revision has seen all before it.
struct Change {
    transaction: Box<dyn Snapshot>,
    revision: i64,
    now: Timestamp,
}

impl Change {
    async fn begin(db: &dyn Db) -> Result<Self, StoreError> {
        let now = db.now().await?;
        let mut transaction = db.begin(None).await?;
        let revision = to_revision(&transaction.query(sql::NEXT_REVISION, Vec::new()).await?)?;
        Ok(Self { transaction, revision, now })
    }

    const fn now(&self) -> Param {
        Param::Int(self.now.micros())
    }

    /// Returns how many rows were changed.
    async fn run(&mut self, sql: &'static str, params: Vec<Param>) -> Result<usize, StoreError> {
        self.transaction.query(sql, params).await.map(|rows| rows.len())
    }

    async fn revoke(&mut self, sql: &'static str, which: Param) -> Result<usize, StoreError> {
        self.run(sql, vec![which, self.now(), Param::Int(self.revision)]).await
    }

    async fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().await
    }
}

fn to_revision(rows: &[Row]) -> Result<i64, StoreError> {
    let row = rows.first().ok_or_else(|| StoreError::corrupt("the revision of who may do what is gone"))?;
    row.int("revision")
}
