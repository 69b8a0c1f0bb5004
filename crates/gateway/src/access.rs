//! Who is let in, and that nobody stays in who is not.
//!
//! A device that is revoked, or whose person is given another role, is put out at once where that is done through this
//! gateway, and within a second where it is done beside it. Whoever keeps a connection open keeps its [`Lease`], and
//! ends with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use holdstead_protocol::{DeviceId, DeviceKind, IdentifiedBy, PersonId};
use holdstead_store::{DeviceRecord, PersonRecord, Revision};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{Gateway, GatewayError};

/// How often it is looked for what was changed beside us, while anybody is in.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is written down that a device was used.
const USE: Duration = Duration::from_secs(60);
/// How long it is believed what was read of a device. Whoever is put out is forgotten at once.
const BELIEVED: Duration = Duration::from_secs(1);
/// When so many devices were seen, those of more than that time ago are forgotten.
const SWEEP: usize = 10_000;
/// How long a browser stays logged in that is not used.
pub const BROWSER_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub struct Admitted {
    pub device: DeviceRecord,
    pub person: PersonRecord,
    pub lease: Lease,
}

/// Good for as long as its device is.
#[derive(Debug, Clone)]
pub struct Lease(Arc<Held>);

#[derive(Debug)]
struct Held {
    device: DeviceId,
    out: CancellationToken,
    access: Weak<Access>,
}

impl Lease {
    pub fn is_good(&self) -> bool {
        !self.0.out.is_cancelled()
    }

    /// Waits until the device is put out.
    pub async fn ended(&self) {
        self.0.out.cancelled().await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(access) = self.access.upgrade() {
            access.leave(self.device);
        }
    }
}

/// The devices that are in now.
#[derive(Debug, Default)]
pub(crate) struct Access {
    inner: Mutex<Inner>,
    /// Told when somebody comes in.
    entered: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// The changes up to here were carried out.
    seen: Option<Revision>,
    /// How often anybody was put out.
    times: u64,
    held: HashMap<DeviceId, Entry>,
    /// What was read a moment ago, by the hash of the secret.
    believed: HashMap<[u8; 32], Believed>,
    /// When those that are believed no longer were last forgotten: once in that time, however many there are.
    swept: Option<Instant>,
    used: HashMap<DeviceId, Instant>,
}

#[derive(Debug, Clone)]
struct Believed {
    device: DeviceRecord,
    person: PersonRecord,
    read: Instant,
    expires: Option<Instant>,
}

impl Believed {
    fn is_fresh(&self, now: Instant) -> bool {
        now.duration_since(self.read) < BELIEVED && self.expires.is_none_or(|expires| now < expires)
    }
}

#[derive(Debug)]
struct Entry {
    held: Weak<Held>,
    expires: Option<Instant>,
}

impl Access {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(self: &Arc<Self>, device: DeviceId, expires: Option<Instant>) -> Lease {
        let mut inner = self.lock();
        if let Some(entry) = inner.held.get_mut(&device)
            && let Some(held) = entry.held.upgrade()
        {
            entry.expires = expires;
            return Lease(held);
        }
        let held = Arc::new(Held { device, out: CancellationToken::new(), access: Arc::downgrade(self) });
        inner.held.insert(device, Entry { held: Arc::downgrade(&held), expires });
        self.entered.notify_one();
        Lease(held)
    }

    fn leave(&self, device: DeviceId) {
        let mut inner = self.lock();
        // Somebody may have come in with it again.
        if inner.held.get(&device).is_some_and(|entry| entry.held.strong_count() == 0) {
            inner.held.remove(&device);
        }
    }

    fn put_out(&self, devices: &[DeviceId], seen: Option<Revision>) {
        let mut inner = self.lock();
        inner.times += 1;
        inner.seen = inner.seen.max(seen);
        inner.believed.clear();
        let gone: Vec<Entry> = devices.iter().filter_map(|device| inner.held.remove(device)).collect();
        drop(inner);
        for entry in gone {
            if let Some(held) = entry.held.upgrade() {
                held.out.cancel();
            }
        }
    }

    /// Unless somebody was put out since it was read: it may be this one.
    fn believe(&self, hash: [u8; 32], believed: Believed, times: u64) {
        let mut inner = self.lock();
        if inner.times != times {
            return;
        }
        let now = believed.read;
        if inner.swept.is_none_or(|swept| now.duration_since(swept) >= BELIEVED) {
            inner.believed.retain(|_, one| one.is_fresh(now));
            inner.swept = Some(now);
        }
        inner.believed.insert(hash, believed);
    }

    /// Whether it is time to write down that this device was used.
    fn is_used(&self, device: DeviceId) -> bool {
        let mut inner = self.lock();
        let now = Instant::now();
        let is_old = |at: &Instant| now.duration_since(*at) >= USE;
        if inner.used.len() >= SWEEP {
            inner.used.retain(|_, at| !is_old(at));
        }
        let first = inner.used.get(&device).is_none_or(is_old);
        if first {
            inner.used.insert(device, now);
        }
        first
    }

    fn expired(&self) -> Vec<DeviceId> {
        let now = Instant::now();
        let is_expired = |entry: &Entry| entry.expires.is_some_and(|expires| expires <= now);
        let inner = self.lock();
        inner.held.iter().filter(|(_, entry)| is_expired(entry)).map(|(device, _)| *device).collect()
    }
}

/// Puts out whoever was revoked beside us, for as long as the gateway runs.
pub(crate) async fn run(gateway: Gateway) {
    let (shutdown, access) = (gateway.shutdown_token(), &gateway.inner.access);
    loop {
        let nobody = access.lock().held.is_empty();
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = access.entered.notified(), if nobody => {}
            () = tokio::time::sleep(LOOK), if !nobody => {
                if let Err(error) = gateway.put_out_revoked().await {
                    tracing::error!(%error, "it could not be seen who was revoked");
                }
            }
        }
    }
}

