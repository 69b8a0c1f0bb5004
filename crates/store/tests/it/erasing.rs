//! What was said can go; that it was said stays, and the chain still holds.

use holdstead_core::{Command, STATE_VERSION};
use holdstead_protocol::{AgentState, InteractionId, Seq, SessionId};
use holdstead_store::{AskFilter, AskQuery, EraseError, Fault, Heads, Journal, verify_export};

use crate::audit::journal_of_seven;
use crate::checkpoints::Office;
use crate::commands::{answer, ask, message, open, owner, question, say, text_delta};
use crate::fixture::Fixture;

async fn end(journal: &dyn Journal, session: SessionId) {
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
}

pub(crate) async fn only_what_has_ended_is_erased(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "alive").await;
    assert!(matches!(journal.erase(session, "ada").await, Err(EraseError::NotEnded)));
    let start = Command::Start { incarnation: holdstead_protocol::Incarnation(1), turn: None };
    journal.append(session, start).await.expect("a process may be there");
    end(journal, session).await;
    assert!(matches!(journal.erase(session, "ada").await, Err(EraseError::StillGoing)));
    let nowhere = SessionId::generate(&owner());
    assert!(matches!(journal.erase(nowhere, "ada").await, Err(EraseError::NoSession)));
    assert_eq!(journal.read(session, Seq::START, 10).await.expect("events").len(), 3);
}

pub(crate) async fn an_erased_session_still_holds(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (session, ask) = journal_of_seven(fixture).await;
    let (other, _) = journal_of_seven(fixture).await;
    journal.checkpoint(Heads::Changed).await.expect("signed");
    end(journal, session).await;
    let erasure = journal.erase(session, "ada").await.expect("erased");
    assert_eq!(erasure.by, "ada");
    assert_eq!(journal.erase(session, "eve").await.expect("erased before"), erasure);

    let report = office.audit(fixture, session).await;
    assert_eq!((report.events, report.checkpoints, report.signed, report.fault), (8, 2, Seq(8), None));
    assert!(journal.verify(session).await.expect("a report").is_sound());
    assert_eq!(office.kept().last().expect("kept").erased_by.as_deref(), Some("ada"));

    let record = journal.session(session).await.expect("a session").expect("this session");
    assert_eq!((record.head, record.title, record.cwd), (Seq(8), None, None));
    assert_eq!((record.state.agent, record.erased), (AgentState::Ended, Some(erasure)));
    assert_eq!(journal.read(session, Seq::START, 10).await.expect("no events"), []);
    assert_eq!(journal.ask(ask).await.expect("no ask"), None);
    let query =
        AskQuery { owner: owner(), session: Some(session), only: AskFilter::All, after: None, limit: 10 };
    assert_eq!(journal.asks(query).await.expect("no asks"), []);
    let late = answer(&question(session, "audited"), "ada", "k2", "there");
    assert!(journal.append(session, late).await.is_err());
    assert!(journal.append(session, message("more")).await.is_err());

    let mut export = Vec::new();
    journal.export(session, &mut export).await.expect("exported");
    let text = String::from_utf8(export).expect("text");
    assert!(!text.contains("hello") && !text.contains("audited"), "{text}");
    let mut reports = Vec::new();
    verify_export(text.as_bytes(), &office.keys(), |report| reports.push(report)).expect("reports");
    assert_eq!((reports.len(), reports[0].events, &reports[0].fault), (1, 8, &None));

    assert_eq!(office.audit(fixture, other).await.events, 7, "others are as they were");
    assert_eq!(journal.read(other, Seq::START, 10).await.expect("events").len(), 7);
}

/// A session that has ended, with this many events and an ask.
async fn long_journal(journal: &dyn Journal, events: usize) -> (SessionId, InteractionId) {
    let session = open(journal, "a long one").await;
    let request = question(session, "k");
    journal.append(session, ask(&request)).await.expect("asked");
    let said = (3..events).map(|n| text_delta(&format!("word {n}"))).collect();
    journal.append(session, Command::Record(said)).await.expect("said");
    end(journal, session).await;
    (session, request.interaction_id)
}

pub(crate) async fn others_write_while_a_session_is_erased(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, _) = long_journal(journal, 2_000).await;
    let other = open(journal, "beside").await;
    let mut erasing = std::pin::pin!(journal.erase(session, "ada"));
    let mut written = 0;
    loop {
        tokio::select! {
            erased = &mut erasing => break drop(erased.expect("erased")),
            said = journal.append(other, say("beside")) => drop(said.expect("said")),
        }
        written += 1;
    }
    assert!(written >= 5, "others wrote {written} times");
    assert_eq!(fixture.count(LEFT).await, 0);
}

/// Events of erased sessions that still say something.
pub(crate) const LEFT: &str = "SELECT count(*) FROM events JOIN sessions ON sessions.id = session_id \
    WHERE erased_at IS NOT NULL AND length(data) > 0";

