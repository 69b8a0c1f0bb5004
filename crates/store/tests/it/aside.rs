//! What sessions are called, which are archived, and asks that are snoozed.

use holdstead_core::Command;
use holdstead_protocol::{
    AgentState, InteractionSnoozed, SessionArchived, SessionId, SessionOpened, SessionUnarchived,
};
use holdstead_store::{AppendError, Journal, SessionQuery, SessionsOnly};

use crate::commands::{ask, check_sound, from_now, message, open, owner, question};
use crate::fixture::Fixture;

fn archive() -> Command {
    Command::Archive(SessionArchived { by: "ada".to_owned(), actor: None })
}

async fn listed(journal: &dyn Journal, only: SessionsOnly) -> Vec<SessionId> {
    let query = SessionQuery { owner: owner(), before: None, only, limit: 100 };
    journal.sessions(query).await.expect("a page").into_iter().map(|record| record.id).collect()
}

pub(crate) async fn a_session_is_called_by_its_first_message(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = SessionId::generate(&owner());
    let opened = SessionOpened::new(owner(), "scripted");
    journal.append(session, Command::Open(Box::new(opened))).await.expect("opened");
    let title = async || journal.session(session).await.expect("a look").expect("there").title;
    assert_eq!(title().await, None);
    journal.append(session, message("Mend the login\nand the rest")).await.expect("said");
    journal.append(session, message("something else")).await.expect("said");
    assert_eq!(title().await.as_deref(), Some("Mend the login"));
    let request = question(session, "one");
    journal.append(session, ask(&request)).await.expect("asked");
    let asked = async || journal.ask(request.interaction_id).await.expect("a look").expect("there");
    assert_eq!(asked().await.session_title.as_deref(), Some("Mend the login"));
    check_sound(journal, session).await;

    // A journal of before is folded again, and its row with it.
    let sql = "UPDATE sessions SET state_version = 0, state = {}, title = NULL";
    fixture.run(&sql.replace("{}", "x'00'"), &sql.replace("{}", "'\\x00'")).await;
    assert_eq!(title().await.as_deref(), Some("Mend the login"));
    assert_eq!(asked().await.session_title.as_deref(), Some("Mend the login"));
    journal.refold(session).await.expect("folded");
    let sql = "UPDATE sessions SET title = {}";
    fixture.run(&sql.replace("{}", "x'41'"), &sql.replace("{}", "'A'")).await;
    assert!(journal.verify(session).await.expect("a report").fault.is_some(), "a changed title is found");
}

pub(crate) async fn archived_sessions_leave_the_lists(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (one, two) = (open(journal, "one").await, open(journal, "two").await);
    let archived = journal.append(two, archive()).await.expect("archived");
    let record = journal.session(two).await.expect("a look").expect("there");
    let found = record.archived.expect("it is archived");
    assert_eq!((found.by.as_str(), found.at), ("ada", archived.events[0].at));
    assert_eq!(listed(journal, SessionsOnly::Unarchived(Vec::new())).await, [one]);
    assert_eq!(listed(journal, SessionsOnly::Unarchived(vec![AgentState::Idle])).await, [one]);
    assert_eq!(listed(journal, SessionsOnly::Archived).await, [two]);
    assert_eq!(listed(journal, SessionsOnly::All).await, [two, one]);
    check_sound(journal, two).await;
    let sql = "UPDATE sessions SET state_version = 0, state = {}, archived_at = NULL";
    fixture.run(&sql.replace("{}", "x'00'"), &sql.replace("{}", "'\\x00'")).await;
    assert!(journal.session(two).await.expect("a look").expect("there").archived.is_some());
    journal.refold(two).await.expect("folded");
    assert_eq!(listed(journal, SessionsOnly::Archived).await, [two], "also after a fold");

    journal.append(two, message("hello")).await.expect("said");
    assert_eq!(listed(journal, SessionsOnly::Archived).await, []);
    assert_eq!(listed(journal, SessionsOnly::Unarchived(Vec::new())).await, [two, one]);
    check_sound(journal, two).await;
    journal.refold(one).await.expect("folded");
    let sql = "UPDATE sessions SET archived_at = 1, archived_by = 'eve'";
    fixture.run(sql, sql).await;
    assert!(
        journal.verify(one).await.expect("a report").fault.is_some(),
        "a session that was hidden is found"
    );
}

pub(crate) async fn an_erased_session_stays_where_it_is(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (one, two) = (open(journal, "one").await, open(journal, "two").await);
    for session in [one, two] {
        journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    }
    journal.append(two, archive()).await.expect("archived");
    for session in [one, two] {
        journal.erase(session, "ada").await.expect("erased");
    }
    assert_eq!(listed(journal, SessionsOnly::Archived).await, [two]);
    let undo = Command::Unarchive(SessionUnarchived { by: "ada".to_owned(), actor: None });
    let refused = journal.append(one, archive()).await;
    assert!(matches!(refused, Err(AppendError::Rejected(_))), "nothing is written to it: {refused:?}");
    assert!(journal.append(two, undo).await.expect("nothing to undo").events.is_empty());
    let sql = "UPDATE sessions SET state_version = 0, state = {}";
    fixture.run(&sql.replace("{}", "x'00'"), &sql.replace("{}", "'\\x00'")).await;
    assert_eq!(journal.session(two).await.expect("a look").expect("there").title, None);
    assert_eq!(listed(journal, SessionsOnly::Archived).await, [two], "also after a fold");
    for session in [one, two] {
        assert_eq!(journal.verify(session).await.expect("a report").fault, None);
    }
}

pub(crate) async fn a_snoozed_ask_is_due_when_its_time_comes(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "snoozed").await;
    let request = question(session, "later");
    journal.append(session, ask(&request)).await.expect("asked");
    assert_eq!(journal.due(10).await.expect("a list").next_in, None);
    let until = from_now(journal, 60_000).await;
    let snooze = InteractionSnoozed {
        interaction_id: request.interaction_id,
        prompt_id: request.prompt_id,
        until,
        by: "ada".to_owned(),
        actor: None,
    };
    journal.append(session, Command::Snooze(snooze)).await.expect("snoozed");
    let list = journal.due(10).await.expect("a list");
    assert!(list.due.is_empty() && list.next_in.is_some_and(|next| next.as_secs() <= 60), "{list:?}");
    let found = journal.ask(request.interaction_id).await.expect("a look").expect("there");
    let snoozed = found.ask.snoozed.expect("it is snoozed");
    assert_eq!((snoozed.until, snoozed.by.as_str()), (until, "ada"));
    check_sound(journal, session).await;
}
