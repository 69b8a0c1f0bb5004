//! What happens between a person at a terminal, a person at a card, and Claude Code.

use std::time::{Duration, Instant};

use holdstead_protocol::api::{Interaction, Outcome};
use holdstead_protocol::{Delivery, EventBody, InTerminal, KnownBy, Settlement, TerminalAnswer, Told};
use holdstead_scripted_model::{PLAN_FILE, Script, call, say};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Scene;
use super::desk::{Desk, has_counted, too_late};
use super::kind::Kind;
use super::print::as_unconnected;
use super::scenes::{
    card_allows, card_denies, edit_by_card, edit_in_terminal, gateway_killed, question_by_card,
    question_in_terminal, rule_decides, terminal_allows, terminal_killed, terminal_refuses, two_calls,
};
use crate::responses::{APPROVE, approve_edited};
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
        ("an allowed command runs: its card is gone", |desk| Box::pin(card_goes_while_it_runs(desk))),
        ("a deny that loses while the command runs", |desk| Box::pin(deny_loses(desk))),
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
        ("a rule denies what the program allows by itself", |desk| Box::pin(rule_denies(desk))),
        ("a message from elsewhere", |desk| Box::pin(takes_no_message(desk))),
        ("a turn stopped in the terminal", |desk| Box::pin(stopped(desk))),
        ("the gateway killed while it is asked", |desk| Box::pin(gateway_killed(desk))),
        ("answered in the terminal while the gateway is away", |desk| Box::pin(answered_meanwhile(desk))),
        ("the turn ends while the gateway is away", |desk| Box::pin(ends_meanwhile(desk))),
        ("the terminal killed while it is asked", |desk| Box::pin(terminal_killed(desk))),
        ("its session ended by a person", |desk| Box::pin(session_ended(desk))),
        ("an agent that is hosted is not seen twice", |desk| Box::pin(hosted(desk))),
        ("/clear begins another session", |desk| Box::pin(cleared(desk))),
        ("`claude -p` as if it were not connected", |desk| Box::pin(as_unconnected(desk))),
    ]
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

async fn card_edits(desk: &mut Desk) -> Result<String> {
    let ask = desk.touches("draft.txt").await?;
    let edited = json!({ "command": "echo once >> final.txt", "description": "Does it" });
    desk.person.win(&ask, approve_edited(edited)).await?;
    desk.counted(&ask, Settlement::Approved).await?;
    ensure!(!desk.has("draft.txt"), "what the agent wrote ran");
    desk.ran_once("final.txt")?;
    desk.model_reads("What you wrote did not run. This ran:").await?;
    let decided = desk.decided(&ask).await?;
    ensure!(decided.outcome == Outcome::ApprovedWithEdit, "the history says {:?}", decided.outcome);
    ensure!(
        decided.ran.as_deref() == Some("echo once >> final.txt"),
        "it says that this ran: {:?}",
        decided.ran
    );
    Ok("what the person wrote ran, and the model and the history know it".to_owned())
}

async fn terminal_refuses_with_words(desk: &mut Desk) -> Result<String> {
    let ask = desk.touches("worded.txt").await?;
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
    desk.closed(&ask, TerminalAnswer::Refused).await?;
    ensure!(!desk.has("worded.txt"), "it ran");
    Ok("the card is withdrawn".to_owned())
}

/// The program tells no hook of a yes, and its record has it when the command has ended. It says at once that no dialog stands.
async fn card_goes_while_it_runs(desk: &mut Desk) -> Result<String> {
    let ask = desk.runs("echo once >> runs.txt; sleep 12; echo once >> ended.txt").await?;
    desk.chooses("1").await?;
    desk.appears("runs.txt").await?;
    let begun = Instant::now();
    let over = desk.over(&ask).await?;
    let (took, how) = (begun.elapsed(), over.in_terminal);
    let not_said = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Program };
    ensure!(how == Some(not_said) && !desk.has("ended.txt"), "after {took:?} the card says {how:?}");
    let id = ask.request.interaction_id.to_string();
    let (code, said) = desk.tries(&["answer", &id, "--deny", "stop"])?;
    ensure!(code == Some(3), "`answer` ended with {code:?}: {said}");
    desk.appears("ended.txt").await?;
    desk.idle().await?;
    let decided = desk.decided(&ask).await?;
    ensure!(decided.outcome == Outcome::AllowedInTerminal, "the history says {:?}", decided.outcome);
    Ok(format!("after {} ms; `answer` then ends with 3, and the history says what ran", took.as_millis()))
}

