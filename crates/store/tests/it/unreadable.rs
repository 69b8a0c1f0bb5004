//! A row that cannot be read is told, and breaks nothing but itself.

use holdstead_protocol::{EventBody, InteractionId, Seq};
use holdstead_store::{
    AppendError, AskFilter, AskQuery, Fault, Journal, SessionQuery, SessionsOnly, StoreError,
};

use crate::commands::{answer, ask, check_sound, closing_at, from_now, message, open, owner, question};
use crate::fixture::Fixture;

/// Rows that a Holdstead before this one wrote and could not read: a value nested too deep for its reader.
fn too_deep() -> String {
    format!("{}1{}", "[".repeat(300), "]".repeat(300))
}

async fn spoil(fixture: &Fixture, table: &str, column: &str, which: &str) {
    let data = too_deep();
    let sqlite = format!("UPDATE {table} SET {column} = CAST('{data}' AS BLOB) WHERE {which}");
    let postgres = format!("UPDATE {table} SET {column} = convert_to('{data}', 'UTF8') WHERE {which}");
    fixture.run(&sqlite, &postgres).await;
}

async fn live(journal: &dyn Journal, limit: u32) -> Vec<InteractionId> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let query = AskQuery { owner: owner(), session: None, only: AskFilter::Live, after, limit };
        let page = journal.asks(query).await.expect("a page");
        let full = page.len() == limit as usize;
        after = page.last().map(|last| (last.ask.opened_at, last.id));
        found.extend(page.into_iter().map(|record| record.id));
        if !full {
            return found;
        }
    }
}

pub(crate) async fn an_event_is_told_in_its_place(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "spoiled").await;
    for number in 0..4 {
        journal.append(session, message(&format!("hello {number}"))).await.expect("said");
    }
    let other = open(journal, "other").await;
    spoil(fixture, "events", "data", "seq = 3").await;
    let events = journal.read(session, Seq::START, 100).await.expect("events");
    assert_eq!(events.iter().map(|event| event.seq.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let EventBody::Error(error) = &events[2].body else { panic!("{:?}", events[2]) };
    assert!(error.message.contains("Event 3 cannot be read"), "{}", error.message);
    // The audit names it, and goes on with the others.
    let report = journal.verify(session).await.expect("a report");
    assert_eq!(report.fault, Some(Fault::Changed { seq: Seq(3) }));
    check_sound(journal, other).await;
    // And the session goes on.
    journal.append(session, message("hello again")).await.expect("said");
}

pub(crate) async fn an_ask_is_left_out_of_lists(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let mut ids = Vec::new();
    for number in 0..5 {
        let session = open(journal, &format!("session {number}")).await;
        // Each ask has a place of its own in its journal, by which it is found below.
        for n in 0..number {
            journal.append(session, message(&format!("hello {n}"))).await.expect("said");
        }
        let request = question(session, "ask");
        journal.append(session, ask(&request)).await.expect("asked");
        ids.push(request);
    }
    // The first one's request, the third one's state.
    spoil(fixture, "events", "data", "seq = 2 AND type = 'interaction_request'").await;
    spoil(fixture, "asks", "doc", "request_seq = 4").await;
    let expected: Vec<_> = [1, 3, 4].map(|at: usize| ids[at].interaction_id).into();
    for limit in [1, 2, 3, 100] {
        let mut found = live(journal, limit).await;
        found.sort();
        let mut expected = expected.clone();
        expected.sort();
        assert_eq!(found, expected, "in pages of {limit}");
    }
    assert!(matches!(journal.ask(ids[0].interaction_id).await, Err(StoreError::Corrupt { .. })));
    let session = journal.ask(ids[1].interaction_id).await.expect("an ask").expect("there").session;
    journal.append(session, answer(&ids[1], "ada", "k", "here")).await.expect("others are answered");
}

pub(crate) async fn a_session_is_left_out_of_lists(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let mut sessions = Vec::new();
    for number in 0..5 {
        let session = open(journal, &format!("session {number}")).await;
        for n in 0..number {
            journal.append(session, message(&format!("hello {n}"))).await.expect("said");
        }
        sessions.push(session);
    }
    spoil(fixture, "sessions", "state", "last_seq IN (1, 3)").await;
    for limit in [1, 2, 100] {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let page = journal
                .sessions(SessionQuery { owner: owner(), before, only: SessionsOnly::All, limit })
                .await
                .expect("a page");
            let full = page.len() == limit as usize;
            before = page.last().map(|last| (last.opened_at, last.id));
            found.extend(page.into_iter().map(|record| record.id));
            if !full {
                break;
            }
        }
        assert_eq!(found, [sessions[4], sessions[3], sessions[1]], "in pages of {limit}");
    }
    // A gateway starts with what it can read.
    let unfinished = journal.unfinished(None, 100).await.expect("a list");
    assert!(unfinished.iter().all(|record| record.id != sessions[0] && record.id != sessions[2]));
    journal.append(sessions[1], message("hello")).await.expect("others go on");
}

