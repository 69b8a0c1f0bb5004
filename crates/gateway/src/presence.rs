//! Who watches now, and would answer.
//!
//! This is about screens that are open on this node, not about what was decided: it may be lost, and nothing but a
//! count and the choice to ask or not hangs on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use holdstead_protocol::transport::InteractionMode;
use holdstead_protocol::{OwnerId, SessionId};

#[derive(Debug, Default)]
pub(crate) struct Presence {
    clients: Mutex<HashMap<ClientKey, Client>>,
}

/// A client, by the name it gave itself among those of its owner.
type ClientKey = (OwnerId, String);

#[derive(Debug)]
struct Client {
    mode: InteractionMode,
    /// What it watches, and how often.
    watches: HashMap<Watch, usize>,
}

/// What a client looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Watch {
    Session(SessionId),
    /// All sessions of its owner.
    Inbox,
}

/// How many clients could answer in a session, and how many of them would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Audience {
    pub(crate) interactive: u32,
    pub(crate) enabled: u32,
}

impl Presence {
    /// Counts the client until the result is dropped.
    pub(crate) fn watch(
        self: &Arc<Self>,
        owner: &OwnerId,
        client: &str,
        mode: InteractionMode,
        watch: Watch,
    ) -> Watching {
        let key = (owner.clone(), client.to_owned());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = clients.entry(key.clone()).or_insert_with(|| Client { mode, watches: HashMap::new() });
        entry.mode = mode;
        *entry.watches.entry(watch).or_default() += 1;
        Watching { presence: Arc::clone(self), key, watch }
    }

    /// A client that watches nothing has no mode to keep: it says it again when it comes back.
    pub(crate) fn set_mode(&self, owner: &OwnerId, client: &str, mode: InteractionMode) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = clients.get_mut(&(owner.clone(), client.to_owned())) {
            entry.mode = mode;
        }
    }

    pub(crate) fn audience(&self, owner: &OwnerId, session: SessionId) -> Audience {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let mut audience = Audience::default();
        for ((of, _), client) in clients.iter() {
            let sees = client.watches.contains_key(&Watch::Session(session))
                || client.watches.contains_key(&Watch::Inbox);
            if of != owner || !sees {
                continue;
            }
            audience.interactive += 1;
            match client.mode {
                InteractionMode::On => audience.enabled += 1,
                InteractionMode::Off => {}
            }
        }
        audience
    }

    fn leave(&self, key: &ClientKey, watch: Watch) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(client) = clients.get_mut(key) else { return };
        if let Some(times) = client.watches.get_mut(&watch) {
            *times -= 1;
            if *times == 0 {
                client.watches.remove(&watch);
            }
        }
        if client.watches.is_empty() {
            clients.remove(key);
        }
    }
}

/// A client that watches. Dropping it is looking away.
#[derive(Debug)]
pub struct Watching {
    presence: Arc<Presence>,
    key: ClientKey,
    watch: Watch,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.presence.leave(&self.key, self.watch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_counts_while_it_watches_and_as_it_wishes() {
        let presence = Arc::new(Presence::default());
        let owner = OwnerId::new("local").unwrap();
        let session = SessionId::generate(&owner);
        let other = SessionId::generate(&owner);
        let count = |session| {
            let audience = presence.audience(&owner, session);
            (audience.interactive, audience.enabled)
        };
        assert_eq!(count(session), (0, 0));
        let desk = presence.watch(&owner, "desk", InteractionMode::On, Watch::Session(session));
        let again = presence.watch(&owner, "desk", InteractionMode::On, Watch::Session(session));
        let phone = presence.watch(&owner, "phone", InteractionMode::Off, Watch::Inbox);
        assert_eq!(count(session), (2, 1), "one client is one, however often it looks");
        assert_eq!(count(other), (1, 0), "an inbox sees every session");
        presence.set_mode(&owner, "phone", InteractionMode::On);
        assert_eq!(count(other), (1, 1));
        drop(desk);
        assert_eq!(count(session), (2, 2));
        drop(again);
        drop(phone);
        assert_eq!(count(session), (0, 0));
        assert!(presence.clients.lock().unwrap().is_empty(), "nothing is kept of those who left");
    }
}
