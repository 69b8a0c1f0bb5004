//! Every rule by name.

use crate::world::*;
use holdstead_core::{
    Cancel, Command, Expire, ExpireCause, Finish, Outcome, Quota, Rejection, Request, Trigger, Verdict,
};
use holdstead_protocol::{
    AgentState, AskState, Closing, Decider, EventBody, InteractionRequest, Origin, ResponseDraft, Scope,
    Settlement, StopReason, Timestamp,
};
use serde_json::json;

#[test]
fn the_first_answer_wins_and_the_loser_learns_who_won() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(respond(1, 1, "k1", approve()));
    let Rejection::Lost { winner } = world.rejected(respond(1, 1, "k2", deny())) else { panic!("must lose") };
    assert_eq!(winner.action, "approve");
    assert!(matches!(&winner.decider, Decider::Person { name, .. } if name == "ana"));
    assert_eq!(world.ask(1).state, AskState::Settled { settlement: Settlement::Approved });
}

#[test]
fn the_same_key_is_the_same_answer_and_never_another() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(respond(1, 1, "k1", approve()));
    assert!(world.ok(respond(1, 1, "k1", approve())).is_empty());
    assert_eq!(world.rejected(respond(1, 1, "k1", deny())), Rejection::KeyReused);
}

#[test]
fn a_bad_answer_wins_nothing_and_locks_nobody_out() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    for blank in ["", "   "] {
        assert!(matches!(world.rejected(respond(1, 1, "k1", answer(blank))), Rejection::Invalid { .. }));
    }
    assert_eq!(world.ask(1).state, AskState::Open);
    world.ok(respond(1, 1, "k1", answer("SQLite")));
}

#[test]
fn approving_a_question_and_submitting_to_an_approval_are_refused() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(ask(approval(2, 2)));
    assert!(matches!(world.rejected(respond(1, 1, "k", approve())), Rejection::WrongAction { .. }));
    assert!(matches!(world.rejected(respond(2, 1, "k", answer("SQLite"))), Rejection::WrongAction { .. }));
}

#[test]
fn a_session_scope_is_remembered_for_the_exact_input_only() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(respond(1, 1, "k", approve_for(Scope::Session)));
    let events = world.ok(ask(approval(2, 1)));
    assert!(matches!(
        &events[..],
        [EventBody::InteractionRequest(_), EventBody::InteractionResponse(by)]
            if matches!(by.decider, Decider::Grant { .. })
    ));
    let events = world.ok(ask(approval(3, 2)));
    assert_eq!(events.len(), 1, "another input asks");
    let grant = *world.session().head.grants.keys().next().expect("a grant");
    world.ok(Command::Revoke { grant_id: grant, name: "ana".to_owned() });
    assert_eq!(world.ok(ask(approval(4, 1))).len(), 1, "a revoked grant asks");
}

#[test]
fn a_scope_that_was_not_offered_is_refused() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    assert!(matches!(
        world.rejected(respond(1, 1, "k", approve_for(Scope::Always))),
        Rejection::Invalid { .. }
    ));
}

#[test]
fn an_edited_input_is_approved_once_and_never_remembered() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    let edited = |scope| ResponseDraft::Approve {
        lines: Vec::new(),
        scope,
        edited_input: Some(json!({"command": "ls"})),
    };
    assert!(matches!(
        world.rejected(respond(1, 1, "k", edited(Some(Scope::Session)))),
        Rejection::Invalid { .. }
    ));
    world.ok(respond(1, 1, "k", edited(None)));
}

#[test]
fn what_the_wire_cannot_carry_is_refused_not_dropped() {
    let mut world = World::running();
    let mut plain = approval(1, 1);
    plain.capabilities.reason = false;
    plain.capabilities.edit_input = false;
    world.ok(ask(plain));
    assert!(matches!(world.rejected(respond(1, 1, "k", deny())), Rejection::Invalid { .. }));
    let edited = ResponseDraft::Approve { lines: Vec::new(), scope: None, edited_input: Some(json!({})) };
    assert!(matches!(world.rejected(respond(1, 1, "k", edited)), Rejection::Invalid { .. }));
    world.ok(respond(1, 1, "k", ResponseDraft::Deny { reason: None }));
}

