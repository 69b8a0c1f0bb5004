//! Try it: an agent that asks, in a page and in this terminal.
//!
//! The gateway runs as a process of its own, so that it can be killed before your eyes: what was asked is still
//! asked when it comes back.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use holdpoint_client::Http;
use holdpoint_protocol::api::{Interaction, OpenSession};
use holdpoint_protocol::transport::Transport as _;
use holdpoint_protocol::{AskState, PermissionMode, ResponseDraft, SessionId};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

use super::answer::{ask_person, confirmed, receipt_words, show};
use super::serve::wait_for_signal;
use super::{open, print_json, respond};
use crate::cli::{Common, DemoFlags};
use crate::failure::Failure;
use crate::places::Places;

/// How long one look at an ask waits before it looks again.
const LOOK_SECONDS: u32 = 20;

/// The gateway's process.
struct Gateway {
    child: Child,
    /// While it is open, the gateway runs. Waiting for the child must not close it.
    _input: ChildStdin,
    url: String,
    pid: u32,
}

#[derive(Deserialize)]
struct Announced {
    url: String,
    pid: u32,
}

pub(super) async fn run(common: &Common, flags: &DemoFlags) -> Result<(), Failure> {
    let temporary = TempDir::new().map_err(io("make a folder for the demo"))?;
    let dir = common.dir.clone().unwrap_or_else(|| temporary.path().to_owned());
    let places = Places::new(Some(&dir))?;
    let listen = flags.serve.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
    let gateway = start(&dir, common.store.as_deref(), listen).await?;
    let token =
        places.read_token().ok_or_else(|| Failure::Strange("the gateway wrote no token".to_owned()))?;
    let client = Http::new(gateway.url.clone(), token).at_terminal();
    let session = begin(&client).await?;
    let terminal = std::io::stdin().is_terminal() && !common.json;
    if common.json {
        print_json(&json!({ "url": gateway.url, "session": session, "gatewayPid": gateway.pid }))?;
    } else {
        let link = open::link(&client).await?;
        println!("An agent works on shop-api and will ask you things. Answer in the page or right here.");
        println!("Page (works once): {link}");
        if !flags.no_open {
            open::browse(&link);
        }
    }
    let supervisor = Supervisor { dir, store: common.store.clone(), gateway, json: common.json };
    supervisor.run(&client, session, terminal).await
}

/// Opens the session the demo is about.
async fn begin(client: &Http) -> Result<SessionId, Failure> {
    let open = OpenSession {
        agent: "scripted".to_owned(),
        cwd: None,
        permission_mode: PermissionMode::Default,
        model: None,
        title: Some("shop-api".to_owned()),
        system_prompt: None,
        max_turns: None,
        allowed_tools: Vec::new(),
        mcp_servers: Default::default(),
        program: None,
    };
    let session = client.open_session(open).await?.session_id;
    client.message(session, "/demo".to_owned()).await?;
    Ok(session)
}

/// Starts the gateway and waits until it listens.
async fn start(dir: &Path, store: Option<&str>, listen: SocketAddr) -> Result<Gateway, Failure> {
    let program = std::env::current_exe().map_err(io("find this program"))?;
    let mut command = Command::new(program);
    command.arg("serve").arg("--json").arg("--dir").arg(dir).arg("--listen").arg(listen.to_string());
    if let Some(store) = store {
        command.arg("--store").arg(store);
    }
    // It ends with us, however we end: its input is ours.
    let mut child = command
        .arg("--until-stdin-ends")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(io("start the gateway"))?;
    let input = child.stdin.take().ok_or_else(|| Failure::Strange("the gateway has no input".to_owned()))?;
    let stdout =
        child.stdout.take().ok_or_else(|| Failure::Strange("the gateway has no output".to_owned()))?;
    let mut lines = BufReader::new(stdout).lines();
    let line = lines.next_line().await.map_err(io("hear from the gateway"))?;
    let line =
        line.ok_or_else(|| Failure::Strange("the gateway did not start; its words are above".to_owned()))?;
    let announced: Announced = serde_json::from_str(&line)
        .map_err(|error| Failure::Strange(format!("the gateway said `{line}`: {error}")))?;
    Ok(Gateway { child, _input: input, url: announced.url, pid: announced.pid })
}

struct Supervisor {
    dir: PathBuf,
    store: Option<String>,
    gateway: Gateway,
    json: bool,
}

/// What the terminal does next.
enum Next {
    Go,
    Kill,
    Quit,
}

