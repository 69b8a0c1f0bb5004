//! What happens between a person at a terminal, a person at a card, and Claude Code.

use std::time::Duration;

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{
    AskState, Delivery, EventBody, InTerminal, KnownBy, ResponseDraft, Settlement, TerminalAnswer,
};
use holdstead_scripted_model::{PLAN_FILE, Script, call, say};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Scene;
use super::desk::Desk;
use super::kind::Kind;
use crate::{Result, ensure};

pub(super) fn scenes() -> Vec<(&'static str, Scene)> {
    vec![
        ("a session appears by itself", |desk| Box::pin(appears(desk))),
        ("the card first: allowed", |desk| Box::pin(card_allows(desk))),
        ("the card first: denied with words", |desk| Box::pin(card_denies(desk))),
        ("the card first: allowed with changes", |desk| Box::pin(card_edits(desk))),
        ("the terminal first: yes", |desk| Box::pin(terminal_allows(desk))),
        ("the terminal first: no", |desk| Box::pin(terminal_refuses(desk))),
        ("the terminal first: no, with words", |desk| Box::pin(terminal_refuses_with_words(desk))),
        ("a deny that loses while the command runs", |desk| Box::pin(deny_loses(desk))),
        ("an approval that loses to a no", |desk| Box::pin(approval_after_no(desk))),
        ("a question, by the card", |desk| Box::pin(question_by_card(desk))),
        ("a question, in the terminal", |desk| Box::pin(question_in_terminal(desk))),
        ("a plan, by the card", |desk| Box::pin(plan_by_card(desk))),
        ("an edit, by the card, with its diff", |desk| Box::pin(edit_by_card(desk))),
        ("an edit, in the terminal", |desk| Box::pin(edit_in_terminal(desk))),
        ("two calls in one message", |desk| Box::pin(two_calls(desk))),
        ("the same call twice", |desk| Box::pin(same_call_twice(desk))),
        ("a rule decides", |desk| Box::pin(rule_decides(desk))),
        ("a subagent, by the card", |desk| Box::pin(subagent_by_card(desk))),
        ("a subagent, left to the terminal", |desk| Box::pin(subagent_left(desk))),
        ("a message from elsewhere", |desk| Box::pin(message(desk))),
        ("a turn stopped in the terminal", |desk| Box::pin(stopped(desk))),
        ("the gateway killed while it is asked", |desk| Box::pin(gateway_killed(desk))),
        ("answered in the terminal while the gateway is away", |desk| Box::pin(answered_meanwhile(desk))),
        ("the program killed while it is asked", |desk| Box::pin(program_killed(desk))),
        ("an agent that is hosted is not seen twice", |desk| Box::pin(hosted(desk))),
        ("/clear begins another session", |desk| Box::pin(cleared(desk))),
    ]
}

/// A command that leaves a file behind.
fn touches(file: &str) -> Script {
    Kind::Claude.touches(file)
}

fn runs(command: &str) -> Script {
    let input = json!({ "command": command, "description": "Does it" });
    Script::new().reply([say("I do it."), call("Bash", input)]).reply([say("That was it.")])
}

pub(super) const APPROVE: ResponseDraft =
    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None };

/// Not every program takes words with it.
pub(super) const DENY: ResponseDraft = ResponseDraft::Deny { reason: None };

fn deny(words: &str) -> ResponseDraft {
    ResponseDraft::Deny { reason: Some(words.to_owned()) }
}

/// It was decided here, and the program's own record says that this counted.
pub(super) fn counted(ask: &Interaction, settlement: Settlement) -> Result<()> {
    ensure!(
        ask.state == AskState::Settled { settlement } && ask.delivery == Some(Delivery::Acknowledged),
        "the receipt is {:?}, {:?}",
        ask.state,
        ask.delivery
    );
    Ok(())
}