#[test]
fn asking_again_finds_the_same_ask_and_a_changed_input_does_not() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    assert!(world.ok(ask(approval(1, 1))).is_empty());
    assert_eq!(world.rejected(ask(approval(1, 2))), Rejection::AskChanged);
}

#[test]
fn a_digest_that_is_not_of_the_input_shown_is_refused() {
    let mut world = World::running();
    let mut forged = approval(1, 1);
    forged.input = approval_input(2);
    assert!(matches!(world.rejected(ask(forged)), Rejection::BadAsk { .. }));
}

#[test]
fn an_approval_of_nothing_is_not_shown() {
    let mut world = World::running();
    let mut empty = approval(1, 1);
    empty.input = serde_json::Value::Null;
    empty.input_digest = holdstead_core::digest(&empty.input);
    assert!(matches!(world.rejected(ask(empty)), Rejection::BadAsk { .. }));
}

#[test]
fn a_rule_allows_by_name() {
    let mut world = World::running();
    let basis = world.basis();
    let events = world.ok(ask_by_rule(approval(1, 1), "read-only").based_on(basis, None));
    assert!(matches!(
        &events[1],
        EventBody::InteractionResponse(by) if by.decider == Decider::Rule { name: "read-only".to_owned() }
    ));
}

#[test]
fn a_rule_never_answers_a_question() {
    let mut world = World::running();
    let basis = world.basis();
    world.ok(ask_by_rule(question(1), "auto").based_on(basis, None));
    assert_eq!(world.ask(1).state, AskState::Open);
}

fn outcome(n: u8, attempt: u32, trigger: Trigger, verdict: Verdict) -> Command {
    Command::Outcome(Box::new(Outcome {
        interaction_id: ask_id(n),
        prompt_id: prompt(n, attempt),
        trigger,
        verdict,
    }))
}

fn again(n: u8, attempt: u32) -> Verdict {
    Verdict::Reprompt(Box::new(InteractionRequest { prompt_id: prompt(n, attempt), ..form(n) }))
}

#[test]
fn a_reprompt_is_the_same_ask_with_a_new_prompt_and_the_old_prompt_is_stale() {
    let mut world = World::running();
    world.ok(ask(form(1)));
    world.ok(respond(1, 1, "k1", submit("nowhere")));
    assert_eq!(world.ask(1).state, AskState::Submitted { prompt_id: prompt(1, 1) });
    world.ok(outcome(1, 1, Trigger::Response, again(1, 2)));
    assert_eq!((world.ask(1).attempt, &world.ask(1).state), (2, &AskState::Open));
    assert_eq!(
        world.rejected(respond(1, 1, "k2", submit("a@b"))),
        Rejection::StalePrompt { current: prompt(1, 2) }
    );
    assert!(
        world.ok(respond(1, 1, "k1", submit("nowhere"))).is_empty(),
        "the first answer's key still works"
    );
    world.ok(respond(1, 2, "k3", submit("a@b")));
    world.ok(outcome(1, 2, Trigger::Response, Verdict::Complete { result: None }));
    assert_eq!(world.ask(1).state, AskState::Settled { settlement: Settlement::Answered });
    assert_eq!(
        world.rejected(outcome(1, 2, Trigger::Response, Verdict::Complete { result: None })),
        Rejection::NothingToDecide,
        "an outcome is appended once"
    );
}

#[test]
fn a_tool_cannot_ask_for_ever() {
    let mut world = World::running();
    world.ok(ask(form(1)));
    for attempt in 1..=5 {
        world.ok(respond(1, attempt, &format!("k{attempt}"), submit("nowhere")));
        let verdict = outcome(1, attempt, Trigger::Response, again(1, attempt + 1));
        if attempt < 5 {
            world.ok(verdict);
        } else {
            assert_eq!(world.rejected(verdict), Rejection::TooManyAttempts { attempts: 5 });
        }
    }
}

#[test]
fn nobody_answered_is_expired_never_allowed() {
    let mut world = World::running();
    let mut request = approval(1, 1);
    request.deadline = Some(Timestamp::from_micros(2_000_000));
    world.ok(ask(request));
    let expire = Command::Expire(Expire {
        interaction_id: ask_id(1),
        prompt_id: prompt(1, 1),
        cause: ExpireCause::Deadline,
    });
    assert_eq!(world.rejected(expire.clone()), Rejection::NotDue);
    world.now = Timestamp::from_micros(2_000_000);
    world.ok(expire.clone());
    assert_eq!(world.ask(1).state, AskState::Closed { closing: Closing::Expired });
    assert_eq!(world.rejected(expire), Rejection::NothingToDecide);
    assert_eq!(world.rejected(respond(1, 1, "k", approve())), Rejection::Dead { closing: Closing::Expired });
}

