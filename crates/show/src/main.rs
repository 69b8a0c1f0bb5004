//! Shows what Holdstead promises, on the real thing. Each show can fail, and prints its figure last.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a show is there to be read")]

mod answer_latency;
mod attention;
mod audit;
mod boxes;
mod bypass;
mod cable;
mod claude;
mod claude_asks;
mod claude_park;
mod claude_recovery;
mod client;
mod closed;
mod connect;
mod database;
mod demo;
mod dice;
mod doors;
mod fanout;
mod faults;
mod first_answer;
mod gateway_process;
mod growth;
mod hook_cost;
mod kill;
mod latency;
mod mcp;
mod parked;
mod policy_lines;
mod policy_speed;
mod processes;
mod reconnect;
mod responses;
mod restore;
mod retention;
mod revoke;
mod routes;
mod rules;
mod runner;
mod runner_process;
mod scale;
mod scenes;
mod stalls;
mod terminal;
mod throughput;
mod traces;
mod waiting;

use std::process::ExitCode;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

/// Fails the show with these words unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($words)+).into());
        }
    };
}
pub(crate) use ensure;

#[tokio::main]
async fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let shown = match name.as_str() {
        "demo" => demo::show().await,
        "attention" => attention::show(),
        "audit" => audit::show().await,
        "first-answer" => first_answer::show().await,
        "revoke" => revoke::show().await,
        "rules" => rules::show().await,
        "runner" => runner::show().await,
        "routes" => routes::show().await,
        "growth" => growth::show().await,
        // Not a show: what `web/shows/desk.mjs` looks for something in.
        "fill-decisions" => growth::fill().await,
        "kill" => kill::show().await,
        "faults" => faults::show().await,
        "rolling" | "upgrade" => faults::rolling().await,
        "failover" => faults::failover::show().await,
        "traces" => traces::show().await,
        "restore" => restore::show().await,
        "retention" => retention::show().await,
        "reconnect" => reconnect::show().await,
        "doors" => doors::show().await,
        "fanout" => fanout::show().await,
        "answer-latency" => answer_latency::show().await,
        "stalls" => stalls::show().await,
        "connect" => connect::show().await,
        "hook-cost" => hook_cost::show().await,
        "terminal" => terminal::show().await,
        "throughput" => throughput::show().await,
        "throughput-on-slow-disk" => throughput::show_on_slow_disk().await,
        "claude-park" => claude_park::show().await,
        "claude-recovery" => claude_recovery::show().await,
        "mcp" => mcp::show().await,
        "claude-asks" => claude_asks::show().await,
        "boxes" => boxes::show().await,
        "bypass" => bypass::show(),
        "policy-speed" => policy_speed::show(),
        "scale" => scale::show(),
        "costs" => scale::measure::show().await,
        "closed" => closed::show().await,
        _ => {
            eprintln!("usage: holdstead-show NAME; `just show` lists the names");
            return ExitCode::from(2);
        }
    };
    match shown {
        Ok(figure) => {
            println!("show-{name}: {figure}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("show-{name}: FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}