pub(crate) async fn an_erasure_that_was_cut_off_goes_on(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (session, ask) = long_journal(journal, 2_000).await;
    journal.checkpoint(Heads::Changed).await.expect("signed");
    let halfway = async {
        let all = fixture.count("SELECT count(*) FROM events").await;
        while !(1..all).contains(&fixture.count(LEFT).await) {}
    };
    tokio::select! {
        erased = journal.erase(session, "ada") => panic!("{erased:?} at once"),
        () = halfway => {}
    }

    // Nobody takes it for whole, and nobody sees what is left of it.
    let record = journal.session(session).await.expect("a session").expect("there");
    let begun = record.erased.expect("it is on record");
    assert_eq!((record.title, begun.by.as_str()), (None, "ada"));
    assert_eq!(journal.read(session, Seq::START, 10_000).await.expect("no events"), []);
    assert_eq!(journal.ask(ask).await.expect("no ask"), None);
    let query =
        AskQuery { owner: owner(), session: Some(session), only: AskFilter::All, after: None, limit: 10 };
    assert_eq!(journal.asks(query).await.expect("no asks"), []);
    let fetched = Command::Acknowledge { interaction_id: ask };
    assert!(journal.append(session, fetched).await.is_err());
    let mut export = Vec::new();
    journal.export(session, &mut export).await.expect("exported");
    let text = String::from_utf8(export).expect("text");
    assert!(!text.contains("word"), "{text}");
    verify_export(text.as_bytes(), &office.keys(), |report| assert!(report.is_sound(), "{report:?}"))
        .expect("a report");
    assert!(office.audit(fixture, session).await.is_sound());
    assert!(journal.verify(session).await.expect("a report").is_sound());

    // Whoever starts next finds it, also with a newer version, and goes on.
    let sql = "UPDATE sessions SET state_version = 0";
    fixture.run(sql, sql).await;
    let next = fixture.second().await;
    let unfinished = next.unfinished(None, 10).await.expect("a list");
    assert_eq!(unfinished.iter().map(|record| record.id).collect::<Vec<_>>(), [session]);
    assert_eq!(next.erase(session, "eve").await.expect("erased"), begun, "eve did not erase it");
    assert_eq!(next.unfinished(None, 10).await.expect("a list"), []);
    assert_eq!(fixture.count(LEFT).await, 0);
    assert_eq!(fixture.count("SELECT count(*) FROM asks").await, 0);
    assert!(office.audit(fixture, session).await.is_sound());
}

pub(crate) async fn a_mark_that_nobody_signed_is_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (hidden, _) = journal_of_seven(fixture).await;
    end(journal, hidden).await;
    journal.checkpoint(Heads::Changed).await.expect("signed");
    let sql = "UPDATE sessions SET erased_at = 1, erased_by = 'eve'";
    fixture.run(sql, sql).await;
    assert_eq!(office.audit(fixture, hidden).await.fault, Some(Fault::Hidden { seq: Seq(8) }));
    let sql = "UPDATE sessions SET erased_at = NULL, erased_by = NULL";
    fixture.run(sql, sql).await;
    assert!(office.audit(fixture, hidden).await.is_sound());
    // And one that was signed and is gone.
    journal.erase(hidden, "ada").await.expect("erased");
    fixture.run(sql, sql).await;
    assert_eq!(office.audit(fixture, hidden).await.fault, Some(Fault::Erasure));
}

pub(crate) async fn an_erased_session_outlives_its_version(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (session, _) = journal_of_seven(fixture).await;
    end(journal, session).await;
    journal.erase(session, "ada").await.expect("erased");
    let sql = format!("UPDATE sessions SET state = {{}}, state_version = {}", STATE_VERSION - 1);
    fixture.run(&sql.replace("{}", "X'7b7d'"), &sql.replace("{}", "'\\x7b7d'")).await;
    let Some(reopened) = fixture.reopened().await else { return };
    let record = reopened.session(session).await.expect("a session").expect("this session");
    assert_eq!(record.state.agent, AgentState::Ended);
    assert!(reopened.audit(session, &office.keys()).await.expect("a report").is_sound());
    reopened.close().await;
}

pub(crate) async fn erasing_without_the_key_is_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, _) = journal_of_seven(fixture).await;
    end(journal, session).await;
    // No notary yet: the database has the mark, and nobody signed for it.
    journal.erase(session, "eve").await.expect("erased");
    let office = Office::new(journal);
    journal.checkpoint(Heads::All).await.expect("signed");
    assert!(journal.verify(session).await.expect("a report").is_sound());
    assert_eq!(office.audit(fixture, session).await.fault, Some(Fault::Hidden { seq: Seq(8) }));

    let (honest, _) = journal_of_seven(fixture).await;
    end(journal, honest).await;
    journal.erase(honest, "ada").await.expect("erased");
    assert!(office.audit(fixture, honest).await.is_sound());
    let sql = "UPDATE sessions SET erased_by = 'eve'";
    fixture.run(sql, sql).await;
    assert_eq!(office.audit(fixture, honest).await.fault, Some(Fault::Erasure));
    // Words beside the hash that stands for what was erased would be shown and not be checked.
    let sql = "UPDATE events SET data = {} WHERE seq = 4";
    fixture.run(&sql.replace("{}", "X'7b7d'"), &sql.replace("{}", "'\\x7b7d'")).await;
    assert_eq!(office.audit(fixture, honest).await.fault, Some(Fault::Changed { seq: Seq(4) }));
}