pub(crate) async fn a_session_of_an_older_version_is_left_alone(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (spoiled, other) = (open(journal, "spoiled").await, open(journal, "other").await);
    let asked = [question(spoiled, "spoiled"), question(other, "other")];
    for (session, request) in [(spoiled, &asked[0]), (other, &asked[1])] {
        journal.append(session, ask(request)).await.expect("asked");
        journal.append(session, message("hello")).await.expect("said");
    }
    // Ids are in the order of their making.
    let first = "seq = 3 AND session_id = (SELECT session_id FROM events ORDER BY session_id LIMIT 1)";
    spoil(fixture, "events", "data", first).await;
    let sql = "UPDATE sessions SET state_version = 0, state = {}";
    fixture.run(&sql.replace("{}", "x'00'"), &sql.replace("{}", "'\\x00'")).await;
    // Whoever opens it now gets in.
    let opened = fixture.second().await;
    let journal = &*opened;

    let unfinished = journal.unfinished(None, 100).await.expect("a list");
    assert_eq!(unfinished.iter().map(|record| record.id).collect::<Vec<_>>(), [other]);
    let page = SessionQuery { owner: owner(), before: None, only: SessionsOnly::All, limit: 10 };
    let listed = journal.sessions(page).await.expect("a page");
    assert_eq!(listed.iter().map(|record| record.id).collect::<Vec<_>>(), [other]);
    for session in [spoiled, other] {
        journal.refold(session).await.expect("what cannot be folded is told");
    }
    assert_eq!(journal.outdated(10).await.expect("a list"), [spoiled]);
    assert!(matches!(journal.session(spoiled).await, Err(StoreError::Corrupt { .. })));
    // Its own appends fail, and those beside it do not.
    let (refused, said) = tokio::join!(
        journal.append(spoiled, message("more")),
        journal.append(other, answer(&asked[1], "ada", "k", "here"))
    );
    assert!(matches!(refused, Err(AppendError::Store(StoreError::Corrupt { .. }))), "{refused:?}");
    said.expect("answered");
    check_sound(journal, other).await;
    let report = journal.verify(spoiled).await.expect("a report");
    assert_eq!(report.fault, Some(Fault::Changed { seq: Seq(3) }), "the audit says what is wrong with it");
}

pub(crate) async fn a_deadline_of_another_ask_is_kept(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let soon = from_now(journal, 1).await;
    let mut asked = Vec::new();
    for number in 0..2 {
        let session = open(journal, &format!("session {number}")).await;
        for n in 0..number {
            journal.append(session, message(&format!("hello {n}"))).await.expect("said");
        }
        let request = closing_at(question(session, "ask"), soon);
        journal.append(session, ask(&request)).await.expect("asked");
        asked.push(request.interaction_id);
    }
    spoil(fixture, "asks", "doc", "request_seq = 2").await;
    while journal.now().await.expect("a time") <= soon {
        tokio::task::yield_now().await;
    }
    let due = journal.due(10).await.expect("a list").due;
    assert_eq!(due.iter().map(|due| due.interaction).collect::<Vec<_>>(), [asked[1]]);
}
