//! Who may do what.

use std::sync::Arc;

use holdstead_protocol::api::Role;
use holdstead_protocol::{DeviceId, DeviceKind, IdentifiedBy, OwnerId, PasskeyId, PersonId, Seq, SessionId};
use holdstead_store::{
    ConfirmationRecord, DeviceRecord, Guard, Journal, LinkUse, LoginLinkRecord, PasskeyRecord, PasskeyRule,
    PersonRecord, TicketRecord, Unmarked,
};
use tokio::task::JoinSet;

use crate::commands::{answer, ask, from_now, open, owner, question};
use crate::fixture::Fixture;

async fn person(journal: &dyn Journal, name: &str, role: Role) -> PersonRecord {
    PersonRecord {
        id: PersonId::generate(),
        owner: owner(),
        name: name.to_owned(),
        handle: name.to_lowercase(),
        role,
        passkey_rule: PasskeyRule::NotRequired,
        created_at: from_now(journal, 0).await,
        removed_at: None,
    }
}

async fn device(journal: &dyn Journal, person: PersonId, number: u8) -> DeviceRecord {
    DeviceRecord {
        id: DeviceId::generate(),
        person,
        hash: [number; 32],
        kind: DeviceKind::Token,
        identified_by: IdentifiedBy::Token,
        name: "Token".to_owned(),
        session: None,
        created_at: from_now(journal, 0).await,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    }
}

/// A passkey counts with its mark only, and that one is required cannot be taken back without the key.
pub(crate) async fn a_passkey_without_the_key_confirms_nothing(fixture: &Fixture) {
    let journal = &**fixture.journal();
    journal.guard_with(Guard::new([7; 32]), Unmarked::TakenOver).await.expect("guarded");
    let ada = journal.add_person(person(journal, "Ada", Role::Person).await).await.expect("added");
    let passkey = PasskeyRecord {
        id: PasskeyId::generate(),
        person: ada.id,
        credential: vec![1, 2],
        public_key: vec![4; 65],
        site: "localhost".to_owned(),
        name: "Phone".to_owned(),
        count: 0,
        created_at: from_now(journal, 0).await,
        last_used_at: None,
    };
    journal.add_passkey(passkey.clone()).await.expect("added");
    assert_eq!(journal.passkeys(ada.id).await.expect("a look"), std::slice::from_ref(&passkey));
    assert!(journal.use_passkey(passkey.id, 7).await.expect("used"));
    assert!(!journal.use_passkey(passkey.id, 7).await.expect("a look"), "a copy counts from there, too");
    let used = journal.passkeys(ada.id).await.expect("a look").remove(0);
    assert_eq!((used.count, used.last_used_at.is_some()), (7, true));
    journal.set_passkey_rule(ada.id, PasskeyRule::Required).await.expect("set");
    let rule = async || journal.person(ada.id).await.expect("a look").map(|ada| ada.passkey_rule);
    assert_eq!(rule().await, Some(PasskeyRule::Required));
    assert!(journal.change_role(ada.id, Role::Admin).await.expect("changed"));
    assert_eq!(rule().await, Some(PasskeyRule::Required), "whatever their role");

    let sql = "UPDATE people SET passkey_required = 0";
    fixture.run(sql, sql).await;
    assert_eq!(rule().await, None, "nobody is let in by such a row");
    let sql = "UPDATE people SET passkey_required = 1";
    fixture.run(sql, sql).await;
    let sql = "UPDATE passkeys SET site = 'evil.example'";
    fixture.run(sql, sql).await;
    assert_eq!(journal.passkeys(ada.id).await.expect("a look"), []);
    assert!(journal.remove_passkey(ada.id, passkey.id).await.expect("removed"));
    assert!(!journal.remove_passkey(ada.id, passkey.id).await.expect("a look"));
    journal.set_passkey_rule(ada.id, PasskeyRule::NotRequired).await.expect("set");
    assert_eq!(rule().await, Some(PasskeyRule::NotRequired));
}

