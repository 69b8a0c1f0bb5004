//! Several databases: who has what, what is refused, what goes on while one is away, and moving.

use std::time::Duration;

use holdstead_core::Command;
use holdstead_protocol::{Event, OwnerId, Seq, SessionId, SessionOpened};
use holdstead_store::{
    AppendError, AuditKey, DatabaseNumber, Heads, Journal, NewDatabases, NodeId, Notary, People, Placed,
    Sharded, StoreError, TagRange, log_of, read_log, token_hash,
};
use tempfile::TempDir;

use crate::commands::{answer, ask, check_sound, message, question, read_all};
use crate::fixture::Fixture;

/// One in the first database, and one in the second.
const OWNERS: [&str; 2] = ["ada", "local"];

fn owner(name: &str) -> OwnerId {
    OwnerId::new(name).expect("an owner")
}

async fn open_for(journal: &dyn Journal, name: &str) -> Result<SessionId, AppendError> {
    let session = SessionId::generate(&owner(name));
    let opened = SessionOpened::new(owner(name), "scripted");
    journal.append(session, Command::Open(Box::new(opened))).await.map(|_| session)
}

/// What is in this database.
fn half(database: usize) -> TagRange {
    (if database == 1 { "8000-ffff" } else { "0000-7fff" }).parse().expect("a range")
}

fn words(refused: Result<Sharded, StoreError>) -> String {
    refused.expect_err("it must be refused").to_string()
}

#[tokio::test]
async fn each_owner_has_one_database_and_people_have_none_of_them() {
    let fixture = Fixture::sharded().await;
    let journal = &**fixture.journal();
    for (index, name) in OWNERS.into_iter().enumerate() {
        let session = open_for(journal, name).await.expect("a session");
        let request = question(session, "here");
        journal.append(session, ask(&request)).await.expect("an ask");
        assert_eq!(journal.live_count(&owner(name)).await.expect("a count"), 1);
        assert_eq!(
            journal.ask(request.interaction_id).await.expect("a look").expect("an ask").session,
            session
        );
        for (database, expected) in [(0, 0), (index + 1, 1), (2 - index, index as i64)] {
            let count = fixture.count_in(database, "SELECT count(*) FROM sessions").await;
            assert_eq!(count, expected, "{name} in database {database}");
        }
    }
    assert_eq!(journal.journals(None, 10).await.expect("all").len(), 2);
    assert_eq!(journal.unfinished(None, 10).await.expect("a list").len(), 0);
    fixture.end().await;
}

#[tokio::test]
async fn another_list_is_refused_and_a_new_one_is_taken_in() {
    let fixture = Fixture::sharded().await;
    let (urls, other) = (fixture.urls(), Fixture::sharded().await);
    let strangers = other.urls();
    let (control, one, two) = (&urls[0], urls[1].clone(), urls[2].clone());
    let open = async |data: Vec<String>| Sharded::open(control, &data, NewDatabases::Refused).await;

    assert!(words(open(vec![two.clone(), one.clone()]).await).contains("database 1 of the settings"));
    assert!(words(open(vec![one.clone()]).await).contains("None can be left out"));
    assert!(words(open(vec![one.clone(), strangers[1].clone()]).await).contains("database 2"));
    assert!(words(open(vec![one.clone(), one.clone()]).await).contains("twice"));
    assert!(words(open(Vec::new()).await).contains("data"));
    let alone = holdstead_store::open(control).await.expect_err("one of several");
    assert!(alone.to_string().contains("one of several"), "{alone}");
    let alone = holdstead_store::open(&one).await.expect_err("one of several");
    assert!(alone.to_string().contains("one of several"), "{alone}");

    // Nor is one that belongs elsewhere taken in, or one that has something.
    let more = |url: &str| vec![one.clone(), two.clone(), url.to_owned()];
    let added = Sharded::open(control, &more(&strangers[1]), NewDatabases::Added).await;
    assert!(words(added).contains("not empty"));
    let new = Fixture::postgres().await;
    let url = new.url();
    assert!(words(open(more(&url)).await).contains("holdstead shards add"));
    let added = Sharded::open(control, &more(&url), NewDatabases::Added).await.expect("a third");
    assert_eq!(added.parts(), 3);
    added.close().await;
    let again = open(more(&url)).await.expect("the same three");
    let numbers: Vec<_> = again.map().placed().iter().map(|placed| placed.database.0).collect();
    assert_eq!(numbers, [2, 1], "nothing is in it yet");
    again.close().await;
    for fixture in [fixture, other, new] {
        fixture.end().await;
    }
}

