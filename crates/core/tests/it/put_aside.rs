//! What people put aside: sessions that are archived, asks that they want to see later. And what sessions are called.

use std::time::Duration;

use holdstead_core::{Command, Expire, ExpireCause, Rejection, due_at};
use holdstead_protocol::{
    EventBody, InteractionSnoozed, InteractionUnsnoozed, SessionArchived, SessionOpened, SessionUnarchived,
    Timestamp,
};

use crate::world::{
    World, answer, approval, approve, ask, ask_id, form, message, open, owner, prompt, question, respond,
};

const HOUR: Duration = Duration::from_secs(3_600);

fn archive() -> Command {
    Command::Archive(SessionArchived { by: "ana".to_owned(), actor: None })
}

fn unarchive() -> Command {
    Command::Unarchive(SessionUnarchived { by: "ben".to_owned(), actor: None })
}

fn snooze(n: u8, until: Timestamp) -> Command {
    let (interaction_id, prompt_id) = (ask_id(n), prompt(n, 1));
    Command::Snooze(InteractionSnoozed {
        interaction_id,
        prompt_id,
        until,
        by: "ana".to_owned(),
        actor: None,
    })
}

fn unsnooze(n: u8) -> Command {
    let (interaction_id, prompt_id) = (ask_id(n), prompt(n, 1));
    let by = Some("ben".to_owned());
    Command::Unsnooze(InteractionUnsnoozed { interaction_id, prompt_id, by, actor: None })
}

fn time_comes(n: u8) -> Command {
    let (interaction_id, prompt_id) = (ask_id(n), prompt(n, 1));
    Command::Expire(Expire { interaction_id, prompt_id, cause: ExpireCause::Deadline })
}

fn is_archived(world: &World) -> bool {
    world.session().head.archived.is_some()
}

#[test]
fn a_session_is_called_by_its_first_message_unless_it_has_a_title() {
    let title = |world: &World| world.session().head.title.clone();
    let mut world = World::new();
    world.ok(open());
    assert_eq!(title(&world), None);
    world.ok(message(1));
    assert_eq!(title(&world).as_deref(), Some("hello"));
    world.ok(message(2));
    assert_eq!(title(&world).as_deref(), Some("hello"));

    for (given, kept) in [("Release 2", "Release 2"), (" \n", "hello")] {
        let mut world = World::new();
        let opened =
            SessionOpened { title: Some(given.to_owned()), ..SessionOpened::new(owner(), "scripted") };
        world.ok(Command::Open(Box::new(opened)));
        world.ok(message(1));
        assert_eq!(title(&world).as_deref(), Some(kept));
    }
}

#[test]
fn a_session_is_archived_when_nobody_is_at_work_in_it() {
    let mut world = World::new();
    world.ok(open());
    assert_eq!(world.ok(archive()).len(), 1);
    assert!(world.ok(archive()).is_empty(), "once is enough");
    assert_eq!(world.session().head.archived.as_ref().map(|archived| archived.by.as_str()), Some("ana"));
    assert_eq!(world.ok(unarchive()).len(), 1);
    assert!(world.ok(unarchive()).is_empty());
    assert!(!is_archived(&world));

    world.ok(archive());
    world.ok(message(1));
    assert!(!is_archived(&world), "a message brings it back");
    assert_eq!(world.rejected(archive()), Rejection::AtWork, "which waits for its turn");

    let mut world = World::running();
    assert_eq!(world.rejected(archive()), Rejection::AtWork);
    world.ok(ask(approval(1, 1)));
    assert_eq!(world.rejected(archive()), Rejection::AsksOpen { open: 1 });
    world.ok(Command::End { name: "ana".to_owned() });
    world.ok(archive());
    assert!(is_archived(&world), "an ended one can be archived");
}

#[test]
fn an_ask_brings_an_archived_session_back() {
    let mut world = World::new();
    world.ok(open());
    world.ok(archive());
    world.ok(ask(question(1)));
    assert!(!is_archived(&world));
}

#[test]
fn an_ask_is_snoozed_for_a_time_to_come_and_stays_what_it_is() {
    let mut world = World::running();
    let now = world.now;
    let deadline = now.after(2 * HOUR);
    world.ok(ask(holdstead_protocol::InteractionRequest { deadline: Some(deadline), ..approval(1, 1) }));
    for wrong in [now, Timestamp::from_micros(0), now.after(7 * 24 * HOUR + Duration::from_secs(1))] {
        assert_eq!(world.rejected(snooze(1, wrong)), Rejection::BadSnooze);
    }
    let stale = InteractionSnoozed {
        interaction_id: ask_id(1),
        prompt_id: prompt(1, 9),
        until: now.after(HOUR),
        by: "ana".to_owned(),
        actor: None,
    };
    assert_eq!(world.rejected(Command::Snooze(stale)), Rejection::StalePrompt { current: prompt(1, 1) });

    let before = world.ask(1).clone();
    world.ok(snooze(1, now.after(HOUR)));
    assert!(world.ok(snooze(1, now.after(HOUR))).is_empty(), "the same again is no news");
    let after = world.ask(1).clone();
    assert_eq!((after.state, after.deadline, after.hold), (before.state, before.deadline, before.hold));
    assert_eq!(due_at(world.ask(1)), Some(now.after(HOUR)));
    assert_eq!(world.rejected(time_comes(1)), Rejection::NotDue);

    world.now = now.after(HOUR);
    let shown = world.ok(time_comes(1));
    assert!(
        matches!(shown.as_slice(), [EventBody::InteractionUnsnoozed(shown)] if shown.by.is_none()),
        "{shown:?}"
    );
    assert_eq!((world.ask(1).snoozed.clone(), due_at(world.ask(1))), (None, Some(deadline)));
    world.now = deadline;
    let closed = world.ok(time_comes(1));
    assert!(matches!(closed.as_slice(), [EventBody::InteractionClosed(_)]), "{closed:?}");
}

#[test]
fn an_answer_and_a_person_end_a_snooze() {
    let mut world = World::running();
    let until = world.now.after(HOUR);
    world.ok(ask(approval(1, 1)));
    world.ok(snooze(1, until));
    assert_eq!(world.ok(unsnooze(1)).len(), 1);
    assert!(world.ok(unsnooze(1)).is_empty());
    world.ok(snooze(1, until));
    world.ok(respond(1, 1, "k", approve()));
    assert_eq!((world.ask(1).snoozed.clone(), due_at(world.ask(1))), (None, None));
    assert_eq!(world.rejected(snooze(1, until)), Rejection::Answered);
    world.ok(ask(question(2)));
    world.ok(respond(2, 1, "k", answer("SQLite")));
    assert!(world.ok(unsnooze(2)).is_empty());
}

#[test]
fn a_snooze_does_not_cut_a_tools_own_timeout_short() {
    let mut world = World::running();
    let deadline = world.now.after(HOUR);
    world.ok(ask(holdstead_protocol::InteractionRequest { deadline: Some(deadline), ..form(1) }));
    world.ok(snooze(1, deadline.after(Duration::from_secs(1))));
    world.now = deadline.after(Duration::from_secs(2));
    let shown = world.ok(time_comes(1));
    assert!(matches!(shown.as_slice(), [EventBody::InteractionUnsnoozed(_)]), "{shown:?}");
}