/// A person's mark covers their role and whether a passkey is required. Changes of both at once leave a row that counts.
pub(crate) async fn changes_of_one_person_at_once_are_all_written(fixture: &Fixture) {
    let journal = &**fixture.journal();
    journal.guard_with(Guard::new([7; 32]), Unmarked::TakenOver).await.expect("guarded");
    let ada = journal.add_person(person(journal, "Ada", Role::Person).await).await.expect("added").id;
    for round in 0..20_u8 {
        let mut passkeys = Vec::new();
        for number in 0..2 {
            let passkey = PasskeyRecord {
                id: PasskeyId::generate(),
                person: ada,
                credential: vec![round, number],
                public_key: vec![4; 65],
                site: "localhost".to_owned(),
                name: "Phone".to_owned(),
                count: 0,
                created_at: from_now(journal, 0).await,
                last_used_at: None,
            };
            journal.add_passkey(passkey.clone()).await.expect("added");
            passkeys.push(passkey.id);
        }
        let role = if round % 2 == 0 { Role::Admin } else { Role::Person };
        let (changed, set) = tokio::join!(
            journal.change_role(ada, role),
            journal.set_passkey_rule(ada, PasskeyRule::Required)
        );
        assert!(changed.expect("changed") && set.expect("set"));
        let known = journal.person(ada).await.expect("a look").expect("the row counts");
        assert_eq!((known.role, known.passkey_rule), (role, PasskeyRule::Required));
        let (one, two, required) = tokio::join!(
            journal.remove_passkey(ada, passkeys[0]),
            journal.remove_passkey(ada, passkeys[1]),
            journal.set_passkey_rule(ada, PasskeyRule::Required)
        );
        assert!(one.expect("removed") && two.expect("removed"));
        required.expect("set, or refused because none was left");
        let known = journal.person(ada).await.expect("a look").expect("the row counts");
        assert_eq!(known.passkey_rule, PasskeyRule::NotRequired, "none is left that could confirm anything");
        assert!(!journal.set_passkey_rule(ada, PasskeyRule::Required).await.expect("a look"));
    }
}

/// Whoever can write the database and has no key lets nobody in, and makes nobody more than they are.
pub(crate) async fn a_row_without_the_key_lets_nobody_in(fixture: &Fixture) {
    let journal = &**fixture.journal();
    // Written before there was a key, and taken over with it.
    let ada = journal.add_person(person(journal, "Ada", Role::Person).await).await.expect("added");
    journal.add_device(device(journal, ada.id, 1).await).await.expect("added");
    journal.guard_with(Guard::new([7; 32]), Unmarked::TakenOver).await.expect("guarded");
    let ben = journal.add_person(person(journal, "Ben", Role::Viewer).await).await.expect("added");
    let bens = device(journal, ben.id, 2).await;
    journal.add_device(bens.clone()).await.expect("added");
    let link = LoginLinkRecord { hash: [3; 32], person: ben.id, expires_at: from_now(journal, 60_000).await };
    journal.add_login_link(link.clone()).await.expect("added");
    let later = from_now(journal, 90_000).await;
    journal.use_device(bens.id, Some(later)).await.expect("used");
    assert!(journal.change_role(ben.id, Role::Person).await.expect("changed"));
    for hash in [[1; 32], [2; 32]] {
        assert!(journal.device_by_hash(&hash).await.expect("a look").is_some());
    }
    assert_eq!(journal.audit_people().await.expect("a look"), Vec::<String>::new());

    let gets_in = async |hash: u8| journal.device_by_hash(&[hash; 32]).await.expect("a look").is_some();
    let tamperings = [
        "UPDATE people SET role = 'admin' WHERE name = 'Ben'",
        "UPDATE people SET role = 'person', handle = 'ben2' WHERE name = 'Ben'",
    ];
    for sql in tamperings {
        fixture.run(sql, sql).await;
        assert!(!gets_in(2).await, "{sql}");
        assert_eq!(journal.audit_people().await.expect("a look").len(), 1, "{sql}");
        assert_eq!(journal.person(ben.id).await.expect("a look"), None, "{sql}");
    }
    let sql = "UPDATE people SET handle = 'ben' WHERE name = 'Ben'";
    fixture.run(sql, sql).await;
    assert!(gets_in(2).await, "as it was");
    let sql = "UPDATE devices SET expires_at = NULL WHERE expires_at IS NOT NULL";
    fixture.run(sql, sql).await;
    assert!(!gets_in(2).await, "a longer life");
    let sql = "UPDATE login_links SET expires_at = expires_at + 1";
    fixture.run(sql, sql).await;
    assert_eq!(journal.use_login_link(&[3; 32]).await.expect("a look"), LinkUse::Unknown);

    let ada_device = journal.devices(ada.id).await.expect("a list").remove(0);
    assert!(journal.revoke_device(ada_device.id).await.expect("revoked"));
    let sql = "UPDATE devices SET revoked_at = NULL";
    fixture.run(sql, sql).await;
    assert!(!gets_in(1).await, "what was revoked stays so");
}

