//! What the host of a session does next, as a table.

use holdstead_core::{
    Ask, Cancel, Command, Exit, FailedTurn, Finish, Head, Hosted, Hosting, MAX_FRUITLESS_STARTS, PendingTurn,
    ProcessHere, Start, StartAt, Step, UnconfirmedResult, next_step,
};
use holdstead_protocol::{Incarnation, InteractionRequest, Origin, Seq, StopReason, ToolCallId};

use crate::world::*;

/// The host of this world's session, which has no process and did not try to start one.
pub(crate) fn host<'a>(agent: Hosted, untold: &'a [Ask]) -> Hosting<'a> {
    let (process, forgotten, first_message) = (ProcessHere::None, false, false);
    Hosting { agent, process, forgotten, fruitless_starts: 0, first_message, untold }
}

fn untold(world: &World) -> Vec<Ask> {
    let session = world.session();
    let asks = session.asks.values().filter(|ask| ask.undelivered);
    asks.filter(|ask| ask.needs_delivery()).cloned().collect()
}

/// The steps for an agent that repeats all its calls, and for one that repeats only the one it was parked at.
fn steps(world: &World) -> (Step, Step) {
    let untold = untold(world);
    let step = |agent| next_step(&world.session().head, &host(agent, &untold));
    (step(Hosted::ReasksAll), step(Hosted::ReasksParked))
}

fn both(step: Step) -> (Step, Step) {
    (step, step)
}

fn exit(parked: bool) -> Command {
    Command::Exit(Exit { incarnation: Incarnation(1), parked, message: None, turn_end: None })
}

const WENT_AWAY: Step = Step::FailTurn { turn_id: turn_1(), why: FailedTurn::WentAway };

const fn turn_1() -> holdstead_protocol::TurnId {
    holdstead_protocol::TurnId::from_uuid(uuid::Uuid::from_u128((1 << 64) | 1))
}

#[test]
fn without_a_turn_a_process_is_started_for_a_message_and_for_nothing_else() {
    let mut world = World::new();
    world.ok(open());
    assert_eq!(steps(&world), both(Step::Nothing));
    world.ok(message(1));
    assert_eq!(steps(&world), both(Step::Start(StartAt::NextMessage)));
    assert_eq!(next_step(&world.session().head, &host(Hosted::Nobody, &[])), Step::Nothing, "it only asks");
    let tired = Hosting { fruitless_starts: MAX_FRUITLESS_STARTS, ..host(Hosted::ReasksAll, &[]) };
    assert_eq!(next_step(&world.session().head, &tired), Step::GiveUpStarting);
}

#[test]
fn a_process_that_nobody_has_is_seen_gone_first() {
    let mut world = World::running();
    let gone = Step::SeeGone { incarnation: Incarnation(1), pid: Some(101) };
    assert_eq!(steps(&world), both(gone));
    world.ok(Command::End { name: "ana".to_owned() });
    assert_eq!(steps(&world), both(gone), "also when the session has ended");
    world.ok(exit(false));
    assert_eq!(steps(&world), both(Step::Nothing));
}

#[test]
fn a_process_that_is_there_is_attended_to_or_given_the_next_message() {
    let mut world = World::new();
    world.ok(open());
    world.ok(message(1));
    world.begins(1);
    let with = |world: &World, process| {
        next_step(&world.session().head, &Hosting { process, ..host(Hosted::ReasksParked, &[]) })
    };
    let next = Step::Begin(PendingTurn { turn_id: turn(1), seq: Seq(2) });
    assert_eq!(with(&world, ProcessHere::Free), next);
    world.ok(Command::Begin { turn_id: turn(1), start: Start::default() });
    assert_eq!(with(&world, ProcessHere::Untold), Step::SayBegun);
    assert_eq!(with(&world, ProcessHere::InTurn), Step::Attend);
    assert_eq!(with(&world, ProcessHere::Free), Step::Nothing, "somebody else's turn");
    assert_eq!(with(&world, ProcessHere::Starting), Step::Nothing, "it is not there yet");
    world.ok(Command::Cancel(Cancel::Turn { by: "Ada".to_owned() }));
    assert_eq!(with(&world, ProcessHere::InTurn), Step::Stop, "whoever comes to it reads who wants that");
    assert_eq!(with(&world, ProcessHere::Stopping), Step::Attend, "it is told once");
    let (turn_id, reason) = (turn(1), StopReason::Completed);
    world.ok(Command::Finish(Finish { turn_id, reason, usage: None, words: None }));
    assert_eq!(with(&world, ProcessHere::Free), Step::Nothing);
    world.ok(Command::End { name: "ana".to_owned() });
    for process in [ProcessHere::Free, ProcessHere::InTurn, ProcessHere::Stopping, ProcessHere::Untold] {
        assert_eq!(with(&world, process), Step::Kill);
    }
}

