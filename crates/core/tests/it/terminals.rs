//! Agents in people's own terminals: the same is asked there, and whoever is first wins.

use holdstead_core::{Command, Finish, Hosted, Output, Overhear, Rejection, Start, StartAt, Step, Terminal};
use holdstead_protocol::{
    AgentState, AskState, Closing, Delivery, EventBody, InTerminal, Incarnation, InteractionRequest, KnownBy,
    MessageId, Origin, Settlement, StopReason, TerminalAnswer, ToolResult, UserMessage,
};
use proptest::prelude::*;

use crate::next_step::host;
use crate::world::{World, approval, approve, ask, ask_id, deny, open, question, respond, turn};

const ALLOWED: InTerminal = InTerminal { answer: TerminalAnswer::Allowed, known_by: KnownBy::Record };

fn attached(n: u8) -> InteractionRequest {
    InteractionRequest { origin: Origin::Attached, ..approval(n, n) }
}

fn overtake(n: u8) -> Command {
    Command::Overtake { interaction_id: ask_id(n), how: ALLOWED }
}

fn overhear(n: u8) -> Command {
    let message = UserMessage {
        turn_id: turn(n),
        message_id: MessageId::generate(),
        text: "typed there".to_owned(),
        from: "terminal".to_owned(),
        actor: None,
    };
    Command::Overhear(Box::new(Overhear { message, start: Start::default() }))
}

fn delivering(n: u8) -> Command {
    Command::Delivering { interaction_id: ask_id(n), incarnation: Incarnation(1) }
}

fn delivered(n: u8) -> Command {
    Command::Delivered { interaction_id: ask_id(n), incarnation: Incarnation(1) }
}

#[test]
fn what_is_typed_there_begins_a_turn_that_nobody_has_to_be_given() {
    let mut world = World::new();
    world.ok(open());
    world.begins(1);
    world.ok(overhear(1));
    let head = &world.session().head;
    assert_eq!((head.turn, head.agent), (Some(turn(1)), AgentState::Running));
    assert!(head.pending.is_empty(), "it was given its message there");
    assert_eq!(head.title.as_deref(), Some("typed there"));
    // Somebody was about to begin one from here.
    let events = world.ok(overhear(2));
    assert!(
        matches!(&events[0], EventBody::Done(done) if done.turn_id == turn(1) && done.reason == StopReason::Interrupted)
    );
    assert_eq!(world.session().head.turn, Some(turn(2)));
}

#[test]
fn an_ask_that_was_answered_there_is_closed_here_and_takes_no_answer() {
    let mut world = World::running();
    world.ok(ask(attached(1)));
    world.ok(overtake(1));
    assert_eq!(world.ask(1).state, AskState::Closed { closing: Closing::Cancelled });
    assert_eq!(world.ask(1).in_terminal, Some(ALLOWED));
    let lost = Rejection::AnsweredInTerminal { how: ALLOWED };
    assert_eq!(world.rejected(respond(1, 1, "k", deny())), lost);
    assert!(world.ok(overtake(1)).is_empty(), "told twice is told once");
}

#[test]
fn a_record_that_says_more_than_the_dialogs_end_is_kept() {
    let over = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Program };
    let mut world = World::running();
    for (n, answered) in [(1, false), (2, true)] {
        world.ok(ask(attached(n)));
        if answered {
            world.ok(respond(n, 1, "k", deny()));
        }
        world.ok(Command::Overtake { interaction_id: ask_id(n), how: over });
        let decided = world.ask(n).decided_at;
        world.ok(overtake(n));
        let known = match &world.ask(n).delivery {
            Some(Delivery::Undeliverable { in_terminal, .. }) => *in_terminal,
            _ => world.ask(n).in_terminal,
        };
        assert_eq!((known, world.ask(n).decided_at), (Some(ALLOWED), decided));
        let denied = InTerminal { answer: TerminalAnswer::Refused, known_by: KnownBy::Record };
        assert!(
            world.ok(Command::Overtake { interaction_id: ask_id(n), how: denied }).is_empty(),
            "it is known"
        );
        assert!(world.ok(Command::Overtake { interaction_id: ask_id(n), how: over }).is_empty());
    }
}

#[test]
fn an_answer_that_came_too_late_says_so_and_is_never_handed_over() {
    let mut world = World::running();
    world.ok(ask(attached(1)));
    world.ok(respond(1, 1, "k", deny()));
    world.ok(overtake(1));
    let too_late = Some(Delivery::Undeliverable { moved_to: None, in_terminal: Some(ALLOWED) });
    assert_eq!(world.ask(1).delivery, too_late);
    assert_eq!(world.rejected(delivering(1)), Rejection::NotDeliverable);
    // The same when it was written: a reply is no delivery.
    world.ok(ask(attached(2)));
    world.ok(respond(2, 1, "k2", deny()));
    world.ok(delivering(2));
    world.ok(delivered(2));
    world.ok(overtake(2));
    assert_eq!(world.ask(2).delivery, too_late);
    let acknowledge = Command::Acknowledge { interaction_id: ask_id(2) };
    assert_eq!(world.rejected(acknowledge), Rejection::NotDeliverable, "the terminal won");
}

