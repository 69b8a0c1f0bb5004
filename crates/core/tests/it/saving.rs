//! Rules that approvals give to all sessions of the owner: given with the answer, saved in the owner's journal.

use holdstead_core::{
    Command, Outcome, Rejection, Trigger, Verdict, digest, is_unfinished, offered_scopes, policy,
};
use holdstead_protocol::{
    AskBody, AskChange, EventBody, Grant, GrantId, InteractionRequest, Rule, Scope, Timestamp,
};

use crate::delivery::exit;
use crate::world::*;

fn reaching(n: u8) -> InteractionRequest {
    let input = approval_input(n);
    let once = offered_scopes("Bash", &digest(&input), &[Scope::Once]);
    let offered_scopes = policy::wanted(once, &[vec![format!("allow Bash(make {n})")]]);
    request(n, AskBody::Approval { preview: None, offered_scopes, is_plan: false }, input)
}

fn given(events: &[EventBody]) -> Option<Grant> {
    events.iter().find_map(|body| {
        if let EventBody::InteractionResponse(response) = body { response.gives.clone() } else { None }
    })
}

fn saved(n: u8, grant_id: GrantId) -> Command {
    Command::RuleSaved { interaction_id: ask_id(n), grant_id }
}

/// A rule of an answer that was given at this moment.
fn rule(n: u32) -> Grant {
    let input_digest = digest(&approval_input(0));
    Grant {
        grant_id: GrantId::from_answer(prompt(1, n)),
        rule: Rule::ExactInput { tool_name: "Bash".to_owned(), input_digest, source: Some(agents_source()) },
        scope: Scope::Always,
        given_by: "ana".to_owned(),
        interaction_id: Some(ask_id(1)),
        given_at: Timestamp::from_micros(n.into()),
        expires_at: None,
    }
}

fn revoke(grant: &Grant) -> Command {
    Command::Revoke { grant_id: grant.grant_id, name: "ana".to_owned() }
}

#[test]
fn an_approval_for_always_gives_its_rule_until_it_is_saved() {
    let mut world = World::running();
    world.ok(ask(reaching(1)));
    let events = world.ok(respond(1, 1, "k", approve_for(Scope::Always)));
    let grant = given(&events).expect("the rule stands with the answer");
    assert_eq!((grant.scope, grant.given_at), (Scope::Always, world.now));
    assert!(world.session().head.grants.is_empty(), "it counts where it is saved");
    assert!(world.ask(1).rule_unsaved);
    world.ok(Command::End { name: "ana".to_owned() });
    world.ok(exit(1, false));
    assert!(is_unfinished(&world.session().head), "also when the session has ended");
    let change = AskChange::RuleSaved { grant_id: grant.grant_id };
    let [EventBody::InteractionUpdate(update)] = &world.ok(saved(1, grant.grant_id))[..] else {
        panic!("one update")
    };
    assert_eq!(update.change, change);
    assert!(!world.ask(1).rule_unsaved && !is_unfinished(&world.session().head));
    assert!(world.ok(saved(1, grant.grant_id)).is_empty(), "saying it twice is saying it once");
}

#[test]
fn what_reaches_no_further_than_its_session_gives_nothing_to_others() {
    let mut world = World::running();
    for (n, scope) in [(1, Scope::Once), (2, Scope::Session)] {
        world.ok(ask(approval(n, n)));
        assert_eq!(given(&world.ok(respond(n, 1, "k", approve_for(scope)))), None);
    }
    assert!(world.session().head.unsaved.is_empty());
}

#[test]
fn a_rule_that_a_person_took_back_is_not_saved_again() {
    let mut world = World::running();
    let grant = rule(1);
    assert_eq!(world.ok(Command::Grant(grant.clone())).len(), 1);
    assert!(world.ok(Command::Grant(grant.clone())).is_empty(), "saving it twice saves it once");
    world.ok(revoke(&grant));
    assert!(world.ok(Command::Grant(grant.clone())).is_empty());
    assert!(world.session().head.grants.is_empty());
    assert_eq!(world.rejected(revoke(&grant)), Rejection::UnknownGrant);
}

#[test]
fn a_rule_that_a_person_wrote_again_counts_again() {
    let mut world = World::running();
    let written = Grant { interaction_id: None, ..rule(1) };
    for _ in 0..2 {
        assert_eq!(world.ok(Command::Grant(written.clone())).len(), 1);
        world.ok(revoke(&written));
    }
}

#[test]
fn however_many_rules_were_taken_back_none_of_them_returns() {
    let mut world = World::running();
    for n in 1..=600 {
        world.ok(Command::Grant(rule(n)));
        world.ok(revoke(&rule(n)));
    }
    let kept = serde_json::to_string(&world.session().head.taken_back).expect("it is stored").len();
    assert!(kept < 32 * 1024, "{kept} bytes are read and written with every append");
    for n in 1..=600 {
        assert!(world.ok(Command::Grant(rule(n))).is_empty(), "rule {n} returned");
    }
    assert_eq!(world.ok(Command::Grant(rule(601))).len(), 1);
}

#[test]
fn each_answer_to_an_ask_that_is_shown_again_gives_its_own_rule() {
    let mut world = World::running();
    world.ok(ask(InteractionRequest { has_handler: true, ..reaching(1) }));
    let first = given(&world.ok(respond(1, 1, "k1", approve_for(Scope::Always)))).expect("a rule");
    let again = InteractionRequest { prompt_id: prompt(1, 2), has_handler: true, ..reaching(1) };
    world.ok(Command::Outcome(Box::new(Outcome {
        interaction_id: ask_id(1),
        prompt_id: prompt(1, 1),
        trigger: Trigger::Response,
        verdict: Verdict::Reprompt(Box::new(again)),
    })));
    assert!(world.ask(1).rule_unsaved, "the first one is not saved yet");
    let second = given(&world.ok(respond(1, 2, "k2", approve_for(Scope::Hour)))).expect("a rule");
    assert_ne!(first.grant_id, second.grant_id);
    world.ok(saved(1, first.grant_id));
    assert!(world.ask(1).rule_unsaved);
    world.ok(saved(1, second.grant_id));
    assert!(!world.ask(1).rule_unsaved);
}
