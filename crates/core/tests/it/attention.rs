//! Which events wake the agent's host, and which sessions a starting gateway takes up.

use std::time::Duration;

use holdstead_core::{
    AfterHold, AfterLimit, Cancel, Command, Exit, Finish, Start, after_hold, after_limit, concerns_host,
    due_at, is_idle, is_unfinished, waits_for,
};
use holdstead_protocol::{Hold, HoldThen, Incarnation, InteractionRequest, Origin, StopReason};

use crate::world::*;

/// Whether any event of the command wakes the host.
fn wakes(world: &mut World, command: Command) -> bool {
    let events = world.ok(command);
    events.iter().any(|event| concerns_host(event, world.session()))
}

fn delivering(n: u8) -> Command {
    Command::Delivering { interaction_id: ask_id(n), incarnation: Incarnation(1) }
}

#[test]
fn the_host_is_woken_for_what_it_must_tell_its_agent() {
    let mut world = World::new();
    assert!(!wakes(&mut world, open()));
    assert!(wakes(&mut world, message(1)));
    assert!(!wakes(&mut world, start(1, None)));
    assert!(!wakes(&mut world, resume(1)));
    assert!(!wakes(&mut world, Command::Begin { turn_id: turn(1), start: Start::default() }));
    assert!(!wakes(&mut world, ask(approval(1, 1))));
    assert!(wakes(&mut world, respond(1, 1, "k", approve())));
    assert!(!wakes(&mut world, delivering(1)));
    assert!(!wakes(&mut world, Command::Acknowledge { interaction_id: ask_id(1) }));
    world.ok(ask(question(2)));
    let queue = Command::Queue { interaction_id: ask_id(2), message: "later".to_owned() };
    assert!(wakes(&mut world, queue));
    assert!(wakes(&mut world, respond(2, 1, "l", answer("SQLite"))), "a late answer is a message");
    world.ok(ask(question(3)));
    let withdrawn = Command::Cancel(Cancel::Ask(ask_id(3)));
    assert!(!wakes(&mut world, withdrawn), "the agent withdrew it itself");
    assert!(wakes(&mut world, Command::Cancel(Cancel::Turn { by: "Ada".to_owned() })));
    assert!(wakes(&mut world, Command::End { name: "ana".to_owned() }));
}

#[test]
fn the_answer_of_a_program_is_nothing_to_the_host() {
    let mut world = World::running();
    let caller = InteractionRequest { origin: Origin::Caller, turn_id: None, ..question(1) };
    world.ok(ask(caller));
    assert!(!wakes(&mut world, respond(1, 1, "k", answer("SQLite"))));
}

#[test]
fn a_session_is_unfinished_while_anything_of_it_waits_for_its_host() {
    let mut world = World::new();
    world.ok(open());
    assert!(!is_unfinished(&world.session().head));
    world.ok(message(1));
    assert!(is_unfinished(&world.session().head), "a message waits");
    world.begins(1);
    world.ok(Command::Begin { turn_id: turn(1), start: Start::default() });
    assert!(is_unfinished(&world.session().head), "a turn is under way");
    assert!(!is_idle(&world.session().head));
    world.ok(Command::Finish(Finish {
        turn_id: turn(1),
        reason: StopReason::Completed,
        usage: None,
        words: None,
    }));
    assert!(is_unfinished(&world.session().head), "its process has to be seen gone");
    assert!(is_idle(&world.session().head), "and nobody waits for that");
    let exit = Exit { incarnation: Incarnation(1), parked: false, message: None, turn_end: None };
    world.ok(Command::Exit(exit));
    assert!(!is_unfinished(&world.session().head));
}

#[test]
fn a_tool_has_a_minute_to_handle_its_own_timeout() {
    let mut world = World::running();
    let deadline = world.now.after(Duration::from_secs(10));
    world.ok(ask(InteractionRequest { deadline: Some(deadline), ..question(1) }));
    world.ok(ask(InteractionRequest { deadline: Some(deadline), ..form(2) }));
    world.ok(ask(question(3)));
    assert_eq!(due_at(world.ask(1)), Some(deadline));
    assert_eq!(due_at(world.ask(2)), Some(deadline.after(Duration::from_secs(60))));
    assert_eq!(due_at(world.ask(3)), None);
    world.ok(respond(1, 1, "k", answer("SQLite")));
    assert_eq!(due_at(world.ask(1)), None, "it is decided");
}

#[test]
fn a_hold_that_ran_out_parks_queues_or_gives_up() {
    let mut world = World::running();
    let held = |then| Hold { after_ms: 1, then };
    world.ok(ask(InteractionRequest { hold: held(HoldThen::Park), ..question(1) }));
    world.ok(ask(InteractionRequest { hold: held(HoldThen::Park), can_park: false, ..question(2) }));
    world.ok(ask(InteractionRequest { hold: held(HoldThen::Defer), ..question(3) }));
    world.ok(ask(InteractionRequest { hold: held(HoldThen::Deny), ..question(4) }));
    world.ok(ask(InteractionRequest { hold: held(HoldThen::Wait), ..question(5) }));
    let after: Vec<_> = (1..=5).map(|n| after_hold(world.ask(n))).collect();
    use AfterHold::{GiveUp, Park, Queue, Wait};
    assert_eq!(after, [Park, Wait, Queue, GiveUp, Wait]);
    world.ok(respond(1, 1, "k", answer("SQLite")));
    assert_eq!(after_hold(world.ask(1)), Wait, "it is decided");
}

#[test]
fn an_agent_that_can_wait_no_longer_is_parked_or_told_that_nobody_answered() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(ask(InteractionRequest { can_park: false, ..question(2) }));
    assert_eq!(after_limit(world.ask(1)), AfterLimit::Park, "whatever its hold says");
    assert_eq!(after_limit(world.ask(2)), AfterLimit::GiveUp);
    for n in 1..=2 {
        world.ok(respond(n, 1, &n.to_string(), answer("SQLite")));
        assert_eq!(after_limit(world.ask(n)), AfterLimit::Nothing);
    }
}

#[test]
fn a_repeated_call_meets_its_own_ask_unless_that_is_over() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    assert!(waits_for(world.ask(1), Some(turn(1))));
    world.ok(respond(1, 1, "k", answer("SQLite")));
    assert!(waits_for(world.ask(1), Some(turn(1))), "it was not told yet");
    world.ok(delivering(1));
    world.ok(Command::Acknowledge { interaction_id: ask_id(1) });
    assert!(!waits_for(world.ask(1), Some(turn(1))), "it has its answer");
    world.ok(ask(question(2)));
    world.ok(Command::Cancel(Cancel::Ask(ask_id(2))));
    assert!(!waits_for(world.ask(2), Some(turn(1))), "it was taken back");
}
