//! A tool asks for an address until it is one, and is killed with an answer in its hand.

mod host;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{AskChange, EventBody, ResponseDraft};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::client::{Answered, Client};
use crate::{Result, ensure};

pub(crate) const HOST: &str = "reprompt-host";
const PATIENCE: Duration = Duration::from_secs(30);

/// The child's part: `reprompt-host FOLDER [stuck]`.
pub(crate) async fn host() -> Result<String> {
    let folder = std::env::args().nth(2).ok_or("no folder was given")?;
    let stuck = std::env::args().nth(3).is_some();
    host::run(Path::new(&folder), stuck).await?;
    Ok("it ended".to_owned())
}

pub(crate) async fn show() -> Result<String> {
    let asked = four_prompts().await?;
    let killed = killed_in_between().await?;
    Ok(format!("{asked}; {killed}"))
}

/// Three bad answers and a good one.
async fn four_prompts() -> Result<String> {
    let folder = TempDir::new()?;
    let mut host = Host::start(folder.path(), false).await?;
    let client = host.client()?;
    let first = host.open(&client, 1).await?;
    for (attempt, bad) in [(1, "ada"), (2, "ada at example"), (3, "example.org")] {
        let ask = host.open(&client, attempt).await?;
        answer(&client, &ask, bad).await?;
    }
    let fourth = host.open(&client, 4).await?;
    ensure!(fourth.request.initial_values["email"] == "example.org", "what was typed is lost: {fourth:?}");
    ensure!(
        fourth.request.field_errors["email"] == "An address has an @.",
        "the error is not beside its field: {fourth:?}"
    );
    // Another screen still shows the first prompt.
    let Answered::Refused(problem) = client.respond(&first, draft("late@example.org")).await? else {
        return Err("an old prompt took an answer".into());
    };
    let code = json!(problem.refusal.code);
    ensure!(problem.status == 409 && code == "stale_prompt", "an old prompt was refused with {problem:?}");
    println!("A screen with the first prompt was told: {} {code}", problem.status);
    answer(&client, &fourth, "ada@example.org").await?;
    let result = host.result().await?;
    ensure!(result == json!({ "ok": true, "email": "ada@example.org" }), "the tool said {result}");
    let (prompts, settled) = host.counted(&client).await?;
    ensure!((prompts, settled) == (4, 1), "{prompts} prompts and {settled} outcomes");
    println!("{prompts} prompts, {settled} outcome: {result}");
    Ok(format!("{prompts} prompts, {settled} result, typed values kept, an old prompt refused with 409"))
}

/// `kill -9` after the answer was taken and before the tool said what follows.
async fn killed_in_between() -> Result<String> {
    let folder = TempDir::new()?;
    let host = Host::start(folder.path(), true).await?;
    let client = host.client()?;
    let ask = host.open(&client, 1).await?;
    answer(&client, &ask, "ada@example.org").await?;
    let prompt = ask.request.prompt_id.to_string();
    until(|| calls(folder.path()) == [prompt.clone()]).await?;
    host.kill().await?;
    let mut host = Host::start(folder.path(), false).await?;
    let client = host.client()?;
    let result = host.result().await?;
    ensure!(result == json!({ "ok": true, "email": "ada@example.org" }), "the tool said {result}");
    let called = calls(folder.path());
    ensure!(
        called.len() >= 2 && called.iter().all(|call| *call == prompt),
        "the tool was called for {called:?}"
    );
    let (prompts, settled) = host.counted(&client).await?;
    ensure!((prompts, settled) == (1, 1), "{prompts} prompts and {settled} outcomes");
    println!(
        "Killed in between: the tool was called {} times for one prompt, {settled} outcome",
        called.len()
    );
    Ok(format!("killed between answer and outcome: called again for that prompt, {settled} outcome"))
}

struct Host {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    url: String,
    token: String,
    session: String,
}

impl Host {
    async fn start(folder: &Path, stuck: bool) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(HOST).arg(folder).args(stuck.then_some("stuck"));
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let stdout = child.stdout.take().ok_or("the host has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let first = timeout(PATIENCE, lines.next_line()).await??.ok_or("the host said nothing")?;
        let said: Value = serde_json::from_str(&first)?;
        let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
        Ok(Self { child, lines, url: text("url"), token: text("token"), session: text("session") })
    }

    fn client(&self) -> Result<Client> {
        Client::new(&self.url, &self.token)
    }

    /// The ask, when it is shown for this time.
    async fn open(&self, client: &Client, attempt: u32) -> Result<Interaction> {
        for _ in 0..1_000 {
            let open = client.open_asks(&self.session, 1).await?.into_iter().next();
            if let Some(ask) = open.filter(|ask| ask.request.attempt == attempt) {
                return Ok(ask);
            }
            sleep(Duration::from_millis(20)).await;
        }
        Err(format!("the ask was not shown for the {attempt}. time").into())
    }

    /// What the tool's call came to.
    async fn result(&mut self) -> Result<Value> {
        let line = timeout(PATIENCE, self.lines.next_line()).await??.ok_or("the call came to nothing")?;
        let said: Value = serde_json::from_str(&line)?;
        said.get("result").cloned().ok_or_else(|| said.to_string().into())
    }

    /// Prompts and outcomes in the journal.
    async fn counted(&self, client: &Client) -> Result<(usize, usize)> {
        let events = client.journal(&self.session).await?;
        let prompts = events.iter().filter(|event| matches!(event.body, EventBody::InteractionRequest(_)));
        let settled = events.iter().filter(|event| {
            matches!(&event.body, EventBody::InteractionUpdate(update)
                if matches!(update.change, AskChange::Settled { .. }))
        });
        Ok((prompts.count(), settled.count()))
    }

    async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

fn draft(email: &str) -> ResponseDraft {
    let input = Map::from_iter([("email".to_owned(), Value::from(email))]);
    ResponseDraft::Submit { answers: None, input: Some(input) }
}

async fn answer(client: &Client, ask: &Interaction, email: &str) -> Result<()> {
    client.win(ask, draft(email)).await.map(drop)
}

/// The prompts that the tool was called for.
fn calls(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

async fn until(happened: impl Fn() -> bool) -> Result<()> {
    for _ in 0..1_500 {
        if happened() {
            return Ok(());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Err("the tool was never called".into())
}