pub(crate) async fn a_name_is_one_persons_and_stays_theirs(fixture: &Fixture) {
    let journal = fixture.journal();
    let mut wanted = JoinSet::new();
    for _ in 0..20 {
        let ada = person(&**journal, "Ada", Role::Person).await;
        let journal = Arc::clone(journal);
        wanted.spawn(async move { journal.add_person(ada).await.expect("an answer") });
    }
    let found = wanted.join_all().await;
    let ada = &found[0];
    assert!(found.iter().all(|one| one == ada), "{found:?}");
    assert_eq!(journal.person(ada.id).await.expect("a look").as_ref(), Some(ada));
    // Somebody else's people are others.
    let other = OwnerId::new("other").expect("a name");
    let theirs = PersonRecord { owner: other.clone(), ..person(&**journal, "Ada", Role::Viewer).await };
    assert_eq!(journal.add_person(theirs.clone()).await.expect("added"), theirs);
    assert_eq!(journal.people(&other).await.expect("a list"), [theirs]);

    assert!(journal.remove_person(ada.id).await.expect("removed"));
    assert!(!journal.remove_person(ada.id).await.expect("a look"));
    let again = journal.add_person(person(&**journal, "Ada", Role::Admin).await).await.expect("an answer");
    assert_eq!((again.id, again.role), (ada.id, Role::Person));
    assert!(again.removed_at.is_some());
    assert!(!journal.change_role(ada.id, Role::Admin).await.expect("a look"), "they are gone");
    assert_eq!(journal.people(&owner()).await.expect("a list"), [again]);
}

pub(crate) async fn a_device_is_found_until_it_is_revoked(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let ada = journal.add_person(person(journal, "Ada", Role::Person).await).await.expect("added");
    let phone = device(journal, ada.id, 1).await;
    let bound = DeviceRecord {
        kind: DeviceKind::Browser,
        session: Some(SessionId::generate(&owner())),
        expires_at: Some(from_now(journal, 1_000).await),
        ..device(journal, ada.id, 2).await
    };
    for one in [&phone, &bound] {
        journal.add_device(one.clone()).await.expect("added");
        let found = journal.device_by_hash(&one.hash).await.expect("a look");
        assert_eq!(found, Some((one.clone(), ada.clone())));
        assert_eq!(journal.device(one.id).await.expect("a look"), found);
    }
    let copy = DeviceRecord { id: DeviceId::generate(), ..phone.clone() };
    assert!(journal.add_device(copy).await.is_err(), "one secret, one device");
    assert_eq!(journal.device_by_hash(&[3; 32]).await.expect("a look"), None);
    assert_eq!(journal.devices(ada.id).await.expect("a list"), [phone.clone(), bound.clone()]);

    let later = from_now(journal, 60_000).await;
    journal.use_device(phone.id, None).await.expect("used");
    journal.use_device(bound.id, Some(later)).await.expect("used");
    let used = journal.devices(ada.id).await.expect("a list");
    assert!(used.iter().all(|one| one.last_used_at.is_some_and(|at| at >= one.created_at)), "{used:?}");
    assert_eq!((used[0].expires_at, used[1].expires_at), (None, Some(later)));

    assert!(journal.revoke_device(phone.id).await.expect("revoked"));
    assert!(!journal.revoke_device(phone.id).await.expect("a look"));
    let (revoked, _) = journal.device_by_hash(&phone.hash).await.expect("a look").expect("it is still known");
    assert!(revoked.revoked_at.is_some_and(|at| at >= phone.created_at));
    assert_eq!(journal.devices(ada.id).await.expect("a list"), used[1..]);
}

