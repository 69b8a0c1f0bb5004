//! How far approvals reach, and whose calls they cover: over every origin, scope, rule and mark.

use holdstead_core::policy::{ExactCall, Reach, covering, reach};
use holdstead_core::{Allow, Command, Outcome, Rejection, Request, Trigger, Verdict, digest, offered_scopes};
use holdstead_protocol::{
    Actor, AskBody, AskState, Asker, CallMark, CallSource, DeviceId, Grant, GrantId, InteractionRequest,
    OfferedScope, Origin, PersonId, Risk, Rule, RunnerId, Scope, Settlement, Surface, Timestamp,
};
use proptest::prelude::*;
use uuid::Uuid;

use crate::world::*;

const ORIGINS: [Origin; 4] = [Origin::Agent, Origin::Attached, Origin::Tool, Origin::Caller];
const SCOPES: [Scope; 4] = [Scope::Once, Scope::Session, Scope::Hour, Scope::Always];

fn exact() -> Rule {
    let input_digest = digest(&approval_input(1));
    Rule::ExactInput { tool_name: "Bash".to_owned(), input_digest, source: None }
}

fn lines() -> Rule {
    Rule::Lines { lines: vec!["allow Bash(make 1)".to_owned()] }
}

fn mark() -> CallMark {
    CallMark { risk: Risk::Deletes, field: "/command".to_owned(), text: "make 1".to_owned() }
}

fn asker() -> Asker {
    let actor = Actor {
        person_id: PersonId::from_uuid(Uuid::from_u128(1)),
        device_id: DeviceId::from_uuid(Uuid::from_u128(2)),
        passkey_id: None,
    };
    Asker { name: "deploy".to_owned(), surface: Surface::Api, actor: Some(actor) }
}

/// An approval of this origin that wants each scope of each rule.
fn wants_all(n: u8, origin: Origin, is_marked: bool, scopes: &[Scope]) -> InteractionRequest {
    let of = |rule: Rule| scopes.iter().map(move |scope| OfferedScope { scope: *scope, rule: rule.clone() });
    let offered_scopes = of(exact()).chain(of(lines())).collect();
    InteractionRequest {
        origin,
        asked_by: (origin == Origin::Caller).then(asker),
        marks: if is_marked { vec![mark()] } else { Vec::new() },
        ..request(n, AskBody::Approval { preview: None, offered_scopes, is_plan: false }, approval_input(1))
    }
}

fn offered(world: &World, n: u8) -> Vec<(Scope, bool)> {
    let shown = world.journal.iter().rev().find_map(|event| {
        let holdstead_protocol::EventBody::InteractionRequest(request) = &event.body else { return None };
        (request.interaction_id == ask_id(n)).then(|| request.body.clone())
    });
    let Some(AskBody::Approval { offered_scopes, .. }) = shown else { panic!("an approval was shown") };
    offered_scopes.iter().map(|one| (one.scope, matches!(one.rule, Rule::Lines { .. }))).collect()
}

#[test]
fn the_table_of_reaches() {
    for origin in ORIGINS {
        for is_marked in [false, true] {
            for scope in SCOPES {
                let is_further = scope != Scope::Once;
                let of_exact = match (origin, scope) {
                    (Origin::Caller, Scope::Hour | Scope::Always) => Reach::Refused,
                    (_, Scope::Once) => Reach::Offered,
                    _ if is_marked => Reach::LeftOut,
                    (Origin::Agent | Origin::Attached, Scope::Hour | Scope::Always) => Reach::LeftOut,
                    _ => Reach::Offered,
                };
                let of_lines = match (origin, scope) {
                    (Origin::Caller, Scope::Hour | Scope::Always) => Reach::Refused,
                    (Origin::Agent | Origin::Attached, _) if is_further && !is_marked => Reach::Offered,
                    _ => Reach::LeftOut,
                };
                let at = format!("{origin:?} {scope:?} marked {is_marked}");
                assert_eq!(reach(origin, scope, &exact(), is_marked), of_exact, "{at}");
                assert_eq!(reach(origin, scope, &lines(), is_marked), of_lines, "{at}");
            }
        }
    }
}

