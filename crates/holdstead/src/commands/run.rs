//! Start an agent in this folder, and talk with it.
//!
//! The agent runs under the gateway of this folder, which is started in the background if none runs: it goes on when this
//! terminal is left. Asks are answered here as well as in the page.

use std::io::IsTerminal as _;

use holdstead_agents::find_program;
use holdstead_client::Http;
use holdstead_gateway::{OWN, hosted};
use holdstead_protocol::api::{OpenSession, SendMessage};
use holdstead_protocol::transport::Transport as _;
use holdstead_protocol::{Refusal, SessionId};
use serde_json::json;

use super::serve::{boxes, drivers, host};
use super::{attach, background, io, open, print_json};
use crate::cli::{Common, RunFlags};
use crate::config::Config;
use crate::connect::page;
use crate::failure::Failure;
use crate::places::Places;
use crate::terminal::talk::From;
use crate::text::safe_line;

pub(super) async fn run(common: &Common, flags: &RunFlags) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let found = background::find(common).await?;
    let started = found.is_none();
    let client = match found {
        Some(client) => {
            check_installed(&client, flags, common.url.is_none()).await?;
            client
        }
        None => {
            // Before a gateway is started for it.
            check_here(&places, &Config::load(common, &places)?, flags)?;
            background::start(common, &places).await?
        }
    };
    // This folder is on the machine that we are on: the gateway's own, unless a gateway elsewhere is meant.
    let here = || if common.url.is_some() { places.runner_name() } else { Some(OWN.to_owned()) };
    let session = begin(&client, flags, flags.runner.clone().or_else(here)).await?;
    let page = page(common)?;
    let link = match &page {
        Some(page) => Some(open::link_to(&client, page, session).await?),
        None => None,
    };
    if common.json {
        return print_json(&json!({ "url": page, "session": session, "link": link }));
    }
    let back = background::again(common, &format!("attach {}", session.short()));
    println!(
        "{} works in this folder. Esc stops a turn, Ctrl-C leaves it running; come back: {back}",
        safe_line(&flags.agent)
    );
    if let Some(link) = &link {
        println!("In a browser (this link works once): {link}");
    }
    if started {
        println!(
            "A gateway runs in the background now, until nothing is open for an hour, or: {}",
            background::again(common, "stop")
        );
        println!("What it has to say is in {}", places.log_file().display());
    }
    if let Some(link) = link.filter(|_| !flags.no_open) {
        open::browse(&link);
    }
    // Without a terminal nobody is here to be asked, and the agent needs nothing of us.
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(());
    }
    attach::talk(common, client, places, session, From::Start).await
}

/// An agent that is not there would be waited for in vain.
async fn check_installed(client: &Http, flags: &RunFlags, here: bool) -> Result<(), Failure> {
    if let Some(program) = &flags.program {
        return match find_program(program) {
            None if here => Err(no_program(program)),
            None | Some(_) => Ok(()),
        };
    }
    let agents = client.agents().await?.agents;
    match agents.into_iter().find(|agent| agent.name == flags.agent).and_then(|agent| agent.missing) {
        Some(words) => Err(Failure::NotDone(words)),
        None => Ok(()),
    }
}

/// The same, where no gateway runs that could be asked.
fn check_here(places: &Places, config: &Config, flags: &RunFlags) -> Result<(), Failure> {
    let drivers = drivers(places, config, host(boxes(places, config))?, places.gateway_folders())?;
    let driver =
        hosted(&drivers, &flags.agent).map_err(|error| Failure::Refused(Box::new(Refusal::from(&error))))?;
    if let Some(program) = &flags.program {
        return find_program(program).map(drop).ok_or_else(|| no_program(program));
    }
    match driver.program().filter(|program| program.find().is_none()) {
        Some(program) => Err(Failure::NotDone(program.missing())),
        None => Ok(()),
    }
}

fn no_program(program: &str) -> Failure {
    Failure::NotDone(format!("`{program}` is no program that can be run here."))
}

async fn begin(client: &Http, flags: &RunFlags, runner: Option<String>) -> Result<SessionId, Failure> {
    let folder = std::env::current_dir().map_err(io("find this folder"))?;
    let open = OpenSession {
        cwd: Some(folder.to_string_lossy().into_owned()),
        permission_mode: flags.mode.into(),
        model: flags.model.clone(),
        system_prompt: flags.system_prompt.clone(),
        max_turns: flags.max_turns,
        allowed_tools: flags.allowed_tools.clone(),
        program: flags.program.clone(),
        runner,
        ..OpenSession::new(flags.agent.clone())
    };
    let session = client.open_session(open).await?.session_id;
    if let Some(prompt) = &flags.prompt {
        client.message(session, SendMessage::new(prompt.clone())).await?;
    }
    Ok(session)
}