pub(crate) async fn changes_are_found_by_their_revision(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let mut people = Vec::new();
    for (number, name) in [(10, "Ada"), (20, "Ben"), (30, "Cleo")] {
        let person = journal.add_person(person(journal, name, Role::Person).await).await.expect("added");
        let mut devices = Vec::new();
        for number in [number, number + 1] {
            let one = device(journal, person.id, number).await;
            journal.add_device(one.clone()).await.expect("added");
            devices.push(one.id);
        }
        people.push((person.id, devices));
    }
    let [(ada, hers), (ben, his), (cleo, theirs)] = people.as_slice() else { panic!("{people:?}") };
    let start = journal.revision().await.expect("a revision");
    assert_eq!(journal.changed_devices(start).await.expect("a list"), []);

    // What nobody must hear of is no change.
    journal.use_device(hers[0], None).await.expect("used");
    assert!(!journal.revoke_device(DeviceId::generate()).await.expect("a look"));
    assert!(!journal.change_role(*ben, Role::Person).await.expect("a look"));
    assert_eq!(journal.revision().await.expect("a revision"), start);

    let second = fixture.second().await;
    assert!(second.revoke_device(hers[0]).await.expect("revoked"));
    let one = journal.revision().await.expect("a revision");
    assert!(one > start);
    assert_eq!(journal.changed_devices(start).await.expect("a list"), [hers[0]]);
    assert_eq!(journal.revoke_devices(*ada).await.expect("revoked"), 1);
    assert_eq!(journal.revoke_devices(*ada).await.expect("a look"), 0);
    assert!(journal.change_role(*ben, Role::Viewer).await.expect("changed"));
    let two = journal.revision().await.expect("a revision");
    assert!(journal.remove_person(*cleo).await.expect("removed"));
    let changed = async |after| {
        let mut changed = journal.changed_devices(after).await.expect("a list");
        changed.sort();
        changed
    };
    let mut expected = [&hers[1..], his, theirs].concat();
    expected.sort();
    assert_eq!(changed(one).await, expected);
    assert_eq!(changed(two).await, *theirs);
    let (phone, person) = journal.device(his[0]).await.expect("a look").expect("it is known");
    assert_eq!((phone.revoked_at, person.role), (None, Role::Viewer));
}

pub(crate) async fn a_link_lets_one_of_twenty_in(fixture: &Fixture) {
    let journal = fixture.journal();
    let expires_at = from_now(&**journal, 60_000).await;
    let person = PersonId::generate();
    let link = LoginLinkRecord { hash: [7; 32], person, expires_at };
    journal.add_login_link(link).await.expect("added");
    let mut browsers = JoinSet::new();
    for _ in 0..20 {
        let journal = Arc::clone(journal);
        browsers.spawn(async move { journal.use_login_link(&[7; 32]).await.expect("an answer") });
    }
    let mut entered = 0;
    while let Some(used) = browsers.join_next().await {
        match used.expect("a browser") {
            LinkUse::Ok(whose) => {
                assert_eq!(whose, person);
                entered += 1;
            }
            LinkUse::UsedAt(at) => assert!(at < expires_at),
            other @ (LinkUse::Expired(_) | LinkUse::Unknown) => panic!("{other:?}"),
        }
    }
    assert_eq!(entered, 1);
    assert_eq!(journal.use_login_link(&[8; 32]).await.expect("an answer"), LinkUse::Unknown);
}

