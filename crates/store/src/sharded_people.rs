//! Who may do what is known in the controlling database, whoever's sessions are where.

use async_trait::async_trait;
use holdstead_protocol::api::Role;
use holdstead_protocol::{DeviceId, OwnerId, PasskeyId, PersonId, Timestamp};

use crate::sharded::Sharded;
use crate::{
    DeviceRecord, Guard, LinkUse, LoginLinkRecord, PasskeyRecord, PasskeyRule, People, PersonRecord,
    Revision, StoreError, TicketRecord, Unmarked,
};

#[async_trait]
impl People for Sharded {
    async fn add_person(&self, person: PersonRecord) -> Result<PersonRecord, StoreError> {
        self.inner.control.add_person(person).await
    }

    async fn person(&self, id: PersonId) -> Result<Option<PersonRecord>, StoreError> {
        self.inner.control.person(id).await
    }

    async fn people(&self, owner: &OwnerId) -> Result<Vec<PersonRecord>, StoreError> {
        self.inner.control.people(owner).await
    }

    async fn change_role(&self, id: PersonId, role: Role) -> Result<bool, StoreError> {
        self.inner.control.change_role(id, role).await
    }

    async fn remove_person(&self, id: PersonId) -> Result<bool, StoreError> {
        self.inner.control.remove_person(id).await
    }

    async fn add_device(&self, device: DeviceRecord) -> Result<(), StoreError> {
        self.inner.control.add_device(device).await
    }

    async fn device_by_hash(
        &self,
        hash: &[u8; 32],
    ) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError> {
        self.inner.control.device_by_hash(hash).await
    }

    async fn device(&self, id: DeviceId) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError> {
        self.inner.control.device(id).await
    }

    async fn devices(&self, person: PersonId) -> Result<Vec<DeviceRecord>, StoreError> {
        self.inner.control.devices(person).await
    }

    async fn use_device(&self, id: DeviceId, expires_at: Option<Timestamp>) -> Result<(), StoreError> {
        self.inner.control.use_device(id, expires_at).await
    }

    async fn revoke_device(&self, id: DeviceId) -> Result<bool, StoreError> {
        self.inner.control.revoke_device(id).await
    }

    async fn revoke_devices(&self, person: PersonId) -> Result<usize, StoreError> {
        self.inner.control.revoke_devices(person).await
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.inner.control.revision().await
    }

    async fn changed_devices(&self, after: Revision) -> Result<Vec<DeviceId>, StoreError> {
        self.inner.control.changed_devices(after).await
    }

    async fn add_login_link(&self, link: LoginLinkRecord) -> Result<(), StoreError> {
        self.inner.control.add_login_link(link).await
    }

    async fn use_login_link(&self, hash: &[u8; 32]) -> Result<LinkUse, StoreError> {
        self.inner.control.use_login_link(hash).await
    }

    async fn add_ticket(&self, ticket: TicketRecord) -> Result<(), StoreError> {
        self.inner.control.add_ticket(ticket).await
    }

    async fn use_ticket(&self, hash: &[u8; 32]) -> Result<Option<[u8; 32]>, StoreError> {
        self.inner.control.use_ticket(hash).await
    }

    async fn add_passkey(&self, passkey: PasskeyRecord) -> Result<(), StoreError> {
        self.inner.control.add_passkey(passkey).await
    }

    async fn passkeys(&self, person: PersonId) -> Result<Vec<PasskeyRecord>, StoreError> {
        self.inner.control.passkeys(person).await
    }

    async fn use_passkey(&self, id: PasskeyId, count: u32) -> Result<(), StoreError> {
        self.inner.control.use_passkey(id, count).await
    }

    async fn remove_passkey(&self, id: PasskeyId) -> Result<bool, StoreError> {
        self.inner.control.remove_passkey(id).await
    }

    async fn set_passkey_rule(&self, person: PersonId, rule: PasskeyRule) -> Result<(), StoreError> {
        self.inner.control.set_passkey_rule(person, rule).await
    }

    async fn guard_with(&self, guard: Guard, unmarked: Unmarked) -> Result<(), StoreError> {
        self.inner.control.guard_with(guard, unmarked).await
    }

    async fn audit_people(&self) -> Result<Vec<String>, StoreError> {
        self.inner.control.audit_people().await
    }
}
