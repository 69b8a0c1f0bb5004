//! Secrets never reach an event.

use crate::world::*;
use holdstead_core::{Command, Outcome, Rejection, Respond, Trigger, Verdict, conceal, reveal};
use holdstead_protocol::{
    AskBody, AskState, EventBody, FieldKind, InteractionRequest, Question, ResponseDraft, SECRET, Settlement,
};
use serde_json::{Map, Value, json};

const PLANTED: &str = " hunter2 ";

fn secret_question(n: u8) -> InteractionRequest {
    let mut request = question(n);
    let AskBody::Question { questions } = &mut request.body else { panic!("a question") };
    let plain = questions[0].clone();
    let secret = |id: &str| Question {
        id: id.to_owned(),
        question: format!("Which {id}?"),
        options: Vec::new(),
        secret: true,
        multiline: false,
        ..plain.clone()
    };
    questions.push(secret("pin"));
    request
}

fn secret_form(n: u8) -> InteractionRequest {
    let mut request = form(n);
    let AskBody::Form { form } = &mut request.body else { panic!("a form") };
    form.fields[0].kind = FieldKind::Secret {};
    request
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("an object") };
    map
}

/// As the gateway answers.
fn concealed(world: &World, n: u8, key: &str, draft: ResponseDraft, mac: &str) -> Result<Command, Rejection> {
    let (response, _) = conceal(world.ask(n), draft)?;
    let Command::Respond(respond) = respond(n, 1, key, response) else { panic!("a response") };
    Ok(Command::Respond(Box::new(Respond { secrets_mac: Some(mac.to_owned()), ..*respond })))
}

#[test]
fn what_is_taken_out_is_put_back_and_the_events_have_none_of_it() {
    for keyed_by in ["pin", "1", "Which pin?"] {
        let mut world = World::running();
        world.ok(ask(secret_question(1)));
        let answers = map(json!({"store": "SQLite", keyed_by: PLANTED}));
        let draft = ResponseDraft::Submit { answers: Some(answers), input: Some(map(json!({"x": PLANTED}))) };
        let (_, secrets) = conceal(world.ask(1), draft.clone()).unwrap();
        let command = concealed(&world, 1, "k", draft, "mac").unwrap();
        let events = world.ok(command);
        let EventBody::InteractionResponse(won) = &events[0] else { panic!("a response") };
        assert!(!serde_json::to_string(won).unwrap().contains("hunter2"));
        assert_eq!(won.settlement, Some(Settlement::Answered));
        let mut response = won.response.clone();
        reveal(&mut response, &secrets);
        let response = serde_json::to_value(&response).unwrap();
        assert_eq!(response["answers"][0], json!({"questionId": "store", "labels": ["SQLite"]}));
        assert_eq!(response["answers"][1], json!({"questionId": "pin", "other": PLANTED}));
    }
}

#[test]
fn a_secret_in_the_clear_is_refused() {
    let mut world = World::running();
    world.ok(ask(secret_form(1)));
    assert_eq!(world.rejected(respond(1, 1, "k", submit(PLANTED))), Rejection::SecretInTheClear);
    assert_eq!(world.ask(1).state, AskState::Open);
    world.ok(respond(1, 1, "k", submit(SECRET)));
}

#[test]
fn secrets_are_checked_before_they_are_taken_out() {
    let mut world = World::running();
    world.ok(ask(secret_form(1)));
    assert!(matches!(conceal(world.ask(1), submit("  ")), Err(Rejection::Invalid { .. })));
    // A person may type the very words that stand for a secret.
    let (_, secrets) = conceal(world.ask(1), submit(SECRET)).unwrap();
    assert_eq!(secrets["email"], SECRET);
}

#[test]
fn the_same_key_with_another_secret_is_another_answer() {
    let mut world = World::running();
    world.ok(ask(secret_form(1)));
    let first = concealed(&world, 1, "k", submit("one"), "mac of one").unwrap();
    let again = concealed(&world, 1, "k", submit("one"), "mac of one").unwrap();
    let other = concealed(&world, 1, "k", submit("two"), "mac of two").unwrap();
    world.ok(first);
    assert!(world.ok(again).is_empty());
    assert_eq!(world.rejected(other), Rejection::KeyReused);
}

#[test]
fn a_late_secret_is_refused_and_a_late_refusal_is_not() {
    let mut world = World::running();
    world.ok(ask(secret_question(1)));
    world.ok(Command::Queue { interaction_id: ask_id(1), message: "later".to_owned() });
    let answers = map(json!({"store": "SQLite", "pin": PLANTED}));
    let draft = ResponseDraft::Submit { answers: Some(answers), input: None };
    let late = concealed(&world, 1, "k", draft, "mac").unwrap();
    assert_eq!(world.rejected(late), Rejection::SecretTooLate);
    world.ok(respond(1, 1, "k", ResponseDraft::Cancel { reason: None }));
}

#[test]
fn what_was_typed_for_a_secret_is_not_shown_again() {
    let mut world = World::running();
    world.ok(ask(secret_form(1)));
    world.ok(respond(1, 1, "k", submit(SECRET)));
    let again = InteractionRequest {
        prompt_id: prompt(1, 2),
        initial_values: map(json!({"email": PLANTED})),
        ..secret_form(1)
    };
    let events = world.ok(Command::Outcome(Box::new(Outcome {
        interaction_id: ask_id(1),
        prompt_id: prompt(1, 1),
        trigger: Trigger::Response,
        verdict: Verdict::Reprompt(Box::new(again)),
    })));
    assert!(matches!(&events[0], EventBody::InteractionRequest(shown) if shown.initial_values.is_empty()));
}

#[test]
fn a_secret_question_takes_one_free_text_and_nothing_else() {
    let mut world = World::running();
    let mut request = question(1);
    let AskBody::Question { questions } = &mut request.body else { panic!("a question") };
    questions[0].secret = true;
    assert!(matches!(world.rejected(ask(request)), Rejection::BadAsk { .. }));
}