pub(crate) async fn an_old_link_lets_nobody_in(fixture: &Fixture) {
    let journal = &**fixture.journal();
    // The moment that it expires at is its first without effect.
    let expires_at = from_now(journal, 0).await;
    let link = LoginLinkRecord { hash: [9; 32], person: PersonId::generate(), expires_at };
    journal.add_login_link(link).await.expect("added");
    assert_eq!(journal.use_login_link(&[9; 32]).await.expect("an answer"), LinkUse::Expired(expires_at));
}

pub(crate) async fn a_ticket_opens_one_of_twenty(fixture: &Fixture) {
    let journal = fixture.journal();
    let expires_at = from_now(&**journal, 60_000).await;
    let ticket = TicketRecord { hash: [7; 32], token: [1; 32], expires_at };
    journal.add_ticket(ticket).await.expect("added");
    let mut sockets = JoinSet::new();
    for _ in 0..20 {
        let journal = Arc::clone(journal);
        sockets.spawn(async move { journal.use_ticket(&[7; 32]).await.expect("an answer") });
    }
    let used = sockets.join_all().await;
    let opened: Vec<_> = used.into_iter().flatten().collect();
    assert_eq!(opened, [[1; 32]]);
    assert_eq!(journal.use_ticket(&[8; 32]).await.expect("an answer"), None);
}

pub(crate) async fn an_old_ticket_opens_nothing(fixture: &Fixture) {
    let journal = &**fixture.journal();
    // The moment that it expires at is its first without effect.
    let expires_at = from_now(journal, 0).await;
    journal.add_ticket(TicketRecord { hash: [9; 32], token: [1; 32], expires_at }).await.expect("added");
    assert_eq!(journal.use_ticket(&[9; 32]).await.expect("an answer"), None);
}

/// The tables of tokens as they were before there were people, with one of each in them.
fn before_people(bytes: &str, id: &str, hex: impl Fn(u8) -> String, uuid: &str, odd: &str) -> String {
    let token =
        |number: u8, rest: &str| format!("INSERT INTO tokens VALUES ({}, 'ada', {rest});", hex(number));
    let link = |number: u8, used_at: u64| {
        format!("INSERT INTO login_links VALUES ({}, 'ada', 'Ada', {used_at} + 1, {used_at});", hex(number))
    };
    [
        "DROP TABLE passkey_confirmations; DROP TABLE devices; DROP TABLE passkeys; DROP TABLE people; DROP TABLE access; DROP TABLE login_links; \
         DROP TABLE IF EXISTS nodes; DROP TABLE IF EXISTS runners; DROP TABLE IF EXISTS keys; \
         DROP TABLE IF EXISTS watchers; DROP TABLE IF EXISTS claims; DROP TABLE IF EXISTS shard_databases; \
         DROP TABLE IF EXISTS shards; DROP TABLE IF EXISTS shard_map;".to_owned(),
        format!(
            "CREATE TABLE tokens (hash {bytes} PRIMARY KEY NOT NULL, owner TEXT NOT NULL, role TEXT NOT NULL, \
             name TEXT NOT NULL, session_id {id}, created_at BIGINT NOT NULL, expires_at BIGINT, revoked_at BIGINT);"
        ),
        format!(
            "CREATE TABLE login_links (hash {bytes} PRIMARY KEY NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, \
             expires_at BIGINT NOT NULL, used_at BIGINT);"
        ),
        token(1, "'person', 'Ada', NULL, 1000000, NULL, NULL"),
        link(101, 5_000_000),
        token(2, "'person', 'Ada', NULL, 5000100, NULL, NULL"),
        link(102, 20_000_000),
        token(3, "'person', 'Ada', NULL, 20000100, 9000000000000000, NULL"),
        token(4, "'agent', 'ada', NULL, 1000, NULL, NULL"),
        token(5, &format!("'agent', 'claude', {uuid}, 1000, NULL, NULL")),
        token(6, "'agent', 'claude', NULL, 1000, NULL, NULL"),
        token(7, "'viewer', 'screen', NULL, 1000, NULL, 2000"),
        token(8, &format!("'person', {odd}, NULL, 1000, NULL, NULL")),
        "ALTER TABLE tickets DROP COLUMN mac; DROP INDEX sessions_by_state; DROP INDEX sessions_unarchived; \
         DROP INDEX sessions_archived; ALTER TABLE sessions DROP COLUMN archived_at; \
         ALTER TABLE sessions DROP COLUMN archived_by; ALTER TABLE sessions DROP COLUMN aged_out_to; \
         DROP TABLE search; DROP TABLE IF EXISTS search_vocabulary; DROP TABLE IF EXISTS search_words; DROP INDEX asks_by_decision; DROP INDEX asks_under_way; \
         ALTER TABLE asks DROP COLUMN decided_at; ALTER TABLE asks DROP COLUMN under_way; UPDATE sessions SET state_version = 0; DELETE FROM _sqlx_migrations WHERE version >= 6;"
            .to_owned(),
    ]
    .concat()
}

