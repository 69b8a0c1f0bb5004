//! Who may do what: people, their devices, and the links and tickets that work once. Plain tables, no journal.

use std::fmt::Debug;

use async_trait::async_trait;
use holdstead_protocol::api::Role;
use holdstead_protocol::{DeviceId, DeviceKind, OwnerId, PersonId, SessionId, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::db::{Db, Param, Row, Snapshot};
use crate::store::Store;
use crate::{DeviceRecord, LinkUse, LoginLinkRecord, PersonRecord, StoreError, TicketRecord, decode, sql};

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
}

/// What is stored of a token, a link or a ticket: never its secret.
pub fn token_hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
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
            Param::Text(role_name(person.role).to_owned()),
            Param::Int(person.created_at.micros()),
        ];
        self.db.execute(sql::ADD_PERSON, params).await?;
        let rows = self.db.query(sql::PERSON_BY_HANDLE, handle).await?;
        rows.first().map_or(Ok(person), to_person)
    }

    async fn person(&self, id: PersonId) -> Result<Option<PersonRecord>, StoreError> {
        self.db.query(sql::PERSON, vec![Param::Id(id.uuid())]).await?.first().map(to_person).transpose()
    }

    async fn people(&self, owner: &OwnerId) -> Result<Vec<PersonRecord>, StoreError> {
        let rows = self.db.query(sql::PEOPLE, vec![Param::Text(owner.to_string())]).await?;
        rows.iter().map(to_person).collect()
    }

    async fn change_role(&self, id: PersonId, role: Role) -> Result<bool, StoreError> {
        let mut change = Change::begin(&*self.db).await?;
        let params = vec![Param::Id(id.uuid()), Param::Text(role_name(role).to_owned())];
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
        ];
        self.db.execute(sql::ADD_DEVICE, params).await.map(|_| ())
    }

    async fn device_by_hash(
        &self,
        hash: &[u8; 32],
    ) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError> {
        let rows = self.db.query(sql::DEVICE_BY_HASH, vec![Param::Bytes(hash.to_vec())]).await?;
        rows.first().map(with_person).transpose()
    }

    async fn device(&self, id: DeviceId) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError> {
        self.db.query(sql::DEVICE, vec![Param::Id(id.uuid())]).await?.first().map(with_person).transpose()
    }

    async fn devices(&self, person: PersonId) -> Result<Vec<DeviceRecord>, StoreError> {
        let rows = self.db.query(sql::DEVICES, vec![Param::Id(person.uuid())]).await?;
        let mut devices: Vec<_> = rows.iter().map(to_device).collect::<Result<_, _>>()?;
        devices.sort_by_key(|device| (device.created_at, device.id));
        Ok(devices)
    }

    async fn use_device(&self, id: DeviceId, expires_at: Option<Timestamp>) -> Result<(), StoreError> {
        let now = self.db.now().await?;
        let expires_at = Param::MaybeInt(expires_at.map(|at| at.micros()));
        let params = vec![Param::Id(id.uuid()), Param::Int(now.micros()), expires_at];
        self.db.execute(sql::USE_DEVICE, params).await.map(|_| ())
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
        to_revision(&self.db.query(sql::REVISION, Vec::new()).await?).map(Revision)
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
            return Ok(LinkUse::Ok(PersonId::from_uuid(row.id("person_id")?)));
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
        used.first().map(|row| decode::hash(row, "token")).transpose()
    }
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

fn with_person(row: &Row) -> Result<(DeviceRecord, PersonRecord), StoreError> {
    Ok((to_device(row)?, to_person(row)?))
}

fn to_person(row: &Row) -> Result<PersonRecord, StoreError> {
    Ok(PersonRecord {
        id: PersonId::from_uuid(row.id("person_id")?),
        owner: decode::owner(row)?,
        name: row.text("person_name")?,
        handle: row.text("handle")?,
        role: named(&row.text("role")?, &ROLES, role_name)?,
        created_at: decode::moment(row, "person_created_at")?,
        removed_at: decode::maybe_moment(row, "removed_at")?,
    })
}

fn to_device(row: &Row) -> Result<DeviceRecord, StoreError> {
    Ok(DeviceRecord {
        id: DeviceId::from_uuid(row.id("id")?),
        person: PersonId::from_uuid(row.id("person_id")?),
        hash: decode::hash(row, "hash")?,
        kind: named(&row.text("kind")?, &KINDS, kind_name)?,
        name: row.text("name")?,
        session: row.maybe_id("session_id")?.map(SessionId::from_uuid),
        created_at: decode::moment(row, "created_at")?,
        last_used_at: decode::maybe_moment(row, "last_used_at")?,
        expires_at: decode::maybe_moment(row, "expires_at")?,
        revoked_at: decode::maybe_moment(row, "revoked_at")?,
    })
}

fn named<T: Copy>(name: &str, all: &[T], name_of: fn(T) -> &'static str) -> Result<T, StoreError> {
    let found = all.iter().copied().find(|one| name_of(*one) == name);
    found.ok_or_else(|| StoreError::corrupt(format!("`{name}` is neither a role nor a kind of device")))
}

const ROLES: [Role; 5] = [Role::Person, Role::Viewer, Role::Agent, Role::Runner, Role::Admin];
const KINDS: [DeviceKind; 3] = [DeviceKind::Browser, DeviceKind::Terminal, DeviceKind::Token];

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Person => "person",
        Role::Viewer => "viewer",
        Role::Agent => "agent",
        Role::Runner => "runner",
        Role::Admin => "admin",
    }
}

const fn kind_name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Browser => "browser",
        DeviceKind::Terminal => "terminal",
        DeviceKind::Token => "token",
    }
}
