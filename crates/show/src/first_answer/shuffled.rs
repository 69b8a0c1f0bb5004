//! Ten asks of one agent are open at once and answered in any order.

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{AskBody, ResponseDraft};
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};

use crate::client::{Client, expected, received};
use crate::{Result, ensure};

/// Opens ten asks of all kinds, answers each with something only it is given, and compares what the agent got.
pub(crate) async fn answer_ten(person: &Client) -> Result<usize> {
    let session = person.open_session().await?.session_id.to_string();
    person.say(&session, &script()).await?;
    let mut asks = person.open_asks(&session, 10).await?;
    asks.shuffle(&mut rand::rng());
    let mut sent = Vec::new();
    for (number, ask) in asks.iter().enumerate() {
        let (response, settlement, wanted) = answer(ask, number);
        person.win(ask, response).await?;
        sent.push((ask, expected(ask, settlement, &wanted)));
    }
    let events = person.done(&session).await?;
    for (ask, wanted) in &sent {
        let got = &received(&events, ask)?.output["received"];
        ensure!(got == wanted, "of ten open asks one got\n  {got}\nand was sent\n  {wanted}");
    }
    Ok(sent.len())
}

fn script() -> String {
    let asks = (0..10).map(|number| match number % 3 {
        0 => format!(r#"approve Bash {{"command":"make step-{number}"}}"#),
        1 => format!("ask Step{number}: What about step {number}? | now | later"),
        _ => format!(
            r#"form {{"title":"Step {number}","fields":[{{"id":"why","label":"Why","type":"text","required":true}}]}}"#
        ),
    });
    format!("together\n{}\nend", asks.collect::<Vec<_>>().join("\n"))
}

/// An answer, and how the agent must see it.
fn answer(ask: &Interaction, number: usize) -> (ResponseDraft, &'static str, Value) {
    let words = format!("answer {number}");
    if ask.request.body.is_approval() && number.is_multiple_of(2) {
        let edited = json!({ "command": words });
        let wanted = json!({ "action": "approve", "scope": "once", "editedInput": edited });
        (
            ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: Some(edited) },
            "approved",
            wanted,
        )
    } else if ask.request.body.is_approval() {
        let wanted = json!({ "action": "deny", "reason": words });
        (ResponseDraft::Deny { reason: Some(words) }, "denied", wanted)
    } else if let AskBody::Question { questions } = &ask.request.body {
        let id = questions.first().map(|question| question.id.clone()).unwrap_or_default();
        let wanted = json!({ "action": "submit", "answers": [{ "questionId": id, "other": words }] });
        let answers = json!({ id: words });
        (ResponseDraft::Submit { answers: answers.as_object().cloned(), input: None }, "answered", wanted)
    } else {
        let input = json!({ "why": words });
        let wanted = json!({ "action": "submit", "input": input });
        (ResponseDraft::Submit { answers: None, input: input.as_object().cloned() }, "answered", wanted)
    }
}
