//! The gateway's tools on standard input and output, for agents that start their MCP servers themselves.
//!
//! A bridge and nothing more: each line goes to the gateway's `/mcp`, and what comes back goes to the output. Calls have
//! an id of their own, so a call that was cut off by a restart of the gateway is made again and finds what it asked.

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use holdstead_client::McpClient;
use holdstead_protocol::api::Role;
use holdstead_protocol::json::read_flawed;
use holdstead_protocol::mcp::{CALL_ID, GIVE_UP, flawed};
use holdstead_server::{NewDevice, issue_token, named, register};
use holdstead_store::token_hash;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::cli::Common;
use crate::config::Config;
use crate::connect::{NO_HOST, VARIABLE, Way, way};
use crate::failure::Failure;
use crate::places::Places;
use crate::store;

/// How long a gateway may be away before a call fails.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(250);
/// The name of the token that is made for this command.
const NAME: &str = "mcp";
/// What JSON-RPC calls an error of the server.
const INTERNAL_ERROR: i32 = -32603;
const PARSE_ERROR: i32 = -32700;

/// What both directions know.
#[derive(Debug)]
struct Bridge {
    client: McpClient,
    /// The client's name as an id, from the answer to its first message.
    id: OnceLock<String>,
    version: OnceLock<String>,
    /// Calls that wait, by the client's name for the request.
    waiting: Mutex<HashMap<String, Call>>,
}

#[derive(Debug)]
struct Call {
    /// The id that it has for the gateway.
    id: String,
    task: AbortHandle,
}

pub(super) async fn run(common: &Common, wait: Option<&str>) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let path = wait.map_or_else(|| "/mcp".to_owned(), |wait| format!("/mcp?wait={wait}"));
    let given = std::env::var(VARIABLE).ok();
    let way = match &common.url {
        Some(_) => way(common, &places)?,
        // Also one that starts later.
        None => Way::Here { url: NO_HOST.to_owned(), socket: places.gateway_socket() },
    };
    let client = match (way, given) {
        (Way::Here { url, socket }, given) => {
            let token = match given {
                Some(token) => token,
                None => own_token(common).await?,
            };
            McpClient::at_socket(&socket, format!("{url}{path}"), token)
        }
        (Way::Forwarded { socket }, Some(token)) => {
            McpClient::at_socket(&socket, format!("{NO_HOST}{path}"), token)
        }
        (Way::Encrypted { url }, Some(token)) => McpClient::new(format!("{url}{path}"), token),
        (Way::Forwarded { .. } | Way::Encrypted { .. }, None) => {
            return Err(Failure::Usage(format!(
                "Set {VARIABLE} to a token of that gateway: this machine's is not sent there."
            )));
        }
    };
    let bridge =
        Arc::new(Bridge { client, id: OnceLock::new(), version: OnceLock::new(), waiting: Mutex::default() });
    let mut input = lines();
    let mut under_way = JoinSet::new();
    while let Some(line) = input.recv().await {
        while under_way.try_join_next().is_some() {}
        if line.trim().is_empty() {
            continue;
        }
        let message = match read_flawed(line.as_bytes()) {
            Ok((message, None)) => message,
            Ok((message, Some(flaw))) => {
                if let Some(answer) = flawed(&message, &flaw) {
                    bridge.say(&answer.to_string());
                }
                continue;
            }
            Err(bad) => {
                let error =
                    json!({"code": PARSE_ERROR, "message": format!("this line was not taken: {bad}")});
                bridge.say(&json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string());
                continue;
            }
        };
        match message["method"].as_str() {
            // What follows the introduction needs what comes back from it.
            Some("initialize") => Arc::clone(&bridge).pass(message).await,
            Some("tools/call") => bridge.call(&mut under_way, message),
            Some("notifications/cancelled") => drop(under_way.spawn(Arc::clone(&bridge).give_up(message))),
            _ => drop(under_way.spawn(Arc::clone(&bridge).pass(message))),
        }
    }
    // What was asked before the end of the input is still answered.
    tokio::select! {
        () = async { while under_way.join_next().await.is_some() {} } => {}
        () = unheard() => {}
    }
    Ok(())
}

/// Waits until the output has no reader: the client is gone, and reads no answer to its calls.
async fn unheard() {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    // `poll` says that the output has no reader without being asked for an event.
    while let Ok(0) | Err(_) = poll(&mut [PollFd::new(&std::io::stdout(), PollFlags::empty())], Some(&now)) {
        tokio::time::sleep(PAUSE).await;
    }
}

