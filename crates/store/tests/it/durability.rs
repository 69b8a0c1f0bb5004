//! What was acknowledged is there, once, whatever broke meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use holdstead_core::{Cancel, Command};
use holdstead_protocol::{
    EventBody, Incarnation, InteractionRequest, Seq, SessionId, ToolCallEnd, ToolCallId, TurnId,
};
use holdstead_store::backend::{Backend, Item, Patience, WriteError, Written};
use holdstead_store::{
    AppendError, AskFilter, AskQuery, EVENT_LIMIT, Journal, SessionQuery, SessionsOnly, StoreError,
};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::commands::{
    answer, ask, check_sound, closing_at, from_now, message, open, opened, owner, question, read_all, say,
};
use crate::fixture::Fixture;

pub(crate) async fn a_poisoned_item_fails_alone(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let sessions = [open(journal, "a").await, open(journal, "b").await];
    fixture.poison("POISON").await;
    let pending: Vec<_> = (0..100)
        .map(|number| {
            let words = if number == 37 { "POISON".to_owned() } else { number.to_string() };
            journal.append(sessions[number % 2], say(&words))
        })
        .collect();
    for (number, append) in pending.into_iter().enumerate() {
        match (number, append.await) {
            (37, Err(AppendError::Store(StoreError::Refused { .. }))) => {}
            (37, other) => panic!("{other:?}"),
            (_, result) => assert!(result.is_ok(), "{number}: {result:?}"),
        }
    }
    assert_eq!(check_sound(journal, sessions[0]).await.len(), 51);
    assert_eq!(check_sound(journal, sessions[1]).await.len(), 50);
}

/// Appends from many tasks; returns what was said to be written.
async fn append_many(journal: &Arc<dyn Journal>, sessions: &[SessionId]) -> BTreeSet<(SessionId, Seq)> {
    let mut appenders = JoinSet::new();
    for appender in 0..16 {
        let journal = Arc::clone(journal);
        let session = sessions[appender % sessions.len()];
        appenders.spawn(async move {
            let mut written = Vec::new();
            for number in 0..10 {
                let appended = journal.append(session, say(&format!("{appender}.{number}"))).await;
                let appended = appended.expect("appended in the end");
                assert_eq!(appended.events.len(), 1);
                written.push((session, appended.events[0].seq));
            }
            written
        });
    }
    let mut all = BTreeSet::new();
    while let Some(done) = appenders.join_next().await {
        for place in done.expect("an appender") {
            assert!(all.insert(place), "{place:?} was given twice");
        }
    }
    all
}

async fn check_once(journal: &dyn Journal, sessions: &[SessionId], written: &BTreeSet<(SessionId, Seq)>) {
    for session in sessions {
        let events = check_sound(journal, *session).await;
        let told = written.iter().filter(|(of, _)| of == session).count();
        assert_eq!(events.len(), 1 + told, "lost or doubled");
        let ids: BTreeSet<_> = events.iter().map(|event| event.id).collect();
        assert_eq!(ids.len(), events.len());
    }
}

pub(crate) async fn a_lost_reply_neither_loses_nor_doubles(fixture: &Fixture) {
    let journal = fixture.losing().await;
    let sessions = [open(&*journal, "a").await, open(&*journal, "b").await];
    let written = append_many(&journal, &sessions).await;
    assert_eq!(written.len(), 160);
    check_once(&*journal, &sessions, &written).await;

    // The same for answers: the one whose reply was lost has won, and is told so.
    let request = question(sessions[0], "lost");
    assert_eq!(journal.append(sessions[0], ask(&request)).await.expect("asked").events.len(), 1);
    let won = journal.append(sessions[0], answer(&request, "ada", "k", "here")).await.expect("answered");
    assert_eq!(won.events.len(), 1);
    assert!(won.session.asks.contains_key(&request.interaction_id));
    check_sound(&*journal, sessions[0]).await;
    journal.close().await;
}