pub(super) fn closed_by(ask: &Interaction, answer: TerminalAnswer) -> Result<KnownBy> {
    match (&ask.state, ask.in_terminal) {
        (AskState::Closed { .. }, Some(InTerminal { answer: said, known_by })) if said == answer => {
            Ok(known_by)
        }
        (state, how) => Err(format!("the card says {state:?}, {how:?}").into()),
    }
}

pub(super) fn too_late(ask: &Interaction, answer: TerminalAnswer) -> Result<()> {
    match &ask.delivery {
        Some(Delivery::Undeliverable { in_terminal: Some(how), .. }) if how.answer == answer => Ok(()),
        delivery => Err(format!("the receipt says {delivery:?}").into()),
    }
}

fn lines_in(desk: &Desk, file: &str) -> usize {
    std::fs::read_to_string(desk.project().join(file)).map_or(0, |text| text.lines().count())
}

pub(super) fn ran_once(desk: &Desk, file: &str) -> Result<()> {
    let ran = lines_in(desk, file);
    ensure!(ran == 1, "it ran {ran} times");
    Ok(())
}

async fn appears(desk: &mut Desk) -> Result<String> {
    desk.plays(Script::new().reply([say("Good morning.")])).await?;
    desk.idle().await?;
    let session = desk.session().await?;
    let said = desk.person.journal(&session).await?;
    let heard = said
        .iter()
        .any(|event| matches!(&event.body, EventBody::TextDelta(text) if text.text == "Good morning."));
    ensure!(heard, "its words are not in the journal");
    let view: Value = desk.person.get(&format!("/v1/sessions/{session}")).await?;
    ensure!(view["title"] == "script: scene1" && view["inTerminal"] == true, "it is shown as {view}");
    Ok(format!("titled {}", view["title"]))
}

pub(super) async fn card_allows(desk: &mut Desk) -> Result<String> {
    let script = desk.kind.touches("allowed.txt");
    desk.plays(script).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.person.win(&ask, APPROVE).await?;
    let over = desk.over(ask.request.interaction_id).await?;
    counted(&over, Settlement::Approved)?;
    desk.idle().await?;
    ran_once(desk, "allowed.txt")?;
    Ok("it ran once, and its record shows that this counted".to_owned())
}

async fn card_denies(desk: &mut Desk) -> Result<String> {
    let name = desk.plays(touches("denied.txt")).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.person.win(&ask, deny("not in this folder")).await?;
    counted(&desk.over(ask.request.interaction_id).await?, Settlement::Denied)?;
    desk.idle().await?;
    let told = desk.model.told(&name).iter().any(|told| told.words() == "not in this folder");
    ensure!(told && !desk.has("denied.txt"), "the model was told {:?}", desk.model.told(&name));
    Ok("the model read exactly the words".to_owned())
}

async fn card_edits(desk: &mut Desk) -> Result<String> {
    desk.plays(touches("draft.txt")).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    let edited = json!({ "command": "echo once >> final.txt", "description": "Does it" });
    let response = ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: Some(edited) };
    desk.person.win(&ask, response).await?;
    counted(&desk.over(ask.request.interaction_id).await?, Settlement::Approved)?;
    desk.idle().await?;
    ensure!(!desk.has("draft.txt"), "what the agent wrote ran");
    ran_once(desk, "final.txt")?;
    Ok("what the person wrote ran".to_owned())
}

pub(super) async fn terminal_allows(desk: &mut Desk) -> Result<String> {
    let script = desk.kind.touches("typed.txt");
    desk.plays(script).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.says_yes().await?;
    let known_by = closed_by(&desk.over(ask.request.interaction_id).await?, TerminalAnswer::Allowed)?;
    desk.idle().await?;
    ran_once(desk, "typed.txt")?;
    let late = desk.person.respond(&ask, deny("no")).await?;
    ensure!(format!("{late:?}").contains("Refused"), "a late answer was taken: {late:?}");
    Ok(format!("known by its {known_by:?}; a late answer is refused"))
}

