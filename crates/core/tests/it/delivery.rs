//! How a settlement reaches the agent, once.

use std::collections::BTreeSet;

use crate::world::*;
use holdstead_core::{
    Cancel, CannotPark, Command, Exit, Finish, MayHaveRun, Needs, Outcome, Output, RanOther, Rejection,
    Trigger, TurnEnd, Verdict, is_unfinished,
};
use holdstead_protocol::{
    AgentState, AskState, Decider, Delivery, EventBody, Incarnation, InteractionRequest, NotRun, Origin,
    ResponseDraft, Settlement, StopReason, ToolCallEnd, ToolCallId, ToolResult,
};
use serde_json::json;

fn delivering(n: u8, life: u32) -> Command {
    Command::Delivering { interaction_id: ask_id(n), incarnation: Incarnation(life) }
}

fn delivered(n: u8, life: u32) -> Command {
    Command::Delivered { interaction_id: ask_id(n), incarnation: Incarnation(life) }
}

fn acknowledge(n: u8) -> Command {
    Command::Acknowledge { interaction_id: ask_id(n) }
}

pub(crate) fn exit(life: u32, parked: bool) -> Command {
    Command::Exit(Exit { incarnation: Incarnation(life), parked, message: None, turn_end: None })
}

fn last_exit(life: u32, parked: bool) -> Command {
    let turn_end = Some(TurnEnd { reason: StopReason::Failed, words: Some("it is gone".into()) });
    Command::Exit(Exit { incarnation: Incarnation(life), parked, message: None, turn_end })
}

pub(crate) fn park(n: u8, life: u32) -> Command {
    Command::Park { interaction_id: ask_id(n), incarnation: Incarnation(life), awaited: BTreeSet::new() }
}

#[test]
fn accepted_delivering_delivered_acknowledged() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    assert_eq!(world.rejected(delivering(1, 1)), Rejection::NotDeliverable, "nothing was decided");
    world.ok(respond(1, 1, "k", approve()));
    assert_eq!(world.ask(1).delivery, Some(Delivery::Accepted));
    assert_eq!(world.rejected(acknowledge(1)), Rejection::NotDeliverable, "it was not written yet");
    world.ok(delivering(1, 1));
    assert_eq!(world.rejected(delivering(1, 1)), Rejection::NotDeliverable, "it is being written");
    world.ok(delivered(1, 1));
    world.ok(acknowledge(1));
    assert_eq!(world.ask(1).delivery, Some(Delivery::Acknowledged));
    assert!(world.session().head.undelivered == 0);
}

#[test]
fn an_acknowledgement_may_be_faster_than_we_are() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(respond(1, 1, "k", approve()));
    world.ok(delivering(1, 1));
    world.ok(acknowledge(1));
    assert!(world.ok(delivered(1, 1)).is_empty());
}

#[test]
fn an_approval_that_did_not_run_is_never_acknowledged() {
    let because = NotRun::Blocked;
    let not_run = || Command::NotRun { interaction_id: ask_id(1), because };
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(respond(1, 1, "k", approve()));
    assert_eq!(world.rejected(not_run()), Rejection::NotDeliverable, "it was not written yet");
    world.ok(delivering(1, 1));
    world.ok(not_run());
    assert!(world.ok(delivered(1, 1)).is_empty());
    assert!(world.ok(acknowledge(1)).is_empty());
    assert_eq!(world.ask(1).delivery, Some(Delivery::NotRun { because }));
    assert!(world.session().head.undelivered == 0);
}

#[test]
fn what_ran_otherwise_is_marked_once_and_a_large_input_is_kept_as_its_digest() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    let ran = |text: &str| Command::RanOther(RanOther::new(ask_id(1), json!({ "command": text })));
    let events = world.ok(ran("other"));
    assert_eq!(events.len(), 1);
    assert!(world.ask(1).ran_other_than_approved);
    assert!(world.ok(ran("again")).is_empty());
    let large = RanOther::new(ask_id(1), json!("x".repeat(100_000)));
    assert_eq!(large.ran, None);
}

#[test]
fn a_death_while_accepted_leaves_the_answer_for_the_next_life() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(exit(1, false));
    assert_eq!(world.session().head.agent, AgentState::Detached);
    world.ok(respond(1, 1, "k", approve()));
    world.begins(2);
    world.ok(delivering(1, 2));
}

#[test]
fn an_approval_that_may_have_run_is_never_replayed_and_the_person_is_told() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(respond(1, 1, "k", approve()));
    world.ok(delivering(1, 1));
    world.ok(exit(1, false));
    assert_eq!(world.ask(1).delivery, Some(Delivery::Unknown { incarnation: Incarnation(1) }));
    world.begins(2);
    assert_eq!(world.rejected(delivering(1, 2)), Rejection::NotDeliverable);
    let events = world.ok(ask(approval(2, 1)));
    let [EventBody::InteractionRequest(again)] = &events[..] else { panic!("asked again: {events:?}") };
    assert!(again.may_have_run);
}

