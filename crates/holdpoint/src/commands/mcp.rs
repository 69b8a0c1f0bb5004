//! The gateway's tools on standard input and output, for agents that start their MCP servers themselves.
//!
//! A bridge and nothing more: each line goes to the gateway's `/mcp`, and what comes back goes to the output. Calls have
//! an id of their own, so a call that was cut off by a restart of the gateway is made again and finds what it asked.

use std::io::{BufRead as _, Write as _};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holdpoint_client::McpClient;
use holdpoint_protocol::api::Role;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::cli::Common;
use crate::config::Config;
use crate::connect;
use crate::failure::Failure;
use crate::places::Places;

/// How long a gateway may be away before a call fails.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(250);
/// The name of the token that is made for this command.
const NAME: &str = "mcp";
/// Where the id of a call goes.
const CALL_ID: &str = "holdpoint/callId";
/// What JSON-RPC calls an error of the server.
const INTERNAL_ERROR: i32 = -32603;

/// What both directions know.
#[derive(Debug)]
struct Bridge {
    client: McpClient,
    /// The client's name as an id, from the answer to its first message.
    id: OnceLock<String>,
    version: OnceLock<String>,
}

pub(super) async fn run(common: &Common, wait: Option<&str>) -> Result<(), Failure> {
    let token = match std::env::var("HOLDPOINT_TOKEN") {
        Ok(token) => token,
        Err(_) => own_token(common).await?,
    };
    let url = connect::url(common)?;
    let path = wait.map_or_else(|| "/mcp".to_owned(), |wait| format!("/mcp?wait={wait}"));
    let client = McpClient::new(format!("{url}{path}"), token);
    let bridge = Arc::new(Bridge { client, id: OnceLock::new(), version: OnceLock::new() });
    let mut input = lines();
    while let Some(line) = input.recv().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let first = message["method"] == "initialize";
        let passing = Arc::clone(&bridge).pass(message);
        // What follows the introduction needs what comes back from it; calls wait side by side.
        if first {
            passing.await;
        } else {
            tokio::spawn(passing);
        }
    }
    // The agent is gone, and nobody hears what its calls come to.
    Ok(())
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
    async fn pass(self: Arc<Self>, mut message: Value) {
        if message["method"] == "tools/call"
            && let Some(params) = message["params"].as_object_mut()
            && let Some(meta) = params.entry("_meta").or_insert_with(|| json!({})).as_object_mut()
        {
            meta.entry(CALL_ID).or_insert_with(|| uuid::Uuid::new_v4().simple().to_string().into());
        }
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

impl From<holdpoint_client::McpError> for Trouble {
    fn from(error: holdpoint_client::McpError) -> Self {
        Self { words: error.to_string(), passes: error.may_pass() }
    }
}

/// An agent's token, made with this machine's own rights and kept for the next time: it can ask and never answer.
async fn own_token(common: &Common) -> Result<String, Failure> {
    let places = Places::new(common.dir.as_deref())?;
    places.make()?;
    let config = Config::load(common, &places)?;
    let journal = holdpoint_store::open(&config.store).await?;
    let token = match places.read_mcp_token() {
        Some(token) => {
            holdpoint_server::register_token(
                journal.as_ref(),
                &token,
                &config.owner,
                Role::Agent,
                NAME,
                None,
            )
            .await?;
            token
        }
        None => {
            let token =
                holdpoint_server::issue_token(journal.as_ref(), &config.owner, Role::Agent, NAME, None)
                    .await?;
            places.write_mcp_token(&token)?;
            token
        }
    };
    journal.close().await;
    Ok(token)
}