async fn terminal_refuses(desk: &mut Desk) -> Result<String> {
    desk.plays(touches("refused.txt")).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.rests().await;
    desk.key("Escape")?;
    let known_by = closed_by(&desk.over(ask.request.interaction_id).await?, TerminalAnswer::Refused)?;
    desk.idle().await?;
    ensure!(!desk.has("refused.txt"), "it ran");
    Ok(format!("known by {known_by:?}"))
}

async fn terminal_refuses_with_words(desk: &mut Desk) -> Result<String> {
    desk.plays(touches("worded.txt")).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.rests().await;
    // The last choice is no; with Tab it takes words.
    for _ in 0..3 {
        desk.key("Down")?;
        sleep(Duration::from_millis(120)).await;
    }
    desk.key("Tab")?;
    sleep(Duration::from_millis(200)).await;
    desk.types("use pnpm").await?;
    desk.key("Enter")?;
    closed_by(&desk.over(ask.request.interaction_id).await?, TerminalAnswer::Refused)?;
    desk.idle().await?;
    ensure!(!desk.has("worded.txt"), "it ran");
    Ok("the card is withdrawn".to_owned())
}

async fn deny_loses(desk: &mut Desk) -> Result<String> {
    desk.plays(runs("echo once >> long.txt; sleep 6")).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.chooses("1").await?;
    sleep(Duration::from_millis(500)).await;
    desk.person.win(&ask, deny("stop")).await?;
    sleep(Duration::from_secs(1)).await;
    let now: Interaction =
        desk.person.get(&format!("/v1/interactions/{}", ask.request.interaction_id)).await?;
    ensure!(
        matches!(now.delivery, Some(Delivery::Delivered { .. } | Delivery::Delivering { .. })),
        "before anybody can know, the receipt says {:?}",
        now.delivery
    );
    too_late(&desk.over(ask.request.interaction_id).await?, TerminalAnswer::Allowed)?;
    desk.idle().await?;
    ran_once(desk, "long.txt")?;
    Ok("\"sent\" first; then: too late, it was allowed in the terminal and ran".to_owned())
}

async fn approval_after_no(desk: &mut Desk) -> Result<String> {
    desk.plays(touches("after-no.txt")).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.rests().await;
    desk.key("Escape")?;
    let answered = desk.person.respond(&ask, APPROVE).await?;
    let over = desk.over(ask.request.interaction_id).await?;
    desk.idle().await?;
    let ran = desk.has("after-no.txt");
    let said = counted(&over, Settlement::Approved).is_ok();
    // Stopped at the very moment: that nobody can know is the truth, too.
    let unknown = matches!(over.delivery, Some(Delivery::Unknown { .. }));
    ensure!(
        ran == said || unknown,
        "it ran: {ran}; the receipt says {:?}, {:?}; {answered:?}; {}",
        over.delivery,
        over.in_terminal,
        desk.record()?
    );
    Ok(if ran { "the card was faster" } else { "the terminal was faster" }.to_owned())
}

pub(super) fn question() -> Script {
    let questions = json!([{ "question": "Where do the orders go?", "header": "Store", "multiSelect": false,
        "options": [{ "label": "SQLite", "description": "one file" },
            { "label": "PostgreSQL", "description": "for a team" }] }]);
    Script::new().reply([call("AskUserQuestion", json!({ "questions": questions }))]).reply([say("Good.")])
}

async fn question_by_card(desk: &mut Desk) -> Result<String> {
    let name = desk.plays(question()).await?;
    desk.shows("Where do the orders go?").await?;
    let ask = desk.card("question").await?;
    let answers = json!({ "Where do the orders go?": "PostgreSQL" });
    let response = ResponseDraft::Submit { answers: answers.as_object().cloned(), input: None };
    desk.person.win(&ask, response).await?;
    counted(&desk.over(ask.request.interaction_id).await?, Settlement::Answered)?;
    desk.idle().await?;
    let told = desk.model.told(&name);
    ensure!(told.iter().any(|told| told.words().contains("PostgreSQL")), "the model was told {told:?}");
    Ok("the model has the answer".to_owned())
}

