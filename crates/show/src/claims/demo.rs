//! The demo, answered over HTTP; its gateway is killed with an ask open and goes on after the restart.

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{Delivery, Event, ResponseDraft};
use serde_json::{Value, json};

use crate::client::{Client, expected, received};
use crate::gateway_process::{GatewayProcess, kill};
use crate::responses::{approve_edited, submit};
use crate::{Result, ensure};

/// What was sent, and what the agent must therefore have received.
#[derive(Debug)]
struct Sent {
    ask: Interaction,
    received: Value,
    /// What it must have run, if it was an approval.
    effect: Option<String>,
}

pub(crate) async fn show() -> Result<String> {
    let mut demo = GatewayProcess::demo().await?;
    let session = demo.started["session"].as_str().ok_or("the first line has no session")?.to_owned();
    let pid = pid_in(&demo.started)?;
    let person = demo.person()?;

    let mut sent = vec![
        answer_question(&person, &session, "store", "PostgreSQL").await?,
        approve_another_input(&person, &session).await?,
        fill_form(&person, &session).await?,
    ];

    let before = person.open_ask(&session, "question").await?;
    kill(pid).await?;
    println!("kill -9 {pid}: the gateway is gone.");
    let restarted = demo.line_with("restarted").await?;
    person.ready().await?;
    let new_pid = pid_in(&restarted)?;
    ensure!(new_pid != pid, "the gateway did not start again: its pid is still {pid}");
    println!("It is back as process {new_pid}, on the same address.");
    let after = person.open_ask(&session, "question").await?;
    ensure!(
        after.request.interaction_id == before.request.interaction_id,
        "another ask is open after the restart"
    );
    ensure!(after.request.prompt_id == before.request.prompt_id, "the ask was shown again after the restart");
    println!("The same ask is open: {}, {}.", after.request.interaction_id, after.request.prompt_id);
    sent.push(answer_question(&person, &session, "deploy", "Staging").await?);

    let events = person.done(&session).await?;
    for sent in &sent {
        check(&person, &events, sent).await?;
    }
    demo.stop().await?;
    Ok(format!("{0} of {0} answers reached the agent exactly, 1 of them across kill -9", sent.len()))
}

fn pid_in(line: &Value) -> Result<u32> {
    let pid = line["gatewayPid"].as_u64().ok_or("the line has no gatewayPid")?;
    Ok(u32::try_from(pid)?)
}

async fn answer_question(person: &Client, session: &str, question: &str, label: &str) -> Result<Sent> {
    let ask = person.open_ask(session, "question").await?;
    person.win(&ask, submit(&json!({ question: label }))).await?;
    let response = json!({ "action": "submit", "answers": [{ "questionId": question, "labels": [label] }] });
    Ok(Sent { received: expected(&ask, "answered", &response), ask, effect: None })
}

async fn approve_another_input(person: &Client, session: &str) -> Result<Sent> {
    let ask = person.open_ask(session, "approval").await?;
    let edited = json!({ "command": "npm run build" });
    ensure!(ask.request.input != edited, "the edited input is the one that was asked about");
    person.win(&ask, approve_edited(edited.clone())).await?;
    let response = json!({ "action": "approve", "scope": "once", "editedInput": edited });
    Ok(Sent { received: expected(&ask, "approved", &response), ask, effect: Some(format!("ran: {edited}")) })
}

async fn fill_form(person: &Client, session: &str) -> Result<Sent> {
    let ask = person.open_ask(session, "form").await?;
    let input = json!({
        "version": "1.4.1",
        "channel": "beta",
        "notes": "Orders survive a restart.\nGrüße an alle Tester",
        "date": "2026-11-02",
    });
    person.win(&ask, ResponseDraft::Submit { answers: None, input: input.as_object().cloned() }).await?;
    let response = json!({ "action": "submit", "input": input });
    Ok(Sent { received: expected(&ask, "answered", &response), ask, effect: None })
}

/// Compares what the agent received with what was sent, and sees that it acknowledged it.
async fn check(person: &Client, events: &[Event], sent: &Sent) -> Result<()> {
    let id = sent.ask.request.interaction_id;
    let output = &received(events, &sent.ask)?.output;
    let (got, wanted) = (&output["received"], &sent.received);
    ensure!(got == wanted, "the agent received\n  {got}\nand was sent\n  {wanted}");
    let effect = output["effect"].as_str();
    ensure!(effect == sent.effect.as_deref(), "the agent did {effect:?} and not {:?}", sent.effect);
    let now: Interaction = person.get(&format!("/v1/interactions/{id}")).await?;
    ensure!(
        now.delivery == Some(Delivery::Acknowledged),
        "the answer to {id} is not acknowledged: {:?}",
        now.delivery
    );
    println!("received exactly: {}", got["response"]);
    Ok(())
}
