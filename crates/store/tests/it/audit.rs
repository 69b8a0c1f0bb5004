//! Whoever changes the database by hand is found out.

use holdstead_protocol::{Seq, SessionId};
use holdstead_store::Fault;

use crate::commands::{answer, ask, check_sound, message, open, question};
use crate::fixture::Fixture;

/// A journal of seven lines: 1 opened, 2 asked, 3 to 6 said, 7 answered.
pub(crate) async fn journal_of_seven(fixture: &Fixture) -> (SessionId, holdstead_protocol::InteractionId) {
    let journal = &**fixture.journal();
    let session = open(journal, "audited").await;
    let request = question(session, "audited");
    journal.append(session, ask(&request)).await.expect("asked");
    for number in 0..4 {
        journal.append(session, message(&format!("hello {number}"))).await.expect("said");
    }
    journal.append(session, answer(&request, "ada", "k", "here")).await.expect("answered");
    assert_eq!(check_sound(journal, session).await.len(), 7);
    (session, request.interaction_id)
}

/// Seen by another process: whoever wrote it would notice that it is gone.
async fn fault(fixture: &Fixture, session: SessionId) -> Option<Fault> {
    fixture.second().await.verify(session).await.expect("a report").fault
}

pub(crate) async fn a_changed_byte_is_found(fixture: &Fixture) {
    let (session, _) = journal_of_seven(fixture).await;
    fixture
        .run(
            "UPDATE events SET data = CAST(replace(CAST(data AS TEXT), 'hello', 'jello') AS BLOB) WHERE seq = 4",
            "UPDATE events SET data = convert_to(replace(convert_from(data, 'UTF8'), 'hello', 'jello'), 'UTF8') \
             WHERE seq = 4",
        )
        .await;
    assert_eq!(fault(fixture, session).await, Some(Fault::Changed { seq: Seq(4) }));
}

pub(crate) async fn a_dropped_line_is_found(fixture: &Fixture) {
    let (session, _) = journal_of_seven(fixture).await;
    let sql = "DELETE FROM events WHERE seq = 4";
    fixture.run(sql, sql).await;
    assert_eq!(fault(fixture, session).await, Some(Fault::Missing { seq: Seq(4) }));
    // Closing the gap does not hide it.
    for seq in 5..8 {
        let sql = format!("UPDATE events SET seq = seq - 1 WHERE seq = {seq}");
        fixture.run(&sql, &sql).await;
    }
    assert_eq!(fault(fixture, session).await, Some(Fault::Changed { seq: Seq(4) }));
}

pub(crate) async fn a_dropped_tail_is_found(fixture: &Fixture) {
    let (session, _) = journal_of_seven(fixture).await;
    let sql = "DELETE FROM events WHERE seq = 7";
    fixture.run(sql, sql).await;
    assert_eq!(fault(fixture, session).await, Some(Fault::Head { head: Seq(7), last: Seq(6) }));
}

pub(crate) async fn a_swapped_pair_is_found(fixture: &Fixture) {
    let (session, _) = journal_of_seven(fixture).await;
    for (from, to) in [(3, 100), (4, 3), (100, 4)] {
        let sql = format!("UPDATE events SET seq = {to} WHERE seq = {from}");
        fixture.run(&sql, &sql).await;
    }
    assert_eq!(fault(fixture, session).await, Some(Fault::Changed { seq: Seq(3) }));
}

pub(crate) async fn a_changed_state_is_found(fixture: &Fixture) {
    let (session, _) = journal_of_seven(fixture).await;
    fixture
        .run(
            "UPDATE sessions SET state = CAST(replace(CAST(state AS TEXT), '\"idle\"', '\"running\"') AS BLOB)",
            "UPDATE sessions SET state = \
             convert_to(replace(convert_from(state, 'UTF8'), '\"idle\"', '\"running\"'), 'UTF8')",
        )
        .await;
    assert_eq!(fault(fixture, session).await, Some(Fault::State { seq: Seq(7) }));
}

pub(crate) async fn a_changed_ask_is_found(fixture: &Fixture) {
    let (session, id) = journal_of_seven(fixture).await;
    fixture.run("UPDATE asks SET live = 1", "UPDATE asks SET live = true").await;
    assert_eq!(fault(fixture, session).await, Some(Fault::Ask { id }));
    fixture.run("DELETE FROM asks", "DELETE FROM asks").await;
    assert_eq!(fault(fixture, session).await, Some(Fault::Ask { id }));
    let nowhere = SessionId::generate(&crate::commands::owner());
    assert_eq!(fault(fixture, nowhere).await, Some(Fault::NoSuchSession));
}

pub(crate) async fn a_changed_opening_is_found(fixture: &Fixture) {
    let (session, _) = journal_of_seven(fixture).await;
    let sql = "UPDATE sessions SET owner = 'eve'";
    fixture.run(sql, sql).await;
    assert_eq!(fault(fixture, session).await, Some(Fault::Opening));
}
