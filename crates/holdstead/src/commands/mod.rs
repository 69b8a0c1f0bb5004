//! One file per command.

mod answer;
mod attach;
mod audit;
mod audit_rounds;
mod audit_verify;
mod background;
mod backup;
mod child;
mod demo;
mod desk;
mod doctor;
mod explain;
pub(crate) mod hook;
mod import;
mod list;
mod login;
mod mcp;
mod open;
mod own_terminals;
mod pair;
mod people;
mod rules;
mod run;
mod runner;
mod serve;
mod simulate;
mod stop;
mod token;
mod trust;
mod watch;

use holdstead_client::Http;
use holdstead_gateway::Masks;
use holdstead_protocol::api::{Interaction, Receipt, Respond, Session, SessionFilter};
use holdstead_protocol::transport::Transport as _;
use holdstead_protocol::{ResponseDraft, SessionId};
use serde::Serialize;

pub(crate) use self::list::now;
use crate::cli::{Command, Common, People, Rules, Runners};
use crate::config::{self, Config};
use crate::connect;
use crate::failure::Failure;
use crate::listed::Listed;
use crate::places::Places;
use crate::text::shortened;
use crate::words;

/// `masks` holds what must not be in the log.
pub(crate) async fn run(common: Common, command: Command, masks: Masks) -> Result<(), Failure> {
    match dispatch(&common, command, masks).await {
        Err(Failure::Refused(refusal)) => Err(Failure::Refused(connect::explain(&common, refusal).await)),
        done => done,
    }
}

async fn dispatch(common: &Common, command: Command, masks: Masks) -> Result<(), Failure> {
    match command {
        Command::Demo(flags) => demo::run(common, &flags).await,
        Command::Run(flags) => run::run(common, &flags).await,
        Command::Attach { session } => attach::run(common, &session).await,
        Command::Stop => stop::run(common).await,
        Command::Runner(flags) => runner::run(common, &flags).await,
        Command::Runners { command } => match command.unwrap_or(Runners::List) {
            Runners::List => list::runners(common).await,
            Runners::Remove { name } => runner::remove(common, &name).await,
        },
        Command::Serve(flags) => serve::run(common, &flags, masks).await,
        Command::Open { no_open } => open::run(common, no_open).await,
        Command::Pair(flags) => pair::run(common, &flags).await,
        Command::Sessions { all } => list::sessions(common, all).await,
        Command::Inbox { watch: true } => desk::run(common).await,
        Command::Inbox { watch: false } => list::inbox(common).await,
        Command::Answer(flags) => answer::run(common, &flags).await,
        Command::Watch { session } => watch::run(common, session.as_deref()).await,
        Command::Token { command: Some(command), .. } => token::run(common, command).await,
        Command::Token { new: Some(new), command: None } => token::make(common, new).await,
        // clap asks for one of the two.
        Command::Token { new: None, command: None } => {
            Err(Failure::Usage("Say what: holdstead help token".to_owned()))
        }
        Command::People { command } => people::run(common, command.unwrap_or(People::List)).await,
        Command::Login { name, no_open } => login::run(common, name.as_deref(), no_open).await,
        Command::Rules { command } => rules::run(common, command.unwrap_or(Rules::List)).await,
        Command::Trust(flags) => trust::run(common, &flags).await,
        Command::Mcp { wait } => mcp::run(common, wait.as_deref()).await,
        Command::Audit(command) => audit::run(common, command).await,
        Command::Backup { file } => backup::run(common, &file).await,
        Command::Import { file } => import::run(common, &file).await,
        Command::Doctor => doctor::run(common).await,
        Command::Config => print_config(common),
        // They run before there is a runtime.
        Command::ScriptedAgent { .. } | Command::AgentHost { .. } | Command::Hook(_) => Ok(()),
        Command::Connect(flags) => own_terminals::run(common, &flags),
        Command::Disconnect(flags) => own_terminals::undo(common, &flags),
    }
}

fn print_config(common: &Common) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    Config::load(common, &places)?;
    let mut table = config::merged(&places)?;
    // A terminal's lines are copied into chats and reports.
    let cluster = table.get_mut("cluster").and_then(toml::Value::as_table_mut);
    let notify_url = cluster.and_then(|cluster| cluster.get_mut("notify_url"));
    if let Some(toml::Value::String(url)) = notify_url {
        *url = holdstead_store::without_secret(url);
    }
    if let Some(toml::Value::String(url)) = table.get_mut("store") {
        *url = holdstead_store::without_secret(url);
    }
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

/// The one session that an id or the end of one names.
async fn find_session(client: &Http, given: &str) -> Result<SessionId, Failure> {
    if let Ok(id) = given.parse() {
        return Ok(id);
    }
    let sessions = client.sessions(SessionFilter::All).await?.sessions;
    let ends = |session: &&Session| !given.is_empty() && session.session_id.to_string().ends_with(given);
    let found: Vec<&Session> = sessions.iter().filter(ends).collect();
    match found.as_slice() {
        [one] => Ok(one.session_id),
        [] => Err(Failure::Usage(format!("No session ends in `{given}`. See: holdstead sessions"))),
        many => Err(Failure::Usage(format!(
            "{} sessions end in `{given}`. Give more of the id of the one you mean: holdstead sessions --json",
            many.len()
        ))),
    }
}

/// The ask that a whole id names, or digits from a list, as this person was shown it.
async fn find_ask(client: &Http, places: &Places, given: &str) -> Result<Interaction, Failure> {
    let listed = Listed::read(places);
    let (id, shown) = match given.parse() {
        Ok(id) => (id, listed.shown(id)),
        Err(_) => {
            let shown = listed.find(given)?;
            (shown.interaction_id, Some(shown))
        }
    };
    let ask = client.interaction(id).await?;
    if shown.is_some_and(|shown| shown.prompt_id != ask.request.prompt_id) {
        return Err(Failure::Changed(format!(
            "It was asked again since you were shown it, so nothing was sent. It now reads: {}. See it whole: holdstead \
             inbox, then holdstead answer {given}",
            shortened(&words::headline(&ask.request), 200)
        )));
    }
    Ok(ask)
}

/// The key of one answer.
pub(crate) fn new_key() -> String {
    uuid::Uuid::new_v4().to_string()
}

pub(crate) async fn respond(
    client: &Http,
    ask: &Interaction,
    response: ResponseDraft,
    idempotency_key: String,
) -> Result<Receipt, Failure> {
    let body = Respond { prompt_id: ask.request.prompt_id, idempotency_key, response };
    Ok(client.respond(ask.request.interaction_id, body).await?)
}

fn io(what: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |source| Failure::Io { what: what.to_owned(), source }
}