async fn question_in_terminal(desk: &mut Desk) -> Result<String> {
    let name = desk.plays(question()).await?;
    desk.shows("Where do the orders go?").await?;
    let ask = desk.card("question").await?;
    desk.chooses("1").await?;
    let over = desk.over(ask.request.interaction_id).await?;
    closed_by(&over, TerminalAnswer::Answered)?;
    desk.idle().await?;
    let told = desk.model.told(&name);
    ensure!(told.iter().any(|told| told.words().contains("SQLite")), "the model was told {told:?}");
    Ok("the card is withdrawn".to_owned())
}

async fn plan_by_card(desk: &mut Desk) -> Result<String> {
    desk.turns_to("plan mode on").await?;
    let plan = json!({ "file_path": PLAN_FILE, "content": "# The plan\n\nOne step.\n" });
    let script = Script::new().reply([call("Write", plan)]).reply([call("ExitPlanMode", json!({}))]);
    let name = desk.plays(script.reply([say("I begin.")])).await?;
    desk.shows("Would you like to proceed?").await?;
    let ask = desk.card("approval").await?;
    let shown = serde_json::to_value(&ask.request)?;
    ensure!(
        shown["isPlan"] == true && shown["input"]["plan"] == "# The plan\n\nOne step.\n",
        "the card shows {shown}"
    );
    desk.person.win(&ask, APPROVE).await?;
    counted(&desk.over(ask.request.interaction_id).await?, Settlement::Approved)?;
    desk.idle().await?;
    let told = desk.model.told(&name).iter().any(|told| told.words().contains("approved your plan"));
    ensure!(told, "the model was told {:?}", desk.model.told(&name));
    desk.turns_to("manual mode on").await?;
    Ok("the model may begin".to_owned())
}

fn writes(desk: &Desk, file: &str) -> Script {
    let path = desk.project().join(file);
    Script::new()
        .reply([call("Write", json!({ "file_path": path, "content": "hello\n" }))])
        .reply([say("Written.")])
}

async fn edit_by_card(desk: &mut Desk) -> Result<String> {
    let script = writes(desk, "card-wrote.txt");
    desk.plays(script).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    let shown = serde_json::to_value(&ask.request)?;
    ensure!(shown["preview"].as_str().is_some_and(|diff| diff.contains("+hello")), "the card shows {shown}");
    desk.person.win(&ask, APPROVE).await?;
    counted(&desk.over(ask.request.interaction_id).await?, Settlement::Approved)?;
    desk.idle().await?;
    ensure!(desk.has("card-wrote.txt"), "it was not written");
    Ok("written".to_owned())
}

async fn edit_in_terminal(desk: &mut Desk) -> Result<String> {
    let script = writes(desk, "typed-wrote.txt");
    desk.plays(script).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.chooses("1").await?;
    closed_by(&desk.over(ask.request.interaction_id).await?, TerminalAnswer::Allowed)?;
    desk.idle().await?;
    ensure!(desk.has("typed-wrote.txt"), "it was not written");
    Ok("the card is withdrawn".to_owned())
}

async fn two_calls(desk: &mut Desk) -> Result<String> {
    let of = |file: &str| {
        call("Bash", json!({ "command": format!("echo once >> {file}"), "description": "Does it" }))
    };
    desk.plays(Script::new().reply([of("first.txt"), of("second.txt")]).reply([say("Both.")])).await?;
    desk.asks().await?;
    let session = desk.session().await?;
    let ask = desk.person.open_asks(&session, 1).await?.swap_remove(0);
    desk.person.win(&ask, APPROVE).await?;
    counted(&desk.over(ask.request.interaction_id).await?, Settlement::Approved)?;
    let ask = desk.person.open_asks(&session, 1).await?.swap_remove(0);
    desk.asks().await?;
    desk.chooses("1").await?;
    closed_by(&desk.over(ask.request.interaction_id).await?, TerminalAnswer::Allowed)?;
    desk.idle().await?;
    ran_once(desk, "first.txt")?;
    ran_once(desk, "second.txt")?;
    Ok("one by the card, one in the terminal".to_owned())
}

