//! What rules decide counts only while they are the rules that count.

use holdstead_core::{Allow, Basis, Cancel, Command, Output, Rejection, digest};
use holdstead_protocol::{
    CallDecision, CallVerdict, DecidedBy, Effect, EventBody, Grant, GrantId, InteractionId, Rule,
    RulesFileChanged, RulesFileOf, Scope, Seq, Timestamp, Told, ToolCallEnd, ToolCallId,
};
use serde_json::json;

use crate::world::*;

fn verdict(effect: Effect) -> CallVerdict {
    serde_json::from_value(json!({"effect": effect, "parts": []})).expect("a verdict")
}

/// The agent makes a call, and this was decided about it.
fn decided(told: Told) -> Command {
    let decision = CallDecision { told, by: DecidedBy::Rules, verdict: verdict(Effect::Allow) };
    let request = approval(9, 9);
    Command::Record(vec![Output::ToolCallEnd(ToolCallEnd {
        turn_id: turn(1),
        tool_call_id: ToolCallId::new("call_9").expect("an id"),
        tool_name: Some(request.tool_name),
        input: request.input,
        decision: Some(Box::new(decision)),
    })])
}

fn stop() -> Command {
    Command::Cancel(Cancel::Turn { by: "Ada".to_owned() })
}

fn grant(scope: Scope) -> Grant {
    let request = approval(9, 9);
    Grant {
        grant_id: GrantId::from_answer(prompt(9, 1)),
        rule: Rule::ExactInput {
            tool_name: request.tool_name,
            input_digest: request.input_digest,
            source: Some(agents_source()),
        },
        scope,
        given_by: "ana".to_owned(),
        interaction_id: None,
        given_at: Timestamp::from_micros(0),
        expires_at: None,
    }
}

fn stopped() -> Rejection {
    Rejection::TurnStopped { by: "Ada".to_owned() }
}

#[test]
fn a_call_that_was_judged_before_a_stop_is_judged_again_and_then_does_not_run() {
    for told in [Told::Allowed, Told::LeftToAgent] {
        let mut world = World::running();
        let before = world.basis();
        world.ok(stop());
        assert_eq!(world.rejected(decided(told).based_on(before, None)), Rejection::RulesChanged);
        let after = world.basis();
        assert_eq!(world.rejected(decided(told).based_on(after.clone(), None)), stopped());
        assert_eq!(world.rejected(ask_by_rule(approval(1, 1), "auto").based_on(after, None)), stopped());
        assert_eq!(world.rejected(ask(approval(1, 1))), stopped(), "a person is not asked either");
    }
    let mut world = World::running();
    world.ok(stop());
    let basis = world.basis();
    world.ok(decided(Told::Denied).based_on(basis, None));
}

#[test]
fn what_was_judged_on_nothing_allows_nothing() {
    let mut world = World::running();
    assert_eq!(world.rejected(decided(Told::Allowed)), Rejection::RulesChanged);
    assert_eq!(world.rejected(decided(Told::Denied)), Rejection::RulesChanged);
    assert_eq!(world.rejected(ask_by_rule(approval(1, 1), "auto")), Rejection::RulesChanged);
    world.ok(ask(approval(1, 1)));
    let allow =
        Allow { interaction_id: ask_id(1), prompt_id: prompt(1, 1), rules: "allow Bash(ls)".to_owned() };
    assert_eq!(world.rejected(Command::Allow(allow.clone())), Rejection::RulesChanged);
    let basis = world.basis();
    assert_eq!(world.ok(Command::Allow(allow).based_on(basis, None)).len(), 1);
}