impl Supervisor {
    async fn run(mut self, client: &Http, session: SessionId, terminal: bool) -> Result<(), Failure> {
        let mut keys = if terminal { Some(keyboard()) } else { None };
        loop {
            let next = match keys.as_mut() {
                Some(keys) => {
                    tokio::select! {
                        _ = self.gateway.child.wait() => Next::Kill,
                        next = converse(client, session, keys) => next?,
                    }
                }
                None => {
                    tokio::select! {
                        _ = self.gateway.child.wait() => Next::Kill,
                        () = wait_for_signal() => Next::Quit,
                    }
                }
            };
            match next {
                Next::Go => {}
                Next::Kill => self.revive().await?,
                Next::Quit => return self.stop().await,
            }
        }
    }

    /// Kills the gateway the hard way, if it still lives, and starts it again at the same address.
    async fn revive(&mut self) -> Result<(), Failure> {
        // `kill` on a process that is gone is fine.
        drop(self.gateway.child.kill().await);
        let address = self.gateway.url.trim_start_matches("http://").parse().map_err(|error| {
            Failure::Strange(format!("`{}` is not an address: {error}", self.gateway.url))
        })?;
        self.gateway = start(&self.dir, self.store.as_deref(), address).await?;
        if self.json {
            return print_json(&json!({ "restarted": true, "gatewayPid": self.gateway.pid }));
        }
        println!(
            "The gateway was killed (-9) and is back as process {}. What was asked is still asked.",
            self.gateway.pid
        );
        Ok(())
    }

    async fn stop(mut self) -> Result<(), Failure> {
        self.gateway.child.kill().await.map_err(io("stop the gateway"))
    }
}

/// Lines from the keyboard. A thread of its own reads them: a terminal cannot be waited for otherwise.
fn keyboard() -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receive
}

/// Shows the next ask and takes an answer, unless a screen is faster.
async fn converse(
    client: &Http,
    session: SessionId,
    keys: &mut mpsc::Receiver<String>,
) -> Result<Next, Failure> {
    let Some(ask) = next_ask(client, session).await? else {
        println!("\nNothing waits for you. Type k and Enter to kill the gateway (-9), q to quit.");
        tokio::select! {
            line = keys.recv() => return Ok(command(line.as_deref())),
            () = until_asked(client, session) => return Ok(Next::Go),
        }
    };
    println!("\n● Waiting for you");
    show(&ask);
    println!("(k kills the gateway (-9), q quits; the page can answer, too)");
    // The person is asked on a thread that may block; an answer on the page ends its lines.
    let (typed, lines) = std::sync::mpsc::channel();
    let asked = ask.clone();
    let mut person = tokio::task::spawn_blocking(move || ask_person(&asked, &mut lines.into_iter().map(Ok)));
    loop {
        tokio::select! {
            line = keys.recv() => match line.as_deref().map(str::trim) {
                None | Some("q") => return Ok(Next::Quit),
                Some("k") => return Ok(Next::Kill),
                // If nobody reads it any more, the answer is on its way already.
                Some(line) => drop(typed.send(line.to_owned())),
            },
            answered = elsewhere(client, &ask) => {
                println!("\n{}", answered?);
                return Ok(Next::Go);
            }
            said = &mut person => {
                match said.map_err(|error| Failure::Strange(error.to_string()))? {
                    Ok(Some(response)) => send(client, &ask, response).await?,
                    Ok(None) => {}
                    Err(failure) => println!("✕ {failure}"),
                }
                return Ok(Next::Go);
            }
        }
    }
}

async fn send(client: &Http, ask: &Interaction, response: ResponseDraft) -> Result<(), Failure> {
    match respond(client, ask, response).await {
        Ok(receipt) => println!("{}", receipt_words(&receipt, &confirmed(client, ask).await?)),
        Err(failure) => println!("✕ {failure}"),
    }
    Ok(())
}

fn command(line: Option<&str>) -> Next {
    match line.map(str::trim) {
        None | Some("q") => Next::Quit,
        Some("k") => Next::Kill,
        Some(_) => Next::Go,
    }
}

async fn next_ask(client: &Http, session: SessionId) -> Result<Option<Interaction>, Failure> {
    Ok(client.whole_inbox().await?.into_iter().find(|ask| ask.session_id == session))
}

async fn until_asked(client: &Http, session: SessionId) {
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        if let Ok(Some(_)) = next_ask(client, session).await {
            return;
        }
    }
}

/// Waits until the ask is answered on another screen, and says how.
async fn elsewhere(client: &Http, ask: &Interaction) -> Result<String, Failure> {
    loop {
        let now = client.wait(ask.request.interaction_id, LOOK_SECONDS).await?;
        if let Some(response) = &now.response {
            let who = crate::words::decider(&response.decider);
            return Ok(format!("✓ {who}: {}", crate::words::state(&now)));
        }
        if !matches!(now.state, AskState::Open) {
            return Ok(format!("It is {} now.", crate::words::state(&now)));
        }
    }
}

fn io(what: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |source| Failure::Io { what: what.to_owned(), source }
}
