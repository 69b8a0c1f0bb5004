//! What a person does, and what comes of it.

use std::path::Path;
use std::time::Duration;

use holdstead_protocol::StopReason;
use holdstead_protocol::api::{DecisionPage, Outcome, Session};
use holdstead_scripted_model::{Part, Script, Told, call, say};
use serde_json::json;
use tokio::time::sleep;

use super::Place;
use crate::gateway_process::{is_alive, kill};
use crate::{Result, ensure};

const PROMPT: &str = "[a]pprove once";
/// How often each accident happens.
const TIMES: usize = 20;

fn bash(command: &str) -> Part {
    call("Bash", json!({ "command": command, "description": "Leaves a mark" }))
}

fn touch(name: &str) -> Part {
    bash(&format!("touch {name}"))
}

fn files(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    Ok(names)
}

async fn appears(path: &Path) -> Result<()> {
    for _ in 0..800 {
        if path.exists() {
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err(format!("{} never came", path.display()).into())
}

/// Waits until the model was told something with these words in it, and returns that.
async fn told(place: &Place, script: &str, words: &str) -> Result<String> {
    let has = |told: &[Told]| told.iter().any(|told| told.words().contains(words));
    let told = tokio::time::timeout(Duration::from_secs(40), place.model.told_when(script, has)).await;
    let told =
        told.map_err(|_| format!("the model was never told `{words}`: {:?}", place.model.told(script)))?;
    let said = told.iter().rev().map(Told::words).find(|said| said.contains(words));
    Ok(said.unwrap_or_default().to_owned())
}

/// Says the script's name as a message, and waits for its ask.
async fn asked(place: &Place, terminal: &str, name: &str, script: Script) -> Result<()> {
    place.script(name, script);
    let before = place.tmux.text(terminal)?.matches("Waiting for you").count();
    place.tmux.line(terminal, &format!("script: {name}")).await?;
    place.tmux.sees_times(terminal, "Waiting for you", before + 1).await?;
    place.tmux.shows(terminal, PROMPT).await?;
    Ok(())
}

/// Opens the terminal in which the next scenes go on.
pub(super) async fn accidents(place: &Place) -> Result<String> {
    place.script("accidents", Script::new().reply([touch("accident")]));
    place.run_claude("run", "shop", "accidents")?;
    place.tmux.shows("run", PROMPT).await?;
    sleep(Duration::from_millis(600)).await;
    for _ in 0..TIMES {
        place.tmux.key("run", "Enter")?;
    }
    for words in ["ja", "yes", "y", "aa", "q", "1"] {
        place.tmux.line("run", words).await?;
    }
    for _ in 0..TIMES {
        place.tmux.paste("run", "a\n")?;
    }
    place.tmux.sees("run", "Pasted text decides nothing").await?;
    sleep(Duration::from_millis(500)).await;
    ensure!(place.open().await?.len() == 1, "something decided");
    place.tmux.line("run", "d").await?;
    place.tmux.line("run", "not now").await?;
    place.opened(0).await?;
    told(place, "accidents", "not now").await?;
    ensure!(files(&place.folder("shop")?)?.is_empty(), "it ran");
    Ok(format!(
        "{TIMES} times Enter, 6 words, {TIMES} times pasted `a⏎`: open; then denied, in words the model was told"
    ))
}

pub(super) async fn marked(place: &Place) -> Result<String> {
    let folder = place.folder("shop")?;
    std::fs::create_dir(folder.join("build"))?;
    asked(place, "run", "marked", Script::new().reply([bash("rm -rf build")])).await?;
    place.tmux.sees("run", "! Look twice.").await?;
    place.tmux.line("run", "a").await?;
    place.tmux.shows("run", "Type yes to approve it").await?;
    for _ in 0..TIMES {
        place.tmux.key("run", "Enter")?;
        place.tmux.paste("run", "yes\n")?;
    }
    sleep(Duration::from_millis(500)).await;
    ensure!(folder.join("build").exists() && place.open().await?.len() == 1, "it was approved");
    place.tmux.line("run", "yes").await?;
    place.opened(0).await?;
    for _ in 0..400 {
        if !folder.join("build").exists() {
            return Ok(format!("`a`, then {TIMES} times Enter and pasted `yes⏎`: open; `yes` typed: it ran"));
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err("it did not run".into())
}

pub(super) async fn numbered(place: &Place) -> Result<String> {
    let question = json!({ "questions": [{
        "question": "Which store?", "header": "Store", "multiSelect": false,
        "options": [{ "label": "SQLite", "description": "one file" }, { "label": "PostgreSQL", "description": "a server" }],
    }]});
    place.script("numbered", Script::new().reply([call("AskUserQuestion", question)]));
    place.tmux.line("run", "script: numbered").await?;
    place.tmux.sees("run", "2. PostgreSQL").await?;
    place.tmux.shows("run", "Store (a number, or your own words):").await?;
    place.tmux.line("run", "9").await?;
    place.tmux.sees("run", "There is no option 9.").await?;
    place.tmux.line("run", "2").await?;
    let told = told(place, "numbered", "PostgreSQL").await?;
    Ok(format!("9 is none, 2 is one: {told}"))
}

/// While the model speaks: nothing but the person can end this turn.
pub(super) async fn escaped(place: &Place) -> Result<String> {
    place.script("escaped", Script::new().reply([say("I begin."), Part::Hold("escaped".to_owned())]));
    place.tmux.line("run", "script: escaped").await?;
    place.model.held("escaped").await;
    place.tmux.shows("run", "Esc stops it").await?;
    sleep(Duration::from_millis(600)).await;
    place.tmux.key("run", "Escape")?;
    place.tmux.sees("run", "Stopped by ").await?;
    let person = place.person()?;
    let session: Session = person.get(&format!("/v1/sessions/{}", place.session("shop").await?)).await?;
    ensure!(session.last_stop == Some(StopReason::Interrupted), "the turn ended as {:?}", session.last_stop);
    place.script("after-escape", Script::new().reply([say("Here I am again.")]));
    place.tmux.line("run", "script: after-escape").await?;
    place.tmux.sees("run", "Here I am again.").await?;
    Ok("the turn ended as stopped by a person; the next message was answered".to_owned())
}

pub(super) async fn watched_accidents(place: &Place) -> Result<String> {
    for (number, name) in (1..).zip(["one", "two"]) {
        place.script(&format!("watched-{name}"), Script::new().reply([touch(name)]));
        place.run_claude(name, name, &format!("watched-{name}"))?;
        place.opened(number).await?;
    }
    for name in ["one", "two"] {
        place.tmux.shows(name, PROMPT).await?;
        place.tmux.key(name, "C-c")?;
    }
    place.holdstead("desk", "shop", &["inbox", "--watch"])?;
    place.tmux.shows("desk", "Run touch one").await?;
    let (mut kinds, desk) = (0, "desk");
    for accident in ["Enter", "typed", "pasted", "move"] {
        for _ in 0..TIMES {
            match accident {
                "Enter" => place.tmux.key(desk, "Enter")?,
                "typed" => {
                    place.tmux.letters(desk, "ja")?;
                    place.tmux.key(desk, "Enter")?;
                }
                "pasted" => place.tmux.paste(desk, "a\n")?,
                // What is selected changes under the finger.
                _ => {
                    place.tmux.letters(desk, "j")?;
                    place.tmux.letters(desk, "a")?;
                    place.tmux.key(desk, "Enter")?;
                    place.tmux.letters(desk, "k")?;
                    place.tmux.letters(desk, "a")?;
                    place.tmux.key(desk, "Enter")?;
                }
            }
        }
        sleep(Duration::from_millis(600)).await;
        ensure!(place.open().await?.len() == 2, "{accident} decided");
        kinds += 1;
    }
    place.tmux.key(desk, "Escape")?;
    Ok(format!("{kinds} kinds of accident, {TIMES} times each: both are open"))
}

pub(super) async fn watched(place: &Place) -> Result<String> {
    place.holdstead("desk-2", "shop", &["inbox", "--watch"])?;
    let desk = "desk-2";
    place.tmux.shows(desk, "Run touch one").await?;
    place.tmux.press(desk, "a").await?;
    place.tmux.shows(desk, "Enter approves it once").await?;
    place.tmux.key(desk, "Enter")?;
    appears(&place.folder("one")?.join("one")).await?;
    place.opened(1).await?;
    place.tmux.shows(desk, "✓ Approved: Run touch one").await?;
    place.tmux.press(desk, "d").await?;
    place.tmux.line(desk, "use another name").await?;
    place.opened(0).await?;
    told(place, "watched-two", "use another name").await?;
    ensure!(files(&place.folder("two")?)?.is_empty(), "what was denied ran");

    let folder = place.folder("long")?;
    std::fs::create_dir(folder.join("old"))?;
    let lines: String = (0..400).map(|line| format!("echo {line}\n")).collect();
    place.script("long", Script::new().reply([bash(&format!("{lines}rm -rf old"))]));
    place.run_claude("long", "long", "long")?;
    place.opened(1).await?;
    let screen = place.tmux.shows(desk, "  rm -rf old").await?;
    ensure!(screen.contains("rows between"), "400 lines are all on a screen of 40 rows:\n{screen}");
    // Nothing is approved of which a part was not shown: until then, `a` shows the next page.
    let mut pages = 0;
    while !place.tmux.screen(desk)?.contains("Type yes to approve it") {
        ensure!(pages < 40, "{pages} pages were shown, and it cannot be approved");
        place.tmux.press(desk, "a").await?;
        sleep(Duration::from_millis(600)).await;
        pages += 1;
    }
    ensure!(pages > 10, "it could be approved after {pages} pages of 40 rows");
    sleep(Duration::from_millis(600)).await;
    place.tmux.key(desk, "Enter")?;
    sleep(Duration::from_millis(300)).await;
    ensure!(place.open().await?.len() == 1, "Enter approved what is marked");
    place.tmux.press(desk, "a").await?;
    place.tmux.line(desk, "yes").await?;
    place.opened(0).await?;
    place.tmux.press(desk, "q").await?;
    Ok(format!(
        "approved, denied in words the model was told; of 401 lines the last was in sight, all were shown on {pages} pages, and \
         it wanted its word"
    ))
}

pub(super) async fn stopped(place: &Place) -> Result<String> {
    asked(place, "run", "stopped", Script::new().reply([touch("after-stop")])).await?;
    let session = place.session("shop").await?;
    let pid: u32 = std::fs::read_to_string(place.data("gateway.lock"))?.trim().parse()?;
    place.holdstead("stop", "shop", &["stop"])?;
    place.tmux.sees("stop", "has ended.").await?;
    place.tmux.sees("stop", "1 agent is parked").await?;
    place.tmux.sees("stop", "1 ask waits in the journal").await?;
    ensure!(!is_alive(pid), "process {pid} is still there");
    place.tmux.sees("run", "The gateway is gone").await?;
    place.holdstead("again", "shop", &["attach", &session[session.len() - 4..]])?;
    place.tmux.shows("again", PROMPT).await?;
    place.tmux.line("again", "a").await?;
    appears(&place.folder("shop")?.join("after-stop")).await.map_err(|error| {
        format!("{error}; the terminal:\n{}", place.tmux.text("again").unwrap_or_default().trim_end())
    })?;
    place.tmux.key("again", "C-c")?;
    place.holdstead("end", "shop", &["stop"])?;
    place.tmux.sees("end", "has ended").await?;
    Ok(format!(
        "process {pid} is gone, and its agent was parked; `attach` started another one, which asked the same; approved, the \
         call ran"
    ))
}

/// Gateway and agent are killed while they ask, so that nothing is parked. The approval is told in words.
pub(super) async fn killed(place: &Place) -> Result<String> {
    let call = || bash("echo once >> after-kill; echo made $((40 + 2))");
    // An agent that dies may ask its model once more; what the next one's model makes is the same call again.
    let script = Script::new().reply([call()]).reply([call()]).reply([call()]).until("made 42");
    place.script("killed", script);
    place.run_claude("doomed", "doomed", "killed")?;
    place.tmux.shows("doomed", PROMPT).await?;
    let ask = place.opened(1).await?.remove(0).request.interaction_id.to_string();
    let session = place.session("doomed").await?;
    let pid: u32 = std::fs::read_to_string(place.data("gateway.lock"))?.trim().parse()?;
    kill(pid).await?;
    place.tmux.sees("doomed", "The gateway is gone").await?;
    place.holdstead("survivor", "doomed", &["attach", &session[session.len() - 4..]])?;
    place.tmux.shows("survivor", PROMPT).await?;
    place.holdstead("answers", "doomed", &["answer", &ask, "--approve"])?;
    let said = place.tmux.sees("answers", "✓ Approved").await?;
    ensure!(!said.contains("could not reach"), "`answer` said {said}");
    let true_words =
        ["given to the same call, which the agent made again", "the agent is told when it runs again"];
    ensure!(true_words.iter().any(|words| said.contains(words)), "`answer` said {said}");
    told(place, "killed", "is approved. Make the very same call again").await?;
    told(place, "killed", "made 42").await?;
    let ran = std::fs::read_to_string(place.folder("doomed")?.join("after-kill"))?;
    ensure!(ran == "once\n", "it ran {} times", ran.lines().count());
    let page: DecisionPage = place.person()?.get("/v1/decisions?limit=10").await?;
    let outcomes: Vec<_> = page
        .decisions
        .iter()
        .filter(|decision| decision.session_id.to_string() == session)
        .map(|decision| decision.outcome)
        .collect();
    ensure!(outcomes == [Outcome::Approved, Outcome::Approved], "the history says {outcomes:?}");
    place.tmux.key("survivor", "C-c")?;
    place.holdstead("end-2", "shop", &["stop"])?;
    place.tmux.sees("end-2", "has ended").await?;
    Ok("it ran once, by the call that the model made again; `answer` and the history say that it was approved".to_owned())
}