/// Whoever is told that an ask is over is right about it, also if another answer was in time and is written later.
#[test]
fn an_approval_after_the_deadline_closes_the_ask_though_no_timer_fired() {
    let mut world = World::running();
    let mut request = approval(1, 1);
    request.deadline = Some(Timestamp::from_micros(2_000_000));
    world.ok(ask(request));
    world.now = Timestamp::from_micros(2_000_000);
    world.ok(respond(1, 1, "k", approve()));
    assert_eq!(world.ask(1).state, AskState::Closed { closing: Closing::Expired });
    assert_eq!(world.rejected(respond(1, 1, "k", approve())), Rejection::Dead { closing: Closing::Expired });
}

#[test]
fn a_late_answer_becomes_a_message_and_settles_nothing() {
    let mut world = World::running();
    let mut request = question(1);
    request.deadline = Some(Timestamp::from_micros(2_000_000));
    world.ok(ask(request));
    world.now = Timestamp::from_micros(3_000_000);
    let events = world.ok(respond(1, 1, "k", answer("SQLite")));
    let [EventBody::InteractionClosed(closed), EventBody::LateAnswer(late)] = &events[..] else {
        panic!("closed, then late: {events:?}")
    };
    assert_eq!(closed.closing, Closing::Expired);
    assert_eq!(late.text, "Late answer to your question:\n> Which store?\nSQLite");
    assert_eq!(world.session().head.pending.len(), 1, "it waits for its turn like any message");
    assert!(matches!(world.rejected(respond(1, 1, "k2", answer("SQLite"))), Rejection::Lost { .. }));
}

#[test]
fn a_late_answer_to_a_program_is_kept_for_it_and_is_no_message() {
    let mut world = World::running();
    let deadline = Some(Timestamp::from_micros(2_000_000));
    world.ok(ask(InteractionRequest { origin: Origin::Caller, deadline, ..question(1) }));
    world.now = Timestamp::from_micros(3_000_000);
    world.ok(respond(1, 1, "k", answer("SQLite")));
    assert!(world.ask(1).late.is_some());
    assert!(world.session().head.pending.is_empty(), "the agent did not ask");
}

#[test]
fn approving_a_queued_call_is_good_for_one_identical_call() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(Command::Queue { interaction_id: ask_id(1), message: "queued".to_owned() });
    assert_eq!(world.session().head.agent, AgentState::Running, "a queued ask keeps nobody waiting");
    world.ok(respond(1, 1, "k", approve()));
    assert_eq!(world.ask(1).state, AskState::Closed { closing: Closing::AnsweredLate });
    assert_eq!(world.ok(ask(approval(2, 1))).len(), 3, "asked, granted, used up");
    assert_eq!(world.ok(ask(approval(3, 1))).len(), 1, "the next one asks");
}

#[test]
fn an_interrupt_kills_the_asks_and_a_later_answer_is_refused() {
    let mut world = World::running();
    world.ok(ask(approval(1, 1)));
    world.ok(ask(question(2)));
    world.ok(Command::Cancel(Cancel::Turn { by: "Ada".to_owned() }));
    for n in [1, 2] {
        assert_eq!(world.ask(n).state, AskState::Closed { closing: Closing::Cancelled });
    }
    assert_eq!(world.rejected(respond(1, 1, "k", approve())), Rejection::Stopped { by: "Ada".to_owned() });
}

#[test]
fn an_ordinary_message_touches_no_ask() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(message(2));
    assert_eq!(world.ask(1).state, AskState::Open);
    assert_eq!(world.session().head.agent, AgentState::Waiting);
}

#[test]
fn the_end_of_a_turn_takes_its_open_asks_with_it() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(Command::Finish(Finish {
        turn_id: turn(1),
        reason: StopReason::Failed,
        usage: None,
        words: None,
    }));
    assert_eq!(world.ask(1).state, AskState::Closed { closing: Closing::Cancelled });
    assert_eq!(world.session().head.agent, AgentState::Idle);
}