#[test]
fn an_agent_that_died_at_its_calls_is_started_when_it_can_be_told() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(ask(question(2)));
    world.ok(exit(false));
    assert_eq!(steps(&world), both(Step::Nothing), "a person has to answer");
    world.ok(respond(1, 1, "k", answer("SQLite")));
    let at_calls = Step::Start(StartAt::OpenAsks);
    assert_eq!(steps(&world), (at_calls, Step::Nothing), "a model waits for all calls of its message");
    world.ok(respond(2, 1, "l", answer("SQLite")));
    assert_eq!(steps(&world), (at_calls, Step::Start(StartAt::Loss)));
    let untold = untold(&world);
    let tired = Hosting { fruitless_starts: MAX_FRUITLESS_STARTS, ..host(Hosted::ReasksParked, &untold) };
    let never = Step::FailTurn { turn_id: turn(1), why: FailedTurn::NeverTookIt };
    assert_eq!(next_step(&world.session().head, &tired), never);
}

#[test]
fn an_agent_that_was_parked_comes_back_to_its_call() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(crate::delivery::park(1, 1));
    world.ok(exit(true));
    assert_eq!(steps(&world), both(Step::Nothing), "a parked agent needs no process");
    world.ok(respond(1, 1, "k", approve()));
    assert_eq!(steps(&world), both(Step::Start(StartAt::OpenAsks)));
}

#[test]
fn a_turn_with_nothing_to_tell_is_over() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(respond(1, 1, "k", answer("SQLite")));
    world.ok(Command::Delivering { interaction_id: ask_id(1), incarnation: Incarnation(1) });
    world.ok(exit(false));
    // It may have the answer. One that repeats whatever it has no answer to would ask nothing.
    assert_eq!(steps(&world), (WENT_AWAY, Step::Start(StartAt::Loss)));

    let mut world = World::running();
    world.ok(exit(false));
    assert_eq!(steps(&world), (Step::Start(StartAt::OpenAsks), WENT_AWAY));
    let forgetful = Hosting { forgotten: true, first_message: true, ..host(Hosted::ReasksParked, &[]) };
    assert_eq!(next_step(&world.session().head, &forgetful), Step::Start(StartAt::Anew));
    let blank = Hosting { first_message: false, ..forgetful };
    assert_eq!(next_step(&world.session().head, &blank), WENT_AWAY, "there is nothing it could begin with");
}

#[test]
fn a_process_with_nothing_to_do_is_let_go_and_one_that_somebody_needs_is_kept() {
    let idle = |world: &World| {
        next_step(
            &world.session().head,
            &Hosting { process: ProcessHere::Idle, ..host(Hosted::ReasksParked, &[]) },
        )
    };
    let mut world = World::running();
    assert_eq!(idle(&world), Step::Nothing, "a turn is under way");
    let (turn_id, reason) = (turn(1), StopReason::Completed);
    world.ok(Command::Finish(Finish { turn_id, reason, usage: None, words: None }));
    assert_eq!(idle(&world), Step::Nothing, "its conversation has no name to come back with");
    world.ok(Command::Identify { incarnation: Incarnation(1), agent_ref: "ref".to_owned() });
    assert_eq!(idle(&world), Step::LetGo);

    let asked = InteractionRequest { turn_id: None, origin: Origin::Caller, ..question(1) };
    world.ok(ask(asked));
    assert_eq!(idle(&world), Step::Nothing, "somebody is asked");
    world.ok(respond(1, 1, "k", answer("SQLite")));
    assert_eq!(idle(&world), Step::LetGo, "what programs fetch needs no process");
    world.ok(message(2));
    let next = PendingTurn { turn_id: turn(2), seq: Seq(world.session().head.pending[0].seq.0) };
    assert_eq!(idle(&world), Step::Begin(next));
    let leaving = Hosting { process: ProcessHere::Leaving, ..host(Hosted::ReasksParked, &[]) };
    assert_eq!(
        next_step(&world.session().head, &leaving),
        Step::Nothing,
        "it would be lost with the process"
    );
    world.ok(Command::End { name: "ana".to_owned() });
    assert_eq!(idle(&world), Step::Kill);
}

#[test]
fn a_process_is_kept_for_an_answer_on_its_way() {
    let with = |change: fn(&mut Head)| {
        let mut world = World::running();
        let (turn_id, reason) = (turn(1), StopReason::Completed);
        world.ok(Command::Finish(Finish { turn_id, reason, usage: None, words: None }));
        world.ok(Command::Identify { incarnation: Incarnation(1), agent_ref: "ref".to_owned() });
        let mut head = Head::clone(&world.session().head);
        change(&mut head);
        next_step(&head, &Hosting { process: ProcessHere::Idle, ..host(Hosted::ReasksAll, &[]) })
    };
    assert_eq!(with(|_| {}), Step::LetGo);
    assert_eq!(with(|head| head.undelivered = 1), Step::Nothing);
    let result = |head: &mut Head| {
        let tool_call_id = ToolCallId::new("call").unwrap();
        let result = UnconfirmedResult { tool_call_id, asked_in: Incarnation(1), turn_id: None };
        head.unconfirmed_results.insert(ask_id(1), result);
    };
    assert_eq!(with(result), Step::Nothing);
}