#[test]
fn more_that_may_have_run_than_is_remembered_makes_any_call_a_persons() {
    let mut world = World::running();
    let by_rule = |world: &World, n: u8| ask_by_rule(approval(n, n), "a rule").based_on(world.basis(), None);
    for n in 1..=33_u8 {
        let life = u32::from(n);
        let asked = by_rule(&world, n);
        assert_eq!(world.ok(asked).len(), 2, "allowed without a person");
        world.ok(delivering(n, life));
        world.ok(exit(life, false));
        world.begins(life + 1);
        assert_eq!(world.session().head.may_have_run == MayHaveRun::Any, n == 33, "{n}");
    }
    let asked = by_rule(&world, 200);
    let events = world.ok(asked);
    let [EventBody::InteractionRequest(asked)] = &events[..] else { panic!("a person decides: {events:?}") };
    assert!(asked.may_have_run);
}

#[test]
fn a_question_may_be_answered_again_in_the_next_life_but_not_in_the_same() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(respond(1, 1, "k", answer("SQLite")));
    world.ok(delivering(1, 1));
    world.ok(exit(1, false));
    world.begins(2);
    world.ok(delivering(1, 2));
    assert_eq!(world.rejected(delivering(1, 2)), Rejection::NotDeliverable);
}

#[test]
fn an_identical_repeat_gets_the_answer_that_never_arrived_once() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(respond(1, 1, "k", approve()));
    world.ok(exit(1, false));
    world.begins(2);
    let events = world.ok(ask(approval(2, 1)));
    assert!(matches!(
        &events[1],
        EventBody::InteractionResponse(by) if by.decider == Decider::Earlier { interaction_id: ask_id(1) }
    ));
    assert_eq!(world.ask(2).state, AskState::Settled { settlement: Settlement::Approved });
    assert_eq!(world.rejected(delivering(1, 2)), Rejection::NotDeliverable, "it moved");
    assert_eq!(world.ok(ask(approval(3, 2))).len(), 1, "another input asks");
    world.ok(delivering(2, 2));
    assert_eq!(world.ok(ask(approval(4, 1))).len(), 1, "a second repeat asks");
}

#[test]
fn an_approval_of_a_call_that_is_not_made_again_did_not_run() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(exit(1, false));
    world.ok(respond(1, 1, "k", approve()));
    world.begins(2);
    world.ok(Command::Finish(holdstead_core::Finish {
        turn_id: crate::world::turn(1),
        reason: StopReason::Completed,
        usage: None,
        words: None,
    }));
    assert_eq!(world.ask(1).delivery, Some(Delivery::NotRun { because: NotRun::NotCalledAgain }));
}

#[test]
fn a_stopped_turn_drops_answers_that_were_not_written() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(respond(1, 1, "k", approve()));
    world.ok(Command::Cancel(Cancel::Turn { by: "Ada".to_owned() }));
    assert_eq!(world.ask(1).delivery, Some(Delivery::NOWHERE));
    assert_eq!(world.rejected(delivering(1, 1)), Rejection::NotDeliverable);
}

#[test]
fn parked_means_no_process_and_an_answer_waits_for_the_next_one() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(park(1, 1));
    assert_eq!(world.session().head.agent, AgentState::Parking);
    world.ok(respond(1, 1, "k", answer("SQLite")));
    assert!(
        matches!(world.rejected(delivering(1, 1)), Rejection::WrongAgentState { .. }),
        "it is going away"
    );
    world.ok(exit(1, true));
    assert_eq!(world.session().head.agent, AgentState::Parked);
    assert_eq!(world.session().head.alive, None);
    world.begins(2);
    world.ok(delivering(1, 2));
}

#[test]
fn only_an_agent_that_waits_for_one_answer_can_park() {
    let mut world = World::running();
    let mut stays = question(1);
    stays.can_park = false;
    world.ok(ask(stays));
    assert_eq!(world.rejected(park(1, 1)), Rejection::CannotPark(CannotPark::NoWayBack));
    world.ok(ask(question(2)));
    assert_eq!(world.rejected(park(2, 1)), Rejection::CannotPark(CannotPark::MoreThanOne));
    world.ok(respond(1, 1, "k", answer("SQLite")));
    assert_eq!(world.rejected(park(2, 9)), Rejection::StaleIncarnation);
    assert_eq!(world.rejected(park(1, 1)), Rejection::CannotPark(CannotPark::NotOpen));
    assert_eq!(world.rejected(park(2, 1)), Rejection::CannotPark(CannotPark::AnswerOnItsWay));
    world.ok(delivering(1, 1));
    world.ok(park(2, 1));
}

