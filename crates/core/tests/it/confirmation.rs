//! Which acts a passkey confirms, over every kind of act; and that an answer without it changes nothing in any state.

use holdstead_core::{
    Act, Command, Confirmed, NeedsPasskey, Outcome, Rejection, Respond, Together, Trigger, Verdict,
    needs_passkey,
};
use holdstead_protocol::api::OpenSession;
use holdstead_protocol::{
    CallMark, InteractionRequest, PasskeyId, PermissionMode, ResponseDraft, Risk, Scope,
};
use serde_json::{Map, json};

use crate::world::*;

fn session(mode: PermissionMode, with: &str) -> OpenSession {
    let servers = json!({ "x": { "command": "sh" } });
    let mut open = json!({ "agent": "claude", "permissionMode": mode });
    match with {
        "program" => open["program"] = json!("/tmp/agent"),
        "mcpServers" => open["mcpServers"] = servers,
        "allowedTools" => open["allowedTools"] = json!(["Bash"]),
        "title" => open["title"] = json!("tests"),
        _ => {}
    }
    serde_json::from_value(open).expect("a session")
}

fn edited() -> ResponseDraft {
    let input = serde_json::Value::Object(Map::new());
    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: Some(input) }
}

#[test]
fn the_table_of_answers() {
    use NeedsPasskey::{EditedInput, MarkedApproval, WideApproval};
    for (response, plain) in [
        (approve(), None),
        (approve_for(Scope::Once), None),
        (approve_for(Scope::Session), None),
        (approve_for(Scope::Hour), Some(WideApproval)),
        (approve_for(Scope::Always), Some(WideApproval)),
        (edited(), Some(EditedInput)),
    ] {
        let needs = |is_marked| needs_passkey(Act::Answer { is_marked, response: &response });
        assert_eq!((needs(false), needs(true)), (plain, Some(MarkedApproval)), "{response:?}");
    }
    for response in [deny(), answer("SQLite"), ResponseDraft::Cancel { reason: None }] {
        for is_marked in [false, true] {
            assert_eq!(needs_passkey(Act::Answer { is_marked, response: &response }), None, "{response:?}");
        }
    }
}

#[test]
fn the_table_of_sessions_and_of_what_counts_in_all_of_them() {
    use PermissionMode::{AcceptEdits, Auto, Default, Plan};
    for with in ["nothing", "title", "program", "mcpServers", "allowedTools"] {
        let brings = !["nothing", "title"].contains(&with);
        for mode in [Default, AcceptEdits, Plan] {
            let expected = brings.then_some(NeedsPasskey::SessionWithPrograms);
            assert_eq!(needs_passkey(Act::OpenSession(&session(mode, with))), expected, "{mode:?} {with}");
        }
        let auto = needs_passkey(Act::OpenSession(&session(Auto, with)));
        assert_eq!(auto, Some(NeedsPasskey::AutoSession), "{with}");
    }
    assert_eq!(needs_passkey(Act::TrustFolder), Some(NeedsPasskey::Trust));
    assert_eq!(needs_passkey(Act::SaveRule), Some(NeedsPasskey::Rule));
    assert_eq!(needs_passkey(Act::ChangePasskeys), Some(NeedsPasskey::Change));
}

fn marked(n: u8) -> InteractionRequest {
    let mark = CallMark { risk: Risk::Deletes, field: "/command".to_owned(), text: "make".to_owned() };
    InteractionRequest { marks: vec![mark], ..approval(n, n) }
}

fn sent(n: u8, attempt: u32, response: ResponseDraft, confirmed: Confirmed, together: Together) -> Command {
    let Command::Respond(sent) = respond(n, attempt, "k", response) else { unreachable!("a response") };
    Command::Respond(Box::new(Respond { confirmed, together, ..*sent }))
}

#[test]
fn an_answer_counts_only_with_what_it_needs_in_every_state() {
    let confirmed = Confirmed::By(PasskeyId::generate());
    let queued = |n| Command::Queue { interaction_id: ask_id(n), message: "later".to_owned() };
    for is_queued in [false, true] {
        for is_marked in [false, true] {
            for response in [approve(), deny(), edited()] {
                let needs = needs_passkey(Act::Answer { is_marked, response: &response }).is_some();
                for by in [Confirmed::Missing, Confirmed::NotRequired, confirmed] {
                    let mut world = World::running();
                    world.ok(ask(if is_marked { marked(1) } else { approval(1, 1) }));
                    if is_queued {
                        world.ok(queued(1));
                    }
                    let before = world.state.clone();
                    let command = sent(1, 1, response.clone(), by, Together::Alone);
                    let at = format!("queued {is_queued}, marked {is_marked}, {response:?}, {by:?}");
                    if needs && by == Confirmed::Missing {
                        let why = world.rejected(command);
                        assert!(matches!(why, Rejection::PasskeyRequired { .. }), "{at}: {why:?}");
                        assert_eq!(world.state, before, "{at}");
                    } else {
                        world.ok(command);
                    }
                }
            }
        }
    }
}

/// The gateway read the ask without a mark, and its tool showed it again with one before the answer was written.
#[test]
fn a_mark_that_a_reprompt_adds_counts_for_the_answer_that_races_with_it() {
    let mut world = World::running();
    let first = InteractionRequest { has_handler: true, ..approval(1, 1) };
    world.ok(ask(first.clone()));
    world.ok(respond(1, 1, "first", approve()));
    let again = InteractionRequest { prompt_id: prompt(1, 2), marks: marked(1).marks, ..first };
    world.ok(Command::Outcome(Box::new(Outcome {
        interaction_id: ask_id(1),
        prompt_id: prompt(1, 1),
        trigger: Trigger::Response,
        verdict: Verdict::Reprompt(Box::new(again)),
    })));
    let among = sent(1, 2, approve(), Confirmed::NotRequired, Together::WithOthers);
    assert_eq!(world.rejected(among), Rejection::Marked);
    let why = world.rejected(sent(1, 2, approve(), Confirmed::Missing, Together::Alone));
    assert_eq!(why, Rejection::PasskeyRequired { what: NeedsPasskey::MarkedApproval });
    world.ok(sent(1, 2, approve(), Confirmed::NotRequired, Together::Alone));
}
