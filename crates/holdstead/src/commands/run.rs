//! Start an agent in this folder.
//!
//! Where a gateway runs already, the session is opened there. Otherwise the gateway runs as long as this command does.
//! Asks are answered here as well as in the page.

use std::io::IsTerminal as _;

use holdstead_agents::find_program;
use holdstead_client::Http;
use holdstead_protocol::SessionId;
use holdstead_protocol::api::OpenSession;
use holdstead_protocol::transport::Transport as _;
use serde_json::json;

use super::child::{self, Gateway};
use super::converse::{Next, Play, converse, keyboard};
use super::serve::wait_for_signal;
use super::{io, open, print_json};
use crate::cli::{Common, RunFlags};
use crate::config::Config;
use crate::connect::connect;
use crate::failure::Failure;
use crate::places::Places;

pub(super) async fn run(common: &Common, flags: &RunFlags) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let config = Config::load(common, &places)?;
    let theirs = connect(common).ok();
    let up = match &theirs {
        Some(client) => client.ready().await.is_ok(),
        None => false,
    };
    let (client, ours) = match theirs.filter(|_| up || common.url.is_some()) {
        Some(client) => (client, None),
        None => {
            let gateway = child::start(common.dir.as_deref(), common.store.as_deref(), config.listen).await?;
            (connect(common)?, Some(gateway))
        }
    };
    check_installed(&client, flags, common.url.is_none()).await?;
    let session = begin(&client, flags).await?;
    let page = format!("{}/sessions/{session}", client.url());
    let link = open::link_to(&client, session).await?;
    if common.json {
        print_json(&json!({ "url": client.url(), "session": session, "link": link }))?;
    } else {
        println!("{} works in this folder. Answer in the page: {page}", flags.agent);
        println!("To log in (works once): {link}");
    }
    if !flags.no_open {
        open::browse(&link);
    }
    let terminal = std::io::stdin().is_terminal() && !common.json;
    match ours {
        // Nobody is here to be asked, and the agent needs nothing of us.
        None if !terminal => Ok(()),
        ours => stay(&client, session, ours, terminal).await,
    }
}

/// An agent that is not there would be waited for in vain.
async fn check_installed(client: &Http, flags: &RunFlags, here: bool) -> Result<(), Failure> {
    if let Some(program) = &flags.program {
        return match find_program(program) {
            None if here => Err(Failure::NotDone(format!("`{program}` is no program that can be run here."))),
            None | Some(_) => Ok(()),
        };
    }
    let agents = client.agents().await?.agents;
    match agents.into_iter().find(|agent| agent.name == flags.agent).and_then(|agent| agent.missing) {
        Some(words) => Err(Failure::NotDone(words)),
        None => Ok(()),
    }
}

async fn begin(client: &Http, flags: &RunFlags) -> Result<SessionId, Failure> {
    let folder = std::env::current_dir().map_err(io("find this folder"))?;
    let open = OpenSession {
        cwd: Some(folder.to_string_lossy().into_owned()),
        permission_mode: flags.mode.into(),
        model: flags.model.clone(),
        system_prompt: flags.system_prompt.clone(),
        max_turns: flags.max_turns,
        allowed_tools: flags.allowed_tools.clone(),
        program: flags.program.clone(),
        ..OpenSession::new(flags.agent.clone())
    };
    let session = client.open_session(open).await?.session_id;
    if let Some(prompt) = &flags.prompt {
        client.message(session, prompt.clone()).await?;
    }
    Ok(session)
}

/// Until the person is done. A gateway of our own ends then.
async fn stay(
    client: &Http,
    session: SessionId,
    mut ours: Option<Gateway>,
    terminal: bool,
) -> Result<(), Failure> {
    let mut keys = terminal.then(keyboard);
    loop {
        let talk = async {
            match keys.as_mut() {
                Some(keys) => converse(client, session, keys, Play::Work).await,
                None => std::future::pending().await,
            }
        };
        let gone = async {
            match ours.as_mut() {
                Some(gateway) => drop(gateway.child.wait().await),
                None => std::future::pending().await,
            }
        };
        let next = tokio::select! {
            () = gone => {
                return Err(Failure::Strange("the gateway went away; its words are above".to_owned()));
            }
            () = wait_for_signal() => Next::Quit,
            next = talk => next?,
        };
        match next {
            Next::Go | Next::Kill => {}
            Next::Quit => {
                return match ours {
                    Some(mut gateway) => gateway.child.kill().await.map_err(io("stop the gateway")),
                    None => Ok(()),
                };
            }
        }
    }
}