async fn deny_loses(desk: &mut Desk) -> Result<String> {
    let ask = desk.runs("echo once >> long.txt; sleep 8").await?;
    desk.says_yes().await?;
    // Before the program says that its dialog is over.
    sleep(Duration::from_millis(150)).await;
    let id = ask.request.interaction_id.to_string();
    let late = desk.answering(&["answer", &id, "--deny", "stop"])?;
    sleep(Duration::from_secs(1)).await;
    let now: Interaction =
        desk.person.get(&format!("/v1/interactions/{}", ask.request.interaction_id)).await?;
    ensure!(
        matches!(now.delivery, Some(Delivery::Delivered { .. } | Delivery::Delivering { .. })),
        "before anybody can know, the receipt says {:?}",
        now.delivery
    );
    let over = desk.over(&ask).await?;
    ensure!(too_late(&over, TerminalAnswer::Allowed), "the receipt says {:?}", over.delivery);
    let (code, said) = late.ends()?;
    ensure!(code == Some(3) && said.contains("Too late"), "`answer` ended with {code:?}: {said}");
    let decided = desk.decided(&ask).await?;
    ensure!(decided.outcome == Outcome::AllowedInTerminal, "the history says {:?}", decided.outcome);
    let too_late = decided.too_late.map(|answer| answer.settlement);
    ensure!(too_late == Some(Settlement::Denied), "too late was {too_late:?}");
    desk.idle().await?;
    desk.ran_once("long.txt")?;
    Ok("\"sent\" first; then: too late, it was allowed in the terminal and ran".to_owned())
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
    desk.counted(&ask, Settlement::Approved).await?;
    let told = desk.model.told(&name).iter().any(|told| told.words().contains("approved your plan"));
    ensure!(told, "the model was told {:?}", desk.model.told(&name));
    desk.turns_to("manual mode on").await?;
    Ok("the model may begin".to_owned())
}

async fn same_call_twice(desk: &mut Desk) -> Result<String> {
    let of = || call("Bash", json!({ "command": "echo once >> same.txt", "description": "Does it" }));
    desk.plays(Script::new().reply([of(), of()]).reply([say("Twice.")])).await?;
    let session = desk.session().await?;
    for _ in 0..2 {
        let ask = desk.person.open_asks(&session, 1).await?.swap_remove(0);
        desk.person.win(&ask, APPROVE).await?;
        let over = desk.over(&ask).await?;
        ensure!(has_counted(&over, Settlement::Approved), "the receipt is {:?}", over.delivery);
    }
    desk.idle().await?;
    let ran = desk.lines_in("same.txt");
    ensure!(ran == 2, "it ran {ran} times");
    Ok("each was asked about".to_owned())
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
    let over = desk.over(&ask).await?;
    desk.idle().await?;
    desk.appears("inner.txt").await?;
    desk.ran_once("inner.txt")?;
    ensure!(over.delivery == Some(Delivery::Acknowledged), "the receipt says {:?}", over.delivery);
    Ok("it ran once".to_owned())
}

async fn subagent_left(desk: &mut Desk) -> Result<String> {
    desk.plays(with_subagent("left.txt")).await?;
    let ask = desk.card("approval").await?;
    let how = desk.over(&ask).await?.in_terminal;
    let left = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::LeftToTerminal };
    ensure!(how == Some(left), "the card says {how:?}");
    desk.shows("from the general-purpose agent").await?;
    let asks = desk.view().await?["asksInTerminal"].clone();
    ensure!(asks == 1, "{asks} asks are shown as left to the terminal");
    desk.chooses("1").await?;
    desk.idle().await?;
    desk.ran_once("left.txt")?;
    let asks = desk.view().await?["asksInTerminal"].clone();
    ensure!(asks != 1, "it is still shown as left to the terminal");
    Ok("after 20 s the terminal asks by itself, and the session says so".to_owned())
}

async fn stopped(desk: &mut Desk) -> Result<String> {
    desk.plays(Kind::Claude.runs("sleep 20; echo once >> stopped.txt")).await?;
    desk.asks().await?;
    desk.chooses("1").await?;
    sleep(Duration::from_secs(1)).await;
    desk.key("Escape")?;
    desk.idle().await?;
    let session = desk.session().await?;
    let stop = desk.person.status_of(&format!("/v1/sessions/{session}/interrupt"), &json!({})).await?;
    Ok(format!("its turn is over here, too; a stop from here got {stop}"))
}