pub(crate) async fn a_lost_opening_opens_once(fixture: &Fixture) {
    let journal = fixture.losing().await;
    for number in 0..4 {
        let session = SessionId::generate(&owner());
        let (opening, message) = tokio::join!(
            journal.append(session, Command::Open(Box::new(opened("scripted", &number.to_string())))),
            journal.append(session, message("hello")),
        );
        assert_eq!(opening.expect("opened").events[0].seq, Seq(1));
        assert_eq!(message.expect("said").events[0].seq, Seq(2));
        assert_eq!(check_sound(&*journal, session).await.len(), 2);
    }
    journal.close().await;
}

pub(crate) async fn a_broken_connection_neither_loses_nor_doubles(fixture: &Fixture) {
    let journal = fixture.journal();
    let sessions = [open(&**journal, "a").await, open(&**journal, "b").await];
    let breaking = async {
        for _ in 0..5 {
            tokio::time::sleep(std::time::Duration::from_millis(4)).await;
            fixture.break_connections().await;
        }
    };
    let (written, ()) = tokio::join!(append_many(journal, &sessions), breaking);
    check_once(&**journal, &sessions, &written).await;
}

pub(crate) async fn everything_is_there_after_reopening(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "kept").await;
    let request = question(session, "kept");
    journal.append(session, ask(&request)).await.expect("asked");
    journal.append(session, message("hello")).await.expect("said");
    let events = check_sound(journal, session).await;
    let (record, asked) =
        (journal.session(session).await.expect("a session"), journal.ask(request.interaction_id).await);
    let asked = asked.expect("an ask");
    let Some(again) = fixture.reopened().await else { return };
    assert_eq!(check_sound(&*again, session).await, events);
    assert_eq!(again.session(session).await.expect("a session"), record);
    assert_eq!(again.ask(request.interaction_id).await.expect("an ask"), asked);
    again.append(session, answer(&request, "ada", "k", "here")).await.expect("still open");
    again.close().await;
}

async fn first_answer_wins(journal: &dyn Journal, session: SessionId, request: &InteractionRequest) {
    let (one, two) = tokio::join!(
        journal.append(session, answer(request, "ada", "k1", "here")),
        journal.append(session, answer(request, "eve", "k2", "there")),
    );
    one.expect("the first answer wins");
    assert!(matches!(two, Err(AppendError::Rejected(_))), "{two:?}");
}

/// An older version wrote what is beside the events, and this one cannot read it.
async fn age(fixture: &Fixture) {
    stored_by(fixture, OLDER).await;
}

const OLDER: u32 = 0;
const NEWER: u32 = 1_000_000;

async fn stored_by(fixture: &Fixture, version: u32) {
    let sql =
        format!("UPDATE sessions SET state_version = {version}, state = {{}}; UPDATE asks SET doc = {{}}");
    fixture.run(&sql.replace("{}", "x'00'"), &sql.replace("{}", "'\\x00'")).await;
}

async fn outdated(journal: &dyn Journal) -> Vec<SessionId> {
    let mut found = journal.outdated(100).await.expect("a list");
    found.sort();
    found
}

pub(crate) async fn a_read_shows_a_state_of_another_version_and_writes_nothing(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let mut sessions = Vec::new();
    for number in 0..6 {
        let session = open(journal, &number.to_string()).await;
        let request = closing_at(question(session, "old"), from_now(journal, 1).await);
        journal.append(session, ask(&request)).await.expect("asked");
        sessions.push((session, request.interaction_id));
    }
    journal.append(sessions[0].0, message("hello")).await.expect("said");
    let live = AskQuery { owner: owner(), session: None, only: AskFilter::Live, after: None, limit: 3 };
    let page = SessionQuery { owner: owner(), before: None, only: SessionsOnly::All, limit: 4 };
    let read = async || {
        (
            journal.session(sessions[0].0).await.expect("a look"),
            journal.ask(sessions[1].1).await.expect("a look"),
            journal.asks(live.clone()).await.expect("a page"),
            journal.sessions(page.clone()).await.expect("a page"),
        )
    };
    let before = read().await;
    assert_eq!((before.2.len(), before.3.len()), (3, 4));
    for version in [OLDER, NEWER] {
        stored_by(fixture, version).await;
        assert_eq!(read().await, before);
        while journal.due(10).await.expect("a list").due.len() < 6 {
            tokio::task::yield_now().await;
        }
        let stored = format!("SELECT count(*) FROM sessions WHERE state_version = {version}");
        assert_eq!(fixture.count(&stored).await, 6, "a read writes nothing");
    }
    age(fixture).await;
    for (folded, (session, _)) in sessions.iter().enumerate() {
        let left: Vec<_> = sessions[folded..].iter().map(|(session, _)| *session).collect();
        assert_eq!(outdated(journal).await, left);
        journal.refold(*session).await.expect("folded");
    }
    assert_eq!(read().await, before);
    for (session, _) in sessions {
        check_sound(journal, session).await;
    }
}

