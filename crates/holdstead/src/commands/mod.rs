//! One file per command.

mod answer;
mod audit;
mod audit_verify;
mod child;
mod converse;
mod demo;
mod doctor;
mod list;
mod mcp;
mod open;
mod run;
mod serve;
mod token;
mod watch;

use holdstead_client::Http;
use holdstead_gateway::Masks;
use holdstead_protocol::ResponseDraft;
use holdstead_protocol::api::Receipt;
use holdstead_protocol::api::{Interaction, Respond};
use holdstead_protocol::transport::Transport as _;
use serde::Serialize;

use crate::cli::{Command, Common};
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::places::Places;

/// `masks` holds what must not be in the log.
pub(crate) async fn run(common: Common, command: Command, masks: Masks) -> Result<(), Failure> {
    match command {
        Command::Demo(flags) => demo::run(&common, &flags).await,
        Command::Run(flags) => run::run(&common, &flags).await,
        Command::Serve(flags) => serve::run(&common, &flags, masks).await,
        Command::Open { no_open } => open::run(&common, no_open).await,
        Command::Sessions => list::sessions(&common).await,
        Command::Inbox => list::inbox(&common).await,
        Command::Answer(flags) => answer::run(&common, &flags).await,
        Command::Watch { session } => watch::run(&common, session.as_deref()).await,
        Command::Token { role, name, session } => {
            token::run(&common, role.into(), &name, session.as_deref()).await
        }
        Command::Mcp { wait } => mcp::run(&common, wait.as_deref()).await,
        Command::Audit(command) => audit::run(&common, command).await,
        Command::Doctor => doctor::run(&common).await,
        Command::Config => print_config(&common),
        // They run before there is a runtime.
        Command::ScriptedAgent { .. } | Command::AgentHost { .. } => Ok(()),
    }
}

fn print_config(common: &Common) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    Config::load(common, &places)?;
    let table = config::merged(&places)?;
    if common.json {
        return print_json(&table);
    }
    println!("# Your own settings belong in {}", places.config_file().display());
    print!("{table}");
    println!("\n# The defaults, with what each means:\n");
    for line in config::DEFAULTS.lines() {
        println!("# {line}");
    }
    Ok(())
}

fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Strange(error.to_string()))?;
    println!("{text}");
    Ok(())
}

/// The one ask that four digits or a whole id name.
async fn find_ask(client: &Http, id: &str) -> Result<Interaction, Failure> {
    if let Ok(id) = id.parse() {
        return Ok(client.interaction(id).await?);
    }
    let mut found: Vec<_> = client
        .whole_inbox()
        .await?
        .into_iter()
        .filter(|ask| ask.request.interaction_id.to_string().ends_with(id) && !id.is_empty())
        .collect();
    match (found.pop(), found.len()) {
        (Some(ask), 0) => Ok(ask),
        (Some(_), more) => {
            Err(Failure::Usage(format!("{} open asks end in `{id}`: give more digits of one", more + 1)))
        }
        (None, _) => Err(Failure::Usage(format!("No open ask ends in `{id}`. See: holdstead inbox"))),
    }
}

/// Answers with a key of its own.
async fn respond(client: &Http, ask: &Interaction, response: ResponseDraft) -> Result<Receipt, Failure> {
    let body = Respond {
        prompt_id: ask.request.prompt_id,
        idempotency_key: uuid::Uuid::new_v4().to_string(),
        response,
    };
    Ok(client.respond(ask.request.interaction_id, body).await?)
}

fn io(what: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |source| Failure::Io { what: what.to_owned(), source }
}