#[test]
fn no_ask_shows_more_than_the_table_when_it_is_opened_or_shown_again() {
    for origin in ORIGINS {
        for is_marked in [false, true] {
            let scopes = match origin {
                Origin::Caller => &SCOPES[..2],
                Origin::Agent | Origin::Attached | Origin::Tool => &SCOPES[..],
            };
            let mut world = World::running();
            let wanted = InteractionRequest { has_handler: true, ..wants_all(1, origin, is_marked, scopes) };
            world.ok(ask(wanted.clone()));
            let first = offered(&world, 1);
            for (scope, is_rule) in &first {
                let rule = if *is_rule { lines() } else { exact() };
                assert_eq!(reach(origin, *scope, &rule, is_marked), Reach::Offered, "{origin:?} {scope:?}");
            }
            if is_marked {
                assert_eq!(first, [(Scope::Once, false)], "{origin:?}: a marked call is approved once");
            }
            // A prompt that adds a mark loses what the first one offered.
            world.ok(respond(1, 1, "k", deny()));
            let again = InteractionRequest { prompt_id: prompt(1, 2), marks: vec![mark()], ..wanted };
            world.ok(Command::Outcome(Box::new(Outcome {
                interaction_id: ask_id(1),
                prompt_id: prompt(1, 1),
                trigger: Trigger::Response,
                verdict: Verdict::Reprompt(Box::new(again)),
            })));
            assert_eq!(offered(&world, 1), [(Scope::Once, false)], "{origin:?}");
        }
    }
}

#[test]
fn a_program_that_wants_more_than_its_session_is_told_so() {
    for scope in [Scope::Hour, Scope::Always] {
        let why = World::running().rejected(ask(wants_all(1, Origin::Caller, false, &[Scope::Once, scope])));
        assert!(matches!(why, Rejection::BadAsk { .. }), "{why:?}");
    }
}

/// Approves the first of two asks for the session, and says whether the second is settled by that.
fn covers(first: InteractionRequest, second: InteractionRequest) -> bool {
    let mut world = World::running();
    let (origin, draft) = (first.origin, approve_for(Scope::Session));
    world.ok(ask(InteractionRequest { body: exact_body(), ..first }));
    world.ok(respond(1, 1, "k", draft));
    assert_eq!(world.session().head.grants.len(), 1, "{origin:?}");
    world.ok(ask(InteractionRequest { body: exact_body(), ..second }));
    world.ask(2).state == AskState::Settled { settlement: Settlement::Approved }
}

fn exact_body() -> AskBody {
    let input = digest(&approval_input(1));
    let offered_scopes = offered_scopes("Bash", &input, &[Scope::Once, Scope::Session]);
    AskBody::Approval { preview: None, offered_scopes, is_plan: false }
}

#[test]
fn a_remembered_input_covers_calls_of_its_own_source_that_are_not_marked() {
    let plain = |n, origin| wants_all(n, origin, false, &SCOPES[..2]);
    for given in ORIGINS {
        for called in ORIGINS {
            // An agent is the same one in its terminal.
            let same = given == called || (given.is_agent() && called.is_agent());
            assert_eq!(covers(plain(1, given), plain(2, called)), same, "{given:?} then {called:?}");
            let marked = wants_all(2, called, true, &SCOPES[..2]);
            assert!(!covers(plain(1, given), marked), "{given:?} then a marked {called:?}");
        }
    }
    let elsewhere = InteractionRequest { cwd: Some("/elsewhere".to_owned()), ..plain(2, Origin::Agent) };
    assert!(!covers(plain(1, Origin::Agent), elsewhere), "another folder is another call");
    let other = Asker { name: "other".to_owned(), ..asker() };
    let other = InteractionRequest { asked_by: Some(other), ..plain(2, Origin::Caller) };
    assert!(!covers(plain(1, Origin::Caller), other), "another program asks");
}