pub(crate) async fn a_state_of_an_older_version_is_folded_when_it_is_written(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, ended) = (open(journal, "old").await, open(journal, "ended").await);
    let request = question(session, "old");
    journal.append(session, ask(&request)).await.expect("asked");
    journal.append(ended, Command::End { name: "ada".to_owned() }).await.expect("ended");
    age(fixture).await;
    first_answer_wins(journal, session, &request).await;
    assert_eq!(outdated(journal).await, [ended]);
    journal.erase(ended, "ada").await.expect("erased");
    assert_eq!(outdated(journal).await, []);
    assert_eq!(check_sound(journal, session).await.len(), 3);
}

pub(crate) async fn many_come_for_one_session_of_an_older_version(fixture: &Fixture) {
    let journal = fixture.journal();
    let session = open(&**journal, "old").await;
    for number in 0..10 {
        journal.append(session, say(&number.to_string())).await.expect("said");
        journal.append(session, message(&format!("hello {number}"))).await.expect("said");
    }
    age(fixture).await;
    let other = fixture.second().await;
    let reads = (0..20).map(|number| {
        let journal = Arc::clone(if number % 2 == 0 { journal } else { &other });
        tokio::spawn(async move {
            if number % 5 == 0 {
                journal.append(session, say("more")).await.expect("said");
            }
            journal.session(session).await.expect("a look").expect("there").head
        })
    });
    for read in reads.collect::<Vec<_>>() {
        assert!(read.await.expect("a head") >= Seq(21));
    }
    assert_eq!(check_sound(&**journal, session).await.len(), 25);
}

/// A newer version that runs beside this one wrote what is beside the events, and this one cannot read it.
async fn renew(fixture: &Fixture) {
    stored_by(fixture, NEWER).await;
}

pub(crate) async fn a_state_of_a_newer_version_is_folded_from_the_events(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "new").await;
    let request = question(session, "new");
    journal.append(session, ask(&request)).await.expect("asked");
    let before = journal.session(session).await.expect("a look").expect("there");
    let asked = journal.ask(request.interaction_id).await.expect("an ask");
    renew(fixture).await;
    assert_eq!(journal.session(session).await.expect("a look").expect("there"), before);
    assert_eq!(journal.ask(request.interaction_id).await.expect("an ask"), asked);
    // The newer one goes on with it, and then so do we.
    renew(fixture).await;
    first_answer_wins(journal, session, &request).await;
    assert_eq!(check_sound(journal, session).await.len(), 3);
}

