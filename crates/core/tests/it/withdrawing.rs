//! A program takes its ask back: only the device that asked, and only until a person answers.

use std::time::Duration;

use holdstead_core::{Cancel, Command, Expire, ExpireCause, Rejection, Withdraw};
use holdstead_protocol::{
    Actor, AskState, Asker, Closing, DeviceId, InteractionRequest, Origin, PersonId, Surface, Timestamp,
};
use uuid::Uuid;

use crate::world::{World, answer, approval, approve, ask, ask_id, prompt, question, respond};

const MINUTE: Duration = Duration::from_secs(60);

/// A device by its number. The program's is the first.
fn device(n: u128) -> DeviceId {
    DeviceId::from_uuid(Uuid::from_u128(n))
}

fn program() -> Actor {
    Actor { person_id: PersonId::from_uuid(Uuid::from_u128(1)), device_id: device(1), passkey_id: None }
}

/// The same ask, by a program whose token is `program`.
fn by_program(request: InteractionRequest, deadline: Option<Timestamp>) -> InteractionRequest {
    let asked_by = Asker { name: "ci".to_owned(), surface: Surface::Api, actor: Some(program()) };
    InteractionRequest { origin: Origin::Caller, asked_by: Some(asked_by), deadline, ..request }
}

fn withdraw(n: u8, by: DeviceId) -> Command {
    Command::Withdraw(Withdraw { interaction_id: ask_id(n), by })
}

fn expire(world: &mut World, n: u8) {
    world.now = world.now.after(MINUTE * 2);
    let (interaction_id, prompt_id) = (ask_id(n), prompt(n, 1));
    world.ok(Command::Expire(Expire { interaction_id, prompt_id, cause: ExpireCause::Deadline }));
}

#[test]
fn a_program_withdraws_what_no_person_answered() {
    /// A state, what led to it, and how many events a withdrawal makes there, or why it makes none.
    type Row = (&'static str, fn(&mut World), Result<usize, fn(&Rejection) -> bool>);
    let table: [Row; 7] = [
        ("open", |_| (), Ok(1)),
        ("withdrawn", |world| drop(world.ok(withdraw(1, device(1)))), Ok(0)),
        (
            "answered",
            |world| drop(world.ok(respond(1, 1, "k", answer("SQLite")))),
            Err(|why| matches!(why, Rejection::Lost { .. })),
        ),
        (
            "expired",
            |world| expire(world, 1),
            Err(|why| matches!(why, Rejection::Dead { closing: Closing::Expired })),
        ),
        (
            "answered after it expired",
            |world| {
                expire(world, 1);
                world.ok(respond(1, 1, "k", answer("SQLite")));
            },
            Err(|why| matches!(why, Rejection::Lost { .. })),
        ),
        (
            "its session ended",
            |world| drop(world.ok(Command::End { name: "Ada".to_owned() })),
            Err(|why| matches!(why, Rejection::Stopped { .. })),
        ),
        (
            "its turn was stopped",
            |world| drop(world.ok(Command::Cancel(Cancel::Turn { by: "Ada".to_owned() }))),
            Err(|why| matches!(why, Rejection::Stopped { .. })),
        ),
    ];
    for (state, before, expected) in table {
        let mut world = World::running();
        let deadline = world.now.after(MINUTE);
        world.ok(ask(by_program(question(1), Some(deadline))));
        before(&mut world);
        let was = world.ask(1).state.clone();
        assert_eq!(world.rejected(withdraw(1, device(2))), Rejection::NotTheAsker, "{state}");
        match expected {
            Ok(events) => {
                assert_eq!(world.ok(withdraw(1, device(1))).len(), events, "{state}");
                assert_eq!(world.ask(1).state, AskState::Closed { closing: Closing::Withdrawn }, "{state}");
            }
            Err(is_expected) => {
                let why = world.rejected(withdraw(1, device(1)));
                assert!(is_expected(&why), "{state}: {why}");
                assert_eq!(world.ask(1).state, was, "{state}");
            }
        }
    }
}

#[test]
fn nothing_answers_an_ask_that_was_withdrawn() {
    let mut world = World::running();
    world.ok(ask(by_program(approval(1, 1), None)));
    world.ok(withdraw(1, device(1)));
    let withdrawn = Rejection::Dead { closing: Closing::Withdrawn };
    assert_eq!(world.rejected(respond(1, 1, "k", approve())), withdrawn);
    assert_eq!(world.rejected(respond(1, 2, "l", approve())), withdrawn);
}

#[test]
fn an_agents_ask_is_no_programs_to_withdraw() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    assert_eq!(world.rejected(withdraw(1, device(1))), Rejection::NotTheAsker);
}