pub(crate) async fn a_database_of_the_version_before_opens(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "old").await;
    let request = question(session, "old");
    journal.append(session, ask(&request)).await.expect("asked");
    journal.append(session, answer(&request, "Ada", "k", "here")).await.expect("answered");
    let events = journal.read(session, Seq(0), 100).await.expect("events");
    let digits = session.uuid().simple().to_string();
    let digit = |number: u8| format!("{number:02x}").repeat(32);
    let sqlite =
        before_people("BLOB", "BLOB", |n| format!("x'{}'", digit(n)), &format!("x'{digits}'"), "char(27)");
    let postgres =
        before_people("BYTEA", "UUID", |n| format!("'\\x{}'", digit(n)), &format!("'{digits}'"), "chr(27)");
    fixture.run(&sqlite, &postgres).await;
    let Some(journal) = fixture.reopened().await else { return };

    let found = async |number: u8| {
        journal.device_by_hash(&[number; 32]).await.expect("a look").expect("it is still known")
    };
    let (terminal, ada) = found(1).await;
    assert_eq!((ada.name.as_str(), ada.handle.as_str(), ada.role), ("Ada", "ada", Role::Person));
    assert_eq!((terminal.kind, terminal.revoked_at), (DeviceKind::Token, None));
    // It was in a cookie, and so may be anywhere.
    let (cookie, _) = found(2).await;
    assert!(cookie.person == ada.id && cookie.kind == DeviceKind::Browser && cookie.revoked_at.is_some());
    let (browser, _) = found(3).await;
    assert!(browser.person == ada.id && browser.kind == DeviceKind::Browser && browser.revoked_at.is_none());
    // Whoever had nearly the same name keeps it, and nobody else gets it.
    let (_, program) = found(4).await;
    assert_eq!((program.name.as_str(), program.role), ("ada", Role::Agent));
    assert_ne!((program.id, &program.handle), (ada.id, &ada.handle));
    let (hosted, claude) = found(5).await;
    assert_eq!((claude.handle.as_str(), hosted.session), ("hosted\nclaude", Some(session)));
    let (unbound, own) = found(6).await;
    assert_eq!((own.handle.as_str(), unbound.session), ("claude", None));
    assert!(found(7).await.0.revoked_at.is_some());
    assert_eq!(found(8).await.1.name, "\u{1b}");
    assert_eq!(journal.people(&owner()).await.expect("a list").len(), 6);

    assert_eq!(journal.read(session, Seq(0), 100).await.expect("events"), events);
    assert_eq!(journal.verify(session).await.expect("a report").fault, None);
    journal.close().await;
}