pub(crate) async fn what_only_a_newer_version_can_read_is_left_to_it(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, other) = (open(journal, "new").await, open(journal, "other").await);
    for session in [session, other] {
        journal.append(session, message("hello")).await.expect("said");
    }
    let request = question(session, "new");
    journal.append(session, ask(&request)).await.expect("asked");
    renew(fixture).await;
    let id = session.uuid().simple();
    let sql = "UPDATE events SET type = 'of_tomorrow' WHERE seq = 2 AND session_id = ";
    fixture.run(&format!("{sql}x'{id}'"), &format!("{sql}'{id}'")).await;
    let appended = journal.append(session, say("hello")).await;
    assert!(matches!(appended, Err(AppendError::Store(StoreError::NewerVersion { .. }))), "{appended:?}");
    let read = journal.session(session).await;
    assert!(matches!(read, Err(StoreError::NewerVersion { .. })), "{read:?}");
    let asked = journal.ask(request.interaction_id).await;
    assert!(matches!(asked, Err(StoreError::NewerVersion { .. })), "{asked:?}");
    // It keeps nobody from the others, and nothing was taken from it.
    let page = SessionQuery { owner: owner(), before: None, only: SessionsOnly::All, limit: 10 };
    let listed = journal.sessions(page).await.expect("a page");
    assert_eq!(listed.iter().map(|record| record.id).collect::<Vec<_>>(), [other]);
    fixture
        .run(
            "UPDATE events SET type = 'user_message' WHERE seq = 2",
            "UPDATE events SET type = 'user_message' WHERE seq = 2",
        )
        .await;
    check_sound(journal, session).await;
}

pub(crate) async fn bytes_survive_as_they_were(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = SessionId::generate(&owner());
    let title = "a\u{0}b \u{202e}\u{1f600}";
    journal.append(session, Command::Open(Box::new(opened("scripted", title)))).await.expect("opened");
    let input: Value = serde_json::from_str(
        r#"{"b":18446744073709551615,"a":-9223372036854775808,"nul":"x\u0000y","e":1.7976931348623157e308,"key\u0000":[0.1,-0.0]}"#,
    )
    .expect("JSON");
    let end = ToolCallEnd {
        tool_name: None,
        decision: None,
        turn_id: TurnId::generate(),
        tool_call_id: ToolCallId::new("toolu_1").expect("an id"),
        input,
    };
    let outputs = vec![holdstead_core::Output::ToolCallEnd(end.clone())];
    let appended = journal.append(session, Command::Record(outputs)).await.expect("appended");
    let events = check_sound(journal, session).await;
    assert_eq!(events[1], appended.events[0]);
    assert_eq!(
        events[1].body.data_bytes().expect("bytes"),
        EventBody::ToolCallEnd(end).data_bytes().expect("bytes")
    );
    let record = journal.session(session).await.expect("a session").expect("this session");
    assert_eq!(record.title.as_deref(), Some(title));
}

pub(crate) async fn what_is_too_large_is_refused_alone(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "large").await;
    let words = "x".repeat(EVENT_LIMIT);
    let (before, large, after) = tokio::join!(
        journal.append(session, say("before")),
        journal.append(session, say(&words)),
        journal.append(session, say(&words[..EVENT_LIMIT / 2])),
    );
    assert!(matches!(large, Err(AppendError::TooLarge { limit: EVENT_LIMIT, .. })), "{large:?}");
    assert!(before.is_ok() && after.is_ok());
    assert_eq!(check_sound(journal, session).await.len(), 3);
}

pub(crate) async fn closing_writes_what_is_queued(fixture: &Fixture) {
    let journal = fixture.second().await;
    let session = open(&*journal, "closing").await;
    let pending: Vec<_> = (0..50).map(|number| journal.append(session, say(&number.to_string()))).collect();
    if !Arc::ptr_eq(&journal, fixture.journal()) {
        journal.close().await;
        assert_eq!(read_all(&**fixture.journal(), session).await.len(), 51);
        let late = journal.append(session, say("late")).await;
        assert!(matches!(late, Err(AppendError::Closed)), "{late:?}");
    }
    for append in pending {
        append.await.expect("written before it closed");
    }
}