#[test]
fn a_process_that_dies_while_it_is_being_parked_is_detached() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(park(1, 1));
    world.ok(exit(1, false));
    assert_eq!(world.session().head.agent, AgentState::Detached);
    assert_eq!(world.ask(1).state, AskState::Open);
}

#[test]
fn an_agent_that_will_not_go_keeps_waiting_and_gets_its_answer() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(park(1, 1));
    world.ok(respond(1, 1, "k", answer("SQLite")));
    world.ok(Command::Stay { incarnation: Incarnation(1) });
    assert_eq!(world.session().head.agent, AgentState::Running);
    world.ok(delivering(1, 1));
}

#[test]
fn a_turn_ends_with_its_process_in_the_same_append() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(respond(1, 1, "k", approve()));
    world.ok(delivering(1, 1));
    let events = world.ok(last_exit(1, false));
    assert!(matches!(events.last(), Some(EventBody::Done(done)) if done.reason == StopReason::Failed));
    assert_eq!(world.ask(1).delivery, Some(Delivery::Unknown { incarnation: Incarnation(1) }));
    assert_eq!((world.session().head.turn, world.session().head.agent), (None, AgentState::Idle));
}

#[test]
fn a_turn_goes_on_where_another_life_can_be_told_something() {
    // An open ask.
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(last_exit(1, false));
    assert_eq!(world.session().head.agent, AgentState::Detached);
    // An answer that no life was given.
    world.begins(2);
    world.ok(respond(1, 1, "k", approve()));
    world.ok(last_exit(2, false));
    assert_eq!(world.session().head.agent, AgentState::Detached);
    assert!(world.session().head.turn.is_some());
}

#[test]
fn who_was_parked_and_dies_before_it_was_told_comes_back_to_the_same_call() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(park(1, 1));
    world.ok(exit(1, true));
    world.ok(respond(1, 1, "k", approve()));
    world.begins(2);
    world.ok(exit(2, false));
    assert_eq!(world.session().head.agent, AgentState::Parked, "its call is still there");
    world.begins(3);
    world.ok(delivering(1, 3));
    world.ok(exit(3, false));
    assert_ne!(world.session().head.agent, AgentState::Parked, "it may have run");
}

/// A tool has asked for its agent, and knows the answer.
fn answered_tool(request: InteractionRequest, draft: ResponseDraft) -> World {
    let mut world = World::running();
    world.ok(ask(InteractionRequest { origin: Origin::Tool, has_handler: true, ..request }));
    world.ok(respond(1, 1, "k", draft));
    world.ok(Command::Outcome(Box::new(Outcome {
        interaction_id: ask_id(1),
        prompt_id: prompt(1, 1),
        trigger: Trigger::Response,
        verdict: Verdict::Complete { result: None },
    })));
    world.ok(acknowledge(1));
    world
}

#[test]
fn an_agent_that_went_before_its_tool_could_tell_it_is_told_as_a_message() {
    for dies_with_its_turn in [true, false] {
        let mut world = answered_tool(question(1), answer("SQLite"));
        assert!(world.ok(retell(1)).is_empty(), "it lives, and its tool tells it");
        world.ok(if dies_with_its_turn { last_exit(1, false) } else { exit(1, false) });
        let events = world.ok(retell(1));
        let [EventBody::LateAnswer(late)] = &events[..] else { panic!("one message: {events:?}") };
        assert_eq!(late.text, "Your call of Bash was cut off before you had its result: {\"ok\":true}");
        assert_eq!(late.name, "ana");
        assert_eq!(world.session().head.pending.len(), 1);
        assert_eq!(world.ask(1).state, AskState::Settled { settlement: Settlement::Answered });
        assert!(world.ask(1).late.is_none(), "it was in time");
        assert!(world.ok(retell(1)).is_empty(), "once");
    }
}

#[test]
fn an_agent_that_has_its_tools_answer_is_not_told_again() {
    let mut world = answered_tool(question(1), answer("SQLite"));
    world.ok(Command::Record(vec![Output::ToolResult(ToolResult {
        turn_id: turn(1),
        tool_call_id: ToolCallId::new("call_1").expect("a good id"),
        output: serde_json::json!("SQLite"),
        is_error: false,
    })]));
    world.ok(last_exit(1, false));
    assert!(world.ok(retell(1)).is_empty(), "its result was seen");

    let mut world = answered_tool(question(1), answer("SQLite"));
    world.ok(Command::Finish(Finish {
        turn_id: turn(1),
        reason: StopReason::Completed,
        usage: None,
        words: None,
    }));
    world.ok(last_exit(1, false));
    assert!(world.ok(retell(1)).is_empty(), "its turn was over");

    let mut world = answered_tool(approval(1, 1), approve());
    world.ok(last_exit(1, false));
    assert!(world.ok(retell(1)).is_empty(), "an approval is never told twice");
}