#[test]
fn each_change_of_what_counts_has_the_call_judged_again() {
    let later = |world: &World| world.now.after(std::time::Duration::from_secs(60));
    type Change = fn(&mut World);
    let changes: [(&str, Change); 4] = [
        ("the session's grant is revoked", |world| {
            let grant_id = GrantId::from_answer(prompt(9, 1));
            world.ok(Command::Revoke { grant_id, name: "ana".to_owned() });
        }),
        ("the owner's rules change", |world| world.owner = Seq(2)),
        ("the owner's journal went", |world| world.owner = Seq::START),
        ("a grant expires", |world| world.now = world.now.after(std::time::Duration::from_secs(60))),
    ];
    for (what, change) in changes {
        let mut world = World::running();
        world.ok(Command::Grant(grant(Scope::Session)));
        let basis = Basis { until: Some(later(&world)), ..world.basis() };
        let call = decided(Told::Allowed).based_on(basis, None);
        change(&mut world);
        assert_eq!(world.rejected(call), Rejection::RulesChanged, "{what}");
    }
    let mut world = World::running();
    world.ok(Command::Grant(grant(Scope::Session)));
    let basis = Basis { until: Some(later(&world)), ..world.basis() };
    world.ok(message(2));
    let events = world.ok(decided(Told::Allowed).based_on(basis, None));
    assert!(matches!(&events[..], [EventBody::ToolCallEnd(end)] if end.decision.is_some()));
}

#[test]
fn a_persons_decision_about_the_call_comes_before_any_rule() {
    let by_rules = |world: &World, earlier: Option<InteractionId>| {
        decided(Told::Allowed).based_on(world.basis(), earlier)
    };
    let mut world = World::running();
    world.ok(ask(approval(9, 9)));
    let call = by_rules(&world, Some(ask_id(9)));
    assert_eq!(world.rejected(call), Rejection::OnRecord, "it is asked");
    world.ok(respond(9, 1, "k", approve()));
    let call = by_rules(&world, None);
    assert_eq!(world.rejected(call), Rejection::OnRecord, "an answer is on its way to the agent");

    let mut world = World::running();
    world.ok(Command::Grant(grant(Scope::Once)));
    let call = by_rules(&world, None);
    assert_eq!(world.rejected(call), Rejection::OnRecord, "an approval for one call is used up by an ask");
}

fn file(file: RulesFileOf, text: &str) -> RulesFileChanged {
    RulesFileChanged { file, digest: digest(&json!(text)) }
}

fn seen(world: &World, changed: RulesFileChanged) -> Command {
    Command::SeeRulesFile { changed, after: world.session().head.rules_seq }
}

#[test]
fn a_file_of_rules_that_changed_has_calls_judged_again() {
    let project = || RulesFileOf::Project { runner: None, folder: "/work".to_owned() };
    let mut world = World::running();
    let before = world.session().head.rules_seq;
    let first = seen(&world, file(project(), "allow Read"));
    assert_eq!(world.ok(first).len(), 1);
    let call = decided(Told::Allowed).based_on(world.basis(), None);
    let again = seen(&world, file(project(), "allow Read"));
    assert_eq!(world.ok(again), [], "it is the same");
    let other = seen(&world, file(project(), "deny Read"));
    assert_eq!(world.ok(other).len(), 1);
    assert_eq!(world.rejected(call), Rejection::RulesChanged);
    let late = Command::SeeRulesFile { changed: file(project(), "allow Read"), after: before };
    assert_eq!(world.rejected(late), Rejection::RulesChanged, "its reader did not know of the last one");
}

#[test]
fn the_organisations_rules_are_those_of_the_gateway_that_read_them_last() {
    let organisation = |micros| RulesFileOf::Organisation { read_at: Timestamp::from_micros(micros) };
    let mut world = World::running();
    let newer = seen(&world, file(organisation(2), "deny Bash"));
    world.ok(newer);
    let older = seen(&world, file(organisation(1), "allow Bash(ls)"));
    assert_eq!(world.rejected(older), Rejection::RulesChanged);
    let newest = seen(&world, file(organisation(3), "allow Bash(ls)"));
    assert_eq!(world.ok(newest).len(), 1);
}