#[test]
fn what_counted_stays_what_counted() {
    let mut world = World::running();
    world.ok(ask(attached(1)));
    world.ok(respond(1, 1, "k", approve()));
    world.ok(delivering(1));
    world.ok(Command::Acknowledge { interaction_id: ask_id(1) });
    assert_eq!(world.rejected(overtake(1)), Rejection::NotDeliverable);
    assert_eq!(world.ask(1).delivery, Some(Delivery::Acknowledged));
}

#[test]
fn an_approval_for_one_dialog_is_not_used_for_another() {
    let mut world = World::running();
    world.ok(ask(attached(1)));
    world.ok(respond(1, 1, "k", approve()));
    world.ok(crate::delivery::exit(1, false));
    world.begins(2);
    let same = InteractionRequest {
        input: attached(1).input,
        input_digest: attached(1).input_digest,
        ..attached(2)
    };
    assert_eq!(world.ok(ask(same)).len(), 1, "somebody may have refused it there: it is asked");
}

#[test]
fn nobody_here_starts_a_terminal() {
    let mut world = World::new();
    world.ok(open());
    world.ok(crate::world::message(1));
    let head = &world.session().head;
    let away = host(Hosted::InTerminal(Terminal::Away), &[]);
    assert_eq!(holdstead_core::next_step(head, &away), Step::Nothing);
    let there = host(Hosted::InTerminal(Terminal::There), &[]);
    assert_eq!(holdstead_core::next_step(head, &there), Step::Start(StartAt::OpenAsks));
}

#[derive(Debug, Clone, Copy)]
enum Happens {
    Answered,
    Handed,
    Written,
    Counted,
    Overtaken,
    TurnOver,
}

proptest! {
    /// Invariants 3 to 7 for an ask in a terminal: in any order it settles once or closes, only one side wins, and what won
    /// never changes.
    #[test]
    fn one_side_wins(steps in prop::collection::vec(prop_oneof![
        Just(Happens::Answered), Just(Happens::Handed), Just(Happens::Written), Just(Happens::Counted),
        Just(Happens::Overtaken), Just(Happens::TurnOver),
    ], 1..12), is_question in any::<bool>()) {
        let mut world = World::running();
        let request = if is_question { InteractionRequest { origin: Origin::Attached, ..question(1) } } else { attached(1) };
        world.ok(ask(request));
        let mut won = None;
        for step in steps {
            let answer = if is_question { crate::world::answer("SQLite") } else { approve() };
            let command = match step {
                Happens::Answered => respond(1, 1, "k", answer),
                Happens::Handed => delivering(1),
                Happens::Written => delivered(1),
                Happens::Counted => Command::Acknowledge { interaction_id: ask_id(1) },
                Happens::Overtaken => overtake(1),
                Happens::TurnOver => Command::Finish(holdstead_core::Finish {
                    turn_id: turn(1), reason: StopReason::Completed, usage: None, words: None,
                }),
            };
            // What is refused changes nothing.
            drop(world.apply(&command));
            let ask = world.ask(1);
            let now = match (&ask.state, &ask.delivery) {
                (AskState::Closed { .. }, _) => Some("nobody here"),
                (_, Some(Delivery::Acknowledged)) => Some("the card"),
                (_, Some(Delivery::Undeliverable { in_terminal: Some(_), .. })) => Some("the terminal"),
                (_, Some(Delivery::Unknown { .. } | Delivery::Undeliverable { .. })) => Some("nobody knows"),
                _ => None,
            };
            if let Some(won) = won {
                prop_assert_eq!(now, Some(won), "what became of it changed with {:?}", step);
            }
            won = now;
            if let AskState::Settled { settlement } = ask.state {
                let expected = if is_question { Settlement::Answered } else { Settlement::Approved };
                prop_assert_eq!(settlement, expected);
                prop_assert_eq!(ask.responses.len(), 1, "one answer");
            }
        }
    }
}

#[test]
fn a_call_that_is_left_to_the_terminal_waits_there_until_it_comes_to_something() {
    let left = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::LeftToTerminal };
    let waiting = |n| {
        let mut world = World::new();
        world.ok(open());
        world.ok(overhear(1));
        world.ok(ask(attached(n)));
        world.ok(Command::Overtake { interaction_id: ask_id(n), how: left });
        assert_eq!(world.session().head.left_to_terminal.len(), 1);
        world
    };
    let mut ran = waiting(1);
    ran.ok(Command::Record(vec![Output::ToolResult(ToolResult {
        turn_id: turn(1),
        tool_call_id: ran.ask(1).tool_call_id.clone().expect("a call"),
        output: "done".into(),
        is_error: false,
    })]));
    assert!(ran.session().head.left_to_terminal.is_empty(), "the call came to something");
    let mut over = waiting(1);
    over.ok(Command::Finish(Finish {
        turn_id: turn(1),
        reason: StopReason::Completed,
        usage: None,
        words: None,
    }));
    assert!(over.session().head.left_to_terminal.is_empty(), "its turn is over");
    let mut taken = World::new();
    taken.ok(open());
    taken.ok(overhear(1));
    taken.ok(ask(attached(1)));
    taken.ok(overtake(1));
    assert!(taken.session().head.left_to_terminal.is_empty(), "it was answered there");
}