#[test]
fn a_session_that_ended_has_nobody_to_tell() {
    let mut world = answered_tool(question(1), answer("SQLite"));
    world.ok(Command::End { name: "ana".to_owned() });
    world.ok(last_exit(1, false));
    assert_eq!(world.session().head.orphaned_answers().count(), 0);
    assert_eq!(world.rejected(retell(1)), Rejection::Ended);
}

#[test]
fn a_session_that_ends_settles_what_is_being_delivered() {
    for request in [question(1), approval(1, 1)] {
        let mut world = World::running();
        let draft = if request.body.is_approval() { approve() } else { answer("SQLite") };
        world.ok(ask(request));
        world.ok(respond(1, 1, "k", draft));
        world.ok(delivering(1, 1));
        world.ok(Command::End { name: "ana".to_owned() });
        assert_eq!(world.ask(1).delivery, Some(Delivery::Unknown { incarnation: Incarnation(1) }));
        world.ok(last_exit(1, false));
        assert!(world.session().head.undelivered == 0, "nobody is left to tell");
    }
}

#[test]
fn a_removed_machine_leaves_nothing_that_waits_for_it() {
    let remove = || Command::RemoveRunner { by: "ana".to_owned(), machine: "laptop".to_owned() };
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(ask(approval(2, 2)));
    world.ok(ask(approval(3, 3)));
    world.ok(respond(1, 1, "k", answer("SQLite")));
    world.ok(respond(2, 1, "k", approve()));
    world.ok(delivering(2, 1));
    world.ok(remove());
    assert_eq!(world.ask(1).delivery, Some(Delivery::NOWHERE));
    assert_eq!(world.ask(2).delivery, Some(Delivery::Unknown { incarnation: Incarnation(1) }));
    assert!(!world.ask(3).is_live());
    let head = &world.session().head;
    assert_eq!((head.agent, head.alive), (AgentState::Ended, None));
    assert!(!is_unfinished(head));
    assert!(world.ok(remove()).is_empty(), "once is enough");
    // What it says when it comes back after all is nobody's business.
    assert_eq!(world.rejected(last_exit(1, false)), Rejection::StaleIncarnation);
}

#[test]
fn what_programs_fetch_is_not_held_by_the_session() {
    let mut world = World::running();
    for n in 1..=50 {
        world.ok(ask(InteractionRequest { origin: Origin::Caller, tool_call_id: None, ..approval(n, n) }));
        world.ok(respond(n, 1, "k", approve()));
    }
    assert!(world.session().head.undelivered == 0);
    let next = ask(InteractionRequest { origin: Origin::Caller, ..approval(60, 60) });
    assert_eq!(
        (next.names(), next.needs()),
        (vec![ask_id(60)], Needs::NoOthers),
        "it loads itself and no others"
    );
    world.ok(Command::Cancel(Cancel::Turn { by: "Ada".to_owned() }));
    assert_eq!(world.ask(7).delivery, Some(Delivery::Accepted), "the agent's turn is not the program's");
    world.ok(acknowledge(7));
    assert_eq!(world.ask(7).delivery, Some(Delivery::Acknowledged));
}

fn call_ended(call: &str, input: serde_json::Value) -> Command {
    let tool_call_id = ToolCallId::new(call).expect("a good id");
    Command::Record(vec![Output::ToolCallEnd(ToolCallEnd {
        tool_name: None,
        decision: None,
        turn_id: turn(1),
        tool_call_id,
        input,
    })])
}

fn call_result(call: &str, output: serde_json::Value) -> Command {
    let tool_call_id = ToolCallId::new(call).expect("a good id");
    Command::Record(vec![Output::ToolResult(ToolResult {
        turn_id: turn(1),
        tool_call_id,
        output,
        is_error: false,
    })])
}

#[test]
fn an_answer_that_came_through_another_call_is_not_told_again() {
    let pending = serde_json::json!({ "status": "pending", "interaction_id": ask_id(1) });
    for awaited in [true, false] {
        let mut world = answered_tool(question(1), answer("SQLite"));
        world.ok(call_result("call_1", pending.clone()));
        world.ok(call_ended("call_9", serde_json::json!({ "interaction_id": ask_id(1) })));
        let output =
            if awaited { serde_json::json!({ "ok": true, "answer": "SQLite" }) } else { pending.clone() };
        world.ok(call_result("call_9", output));
        world.ok(last_exit(1, false));
        assert_eq!(world.ok(retell(1)).is_empty(), awaited, "told by one of them, once");
    }
}
