//! Variables of a session, its start step, and ends of turns that a rule blocks.

use std::collections::BTreeMap;

use holdstead_core::{Command, Finish, Rejection, Start};
use holdstead_protocol::{
    ContextSaid, EventBody, Incarnation, Layer, RuleText, SessionOpened, StopReason, TurnEndBlocked,
    VariableValue, Variables, VariablesSet,
};

use crate::world::{World, message, open, owner, turn};

fn text(text: &str) -> VariableValue {
    VariableValue::Text(text.to_owned())
}

fn set<const N: usize>(changes: [(&str, Option<VariableValue>); N]) -> Command {
    let variables: BTreeMap<_, _> =
        changes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Command::SetVariables(VariablesSet { variables, name: "ana".to_owned(), actor: None })
}

fn start() -> Start {
    Start {
        defaults: Variables::from([("phase".to_owned(), text("build"))]),
        context: vec![ContextSaid { layer: Layer::Organisation, line: 1, words: "Hello".to_owned() }],
        not_kept: Vec::new(),
    }
}

fn begin(n: u8) -> Command {
    Command::Begin { turn_id: turn(n), start: start() }
}

fn finish(n: u8, reason: StopReason) -> Command {
    Command::Finish(Finish { turn_id: turn(n), reason, usage: None, words: None })
}

fn blocked(n: u8, attempt: u32) -> Command {
    Command::BlockEnd(Box::new(TurnEndBlocked {
        turn_id: turn(n),
        attempt,
        rule: RuleText { layer: Layer::Person, text: "deny Stop".to_owned() },
        words: "Run the tests".to_owned(),
    }))
}

fn starts(world: &World) -> usize {
    world.journal.iter().filter(|event| matches!(event.body, EventBody::SessionInitialised(_))).count()
}

#[test]
fn a_session_is_opened_with_variables_and_people_change_them() {
    let mut world = World::new();
    let variables = Variables::from([("phase".to_owned(), text("build"))]);
    world.ok(Command::Open(Box::new(SessionOpened { variables, ..SessionOpened::new(owner(), "scripted") })));
    world.ok(set([("phase", Some(text("release"))), ("count", Some(VariableValue::Number(2)))]));
    let events = world.ok(set([("phase", Some(text("release"))), ("count", None), ("gone", None)]));
    let [EventBody::VariablesSet(told)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(
        told.variables,
        BTreeMap::from([("count".to_owned(), None)]),
        "what stays as it is, is not told"
    );
    assert_eq!(world.session().head.variables, Variables::from([("phase".to_owned(), text("release"))]));
    assert_eq!(world.ok(set([("phase", Some(text("release")))])), [], "the same twice is the same once");
}

#[test]
fn a_variable_has_a_plain_name_and_a_small_value() {
    let mut world = World::running();
    for (name, value) in [
        ("stop_attempts", VariableValue::Number(9)),
        ("", text("x")),
        ("$phase", text("x")),
        ("Phase", text("x")),
        ("a b", text("x")),
        ("phase", text(&"x".repeat(201))),
        ("phase", text("rel\u{200b}ease")),
        ("phase", VariableValue::Number(1 << 53)),
    ] {
        let rejection = world.rejected(set([(name, Some(value.clone()))]));
        assert!(matches!(rejection, Rejection::BadVariable { .. }), "{name} = {value:?}: {rejection}");
        let opened = SessionOpened {
            variables: Variables::from([(name.to_owned(), value)]),
            ..SessionOpened::new(owner(), "scripted")
        };
        assert!(matches!(
            World::new().rejected(Command::Open(Box::new(opened))),
            Rejection::BadVariable { .. }
        ));
    }
    assert!(matches!(world.rejected(set([("stop_attempts", None)])), Rejection::BadVariable { .. }));
}

#[test]
fn a_session_has_a_bounded_number_of_variables() {
    let mut world = World::running();
    for n in 0..32 {
        world.ok(set([(format!("v{n}").as_str(), Some(text("x")))]));
    }
    assert!(matches!(world.rejected(set([("more", Some(text("x")))])), Rejection::TooManyVariables { .. }));
    world.ok(set([("v0", None), ("more", Some(text("x")))]));
}

#[test]
fn nobody_sets_variables_of_an_ended_session() {
    let mut world = World::running();
    world.ok(Command::End { name: "ana".to_owned() });
    assert_eq!(world.rejected(set([("phase", Some(text("x")))])), Rejection::Ended);
}

#[test]
fn the_first_turn_initialises_the_session_once() {
    let mut world = World::new();
    world.ok(open());
    world.ok(message(1));
    world.begins(1);
    let events = world.ok(begin(1));
    let [EventBody::SessionInitialised(told), EventBody::SessionStatus(_)] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!((told.turn_id, &told.context, &told.defaults), (turn(1), &start().context, &start().defaults));
    world.ok(finish(1, StopReason::Completed));
    world.ok(message(2));
    world.ok(begin(2));
    assert_eq!(starts(&world), 1);
}

#[test]
fn an_agent_that_was_never_reached_is_told_again() {
    let mut world = World::new();
    world.ok(open());
    world.ok(message(1));
    world.begins(1);
    world.ok(begin(1));
    world.ok(finish(1, StopReason::Failed));
    world.ok(message(2));
    world.ok(begin(2));
    assert_eq!(starts(&world), 2);
    world.ok(Command::Identify { incarnation: Incarnation(1), agent_ref: "it".to_owned() });
    world.ok(finish(2, StopReason::Failed));
    world.ok(message(3));
    world.ok(begin(3));
    assert_eq!(starts(&world), 2, "it has a conversation, in which it was told");
}

#[test]
fn blocked_ends_are_counted_once_each_and_from_the_turns_begin() {
    let mut world = World::running();
    assert_eq!(world.session().head.stop_attempts, 0);
    world.ok(blocked(1, 1));
    assert_eq!(world.ok(blocked(1, 1)), [], "it was counted");
    world.ok(blocked(1, 2));
    assert_eq!(world.session().head.stop_attempts, 2);
    assert_eq!(world.rejected(blocked(1, 4)), Rejection::NoSuchTurn);
    assert_eq!(world.rejected(blocked(2, 1)), Rejection::NoSuchTurn);
    world.ok(message(2));
    assert_eq!(world.session().head.stop_attempts, 2, "a message that waits changes nothing in this turn");
    world.ok(finish(1, StopReason::Completed));
    world.ok(begin(2));
    assert_eq!(world.session().head.stop_attempts, 0);
}