fn sources() -> Vec<Option<CallSource>> {
    let agent = |agent: &str, folder: Option<&str>, runner| CallSource::Agent {
        agent: agent.to_owned(),
        folder: folder.map(str::to_owned),
        runner,
    };
    let program = |name: &str, person: u128| CallSource::Program {
        name: Some(name.to_owned()),
        person_id: Some(PersonId::from_uuid(Uuid::from_u128(person))),
    };
    let runner = Some(RunnerId::from_uuid(Uuid::from_u128(5)));
    let known = [
        agent("claude", Some("/a"), None),
        agent("codex", Some("/a"), None),
        agent("claude", Some("/b"), None),
        agent("claude", None, None),
        agent("claude", Some("/a"), runner),
        CallSource::Tool { folder: Some("/a".to_owned()), runner: None },
        CallSource::Tool { folder: Some("/b".to_owned()), runner: None },
        program("deploy", 1),
        program("deploy", 2),
        program("other", 1),
    ];
    known.into_iter().map(Some).chain([None]).collect()
}

proptest! {
    /// One law for every grant and every call: only the same source, tool and input, in time, and marked calls once.
    #[test]
    fn what_a_grant_covers(
        given in proptest::sample::select(sources()),
        called in proptest::sample::select(sources()),
        scope in proptest::sample::select(SCOPES.to_vec()),
        (same_tool, same_input, is_marked, owners) in any::<(bool, bool, bool, bool)>(),
        (expires, now) in (proptest::option::of(0..10_i64), 0..10_i64),
    ) {
        let Some(source) = &called else { return Ok(()) };
        let grant = Grant {
            grant_id: GrantId::from_answer(prompt(1, 1)),
            rule: Rule::ExactInput {
                tool_name: "Bash".to_owned(),
                input_digest: digest(&approval_input(1)),
                source: given.clone(),
            },
            scope,
            given_by: "ana".to_owned(),
            interaction_id: None,
            given_at: Timestamp::from_micros(0),
            expires_at: expires.map(Timestamp::from_micros),
        };
        let input = digest(&approval_input(if same_input { 1 } else { 2 }));
        let tool_name = if same_tool { "Bash" } else { "Write" };
        let call = ExactCall { source, tool_name, input: &input, is_marked };
        let expected = given == called
            && same_tool
            && same_input
            && (!is_marked || scope == Scope::Once)
            && expires.is_none_or(|expires| now < expires);
        let (session, owner) = match owners {
            true => (Vec::new(), vec![grant]),
            false => (vec![(grant.grant_id, grant)], Vec::new()),
        };
        let session = session.into_iter().collect();
        prop_assert_eq!(covering(&session, &owner, &call, Timestamp::from_micros(now)).is_some(), expected);
    }
}

#[test]
fn a_new_rule_settles_no_ask_that_is_a_persons_alone() {
    let body = exact_body();
    let plain = |origin| InteractionRequest { origin, ..request(1, body.clone(), approval_input(1)) };
    let mut table = vec![(plain(Origin::Agent), true), (plain(Origin::Attached), true)];
    table.push((plain(Origin::Tool), false));
    table.push((InteractionRequest { asked_by: Some(asker()), ..plain(Origin::Caller) }, false));
    table.push((InteractionRequest { marks: vec![mark()], ..plain(Origin::Agent) }, false));
    table.push((InteractionRequest { has_handler: true, ..plain(Origin::Agent) }, false));
    for (request, settles) in table {
        let mut world = World::running();
        let at = format!("{:?}, {} marks", request.origin, request.marks.len());
        world.ok(ask(request));
        let rules = "allow Bash".to_owned();
        let allow = Command::Allow(Allow { interaction_id: ask_id(1), prompt_id: prompt(1, 1), rules });
        let settled = !world.ok(allow.based_on(world.basis(), None)).is_empty();
        assert_eq!(settled, settles, "{at}");
    }
}

#[test]
fn a_grant_that_names_no_source_settles_nothing() {
    let mut world = World::running();
    let grant = Grant {
        grant_id: GrantId::from_answer(prompt(9, 1)),
        rule: exact(),
        scope: Scope::Always,
        given_by: "ana".to_owned(),
        interaction_id: None,
        given_at: world.now,
        expires_at: None,
    };
    let request = InteractionRequest { body: exact_body(), ..wants_all(1, Origin::Agent, false, &[]) };
    let quota = holdstead_core::Quota::default();
    let asked = Request { request, owner_grants: vec![grant.clone()], allowed_by: None, quota };
    world.ok(Command::Grant(grant));
    world.ok(Command::Request(Box::new(asked)).based_on(world.basis(), None));
    assert_eq!(world.ask(1).state, AskState::Open);
}
