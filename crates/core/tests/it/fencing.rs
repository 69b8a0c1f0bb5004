//! Two who both believe that they speak for a session.

use crate::world::*;
use holdstead_core::{Command, Exit, Fence, Finish, Output, Rejection, State, fold};
use holdstead_protocol::{
    AgentSeq, AgentState, Event, EventBody, Incarnation, MessageId, StopReason, TextDelta,
};
use uuid::Uuid;

fn heard(after: u64, upto: u64) -> Fence {
    Fence::Heard { incarnation: Incarnation(1), after: AgentSeq(after), upto: AgentSeq(upto) }
}

fn says(text: &str) -> Command {
    let message_id = MessageId::from_uuid(Uuid::nil());
    let text = TextDelta { turn_id: turn(1), message_id, text: text.to_owned(), parents: Vec::new() };
    Command::Record(vec![Output::Text(text)])
}

fn exit(life: u32) -> Command {
    Command::Exit(Exit { incarnation: Incarnation(life), parked: false, message: None, turn_end: None })
}

fn finish() -> Command {
    let (turn_id, reason) = (turn(1), StopReason::Failed);
    Command::Finish(Finish { turn_id, reason, usage: None, words: None })
}

#[test]
fn what_an_agent_says_is_taken_once_and_without_a_gap() {
    let mut world = World::running();
    assert_eq!(world.ok(says("a").fenced(heard(0, 2))).len(), 1, "two words in one append");
    assert_eq!(world.session().head.heard, AgentSeq(2));
    assert_eq!(world.ok(says("a").fenced(heard(0, 2))), Vec::new(), "it was taken before");
    assert_eq!(world.ok(says("b").fenced(heard(0, 1))), Vec::new());
    let out_of_step = Rejection::OutOfStep { heard: AgentSeq(2) };
    assert_eq!(world.rejected(says("c").fenced(heard(3, 4))), out_of_step, "something is missing");
    assert_eq!(world.rejected(says("c").fenced(heard(1, 3))), out_of_step, "a part of it was taken");
    world.ok(says("c").fenced(heard(2, 3)));
    assert_eq!(world.session().head.heard, AgentSeq(3));
}

#[test]
fn a_process_is_in_the_journal_before_it_is_there_and_nobody_else_is_started() {
    let mut world = World::running();
    assert_eq!(world.rejected(start(2, Some(turn(1)))), Rejection::AlreadyAlive);
    world.ok(exit(1));
    assert_eq!(world.rejected(start(2, None)), Rejection::NoSuchTurn, "it was to go on with another turn");
    assert_eq!(world.rejected(resume(2)), Rejection::StaleIncarnation, "nothing said that it would be");
    let before = world.session().head.agent;
    world.ok(start(2, Some(turn(1))));
    let head = &world.session().head;
    assert_eq!((head.alive, head.pid, head.heard), (Some(Incarnation(2)), None, AgentSeq::START));
    assert_eq!(head.agent, before, "nothing runs yet");
    assert_eq!(world.rejected(start(3, Some(turn(1)))), Rejection::AlreadyAlive);
    world.ok(resume(2));
    assert_eq!(world.ok(resume(2)), Vec::new(), "the same process, told twice");
    assert_eq!(world.session().head.agent, AgentState::Running);
}

#[test]
fn a_start_that_came_to_nothing_ends_with_words_and_takes_no_turn_with_it() {
    let mut world = World::running();
    world.ok(exit(1));
    world.ok(start(2, Some(turn(1))));
    let gone = holdstead_core::exit(Incarnation(2), holdstead_core::Gone::WhileStarting, false);
    let events = world.ok(Command::Exit(gone));
    let [EventBody::SessionStatus(status)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(status.message.as_deref(), Some("the gateway that was starting it went away"));
    assert_eq!((world.session().head.alive, world.session().head.turn), (None, Some(turn(1))));
    world.begins(3);
}

/// Nothing in them says that a process would be started, and nothing has a number.
#[test]
fn journals_of_before_fold() {
    let mut world = World::running();
    world.ok(says("a"));
    world.ok(exit(1));
    world.begins(2);
    let starts = |event: &Event| matches!(&event.body, EventBody::SessionStatus(status) if status.starting);
    let mut state = State::Unopened;
    for event in world.journal.iter().filter(|event| !starts(event)) {
        fold(&mut state, event);
    }
    assert_eq!(state, world.state);
    assert_eq!(world.session().head.alive, Some(Incarnation(2)));
}

#[test]
fn words_of_an_earlier_life_are_refused() {
    let mut world = World::running();
    world.ok(says("a").fenced(heard(0, 1)));
    world.ok(exit(1).fenced(heard(1, 2)));
    world.begins(2);
    assert_eq!(world.rejected(says("b").fenced(heard(1, 3))), Rejection::StaleIncarnation);
    assert_eq!(world.rejected(exit(1).fenced(heard(1, 2))), Rejection::StaleIncarnation);
    let complaint = Fence::Alive { incarnation: Incarnation(1) };
    assert_eq!(world.rejected(says("c").fenced(complaint)), Rejection::StaleIncarnation);
}

#[test]
fn what_needs_no_process_is_taken_only_while_there_is_none_since() {
    let mut world = World::running();
    let fence = |lives| Fence::NoProcess { lives };
    assert_eq!(world.rejected(finish().fenced(fence(1))), Rejection::StaleIncarnation, "one lives");
    world.ok(exit(1));
    world.begins(2);
    world.ok(exit(2));
    assert_eq!(world.rejected(finish().fenced(fence(1))), Rejection::StaleIncarnation, "another lived");
    world.ok(finish().fenced(fence(2)));
    assert_eq!(world.session().head.turn, None);
}
