//! Who watches now, and would answer.
//!
//! This is about screens that are open, not about what was decided: it may be lost, and nothing but a count and the choice to
//! ask or not hangs on it. Nodes on one database tell each other; one that is new on another counts here a moment later.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use holdstead_protocol::transport::InteractionMode;
use holdstead_protocol::{OwnerId, SessionId};
use holdstead_store::Watcher;

use crate::Person;

#[derive(Debug, Default)]
pub(crate) struct Presence {
    counted: Mutex<Counted>,
}

/// The clients, and what they come to. Lists show the counts of many sessions, so they are kept and not counted anew.
#[derive(Debug, Default)]
struct Counted {
    clients: HashMap<ClientKey, Client>,
    owners: HashMap<OwnerId, Audiences>,
    /// How often that changed.
    changes: u64,
    elsewhere: HashMap<OwnerId, Elsewhere>,
}

/// The clients of one owner that watch on other nodes.
type Elsewhere = HashMap<ClientKey, Client>;

/// A client, by the name it gave itself among those of its person.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ClientKey {
    owner: OwnerId,
    person: String,
    client: String,
}

impl ClientKey {
    fn new(person: &Person, client: &str) -> Self {
        Self { owner: person.owner.clone(), person: person.name.clone(), client: client.to_owned() }
    }
}

#[derive(Debug)]
struct Client {
    answering: Answering,
    /// What it watches, and how often.
    watches: HashMap<Watch, usize>,
}

impl Client {
    /// Where it counts: an inbox sees every session, whichever of them are watched besides.
    fn seen_in(&self) -> Vec<Watch> {
        if self.watches.contains_key(&Watch::Inbox) {
            return vec![Watch::Inbox];
        }
        self.watches.keys().copied().collect()
    }

    fn sees(&self, session: SessionId) -> bool {
        self.watches.contains_key(&Watch::Inbox) || self.watches.contains_key(&Watch::Session(session))
    }
}

/// What a client looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Watch {
    Session(SessionId),
    /// All sessions of its owner.
    Inbox,
}

/// What a client that watches would do about an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answering {
    /// Its token may not answer, or it cannot show asks: it counts as nobody.
    Never,
    /// It could, and is switched off.
    Off,
    On,
}

impl From<InteractionMode> for Answering {
    fn from(mode: InteractionMode) -> Self {
        match mode {
            InteractionMode::On => Self::On,
            InteractionMode::Off => Self::Off,
        }
    }
}

/// How many clients could answer in a session, and how many of them would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Audience {
    pub(crate) interactive: u32,
    pub(crate) enabled: u32,
}

impl Audience {
    const fn of(answering: Answering) -> Self {
        match answering {
            Answering::Never => Self { interactive: 0, enabled: 0 },
            Answering::Off => Self { interactive: 1, enabled: 0 },
            Answering::On => Self { interactive: 1, enabled: 1 },
        }
    }

    const fn plus(self, other: Self) -> Self {
        Self { interactive: self.interactive + other.interactive, enabled: self.enabled + other.enabled }
    }

    const fn minus(self, other: Self) -> Self {
        Self {
            interactive: self.interactive.saturating_sub(other.interactive),
            enabled: self.enabled.saturating_sub(other.enabled),
        }
    }
}

/// Where somebody watches, among what belongs to one owner. Nothing is kept of where nobody could answer.
type Audiences = HashMap<Watch, Audience>;

impl Counted {
    /// Changes a client, and the counts with it. One that watches nothing is forgotten.
    fn change(&mut self, key: &ClientKey, change: impl FnOnce(&mut Client)) {
        let Some(client) = self.clients.get_mut(key) else { return };
        self.changes += 1;
        let (before, one) = (client.seen_in(), Audience::of(client.answering));
        change(client);
        let (after, now) = (client.seen_in(), Audience::of(client.answering));
        if client.watches.is_empty() {
            self.clients.remove(key);
        }
        let audiences = self.owners.entry(key.owner.clone()).or_default();
        for watch in before {
            recount(audiences, watch, |audience| audience.minus(one));
        }
        for watch in after {
            recount(audiences, watch, |audience| audience.plus(now));
        }
        if audiences.is_empty() {
            self.owners.remove(&key.owner);
        }
    }
}