/// Makes every command that starts a process of this journal's sessions panic: a number that no journal folds to.
async fn break_heads(fixture: &Fixture) {
    let (from, to) = ("\"incarnations\":0", "\"incarnations\":4294967295");
    // With another hash: what the writer remembers is not what is there.
    let sqlite = format!(
        "UPDATE sessions SET state = CAST(replace(CAST(state AS TEXT), '{from}', '{to}') AS BLOB), \
         head_hash = randomblob(32)"
    );
    let postgres = format!(
        "UPDATE sessions SET state = convert_to(replace(convert_from(state, 'UTF8'), '{from}', '{to}'), 'UTF8'), \
         head_hash = sha256(head_hash)"
    );
    fixture.run(&sqlite, &postgres).await;
}

pub(crate) async fn a_panic_fails_its_item_alone(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let sessions = [open(journal, "a").await, open(journal, "b").await];
    break_heads(fixture).await;
    let pending: Vec<_> = (0..20)
        .map(|number| {
            let command = if number == 7 {
                Command::Start { incarnation: Incarnation(1), turn: None }
            } else {
                say(&number.to_string())
            };
            journal.append(sessions[number % 2], command)
        })
        .collect();
    for (number, append) in pending.into_iter().enumerate() {
        match (number, append.await) {
            (7, Err(AppendError::Store(StoreError::Panicked { .. }))) => {}
            (7, other) => panic!("{other:?}"),
            (_, result) => assert!(result.is_ok(), "{number}: {result:?}"),
        }
    }
    journal.ready().await.expect("the writer goes on");
    assert_eq!(read_all(journal, sessions[0]).await.len(), 11);
    assert_eq!(read_all(journal, sessions[1]).await.len(), 10);
}

/// A row that something else took away is no reason to stop writing.
pub(crate) async fn a_missing_ask_stops_nobody(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "gaps").await;
    let (lost, kept) = (question(session, "lost"), question(session, "kept"));
    journal.append(session, ask(&lost)).await.expect("asked");
    journal.append(session, ask(&kept)).await.expect("asked");
    let sql = "DELETE FROM asks WHERE request_seq = 2";
    fixture.run(sql, sql).await;
    let cancel = Command::Cancel(Cancel::Turn { by: "Ada".to_owned() });
    let cancelled = journal.append(session, cancel).await.expect("what is left is closed");
    let closed: Vec<_> = cancelled.events.iter().filter_map(|event| event.body.ask()).collect();
    assert_eq!(closed, [kept.interaction_id]);
}

pub(crate) async fn a_panic_of_the_database_ends_no_writer(fixture: &Fixture) {
    let journal = fixture.between(|inner| Arc::new(PanicsOnce { inner, done: AtomicBool::new(false) })).await;
    let refused =
        journal.append(SessionId::generate(&owner()), Command::Open(Box::new(opened("scripted", "x")))).await;
    assert!(matches!(refused, Err(AppendError::Store(StoreError::Unknown { .. }))), "{refused:?}");
    journal.ready().await.expect("the writer goes on");
    open(&*journal, "after").await;
    journal.close().await;
}

pub(crate) async fn a_writer_that_hangs_is_not_ready(fixture: &Fixture) {
    let journal = fixture.between(|_| Arc::new(Hangs)).await;
    journal.ready().await.expect("nothing to write yet");
    drop(journal.append(SessionId::generate(&owner()), Command::Open(Box::new(opened("scripted", "x")))));
    let ready = journal.ready().await;
    assert!(matches!(ready, Err(StoreError::NoWriter { .. })), "{ready:?}");
}

/// A database whose own code has a mistake.
#[derive(Debug)]
struct PanicsOnce {
    inner: Arc<dyn Backend>,
    done: AtomicBool,
}

#[async_trait]
impl Backend for PanicsOnce {
    async fn write(&self, items: &[&Item], patience: Patience) -> Result<Vec<Written>, WriteError> {
        assert!(self.done.swap(true, Ordering::Relaxed), "a mistake in the database's code");
        self.inner.write(items, patience).await
    }
}

/// A database that takes a batch and never answers.
#[derive(Debug)]
struct Hangs;

#[async_trait]
impl Backend for Hangs {
    async fn write(&self, _items: &[&Item], _patience: Patience) -> Result<Vec<Written>, WriteError> {
        std::future::pending().await
    }
}
