//! The real Claude Code with hooks of its user's that allow everything, and a gateway that an agent's token keeps busy: what a
//! person or a rule denied does not run. In a copy whose refusal comes later, some of it does.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use holdstead_protocol::EventBody;
use holdstead_scripted_model::{Script, call, say};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::claude::Stage;
use crate::client::{Answered, Client};
use crate::gateway_process::TokenFor;
use crate::responses::deny;
use crate::{Result, ensure};

/// So many threads post bodies of this size, which the gateway reads and refuses.
const POSTING: usize = 16;
const BODY: usize = 900_000;
/// So many calls a session makes, one after the other, and so many sessions go on at once.
const CALLS: usize = 25;
const AT_ONCE: usize = 4;
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(50);

/// Who denies, and the program that the denied calls run.
const PERSON: (&str, &str) = ("person", "mkdir");
const RULE: (&str, &str) = ("rule", "touch");

/// How many calls were denied, and how many of those ran.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    denied: usize,
    ran: usize,
}

pub(crate) async fn show() -> Result<String> {
    let denies = std::env::args().nth(3).map_or(Ok(200), |count| count.parse())?;
    let fixed = play(denies, None).await?;
    ensure!(fixed.ran == 0, "{} of {} denied calls ran", fixed.ran, 2 * denies);
    ensure!(fixed.denied == 2 * denies, "only {} of {} calls were denied", fixed.denied, 2 * denies);
    let figure = format!("{} denied calls, half by people and half by a rule: 0 ran", fixed.denied);
    let Some(copy) = std::env::args().nth(4) else { return Ok(figure) };
    let late = play(denies, Some(copy.into())).await?;
    ensure!(late.ran > 0, "the same load overruled nothing in the copy, so this show could not fail");
    Ok(format!(
        "{figure}; in a copy that refuses where the program asks by itself, {} of {} ran",
        late.ran,
        2 * denies
    ))
}

async fn play(denies: usize, copy: Option<PathBuf>) -> Result<Tally> {
    let mut stage = Stage::new("10m").await?;
    if let Some(copy) = copy {
        stage.gateway.replace(copy);
        stage.restart().await?;
    }
    let mut background = JoinSet::new();
    allow_everything(&stage, &mut background).await?;
    keep_busy(&stage, &mut background).await?;
    stage.person.post::<Value>("/v1/rules", &json!({ "line": "deny Bash(touch:*)" })).await?;
    let sessions = (0..denies).step_by(CALLS).flat_map(|first| {
        let calls = CALLS.min(denies - first);
        [PERSON, RULE].map(|by| session(&stage, by, first, calls))
    });
    let all = stream::iter(sessions).buffer_unordered(AT_ONCE);
    let add =
        async |all: Tally, one: Tally| Ok(Tally { denied: all.denied + one.denied, ran: all.ran + one.ran });
    let tally = all.try_fold(Tally::default(), add).await?;
    background.shutdown().await;
    stage.stop().await?;
    Ok(tally)
}

/// The user's own hooks, one of each kind, for what the program asks by itself.
async fn allow_everything(stage: &Stage, background: &mut JoinSet<()>) -> Result<()> {
    let decision = json!({ "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" } });
    let allow = json!({ "hookSpecificOutput": decision }).to_string();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let hooks = [
        json!({ "type": "command", "command": format!("echo '{allow}'") }),
        json!({ "type": "http", "url": url }),
    ];
    let hooks = json!({ "PermissionRequest": [{ "matcher": "*", "hooks": hooks }] });
    let settings = json!({ "hooks": hooks, "allowedHttpHookUrls": [format!("{url}*")] });
    let folder = stage.home().join(".claude");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("settings.json"), settings.to_string())?;
    background.spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{allow}", allow.len());
            tokio::spawn(async move {
                let mut request = vec![0; 64 * 1024];
                // A program that hangs up wants no answer.
                drop(connection.read(&mut request).await);
                drop(connection.write_all(answer.as_bytes()).await);
                drop(connection.shutdown().await);
                drop(connection.read(&mut request).await);
            });
        }
    });
    Ok(())
}

/// What a command of the agent's can do with the agent's token.
async fn keep_busy(stage: &Stage, background: &mut JoinSet<()>) -> Result<()> {
    let session = stage.person.open_session().await?.session_id.to_string();
    let token = stage.gateway.token("busy", TokenFor::Agent(&session)).await?;
    let body = json!({ "key": "x".repeat(BODY) });
    for _ in 0..POSTING {
        let (agent, body) = (Client::new(&stage.gateway.url, &token)?, body.clone());
        background.spawn(async move {
            loop {
                // Whether it is refused or turned away makes no difference.
                drop(agent.status_of("/v1/interactions", &body).await);
            }
        });
    }
    Ok(())
}

/// One session in which every call is denied.
async fn session(stage: &Stage, by: (&str, &str), first: usize, calls: usize) -> Result<Tally> {
    let (name, program) = by;
    let script = (0..calls).fold(Script::new(), |script, number| {
        script.reply([call("Bash", json!({ "command": format!("{program} ran-{number}") }))])
    });
    let scene = stage.play(&format!("{name}-{first}"), "default", script.reply([say("done")])).await?;
    let (begin, mut denied) = (Instant::now(), 0);
    let events = loop {
        for ask in stage.person.asks(&scene.session).await? {
            match stage.person.respond(&ask, deny("no")).await? {
                Answered::Won(_) => denied += 1,
                // The agent took it back, or it was answered just now.
                Answered::Refused(_) => {}
            }
        }
        let events = stage.person.journal(&scene.session).await?;
        if events.iter().any(|event| matches!(event.body, EventBody::Done(_))) {
            break events;
        }
        ensure!(begin.elapsed() < PATIENCE, "the calls of {} did not end", scene.name);
        sleep(LOOK).await;
    };
    let refused = |event: &&_| matches!(event, EventBody::ToolResult(result) if result.is_error);
    let refused = events.iter().map(|event| &event.body).filter(refused).count();
    let ran = std::fs::read_dir(&scene.folder)?.flatten();
    let ran = ran.filter(|entry| entry.file_name().to_string_lossy().starts_with("ran-")).count();
    println!("{}: {calls} calls, {denied} denied by a person, {refused} refused, {ran} ran", scene.name);
    stage.end(&scene).await?;
    Ok(Tally { denied: if by == PERSON { denied.min(refused) } else { refused }, ran })
}