#[test]
fn an_ended_session_refuses_everything_but_looking_back() {
    let mut world = World::running();
    world.ok(ask(question(1)));
    world.ok(Command::End { name: "ana".to_owned() });
    assert!(world.ok(Command::End { name: "ana".to_owned() }).is_empty());
    assert_eq!(world.rejected(message(2)), Rejection::Ended);
    assert_eq!(world.rejected(ask(question(2))), Rejection::Ended);
    assert!(world.ok(ask(question(1))).is_empty(), "asking again finds what became of it");
    assert_eq!(world.rejected(start(2, None)), Rejection::Ended);
    let stopped = Rejection::Stopped { by: "ana".to_owned() };
    assert_eq!(world.rejected(respond(1, 1, "k", answer("SQLite"))), stopped);
    assert_eq!(world.rejected(open()), Rejection::AlreadyOpen);
}

#[test]
fn a_journal_begins_with_its_opening() {
    let mut world = World::new();
    assert_eq!(world.rejected(message(1)), Rejection::NotOpened);
    world.ok(open());
    assert_eq!(world.rejected(message_without_words()), Rejection::EmptyMessage);
}

fn message_without_words() -> Command {
    let Command::Message(mut message) = message(1) else { unreachable!("a message") };
    message.said.text = " \n".to_owned();
    Command::Message(message)
}

#[test]
fn what_waits_for_a_person_is_bounded_and_an_answer_makes_room() {
    let mut world = World::running();
    let asking = |n: u8, quota: Quota| {
        let request = approval(n, n);
        Command::Request(Box::new(Request { request, owner_grants: Vec::new(), allowed_by: None, quota }))
    };
    let two = Quota { asks: 2, ..Quota::default() };
    world.ok(asking(1, two));
    world.ok(asking(2, two));
    let refused = world.rejected(asking(3, two));
    assert_eq!(refused, Rejection::TooManyOpen { open: 2 });
    assert!(refused.to_string().contains("2 asks of this session wait"), "{refused}");
    assert_eq!(world.ok(asking(2, two)), [], "asking the same again is no new ask");
    let by_rule = Command::Request(Box::new(Request {
        request: approval(4, 4),
        owner_grants: Vec::new(),
        allowed_by: Some("auto".to_owned()),
        quota: two,
    }));
    let basis = world.basis();
    world.ok(by_rule.based_on(basis, None));
    world.ok(respond(1, 1, "k", approve()));
    world.ok(asking(3, two));

    let held = world.session().head.live_bytes;
    assert!(held > 0);
    let full = Quota { bytes: held, ..Quota::default() };
    assert!(matches!(world.rejected(asking(5, full)), Rejection::TooMuchOpen { open: 2, .. }));
    world.ok(Command::Cancel(Cancel::Turn { by: "Ada".to_owned() }));
    assert_eq!(world.session().head.live_bytes, 0);
    let (turn_id, reason) = (turn(1), StopReason::Interrupted);
    world.ok(Command::Finish(Finish { turn_id, reason, usage: None, words: None }));
    world.ok(asking(5, full));
}

#[test]
fn messages_that_wait_are_bounded() {
    let mut world = World::running();
    for n in 0..1_000 {
        world.ok(message(u8::try_from(10 + n % 200).unwrap()));
    }
    assert_eq!(world.rejected(message(251)), Rejection::TooManyMessages { waiting: 1_000 });
}

#[test]
fn a_message_that_is_sent_again_is_not_said_twice() {
    let mut world = World::running();
    world.ok(message(11));
    let said = world.session().head.last_said.last().map(|said| said.seq);
    let again = Rejection::AlreadySaid { seq: said.expect("it was said") };
    assert_eq!(world.rejected(message(11)), again);
    for n in 12..=14 {
        world.ok(message(n));
        assert_eq!(world.rejected(message(11)), again);
    }
    // What a head remembers is bounded.
    world.ok(message(15));
    assert_eq!(world.session().head.last_said.len(), 4);
}

#[test]
fn a_message_that_is_sent_again_after_the_end_was_said() {
    let mut world = World::running();
    world.ok(message(11));
    let said = world.session().head.last_said.last().map(|said| said.seq);
    world.ok(Command::End { name: "ana".to_owned() });
    assert_eq!(world.rejected(message(11)), Rejection::AlreadySaid { seq: said.expect("it was said") });
}