fn recount(audiences: &mut Audiences, watch: Watch, count: impl FnOnce(Audience) -> Audience) {
    match audiences.entry(watch) {
        Entry::Vacant(place) => {
            let audience = count(Audience::default());
            if audience != Audience::default() {
                place.insert(audience);
            }
        }
        Entry::Occupied(mut place) => {
            let audience = count(*place.get());
            if audience == Audience::default() {
                place.remove();
            } else {
                place.insert(audience);
            }
        }
    }
}

impl Presence {
    /// Counts the client until the result is dropped.
    pub(crate) fn watch(
        self: &Arc<Self>,
        person: &Person,
        client: &str,
        answering: Answering,
        watch: Watch,
    ) -> Watching {
        let key = ClientKey::new(person, client);
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.clients.entry(key.clone()).or_insert_with(|| Client { answering, watches: HashMap::new() });
        counted.change(&key, |client| {
            client.answering = answering;
            *client.watches.entry(watch).or_default() += 1;
        });
        Watching { presence: Arc::clone(self), key, watch }
    }

    /// A client that watches nothing has nothing to keep: it says it again when it comes back.
    pub(crate) fn set_answering(&self, person: &Person, client: &str, answering: Answering) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.change(&ClientKey::new(person, client), |client| client.answering = answering);
    }

    pub(crate) fn audience(&self, owner: &OwnerId, session: SessionId) -> Audience {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let audiences = counted.owners.get(owner);
        let of = |watch| audiences.and_then(|all| all.get(&watch)).copied().unwrap_or_default();
        // One client is one, on however many nodes it looks.
        let is_here = |key| counted.clients.get(key).is_some_and(|client| client.sees(session));
        let elsewhere = counted.elsewhere.get(owner).into_iter().flatten();
        elsewhere
            .filter(|(key, client)| client.sees(session) && !is_here(key))
            .map(|(_, client)| Audience::of(client.answering))
            .fold(of(Watch::Inbox).plus(of(Watch::Session(session))), Audience::plus)
    }

    /// Who watches here and could answer, for other nodes. `None`: nothing changed since then.
    pub(crate) fn since(&self, changes: Option<u64>) -> Option<(u64, Vec<Watcher>)> {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if changes == Some(counted.changes) {
            return None;
        }
        let watchers = counted.clients.iter().flat_map(|(key, client)| {
            let is_on = match client.answering {
                Answering::Never => None,
                Answering::Off => Some(false),
                Answering::On => Some(true),
            };
            let watcher = move |watch, is_on| Watcher {
                owner: key.owner.clone(),
                person: key.person.clone(),
                client: key.client.clone(),
                session: match watch {
                    Watch::Inbox => None,
                    Watch::Session(session) => Some(session),
                },
                is_on,
            };
            is_on
                .into_iter()
                .flat_map(move |is_on| client.seen_in().into_iter().map(move |watch| watcher(watch, is_on)))
        });
        Some((counted.changes, watchers.collect()))
    }

    pub(crate) fn set_elsewhere(&self, watchers: Vec<Watcher>) {
        let mut elsewhere: HashMap<OwnerId, Elsewhere> = HashMap::new();
        for Watcher { owner, person, client, session, is_on } in watchers {
            let answering = if is_on { Answering::On } else { Answering::Off };
            let key = ClientKey { owner: owner.clone(), person, client };
            let clients = elsewhere.entry(owner).or_default();
            let client = clients.entry(key).or_insert_with(|| Client { answering, watches: HashMap::new() });
            *client.watches.entry(session.map_or(Watch::Inbox, Watch::Session)).or_default() += 1;
        }
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).elsewhere = elsewhere;
    }

    /// Whether anybody watches anything.
    pub(crate) fn is_watched(&self) -> bool {
        !self.counted.lock().unwrap_or_else(PoisonError::into_inner).clients.is_empty()
    }

    fn leave(&self, key: &ClientKey, watch: Watch) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.change(key, |client| {
            if let Some(times) = client.watches.get_mut(&watch) {
                *times -= 1;
                if *times == 0 {
                    client.watches.remove(&watch);
                }
            }
        });
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
    use holdstead_protocol::Surface;

    use super::*;

    struct World {
        presence: Arc<Presence>,
        owner: OwnerId,
    }

    impl World {
        fn new() -> Self {
            Self { presence: Arc::default(), owner: OwnerId::new("local").unwrap() }
        }

        fn person(&self, name: &str) -> Person {
            Person::new(self.owner.clone(), name, Surface::Web)
        }

        fn watch(&self, name: &str, client: &str, answering: Answering, watch: Watch) -> Watching {
            self.presence.watch(&self.person(name), client, answering, watch)
        }

        fn count(&self, session: SessionId) -> (u32, u32) {
            let audience = self.presence.audience(&self.owner, session);
            (audience.interactive, audience.enabled)
        }

        fn is_empty(&self) -> bool {
            let counted = self.presence.counted.lock().unwrap();
            counted.clients.is_empty() && counted.owners.is_empty()
        }
    }

    #[test]
    fn a_client_counts_while_it_watches_and_as_it_wishes() {
        let world = World::new();
        let session = SessionId::generate(&world.owner);
        let other = SessionId::generate(&world.owner);
        assert_eq!(world.count(session), (0, 0));
        let desk = world.watch("ana", "desk", Answering::On, Watch::Session(session));
        let again = world.watch("ana", "desk", Answering::On, Watch::Session(session));
        let phone = world.watch("ana", "phone", Answering::Off, Watch::Inbox);
        assert_eq!(world.count(session), (2, 1), "one client is one, however often it looks");
        assert_eq!(world.count(other), (1, 0), "an inbox sees every session");
        world.presence.set_answering(&world.person("ana"), "phone", Answering::On);
        assert_eq!(world.count(other), (1, 1));
        drop(desk);
        assert_eq!(world.count(session), (2, 2));
        drop(again);
        drop(phone);
        assert_eq!(world.count(session), (0, 0));
        assert!(world.is_empty(), "nothing is kept of those who left");
    }

    #[test]
    fn whoever_watches_an_inbox_and_a_session_is_one() {
        let world = World::new();
        let session = SessionId::generate(&world.owner);
        let one = world.watch("ana", "desk", Answering::On, Watch::Session(session));
        let all = world.watch("ana", "desk", Answering::On, Watch::Inbox);
        assert_eq!(world.count(session), (1, 1));
        drop(all);
        assert_eq!(world.count(session), (1, 1));
        let all = world.watch("ana", "desk", Answering::On, Watch::Inbox);
        drop(one);
        assert_eq!(world.count(session), (1, 1));
        drop(all);
        assert_eq!(world.count(session), (0, 0));
        assert!(world.is_empty());
    }

    #[test]
    fn whoever_cannot_answer_counts_as_nobody_until_they_can() {
        let world = World::new();
        let session = SessionId::generate(&world.owner);
        let screen = world.watch("ana", "screen", Answering::Never, Watch::Session(session));
        assert_eq!(world.count(session), (0, 0));
        world.presence.set_answering(&world.person("ana"), "screen", Answering::On);
        assert_eq!(world.count(session), (1, 1));
        world.presence.set_answering(&world.person("ana"), "screen", Answering::Never);
        assert_eq!(world.count(session), (0, 0));
        drop(screen);
        assert!(world.is_empty());
    }

    #[test]
    fn a_client_on_two_nodes_is_one_and_whoever_cannot_answer_is_not_told_of() {
        let (here, there) = (World::new(), World::new());
        let (session, other) = (SessionId::generate(&here.owner), SessionId::generate(&here.owner));
        let _desk = here.watch("ana", "desk", Answering::On, Watch::Session(session));
        let desk = there.watch("ana", "desk", Answering::On, Watch::Inbox);
        let _phone = there.watch("ana", "phone", Answering::Off, Watch::Session(session));
        let _wall = there.watch("ana", "wall", Answering::Never, Watch::Inbox);
        let (changes, watchers) = there.presence.since(None).unwrap();
        assert_eq!(there.presence.since(Some(changes)), None);
        here.presence.set_elsewhere(watchers);
        assert_eq!(here.count(session), (2, 1));
        assert_eq!(here.count(other), (1, 1), "its inbox on the other node");
        drop(desk);
        here.presence.set_elsewhere(there.presence.since(Some(changes)).unwrap().1);
        assert_eq!(here.count(other), (0, 0));
        assert_eq!(here.count(session), (2, 1));
    }

    #[test]
    fn two_people_may_name_their_clients_alike() {
        let world = World::new();
        let session = SessionId::generate(&world.owner);
        let _ana = world.watch("ana", "desk", Answering::On, Watch::Session(session));
        let _ben = world.watch("ben", "desk", Answering::On, Watch::Session(session));
        world.presence.set_answering(&world.person("ben"), "desk", Answering::Off);
        assert_eq!(world.count(session), (2, 1), "ben does not switch ana off");
        let other = OwnerId::new("other").unwrap();
        assert_eq!(world.presence.audience(&other, session), Audience::default());
    }
}
