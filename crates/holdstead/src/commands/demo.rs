//! Try it: an agent that asks, in a page and in this terminal.
//!
//! The gateway runs as a process of its own, so that it can be killed before your eyes: what was asked is still
//! asked when it comes back.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use holdstead_client::Http;
use holdstead_protocol::SessionId;
use holdstead_protocol::api::{OpenSession, SendMessage};
use holdstead_protocol::transport::Transport as _;
use serde_json::json;
use tempfile::TempDir;

use super::child::{self, Gateway};
use super::serve::{NO_WEB_UI, stop_signal};
use super::{io, open, print_json};
use crate::cli::{Common, DemoFlags};
use crate::failure::Failure;
use crate::places::Places;
use crate::terminal::talk::{From, Leaving, Play, Talk};

pub(super) async fn run(common: &Common, flags: &DemoFlags) -> Result<(), Failure> {
    let temporary = TempDir::new().map_err(io("make a folder for the demo"))?;
    let dir = common.dir.clone().unwrap_or_else(|| temporary.path().to_owned());
    let places = Places::new(Some(&dir))?;
    if common.dir.is_none() && rustix::process::geteuid().is_root() {
        // Its agent is a part of this program, and runs nothing.
        std::fs::write(places.config_file(), "[agents]\nuser = \"root\"\n")
            .map_err(io("write the demo's settings"))?;
    }
    let listen = flags.serve.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
    let gateway = child::start(Some(&dir), common.store.as_deref(), listen).await?;
    let token =
        places.read_token().ok_or_else(|| Failure::Strange("the gateway wrote no token".to_owned()))?;
    let client = Http::at_socket(&places.gateway_socket(), gateway.url.clone(), token).at_terminal();
    let session = begin(&client).await?;
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !common.json;
    if common.json {
        print_json(&json!({ "url": gateway.url, "session": session, "gatewayPid": gateway.pid }))?;
    } else {
        println!("An agent works on shop-api and will ask you things. Answer in the page or right here.");
        if holdstead_server::has_web_ui() {
            let link = open::link(&client, &gateway.url).await?;
            println!("Page (works once): {link}");
            if !flags.no_open {
                open::browse(&link);
            }
        } else {
            println!("{NO_WEB_UI}");
        }
    }
    let talk = match terminal {
        true => {
            println!("Ctrl-K kills the gateway (-9) before your eyes, Ctrl-C ends the demo.");
            Some(Talk::new(client, places, session, Play::Demo, From::Start).await?)
        }
        false => None,
    };
    let supervisor = Supervisor { dir, store: common.store.clone(), gateway, json: common.json };
    supervisor.run(talk).await
}

/// Opens the session the demo is about.
async fn begin(client: &Http) -> Result<SessionId, Failure> {
    let open = OpenSession { title: Some("shop-api".to_owned()), ..OpenSession::new("scripted") };
    let session = client.open_session(open).await?.session_id;
    client.message(session, SendMessage::new("/demo")).await?;
    Ok(session)
}

struct Supervisor {
    dir: PathBuf,
    store: Option<String>,
    gateway: Gateway,
    json: bool,
}

impl Supervisor {
    async fn run(mut self, mut talk: Option<Talk>) -> Result<(), Failure> {
        loop {
            let talking = async {
                match talk.as_mut() {
                    Some(talk) => talk.run().await,
                    None => std::future::pending().await,
                }
            };
            let leaving = tokio::select! {
                _ = self.gateway.child.wait() => Leaving::Kill,
                () = stop_signal() => Leaving::Detached,
                leaving = talking => leaving?,
            };
            match leaving {
                Leaving::Kill | Leaving::Gone => self.revive().await?,
                Leaving::Detached | Leaving::Ended => return self.stop().await,
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
        self.gateway = child::start(Some(&self.dir), self.store.as_deref(), address).await?;
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
        if !self.json {
            println!("Next, in a folder of yours: holdstead run claude");
        }
        self.gateway.child.kill().await.map_err(io("stop the gateway"))
    }
}
