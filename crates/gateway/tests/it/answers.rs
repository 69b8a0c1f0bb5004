//! What the agent receives is exactly what was decided.

use holdstead_protocol::{
    AskChange, AskState, Decider, Delivery, Event, EventBody, InteractionUpdate, ResponseDraft, Settlement,
    Surface,
};
use serde_json::json;

use crate::world::{World, answer, approve, deny, submit};

#[tokio::test]
async fn a_question_reaches_the_agent_as_it_was_answered() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("ask Store: Where do the orders go? | SQLite: one file | PostgreSQL").await;
    let ask = talk.ask().await;
    let receipt = talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    assert_eq!(receipt.state, AskState::Settled { settlement: Settlement::Answered });
    let result = talk.result().await;
    assert_eq!(Some(result.tool_call_id), ask.tool_call_id);
    let received = json!({
        "outcome": "settled",
        "settlement": "answered",
        "response": { "action": "submit", "answers": [{ "questionId": "store", "labels": ["SQLite"] }] },
        "input": ask.input,
    });
    assert_eq!(result.output["received"], received);
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
    let person = Decider::Person { name: "Ada".to_owned(), surface: Surface::Web, actor: None };
    let deciders: Vec<_> = talk.seen.iter().filter_map(|event| decider(&event.body)).collect();
    assert_eq!(deciders, [person]);
}

/// An agent does not wait for a second commit: that its answer is being handed over is written with the answer.
#[tokio::test]
async fn an_answer_and_its_hand_over_share_a_commit() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("repeat 10\napprove Bash {\"command\":\"ls\"}\nend").await;
    for _ in 0..10 {
        let ask = talk.ask().await;
        talk.respond(&ask, approve()).await;
        talk.result().await;
    }
    talk.completed().await;
    let journal = talk.journal().await;
    let answered = |body: &EventBody| matches!(body, EventBody::InteractionResponse(_));
    let answers: Vec<_> = journal.windows(2).filter(|pair| answered(&pair[0].body)).collect();
    assert_eq!(answers.len(), 10);
    let handed_over = |pair: &[Event]| {
        assert!(matches!(
            &pair[1].body,
            EventBody::InteractionUpdate(InteractionUpdate {
                change: AskChange::Delivery { delivery: Delivery::Delivering { .. } },
                ..
            })
        ));
        // What is committed together has the same time. Now and then the writer begins between the two.
        pair[0].at == pair[1].at
    };
    assert!(answers.into_iter().filter(|pair| handed_over(pair)).count() >= 5);
}

fn decider(body: &EventBody) -> Option<Decider> {
    match body {
        EventBody::InteractionResponse(response) => Some(response.decider.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn an_approval_runs_with_the_edited_input_and_no_other() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(r#"approve Bash {"command":"rm -rf dist"} because no rule covers rm says Cleans up"#).await;
    let ask = talk.ask().await;
    assert_eq!(ask.input, json!({ "command": "rm -rf dist" }));
    assert_eq!(ask.decision_reason.as_deref(), Some("no rule covers rm"));
    assert_eq!(ask.agent_says.as_deref(), Some("Cleans up"));
    let edited = json!({ "command": "rm -rf dist/cache" });
    talk.respond(
        &ask,
        ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: Some(edited.clone()) },
    )
    .await;
    let result = talk.result().await;
    let received = json!({
        "outcome": "settled",
        "settlement": "approved",
        "response": { "action": "approve", "scope": "once", "editedInput": edited },
        "input": { "command": "rm -rf dist" },
    });
    assert_eq!(result.output["received"], received);
    assert_eq!(result.output["effect"], format!("ran: {edited}"));
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}

#[tokio::test]
async fn the_words_of_a_denial_reach_the_agent_and_the_turn_goes_on() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"ls\"}\nsay I went on.").await;
    let ask = talk.ask().await;
    talk.respond(&ask, deny("Not on a Friday: \"never\"\nreally")).await;
    let result = talk.result().await;
    assert_eq!(result.output["received"]["settlement"], "denied");
    assert_eq!(
        result.output["received"]["response"],
        json!({ "action": "deny", "reason": "Not on a Friday: \"never\"\nreally" })
    );
    assert!(result.is_error && result.output.get("effect").is_none());
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}

#[tokio::test]
async fn a_form_arrives_with_every_value_of_its_type() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(
        r#"form {"title":"Release","fields":[{"id":"name","label":"Name","type":"text","required":true},{"id":"count","label":"Count","type":"number","integer":true}]}"#,
    )
    .await;
    let ask = talk.ask().await;
    talk.respond(&ask, submit(json!({ "name": "v1", "count": 3 }))).await;
    let result = talk.result().await;
    let received = json!({
        "outcome": "settled",
        "settlement": "answered",
        "response": { "action": "submit", "input": { "name": "v1", "count": 3 } },
        "input": ask.input,
    });
    assert_eq!(result.output["received"], received);
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}

#[tokio::test]
async fn ten_asks_at_once_are_answered_in_any_order_each_with_its_own() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let script: Vec<_> = (0..10).map(|n| format!("ask Q{n}: Question {n}? | a | b")).collect();
    talk.say(&format!("together\n{}\nend", script.join("\n"))).await;
    let mut asks = Vec::new();
    for _ in 0..10 {
        asks.push(talk.ask().await);
    }
    for n in [7, 0, 9, 3, 1, 8, 2, 6, 4, 5] {
        let question = format!("q{n}");
        talk.respond(&asks[n], answer(json!({ question: format!("words for {n}") }))).await;
    }
    talk.completed().await;
    let results = talk.results().await;
    assert_eq!(results.len(), 10);
    for result in results {
        let asked =
            asks.iter().position(|ask| ask.tool_call_id.as_ref() == Some(&result.tool_call_id)).unwrap();
        let answers = &result.output["received"]["response"]["answers"];
        assert_eq!(
            *answers,
            json!([{ "questionId": format!("q{asked}"), "other": format!("words for {asked}") }])
        );
    }
    for ask in &asks {
        assert_eq!(talk.delivery(ask).await, Some(Delivery::Acknowledged));
    }
}

#[tokio::test]
async fn what_cannot_be_shown_to_a_person_is_told_to_the_agent_and_never_allowed() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(r#"ask {"questions":[{"id":"pin","header":"Pin","question":"Your pin?","options":[{"label":"0000"}],"secret":true}]}"#).await;
    let result = talk.result().await;
    assert_eq!(result.output["received"]["outcome"], "closed");
    talk.completed().await;
    assert!(talk.seen.iter().all(|event| !matches!(event.body, EventBody::InteractionRequest(_))));
}

#[tokio::test]
async fn an_answer_whose_sender_goes_away_still_reaches_the_agent() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"ls\"}").await;
    let ask = talk.ask().await;
    let gateway = talk.gateway.clone();
    let asked = ask.clone();
    // A browser that closes takes its request with it: wherever it stopped, all or nothing happened.
    let mut polls = 0;
    loop {
        polls += 1;
        let mut request = std::pin::pin!(crate::world::respond(&gateway, &asked, approve()));
        for _ in 0..polls {
            if futures_util::poll!(request.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let state =
            talk.gateway.interaction(&crate::world::owner("ada"), ask.interaction_id).await.unwrap().state;
        if state != AskState::Open {
            break;
        }
    }
    talk.completed().await;
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}