#[tokio::test]
async fn what_was_in_one_database_stays_there() {
    let (old, new) = (Fixture::postgres().await, Fixture::postgres().await);
    let session = open_for(&**old.journal(), "local").await.expect("a session");
    let sharded = Sharded::open(&old.url(), &[old.url(), new.url()], NewDatabases::Refused).await;
    let sharded = sharded.expect("two databases, one of which controls");
    assert!(sharded.session(session).await.expect("a look").is_some());
    let moved = sharded.move_range(TagRange::ALL, DatabaseNumber(2)).await.expect("moved");
    assert_eq!((moved.sessions, moved.events), (1, 1));
    sharded.append(session, message("there")).await.expect("it is written there");
    check_sound(&sharded, session).await;
    sharded.close().await;
    for fixture in [old, new] {
        fixture.end().await;
    }
}

#[tokio::test]
async fn what_is_moved_is_whole_and_nobody_writes_it_where_it_was() {
    let fixture = Fixture::sharded().await;
    let (journal, mover) = (&**fixture.journal(), fixture.shards().await);
    // It never hears of anything.
    let stale = fixture.between(|backend| backend).await;
    let folder = TempDir::new().expect("a folder");
    let (key, log) = (AuditKey::generate(), folder.path().join("checkpoints.log"));
    for journal in [journal, &mover as &dyn Journal] {
        journal.sign_with(Notary::new(key.clone(), &log));
    }
    let mut sessions = Vec::new();
    for name in OWNERS {
        for _ in 0..70 {
            sessions.push(open_for(journal, name).await.expect("a session"));
        }
    }
    let (first, last) = (sessions[0], sessions[139]);
    let request = question(first, "moved");
    journal.append(first, ask(&request)).await.expect("an ask");
    journal.checkpoint(Heads::Changed).await.expect("signed");
    journal.append(first, message("unsigned")).await.expect("written");
    let before: Vec<Event> = read_all(journal, first).await;

    let moved = mover.move_range(half(1), DatabaseNumber(2)).await.expect("moved");
    assert_eq!((moved.sessions, moved.events), (70, 72));
    assert_eq!(fixture.count_in(1, "SELECT count(*) FROM sessions").await, 0);
    assert_eq!(fixture.count_in(1, "SELECT count(*) FROM events").await, 0);
    assert_eq!(read_all(&mover, first).await, before);

    let refused = stale.append(first, message("too late")).await;
    assert!(
        matches!(refused, Err(AppendError::Store(StoreError::Moving) | AppendError::Rejected(_))),
        "{refused:?}"
    );
    let refused = open_for(&*stale, "ada").await;
    assert!(matches!(refused, Err(AppendError::Store(StoreError::Moving))), "{refused:?}");
    journal.append(last, message("not moved")).await.expect("the others go on");

    mover.append(first, answer(&request, "ada", "key", "north")).await.expect("answered there");
    check_sound(&mover, first).await;
    while journal.shards().expect("several").map() != mover.map() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    journal.append(first, message("heard of it")).await.expect("written there");

    // And back, in part; what was signed where still holds.
    let moved = mover.move_range(half(1), DatabaseNumber(1)).await.expect("moved back");
    assert_eq!(moved.sessions, 70);
    mover.checkpoint(Heads::All).await.expect("signed");
    for session in sessions {
        let report = mover.audit(session, &[key.public()]).await.expect("a report");
        assert_eq!(report.fault, None, "{session}");
        check_sound(&mover, session).await;
    }
    for part in 0..2 {
        let journal = mover.part(part).expect("it is there");
        let report = journal.audit_rounds(&[key.public()]).await.expect("a report");
        assert_eq!(report.faults, [], "database {}", part + 1);
        let lines = read_log(&log_of(&log, DatabaseNumber(part + 1))).expect("a file");
        for (number, line) in lines {
            if let holdstead_store::Kept::Checkpoint(kept) = line.expect("a line") {
                assert_eq!(mover.contradiction(&kept).await.expect("a look"), None, "line {number}");
            }
        }
    }
    stale.close().await;
    mover.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn a_move_that_was_cut_off_is_finished_and_no_other_begins_meanwhile() {
    let fixture = Fixture::sharded().await;
    let shards = fixture.shards().await;
    let session = open_for(&shards, "ada").await.expect("a session");
    // As somebody leaves it who is killed before anything is copied.
    let sql =
        "UPDATE shards SET moving_to = 2 WHERE database = 1; UPDATE shard_map SET version = version + 1";
    fixture.run(sql, sql).await;
    while shards.map().placed()[1].moving_to.is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let refused = shards.append(session, message("now")).await;
    assert!(matches!(refused, Err(AppendError::Store(StoreError::Moving))), "{refused:?}");
    assert_eq!(shards.read(session, Seq::START, 10).await.expect("it is read").len(), 1);
    let other = shards.move_range(half(2), DatabaseNumber(1)).await.expect_err("one at a time");
    assert!(other.to_string().contains("holdstead shards move 8000-ffff 2"), "{other}");
    assert_eq!(shards.move_range(half(1), DatabaseNumber(2)).await.expect("moved").sessions, 1);
    shards.append(session, message("now")).await.expect("written");
    shards.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn nodes_confirm_before_anything_is_taken_away() {
    let fixture = Fixture::sharded().await;
    let (node, mover) = (&**fixture.journal(), fixture.shards().await);
    let session = open_for(node, "ada").await.expect("a session");
    let cluster = node.cluster().expect("several nodes");
    let member = cluster.join(NodeId::generate(), "one").await.expect("joined");
    cluster.renew(member, 0).await.expect("renewed");
    let (moved, ()) = tokio::join!(mover.move_range(half(1), DatabaseNumber(2)), async {
        while fixture.count_in(0, "SELECT count(*) FROM shards WHERE database = 1").await > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // It has moved, and a node that may look for it where it was is there.
        assert_eq!(fixture.count_in(1, "SELECT count(*) FROM sessions").await, 1);
        // Nothing is written where it would not find it.
        let early = mover.append(session, message("now")).await;
        assert!(matches!(early, Err(AppendError::Store(StoreError::Moving))), "{early:?}");
        let is_there = |placed: &Placed| placed.database == DatabaseNumber(1);
        while node.shards().expect("several").map().placed().iter().any(is_there) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        cluster.renew(member, 0).await.expect("renewed");
    });
    moved.expect("moved");
    assert_eq!(fixture.count_in(1, "SELECT count(*) FROM sessions").await, 0);
    assert!(node.session(session).await.expect("a look").is_some());
    mover.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn one_that_is_away_keeps_nothing_from_the_others() {
    let fixture = Fixture::sharded().await;
    let urls = fixture.urls();
    let session = open_for(&**fixture.journal(), "ada").await.expect("a session");
    // Nobody listens there; what is written down says that it is the second.
    let away = "postgres://nobody@127.0.0.1:1/nothing".to_owned();
    let shards = Sharded::open(&urls[0], &[urls[1].clone(), away], NewDatabases::Refused).await;
    let shards = shards.expect("it starts without one of them");
    shards.append(session, message("here")).await.expect("written");
    let refused = open_for(&shards, "local").await;
    assert!(matches!(refused, Err(AppendError::Store(StoreError::Unreachable { .. }))), "{refused:?}");
    assert!(shards.sessions(sessions_of("local")).await.is_err());
    shards.ready().await.expect("it serves the others");
    assert!(shards.part(0).expect("there").due(10).await.is_ok());
    assert!(shards.part(1).is_err());
    let heads =
        shards.cluster().expect("several nodes").heads(&[session]).await.expect("those that are there");
    assert_eq!(heads, [(session, Seq(2))]);
    assert!(shards.device_by_hash(&token_hash("x")).await.expect("a look").is_none());
    shards.close().await;
    fixture.end().await;
}

fn sessions_of(name: &str) -> holdstead_store::SessionQuery {
    let only = holdstead_store::SessionsOnly::All;
    holdstead_store::SessionQuery { owner: owner(name), before: None, only, limit: 10 }
}
