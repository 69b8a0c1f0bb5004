//! A journal that fails when it is told to, so that tests and shows can see what the rest does then.
//!
//! Only built with the feature `faults`: the product has no switch that leads here.

use std::fmt::{self, Debug};
use std::sync::Arc;

use async_trait::async_trait;
use holdstead_core::Command;
use holdstead_protocol::api::Role;
use holdstead_protocol::{
    DeviceId, Event, IdentifiedBy, InteractionId, OwnerId, PasskeyId, PersonId, Seq, SessionId, Timestamp,
};
use tokio::sync::oneshot;

use crate::{
    AppendError, AskQuery, AskRecord, BringBackError, BroughtBack, ChainReport, Checkpoint, Claim, Cluster,
    ConfirmationRecord, DecidedRecord, DeviceRecord, DueList, EraseError, Erasure, Fault, FoundRecord, Going,
    Guard, Heads, Journal, LinkUse, LoginLinkRecord, Notary, PasskeyRecord, PasskeyRule, PendingAppend,
    People, PersonRecord, PublicKey, QueryPlan, Revision, Round, RoundsReport, SealedSecret, SearchQuery,
    SecretsOf, SessionQuery, SessionRecord, Source, StoreError, TicketRecord, UnderWay, Unmarked, Waiting,
    WriterLoad,
};

/// A call of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// By the name of its method.
    Read(&'static str),
    Append,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The database was away: nothing was read or written.
    Before,
    /// An append was written and its reply was lost. A read fails as before.
    After,
    /// What is stored cannot be read.
    Unreadable,
}

/// The journal `inner`, failing where `plan` says so.
pub struct FaultyJournal {
    inner: Arc<dyn Journal>,
    plan: Box<dyn Fn(Call) -> Option<Broken> + Send + Sync>,
}

impl FaultyJournal {
    pub fn new(
        inner: Arc<dyn Journal>,
        plan: impl Fn(Call) -> Option<Broken> + Send + Sync + 'static,
    ) -> Self {
        Self { inner, plan: Box::new(plan) }
    }

    fn may(&self, name: &'static str) -> Result<&dyn Journal, StoreError> {
        match (self.plan)(Call::Read(name)) {
            None => Ok(&*self.inner),
            Some(Broken::Before | Broken::After) => Err(StoreError::Unreachable { source: away() }),
            Some(Broken::Unreadable) => Err(unreadable()),
        }
    }
}

fn unreadable() -> StoreError {
    StoreError::corrupt("it was spoiled on purpose")
}

fn away() -> Source {
    Arc::new(std::io::Error::from(std::io::ErrorKind::TimedOut))
}

