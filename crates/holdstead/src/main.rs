//! The binary: starts the gateway, and is the terminal's way to it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints")]

mod answer_flags;
mod checkpoints;
mod cli;
mod commands;
mod config;
mod connect;
mod failure;
mod listed;
mod log;
mod own_person;
mod places;
mod rule_file;
mod stop_report;
mod store;
mod terminal;
mod text;
mod traces;
mod words;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Command};
use failure::Failure;
use holdstead_gateway::Masks;

/// A gateway makes and drops many small values on several threads; the system's allocator took a sixth of its CPU.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

const OVERVIEW: &str = "\
Agents stop here and wait for you.
  demo            try it: no keys, no account
  run claude      talk with Claude Code in this folder; Ctrl-C leaves it running
  connect claude  or stay in your own terminal: what it asks is on every screen, too
  attach <id>     come back to a session
  inbox           what waits for you; --watch: on the whole screen
  answer <id>     approve, deny or reply
  open            the page in a browser
  pair            the page on your phone
  rules           what is decided without you
  stop            end the gateway
For a team: people login token runner runners audit trust. Besides: sessions watch serve mcp config doctor backup import
All take --json. More: holdstead help <command>";

fn main() -> ExitCode {
    end_quietly_where_nobody_reads();
    let cli = Cli::parse();
    let Some(command) = cli.command else {
        println!("{OVERVIEW}");
        return ExitCode::SUCCESS;
    };
    // Agents and their hosts are processes of their own, and need no runtime of ours.
    if let Command::ScriptedAgent { args } = command {
        return holdstead_agents::scripted::run(args);
    }
    if let Command::AgentHost { args } = command {
        return holdstead_agents::host::run(args);
    }
    if let Command::Hook(flags) = &command {
        return commands::hook::run(&cli.common, flags);
    }
    let json = cli.common.json;
    match run(cli.common, command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if json {
                let exit_code = failure.exit_code();
                eprintln!("{}", serde_json::json!({ "error": failure.to_string(), "exitCode": exit_code }));
            } else {
                eprintln!("✕ {failure}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// `holdstead inbox | head`: that the reader had enough is no failure.
fn end_quietly_where_nobody_reads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let words = panic.payload_as_str().unwrap_or_default();
        if words.starts_with("failed printing to std") && words.contains("Broken pipe") {
            std::process::exit(0);
        }
        // Else nobody could read the words, and the shell would not echo.
        terminal::keys::restore();
        usual(panic);
    }));
}

/// Tokens and what people say are in our memory and environment: other programs of the same account shall not read them
/// there. It also means that no memory is written to a file when we crash.
fn keep_memory_to_ourselves() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other programs of this account can read the memory of this one");
        }
    }
}

fn run(common: cli::Common, command: Command) -> Result<(), Failure> {
    let masks = Masks::default();
    tracing_subscriber::fmt()
        .with_writer(log::masked(&masks))
        .with_env_filter(
            // A NATS server that is away is told once, by us.
            tracing_subscriber::EnvFilter::try_from_env("HOLDSTEAD_LOG")
                .unwrap_or_else(|_| "warn,async_nats=off".into()),
        )
        .init();
    keep_memory_to_ourselves();
    let runtime =
        tokio::runtime::Runtime::new().map_err(|source| Failure::Io { what: "start".to_owned(), source })?;
    runtime.block_on(commands::run(common, command, masks))
}