/// A thread of its own waits for them: it must not keep us from ending.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (said, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if said.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

impl Bridge {
    /// Calls wait side by side, each with an id of its own.
    fn call(self: &Arc<Self>, under_way: &mut JoinSet<()>, mut message: Value) {
        let id = uuid::Uuid::new_v4().simple().to_string();
        if let Some(params) = message["params"].as_object_mut()
            && let Some(meta) = params.entry("_meta").or_insert_with(|| json!({})).as_object_mut()
        {
            meta.insert(CALL_ID.to_owned(), id.as_str().into());
        }
        let (bridge, request) = (Arc::clone(self), message["id"].to_string());
        // Held until it is in the list, from which its task takes it.
        let mut waiting = self.waiting();
        let task = under_way.spawn(async move {
            let request = message["id"].to_string();
            Arc::clone(&bridge).pass(message).await;
            bridge.waiting().remove(&request);
        });
        waiting.insert(request, Call { id, task });
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<String, Call>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent does not wait for this call any more: nobody needs to answer it. If the gateway is away just now, the ask
    /// stays.
    async fn give_up(self: Arc<Self>, cancelled: Value) {
        let call = self.waiting().remove(&cancelled["params"]["requestId"].to_string());
        let Some(Call { id, task }) = call else { return };
        task.abort();
        let message = json!({"jsonrpc": "2.0", "id": id, "method": GIVE_UP, "params": {"callId": id}});
        let version = self.version.get().map(String::as_str);
        let _away = self.client.send(&message, self.id.get().map(String::as_str), version).await;
    }

    async fn pass(self: Arc<Self>, message: Value) {
        let begin = Instant::now();
        loop {
            let why = match self.once(&message).await {
                Ok(()) => return,
                Err(why) => why,
            };
            // A notification that got lost is nothing that anybody waits for.
            if message.get("id").is_none() {
                return;
            }
            if begin.elapsed() > PATIENCE || !why.passes {
                let error = json!({"code": INTERNAL_ERROR, "message": why.words});
                self.say(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string());
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn once(&self, message: &Value) -> Result<(), Trouble> {
        let version = self.version.get().map(String::as_str);
        let mut answer = self.client.send(message, self.id.get().map(String::as_str), version).await?;
        if let Some(id) = answer.session_id() {
            let _first = self.id.set(id.to_owned());
        }
        let mut ended = message.get("id").is_none();
        while let Some(line) = answer.next().await? {
            let heard: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(version) = heard["result"]["protocolVersion"].as_str() {
                let _first = self.version.set(version.to_owned());
            }
            ended |= heard.get("method").is_none();
            self.say(&line);
        }
        if ended { Ok(()) } else { Err(Trouble { words: "the gateway went away".to_owned(), passes: true }) }
    }

    fn say(&self, line: &str) {
        let mut output = std::io::stdout().lock();
        // Nobody reads any more: then the input ends soon, too.
        let _nobody = writeln!(output, "{line}").and_then(|()| output.flush());
    }
}

/// Why a message was not answered, and whether trying again may help.
#[derive(Debug)]
struct Trouble {
    words: String,
    passes: bool,
}

impl From<holdstead_client::McpError> for Trouble {
    fn from(error: holdstead_client::McpError) -> Self {
        Self { words: error.to_string(), passes: error.may_pass() }
    }
}

/// An agent's token, made with this machine's own rights and kept for the next time: it can ask and never answer.
async fn own_token(common: &Common) -> Result<String, Failure> {
    let places = Places::new(common.dir.as_deref())?;
    places.make()?;
    let config = Config::load(common, &places)?;
    let journal = store::open(common, &places, &config).await?;
    let token = match places.read_mcp_token() {
        Some(token) => {
            if journal.device_by_hash(&token_hash(&token)).await?.is_none() {
                let person = named(journal.as_ref(), &config.owner, Role::Agent, NAME).await?;
                register(journal.as_ref(), &token, person.id, NewDevice::TOKEN).await?;
            }
            token
        }
        None => {
            let token = issue_token(journal.as_ref(), &config.owner, Role::Agent, NAME, None).await?;
            places.write_mcp_token(&token)?;
            token
        }
    };
    journal.close().await;
    Ok(token)
}