impl Debug for FaultyJournal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FaultyJournal").field("inner", &self.inner).finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for FaultyJournal {
    fn append(&self, session: SessionId, command: Command) -> PendingAppend {
        match (self.plan)(Call::Append) {
            None => self.inner.append(session, command),
            Some(Broken::Before) => PendingAppend::failed(StoreError::Unreachable { source: away() }.into()),
            Some(Broken::Unreadable) => PendingAppend::failed(unreadable().into()),
            Some(Broken::After) => {
                let written = self.inner.append(session, command);
                let (reply, result) = oneshot::channel();
                tokio::spawn(async move {
                    let lost = match written.await {
                        Ok(_) => Err(AppendError::Store(StoreError::Unknown { source: away() })),
                        refused @ Err(_) => refused,
                    };
                    // Whoever appended may have stopped waiting.
                    let _nobody = reply.send(lost);
                });
                PendingAppend::queued(result)
            }
        }
    }

    async fn read(&self, session: SessionId, after: Seq, limit: u32) -> Result<Vec<Event>, StoreError> {
        self.may("read")?.read(session, after, limit).await
    }

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        self.may("session")?.session(id).await
    }

    async fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionRecord>, StoreError> {
        self.may("sessions")?.sessions(query).await
    }

    async fn unfinished(
        &self,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        self.may("unfinished")?.unfinished(after, limit).await
    }

    async fn outdated(&self, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        self.may("outdated")?.outdated(limit).await
    }

    async fn refold(&self, id: SessionId) -> Result<(), StoreError> {
        self.may("refold")?.refold(id).await
    }

    async fn under_way(&self, session: SessionId, what: UnderWay) -> Result<Vec<AskRecord>, StoreError> {
        self.may("under_way")?.under_way(session, what).await
    }

    async fn ask(&self, id: InteractionId) -> Result<Option<AskRecord>, StoreError> {
        self.may("ask")?.ask(id).await
    }

    async fn asks(&self, query: AskQuery) -> Result<Vec<AskRecord>, StoreError> {
        self.may("asks")?.asks(query).await
    }

    async fn decisions(
        &self,
        owner: &OwnerId,
        before: Option<(Timestamp, InteractionId)>,
        limit: u32,
    ) -> Result<Vec<DecidedRecord>, StoreError> {
        self.may("decisions")?.decisions(owner, before, limit).await
    }

    async fn decision(
        &self,
        owner: &OwnerId,
        id: InteractionId,
    ) -> Result<Option<DecidedRecord>, StoreError> {
        self.may("decision")?.decision(owner, id).await
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<FoundRecord>, StoreError> {
        self.may("search")?.search(query).await
    }

    async fn waiting(&self) -> Result<Waiting, StoreError> {
        self.may("waiting")?.waiting().await
    }

    fn writer_load(&self) -> WriterLoad {
        self.inner.writer_load()
    }

    async fn live_count(&self, owner: &OwnerId) -> Result<u64, StoreError> {
        self.may("live_count")?.live_count(owner).await
    }

    async fn due(&self, limit: u32) -> Result<DueList, StoreError> {
        self.may("due")?.due(limit).await
    }

    async fn verify(&self, session: SessionId) -> Result<ChainReport, StoreError> {
        self.may("verify")?.verify(session).await
    }

    async fn audit(&self, session: SessionId, keys: &[PublicKey]) -> Result<ChainReport, StoreError> {
        self.may("audit")?.audit(session, keys).await
    }

    async fn contradiction(&self, kept: &Checkpoint) -> Result<Option<Fault>, StoreError> {
        self.may("contradiction")?.contradiction(kept).await
    }

    async fn audit_rounds(&self, keys: &[PublicKey]) -> Result<RoundsReport, StoreError> {
        self.may("audit_rounds")?.audit_rounds(keys).await
    }

    async fn round(&self, number: u64) -> Result<Option<Round>, StoreError> {
        self.may("round")?.round(number).await
    }

    async fn journals(&self, after: Option<SessionId>, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        self.may("journals")?.journals(after, limit).await
    }

    fn sign_with(&self, notary: Notary) {
        self.inner.sign_with(notary);
    }

    async fn checkpoint(&self, heads: Heads) -> Result<u64, StoreError> {
        self.may("checkpoint")?.checkpoint(heads).await
    }

    async fn checkpoints(
        &self,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Checkpoint>, StoreError> {
        self.may("checkpoints")?.checkpoints(session, after, limit).await
    }

    async fn export(
        &self,
        session: SessionId,
        out: &mut (dyn std::io::Write + Send),
    ) -> Result<(), StoreError> {
        self.may("export")?.export(session, out).await
    }

    async fn erase(&self, session: SessionId, by: &str) -> Result<Erasure, EraseError> {
        self.may("erase")?.erase(session, by).await
    }

    async fn age_out(&self, session: SessionId, going: Going) -> Result<Erasure, EraseError> {
        self.may("age_out")?.age_out(session, going).await
    }

    async fn bring_back(
        &self,
        session: SessionId,
        file: &mut (dyn std::io::BufRead + Send),
    ) -> Result<BroughtBack, BringBackError> {
        self.may("bring_back")?.bring_back(session, file).await
    }

    async fn keep_secret(&self, secret: SealedSecret) -> Result<(), StoreError> {
        self.may("keep_secret")?.keep_secret(secret).await
    }

    async fn secret(&self, ask: InteractionId, answer: &str) -> Result<Option<SealedSecret>, StoreError> {
        self.may("secret")?.secret(ask, answer).await
    }

    async fn secrets(&self) -> Result<Vec<SealedSecret>, StoreError> {
        self.may("secrets")?.secrets().await
    }

    async fn drop_secrets(&self, which: SecretsOf) -> Result<(), StoreError> {
        self.may("drop_secrets")?.drop_secrets(which).await
    }

    async fn claim(&self) -> Result<Claim, StoreError> {
        self.may("claim")?.claim().await
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        self.inner.cluster()
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.may("ready")?.ready().await
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        self.may("now")?.now().await
    }

    async fn plans(&self) -> Result<Vec<QueryPlan>, StoreError> {
        self.may("plans")?.plans().await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

#[async_trait]
impl People for FaultyJournal {
    async fn add_person(&self, person: PersonRecord) -> Result<PersonRecord, StoreError> {
        self.may("add_person")?.add_person(person).await
    }

    async fn person(&self, id: PersonId) -> Result<Option<PersonRecord>, StoreError> {
        self.may("person")?.person(id).await
    }

    async fn people(&self, owner: &OwnerId) -> Result<Vec<PersonRecord>, StoreError> {
        self.may("people")?.people(owner).await
    }

    async fn change_role(&self, id: PersonId, role: Role) -> Result<bool, StoreError> {
        self.may("change_role")?.change_role(id, role).await
    }

    async fn remove_person(&self, id: PersonId) -> Result<bool, StoreError> {
        self.may("remove_person")?.remove_person(id).await
    }

    async fn add_device(&self, device: DeviceRecord) -> Result<(), StoreError> {
        self.may("add_device")?.add_device(device).await
    }

    async fn device_by_hash(
        &self,
        hash: &[u8; 32],
    ) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError> {
        self.may("device_by_hash")?.device_by_hash(hash).await
    }

    async fn device(&self, id: DeviceId) -> Result<Option<(DeviceRecord, PersonRecord)>, StoreError> {
        self.may("device")?.device(id).await
    }

    async fn devices(&self, person: PersonId) -> Result<Vec<DeviceRecord>, StoreError> {
        self.may("devices")?.devices(person).await
    }

    async fn use_device(&self, id: DeviceId, expires_at: Option<Timestamp>) -> Result<(), StoreError> {
        self.may("use_device")?.use_device(id, expires_at).await
    }

    async fn exchange_device(
        &self,
        old: &[u8; 32],
        new: &[u8; 32],
        identified_by: IdentifiedBy,
        expires_at: Timestamp,
    ) -> Result<Option<DeviceId>, StoreError> {
        self.may("exchange_device")?.exchange_device(old, new, identified_by, expires_at).await
    }

    async fn revoke_device(&self, id: DeviceId) -> Result<bool, StoreError> {
        self.may("revoke_device")?.revoke_device(id).await
    }

    async fn revoke_devices(&self, person: PersonId) -> Result<usize, StoreError> {
        self.may("revoke_devices")?.revoke_devices(person).await
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.may("revision")?.revision().await
    }

    async fn changed_devices(&self, after: Revision) -> Result<Vec<DeviceId>, StoreError> {
        self.may("changed_devices")?.changed_devices(after).await
    }

    async fn add_login_link(&self, link: LoginLinkRecord) -> Result<(), StoreError> {
        self.may("add_login_link")?.add_login_link(link).await
    }

    async fn use_login_link(&self, hash: &[u8; 32]) -> Result<LinkUse, StoreError> {
        self.may("use_login_link")?.use_login_link(hash).await
    }

    async fn add_ticket(&self, ticket: TicketRecord) -> Result<(), StoreError> {
        self.may("add_ticket")?.add_ticket(ticket).await
    }

    async fn add_passkey(&self, passkey: PasskeyRecord) -> Result<(), StoreError> {
        self.may("add_passkey")?.add_passkey(passkey).await
    }

    async fn passkeys(&self, person: PersonId) -> Result<Vec<PasskeyRecord>, StoreError> {
        self.may("passkeys")?.passkeys(person).await
    }

    async fn use_passkey(&self, id: PasskeyId, count: u32) -> Result<bool, StoreError> {
        self.may("use_passkey")?.use_passkey(id, count).await
    }

    async fn add_confirmation(&self, confirmation: ConfirmationRecord) -> Result<bool, StoreError> {
        self.may("add_confirmation")?.add_confirmation(confirmation).await
    }

    async fn use_confirmation(
        &self,
        device: DeviceId,
        purpose: &[u8; 32],
    ) -> Result<Option<ConfirmationRecord>, StoreError> {
        self.may("use_confirmation")?.use_confirmation(device, purpose).await
    }

    async fn give_confirmation_back(&self, used: &ConfirmationRecord) -> Result<(), StoreError> {
        self.may("give_confirmation_back")?.give_confirmation_back(used).await
    }

    async fn remove_passkey(&self, person: PersonId, id: PasskeyId) -> Result<bool, StoreError> {
        self.may("remove_passkey")?.remove_passkey(person, id).await
    }

    async fn set_passkey_rule(&self, person: PersonId, rule: PasskeyRule) -> Result<bool, StoreError> {
        self.may("set_passkey_rule")?.set_passkey_rule(person, rule).await
    }

    async fn guard_with(&self, guard: Guard, unmarked: Unmarked) -> Result<(), StoreError> {
        self.inner.guard_with(guard, unmarked).await
    }

    async fn audit_people(&self) -> Result<Vec<String>, StoreError> {
        self.may("audit_people")?.audit_people().await
    }

    async fn use_ticket(&self, hash: &[u8; 32]) -> Result<Option<[u8; 32]>, StoreError> {
        self.may("use_ticket")?.use_ticket(hash).await
    }
}