async fn answered_meanwhile(desk: &mut Desk) -> Result<String> {
    let ask = desk.touches("meanwhile.txt").await?;
    desk.gateway.kill_now().await?;
    sleep(Duration::from_millis(500)).await;
    desk.chooses("1").await?;
    desk.shows("That was it.").await?;
    desk.gateway.serve_again().await?;
    desk.person = desk.gateway.person()?;
    desk.closed(&ask, TerminalAnswer::Allowed).await?;
    desk.ran_once("meanwhile.txt")?;
    Ok("the card is withdrawn when the gateway is back".to_owned())
}

/// Claude Code runs `ls` without asking, so only the hook before the call can keep it from running.
async fn rule_denies(desk: &mut Desk) -> Result<String> {
    let of = || Kind::Claude.command("ls -1 secrets");
    std::fs::create_dir_all(desk.project().join("secrets"))?;
    std::fs::write(desk.project().join("secrets/key-of-the-safe"), "")?;
    let name = desk.plays(Script::new().reply([of()]).reply([say("Listed.")])).await?;
    desk.idle().await?;
    let reads = |desk: &Desk, name: &str| {
        desk.model.told(name).iter().any(|told| told.words().contains("key-of-the-safe"))
    };
    ensure!(reads(desk, &name), "without a rule it did not run: {:?}", desk.model.told(&name));
    let _saved: Value = desk.person.post("/v1/rules", &json!({ "line": "deny Bash(ls -1 secrets)" })).await?;
    let name = desk.plays(Script::new().reply([of()]).reply([say("Not listed.")])).await?;
    desk.idle().await?;
    ensure!(!reads(desk, &name), "the rule denies it, and it ran: {:?}", desk.model.told(&name));
    let session = desk.session().await?;
    let journal = desk.person.journal(&session).await?;
    let denied = journal.iter().any(|event| {
        matches!(&event.body, EventBody::ToolCallEnd(end)
            if end.decision.as_ref().is_some_and(|decision| decision.told == Told::Denied))
    });
    ensure!(denied, "the history does not say that a rule denied it");
    Ok("it ran before the rule was saved, and not after".to_owned())
}

/// Its model would read the message as the feedback of a hook, and not as words of a person.
async fn takes_no_message(desk: &mut Desk) -> Result<String> {
    let session = desk.session().await?;
    let view = desk.view().await?;
    ensure!(view["messages"] == "typed_in_terminal", "it is shown as {view}");
    let words = "Look at the other folder, too.";
    let path = format!("/v1/sessions/{session}/messages");
    let status = desk.person.status_of(&path, &json!({ "text": words })).await?;
    ensure!(status == 409, "it was taken with {status}");
    sleep(Duration::from_secs(2)).await;
    let read = desk.model.bodies().iter().any(|body| body.to_string().contains(words));
    ensure!(!read, "its model read it");
    Ok("refused before it is sent: it is typed in the terminal".to_owned())
}

async fn ends_meanwhile(desk: &mut Desk) -> Result<String> {
    let ask = desk.runs("sleep 2; echo once >> away.txt").await?;
    desk.person.win(&ask, APPROVE).await?;
    desk.gateway.kill_now().await?;
    desk.appears("away.txt").await?;
    sleep(Duration::from_secs(2)).await;
    desk.gateway.serve_again().await?;
    desk.person = desk.gateway.person()?;
    desk.idle().await?;
    desk.ran_once("away.txt")?;
    Ok("its session is idle when the gateway is back".to_owned())
}

async fn session_ended(desk: &mut Desk) -> Result<String> {
    let before = desk.session().await?;
    desk.person.tell(Method::DELETE, &format!("/v1/sessions/{before}")).await?;
    desk.begins_another();
    let ask = desk.touches("after-the-end.txt").await?;
    ensure!(desk.session().await? != before, "the ended session goes on");
    desk.person.win(&ask, APPROVE).await?;
    desk.counted(&ask, Settlement::Approved).await?;
    desk.ran_once("after-the-end.txt")?;
    Ok("the conversation goes on in another one".to_owned())
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
    desk.model.script("hosted", Kind::Claude.runs("echo once >> hosted.txt"));
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
    let over = desk.over(&ask).await?;
    ensure!(has_counted(&over, Settlement::Approved), "the receipt is {:?}", over.delivery);
    desk.person.said(&session, "That was it.").await?;
    desk.ran_once("hosted.txt")?;
    Ok("one card, in its own session".to_owned())
}
