//! What ends with a turn or a process, what stops one, and what the agent must hear before it is parked: decided on the
//! facts that the append carries.

use std::collections::BTreeSet;

use holdstead_core::{Cancel, CannotPark, Command, Exit, Finish, Listener, Message, Rejection, TurnEnd};
use holdstead_protocol::{
    AskState, EventBody, Incarnation, InteractionRequest, Origin, SessionOpened, StopReason,
};

use crate::world::*;

fn exit_with_turn(n: u32) -> Command {
    let turn_end = Some(TurnEnd { reason: StopReason::Failed, words: None });
    Command::Exit(Exit { incarnation: Incarnation(n), parked: false, message: None, turn_end })
}

fn finish() -> Command {
    Command::Finish(Finish { turn_id: turn(1), reason: StopReason::Completed, usage: None, words: None })
}

fn stop() -> Command {
    Command::Cancel(Cancel::Turn { by: "Ada".to_owned() })
}

/// A running world; in a terminal or not.
fn world(in_terminal: bool) -> World {
    let mut world = World::new();
    let terminal = in_terminal.then(|| "c1".to_owned());
    let opened = SessionOpened { terminal, ..SessionOpened::new(owner(), "scripted") };
    world.ok(Command::Open(Box::new(opened)));
    world.ok(heard(1, Listener::Here));
    world.begins(1);
    world.ok(Command::Begin { turn_id: turn(1), start: Default::default() });
    world
}

fn heard(n: u8, listener: Listener) -> Command {
    let Command::Message(message) = message(n) else { unreachable!("a message") };
    Command::Message(Box::new(Message { listener, ..*message }))
}

fn asked_by(n: u8, origin: Origin) -> InteractionRequest {
    InteractionRequest { origin, ..approval(n, n) }
}

#[test]
fn the_append_that_ends_a_turn_or_a_process_queues_the_asks_that_its_tools_leave() {
    for origin in [Origin::Agent, Origin::Attached, Origin::Tool, Origin::Caller] {
        for (name, end) in [("turn", finish()), ("process", exit_with_turn(1))] {
            for is_answered in [false, true] {
                let mut world = world(false);
                let handler = is_answered;
                world.ok(ask(InteractionRequest { has_handler: handler, ..asked_by(1, origin) }));
                if is_answered {
                    world.ok(respond(1, 1, "k", approve()));
                }
                let before = world.ask(1).state.clone();
                let head = world.journal.len();
                world.ok(end.clone());
                let at = format!("{origin:?}, {name}, answered {is_answered}");
                match (origin, is_answered) {
                    (Origin::Tool, false) => {
                        assert_eq!(world.ask(1).state, AskState::Queued, "{at}");
                        let queued = &world.journal[head].body;
                        assert!(matches!(queued, EventBody::InteractionUpdate(_)), "{at}: {queued:?}");
                    }
                    (Origin::Tool, true) | (Origin::Caller, _) => {
                        assert_eq!(world.ask(1).state, before, "{at}");
                    }
                    (Origin::Agent | Origin::Attached, _) => {
                        assert_ne!(world.ask(1).state, AskState::Queued, "{at}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_ask_of_another_turn_and_life_is_not_left_by_this_one() {
    let mut world = world(false);
    world.ok(finish());
    world.ok(heard(2, Listener::Here));
    world.ok(exit_with_turn(1));
    world.begins(2);
    world.ok(Command::Begin { turn_id: turn(2), start: Default::default() });
    world.ok(ask(InteractionRequest { turn_id: Some(turn(2)), ..asked_by(1, Origin::Tool) }));
    assert_eq!(world.rejected(finish()), Rejection::NoSuchTurn);
    assert_eq!(world.rejected(exit_with_turn(1)), Rejection::StaleIncarnation);
    assert_eq!(world.ask(1).state, AskState::Open);
}

#[test]
fn a_turn_in_a_terminal_outlives_its_listener_and_is_stopped_there() {
    for in_terminal in [false, true] {
        let mut world = world(in_terminal);
        if in_terminal {
            let head = world.journal.len();
            assert_eq!(world.rejected(stop()), Rejection::InTerminal);
            assert_eq!(world.journal.len(), head);
        }
        world.ok(exit_with_turn(1));
        assert_eq!(world.session().head.turn.is_some(), in_terminal, "in a terminal: {in_terminal}");
        // The listener is gone, so no other process can end it.
        world.ok(stop());
        assert_eq!(world.session().head.turn, None);
    }
}

#[test]
fn a_message_waits_for_no_program_that_the_gateway_does_not_start() {
    for in_terminal in [false, true] {
        for is_alive in [false, true] {
            for listener in [Listener::Here, Listener::NotHere, Listener::Elsewhere, Listener::TakesNone] {
                let mut world = world(in_terminal);
                if !is_alive {
                    world.ok(exit_with_turn(1));
                }
                let refused = match listener {
                    Listener::Here => None,
                    Listener::TakesNone if is_alive => Some(Rejection::TypedThere),
                    Listener::Elsewhere if is_alive => None,
                    Listener::NotHere | Listener::Elsewhere | Listener::TakesNone => {
                        Some(Rejection::TerminalAway)
                    }
                };
                let refused = refused.filter(|_| in_terminal);
                let at = format!("terminal {in_terminal}, alive {is_alive}, {listener:?}");
                match world.apply(&heard(2, listener)) {
                    Ok(_) => assert_eq!(refused, None, "{at}"),
                    Err(why) => {
                        assert_eq!(Some(why), refused, "{at}");
                        // What was taken before is still the same message.
                        let again = world.rejected(heard(1, listener));
                        assert!(matches!(again, Rejection::AlreadySaid { .. }), "{at}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_agent_is_parked_only_when_it_awaits_no_other_reply() {
    for others in [&[][..], &[1], &[2], &[1, 2]] {
        let mut world = world(false);
        world.ok(ask(approval(1, 1)));
        let awaited: BTreeSet<_> = others.iter().map(|n| ask_id(*n)).collect();
        let park = Command::Park { interaction_id: ask_id(1), incarnation: Incarnation(1), awaited };
        match others.contains(&2) {
            true => assert_eq!(world.rejected(park), Rejection::CannotPark(CannotPark::MoreThanOne)),
            false => drop(world.ok(park)),
        }
    }
}