async fn same_call_twice(desk: &mut Desk) -> Result<String> {
    let of = || call("Bash", json!({ "command": "echo once >> same.txt", "description": "Does it" }));
    desk.plays(Script::new().reply([of(), of()]).reply([say("Twice.")])).await?;
    let session = desk.session().await?;
    for _ in 0..2 {
        let ask = desk.person.open_asks(&session, 1).await?.swap_remove(0);
        desk.person.win(&ask, APPROVE).await?;
        counted(&desk.over(ask.request.interaction_id).await?, Settlement::Approved)?;
    }
    desk.idle().await?;
    let ran = lines_in(desk, "same.txt");
    ensure!(ran == 2, "it ran {ran} times");
    Ok("each was asked about".to_owned())
}

async fn rule_decides(desk: &mut Desk) -> Result<String> {
    let _saved: Value =
        desk.person.post("/v1/rules", &json!({ "line": "allow Bash(touch ruled.txt)" })).await?;
    desk.plays(runs("touch ruled.txt")).await?;
    desk.idle().await?;
    ensure!(desk.has("ruled.txt"), "it did not run");
    Ok("nobody was asked".to_owned())
}

fn with_subagent(file: &str) -> Script {
    let inner = json!({ "name": format!("inner-{file}"), "replies": [
        [{ "call": { "name": "Bash", "input": { "command": format!("echo once >> {file}"), "description": "Inside" } } }],
        [{ "say": "Inside is done." }],
    ] });
    let input = json!({ "description": "a helper", "prompt": format!("Do it.\nscript: {inner}"),
        "subagent_type": "general-purpose" });
    Script::new().reply([call("Agent", input)]).reply([say("It works on it.")]).reply([say("It is done.")])
}