/// A device changes what it is identified by, and stays the same device. Of two who try, one does.
pub(crate) async fn a_device_is_exchanged_once(fixture: &Fixture) {
    let journal = &**fixture.journal();
    journal.guard_with(Guard::new([7; 32]), Unmarked::TakenOver).await.expect("guarded");
    let ada = journal.add_person(person(journal, "Ada", Role::Person).await).await.expect("added");
    let old = device(journal, ada.id, 1).await;
    journal.add_device(old.clone()).await.expect("added");
    let (seen, until) = (journal.revision().await.expect("a look"), from_now(journal, 60_000).await);
    let exchange = async |new: u8| {
        journal.exchange_device(&[1; 32], &[new; 32], IdentifiedBy::Key, until).await.expect("an answer")
    };
    let (one, two) = tokio::join!(exchange(2), exchange(3));
    let (won, lost) = if one.is_some() { (2, 3) } else { (3, 2) };
    assert_eq!((one.or(two), one.is_some() && two.is_some()), (Some(old.id), false));
    assert_eq!(journal.changed_devices(seen).await.expect("a list"), [old.id]);
    let found =
        async |hash: u8| journal.device_by_hash(&[hash; 32]).await.expect("a look").map(|(device, _)| device);
    assert_eq!((found(1).await, found(lost).await), (None, None));
    let expected =
        DeviceRecord { hash: [won; 32], identified_by: IdentifiedBy::Key, expires_at: Some(until), ..old };
    assert_eq!(found(won).await, Some(expected.clone()));
    assert_eq!(exchange(4).await, None, "it was");
    let later = from_now(journal, 90_000).await;
    journal.use_device(expected.id, Some(later)).await.expect("used");
    assert_eq!(found(won).await.and_then(|device| device.expires_at), Some(later), "its mark fits");
    // What it is identified by is under the mark.
    let sql = "UPDATE devices SET identified_by = 'bearer'";
    fixture.run(sql, sql).await;
    assert_eq!(found(won).await, None);
}

/// What a passkey confirmed is done once, for what and where it was confirmed, however many nodes try.
pub(crate) async fn a_confirmation_counts_once(fixture: &Fixture) {
    let journal = &**fixture.journal();
    journal.guard_with(Guard::new([7; 32]), Unmarked::TakenOver).await.expect("guarded");
    let (device, passkey) = (DeviceId::generate(), PasskeyId::generate());
    let expires_at = from_now(journal, 60_000).await;
    let one = ConfirmationRecord { challenge: [1; 32], device, purpose: [2; 32], passkey, expires_at };
    let add =
        async |one: &ConfirmationRecord| journal.add_confirmation(one.clone()).await.expect("an answer");
    let (first, second) = tokio::join!(add(&one), add(&one));
    assert!(first != second, "a challenge is answered once");
    let using = async |device, purpose| {
        journal.use_confirmation(device, &[purpose; 32]).await.expect("an answer").map(|used| used.passkey)
    };
    assert_eq!(using(DeviceId::generate(), 2).await, None, "on another device");
    assert_eq!(using(device, 3).await, None, "for something else");
    let (first, second) = tokio::join!(using(device, 2), using(device, 2));
    assert_eq!((first.or(second), first.is_some() && second.is_some()), (Some(passkey), false));
    assert!(!add(&one).await, "its challenge stays answered");
    journal.give_confirmation_back(&one).await.expect("given back");
    let (first, second) = tokio::join!(using(device, 2), using(device, 2));
    assert_eq!((first.or(second), first.is_some() && second.is_some()), (Some(passkey), false), "once again");

    let late =
        ConfirmationRecord { challenge: [4; 32], expires_at: from_now(journal, 0).await, ..one.clone() };
    assert!(add(&late).await);
    assert_eq!(using(device, 2).await, None, "too old");
    let forged = ConfirmationRecord { challenge: [5; 32], ..one };
    assert!(add(&forged).await && add(&ConfirmationRecord { challenge: [6; 32], ..forged.clone() }).await);
    let sql = "UPDATE passkey_confirmations SET mac = NULL";
    fixture.run(sql, sql).await;
    assert_eq!(using(device, 2).await, None, "nobody with the key wrote it");
    assert!(add(&late).await, "what expired is gone");
}