impl Gateway {
    /// Lets in whoever has the secret with this hash. `None`: nobody has it, or not any more.
    pub async fn admit(&self, hash: &[u8; 32]) -> Result<Option<Admitted>, GatewayError> {
        let (journal, access) = (&self.inner.journal, &self.inner.access);
        loop {
            let (seen, times, believed) = {
                let inner = access.lock();
                (inner.seen, inner.times, inner.believed.get(hash).cloned())
            };
            if seen.is_none() {
                let revision = journal.revision().await?;
                access.lock().seen.get_or_insert(revision);
            }
            let fresh = believed.filter(|believed| believed.is_fresh(Instant::now()));
            let believed = match fresh {
                Some(believed) => believed,
                None => match self.look_up(hash, times).await? {
                    Some(believed) => believed,
                    None => return Ok(None),
                },
            };
            let Believed { device, person, expires, .. } = believed;
            let lease = access.enter(device.id, expires);
            // Somebody was put out since the device was read: it may have been this one, before it was in.
            if access.lock().times != times {
                continue;
            }
            return Ok(Some(Admitted { device, person, lease }));
        }
    }

    /// What is known of whoever has this secret, if they are good.
    async fn look_up(&self, hash: &[u8; 32], times: u64) -> Result<Option<Believed>, GatewayError> {
        let read = Instant::now();
        let Some((device, person)) = self.inner.journal.device_by_hash(hash).await? else { return Ok(None) };
        let Some(left) = self.is_good(&device, &person).await? else { return Ok(None) };
        let believed = Believed { device, person, read, expires: left.map(|left| read + left) };
        self.inner.access.believe(*hash, believed.clone(), times);
        Ok(Some(believed))
    }

    /// A browser that has the token with the first hash is identified by the second hash from now on, and by the token no more.
    /// `false`: no browser that is good has that token.
    pub async fn exchange_browser(
        &self,
        old: &[u8; 32],
        new: &[u8; 32],
        identified_by: IdentifiedBy,
    ) -> Result<bool, GatewayError> {
        let Some(Admitted { device, .. }) = self.admit(old).await? else { return Ok(false) };
        if (device.kind, device.identified_by) != (DeviceKind::Browser, IdentifiedBy::Token) {
            return Ok(false);
        }
        let journal = &self.inner.journal;
        let expires_at = journal.now().await?.after(BROWSER_LIFETIME);
        let exchanged = journal.exchange_device(old, new, identified_by, expires_at).await?;
        self.put_out_revoked().await?;
        Ok(exchanged.is_some())
    }

    /// Revokes a device and puts it out. `false`: it was before.
    pub async fn revoke_device(&self, device: DeviceId) -> Result<bool, GatewayError> {
        let revoked = self.inner.journal.revoke_device(device).await?;
        self.put_out_revoked().await?;
        Ok(revoked)
    }

    /// Revokes all devices of a person and puts them out.
    pub async fn revoke_devices(&self, person: PersonId) -> Result<usize, GatewayError> {
        let revoked = self.inner.journal.revoke_devices(person).await?;
        self.put_out_revoked().await?;
        Ok(revoked)
    }

    pub(crate) async fn put_out_revoked(&self) -> Result<(), GatewayError> {
        let (journal, access) = (&self.inner.journal, &self.inner.access);
        // Before the first one came in there is nobody to put out.
        let Some(seen) = access.lock().seen else { return Ok(()) };
        let revision = journal.revision().await?;
        if revision > seen {
            access.put_out(&journal.changed_devices(seen).await?, Some(revision));
        }
        for device in access.expired() {
            let left = match journal.device(device).await? {
                Some((device, person)) => self.is_good(&device, &person).await?,
                None => None,
            };
            match left {
                // It was used, and so has more time.
                Some(left) => drop(access.enter(device, left.map(|left| Instant::now() + left))),
                None => access.put_out(&[device], None),
            }
        }
        Ok(())
    }

    /// How long the device is good from now on, if it is; for ever, if that is not said.
    async fn is_good(
        &self,
        device: &DeviceRecord,
        person: &PersonRecord,
    ) -> Result<Option<Option<Duration>>, GatewayError> {
        if device.revoked_at.is_some() || person.removed_at.is_some() {
            return Ok(None);
        }
        let Some(expires_at) = device.expires_at else { return Ok(Some(None)) };
        let now = self.inner.journal.now().await?;
        Ok((now < expires_at).then(|| Some(expires_at.since(now))))
    }

    /// Writes down that a device was used. A caller that was admitted by something that others know, such as a public key, has
    /// to prove who it is first.
    pub fn used(&self, Admitted { device, .. }: &Admitted) {
        if !self.inner.access.is_used(device.id) {
            return;
        }
        let (gateway, device, kind) = (self.clone(), device.id, device.kind);
        self.inner.tasks.spawn(async move {
            if let Err(error) = gateway.note_use(device, kind).await {
                tracing::warn!(%error, "it could not be written down that a device was used");
            }
        });
    }

    async fn note_use(&self, device: DeviceId, kind: DeviceKind) -> Result<(), GatewayError> {
        let expires_at = match kind {
            DeviceKind::Browser => Some(self.inner.journal.now().await?.after(BROWSER_LIFETIME)),
            DeviceKind::Terminal | DeviceKind::Token => None,
        };
        Ok(self.inner.journal.use_device(device, expires_at).await?)
    }
}