async fn subagent_by_card(desk: &mut Desk) -> Result<String> {
    desk.plays(with_subagent("inner.txt")).await?;
    let ask = desk.card("approval").await?;
    desk.person.win(&ask, APPROVE).await?;
    for _ in 0..400 {
        if desk.has("inner.txt") {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    ran_once(desk, "inner.txt")?;
    let over = desk.over(ask.request.interaction_id).await?;
    desk.idle().await?;
    ensure!(over.delivery == Some(Delivery::Acknowledged), "the receipt says {:?}", over.delivery);
    Ok("it ran once".to_owned())
}

async fn subagent_left(desk: &mut Desk) -> Result<String> {
    desk.plays(with_subagent("left.txt")).await?;
    let ask = desk.card("approval").await?;
    let over = desk.over(ask.request.interaction_id).await?;
    let known_by = closed_by(&over, TerminalAnswer::NotSaid)?;
    ensure!(known_by == KnownBy::LeftToTerminal, "known by {known_by:?}");
    desk.shows("from the general-purpose agent").await?;
    desk.chooses("1").await?;
    desk.idle().await?;
    ran_once(desk, "left.txt")?;
    Ok("after 20 s the terminal asks by itself".to_owned())
}

async fn message(desk: &mut Desk) -> Result<String> {
    let session = desk.session().await?;
    desk.begins_turn();
    let words = "Look at the other folder, too.";
    desk.person.say(&session, words).await?;
    desk.idle().await?;
    let told = desk.model.bodies().iter().any(|body| body.to_string().contains(words));
    ensure!(told, "the model was not told: {}", desk.tmux.screen(&desk.terminal())?);
    Ok("its model has read it, and its turn is in the session".to_owned())
}

async fn stopped(desk: &mut Desk) -> Result<String> {
    desk.plays(runs("sleep 20; echo once >> stopped.txt")).await?;
    desk.asks().await?;
    desk.chooses("1").await?;
    sleep(Duration::from_secs(1)).await;
    desk.key("Escape")?;
    desk.idle().await?;
    let session = desk.session().await?;
    let stop = desk.person.status_of(&format!("/v1/sessions/{session}/interrupt"), &json!({})).await?;
    Ok(format!("its turn is over here, too; a stop from here got {stop}"))
}

async fn gateway_killed(desk: &mut Desk) -> Result<String> {
    desk.plays(touches("survived.txt")).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.gateway.kill_now().await?;
    sleep(Duration::from_secs(1)).await;
    ensure!(desk.asks().await.is_ok(), "the dialog is gone");
    desk.gateway.serve_again().await?;
    desk.person = desk.gateway.person()?;
    // The hook that waits comes back by itself.
    sleep(Duration::from_millis(2_500)).await;
    desk.person.win(&ask, APPROVE).await?;
    let over = desk.over(ask.request.interaction_id).await?;
    counted(&over, Settlement::Approved)?;
    desk.idle().await?;
    ran_once(desk, "survived.txt")?;
    Ok("the same card, answered after the restart, counted".to_owned())
}

async fn answered_meanwhile(desk: &mut Desk) -> Result<String> {
    desk.plays(touches("meanwhile.txt")).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.gateway.kill_now().await?;
    sleep(Duration::from_millis(500)).await;
    desk.chooses("1").await?;
    desk.shows("That was it.").await?;
    desk.gateway.serve_again().await?;
    desk.person = desk.gateway.person()?;
    let over = desk.over(ask.request.interaction_id).await?;
    closed_by(&over, TerminalAnswer::Allowed)?;
    ran_once(desk, "meanwhile.txt")?;
    Ok("the card is withdrawn when the gateway is back".to_owned())
}

async fn program_killed(desk: &mut Desk) -> Result<String> {
    desk.plays(touches("killed.txt")).await?;
    desk.asks().await?;
    let ask = desk.card("approval").await?;
    desk.tmux.close(&desk.terminal())?;
    let over = desk.over(ask.request.interaction_id).await?;
    ensure!(matches!(over.state, AskState::Closed { .. }), "the card says {:?}", over.state);
    desk.idle().await?;
    ensure!(!desk.has("killed.txt"), "it ran");
    desk.begin_again().await?;
    Ok(format!("known by {:?}", over.in_terminal.map(|how| how.known_by)))
}

async fn cleared(desk: &mut Desk) -> Result<String> {
    let before = desk.session().await?;
    desk.types("/clear").await?;
    desk.key("Enter")?;
    desk.begins_another();
    let after = desk.session().await?;
    ensure!(before != after, "it is the same session");
    desk.plays(Script::new().reply([say("All new.")])).await?;
    desk.person.said(&after, "All new.").await?;
    desk.idle().await?;
    Ok("what follows is in another one".to_owned())
}

async fn hosted(desk: &mut Desk) -> Result<String> {
    desk.model.script("hosted", touches("hosted.txt"));
    let open = json!({ "agent": "claude", "cwd": desk.project(), "title": "hosted" });
    let session: Value = desk.person.post("/v1/sessions", &open).await?;
    let session = session["sessionId"].as_str().ok_or("it has no id")?.to_owned();
    desk.person.say(&session, "Go on.\nscript: hosted").await?;
    let ask = desk.person.open_ask(&session, "approval").await?;
    sleep(Duration::from_secs(1)).await;
    let page: Value = desk.person.get("/v1/interactions?state=open").await?;
    let open = page["interactions"].as_array().map_or(0, Vec::len);
    ensure!(open == 1, "{open} cards are open for one call");
    desk.person.win(&ask, APPROVE).await?;
    counted(&desk.over(ask.request.interaction_id).await?, Settlement::Approved)?;
    desk.person.said(&session, "That was it.").await?;
    ran_once(desk, "hosted.txt")?;
    Ok("one card, in its own session".to_owned())
}
