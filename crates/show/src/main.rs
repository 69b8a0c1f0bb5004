//! Shows what Holdstead promises, on the real thing. Each show can fail, and prints its figure last.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a show is there to be read")]

mod benchmarks;
mod cable;
mod claims;
mod claude;
mod client;
mod database;
mod dice;
mod fault_tests;
mod gateway_process;
mod latency;
mod policy_lines;
mod processes;
mod relay;
mod responses;
mod runner_process;
mod scenes;
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
        "demo" => claims::demo::show().await,
        "attacks" => claims::attacks::show().await,
        "attention" => benchmarks::attention::show(),
        "audit" => claims::audit::show().await,
        "first-answer" => claims::first_answer::show().await,
        "revoke" => claims::revoke::show().await,
        "rules" => claims::rules::show().await,
        "runner" => fault_tests::runner::show().await,
        "routes" => claims::routes::show().await,
        "growth" => benchmarks::growth::show().await,
        // Not a show: what `web/shows/desk.mjs` looks for something in.
        "fill-decisions" => benchmarks::growth::fill().await,
        "kill" => fault_tests::kill::show().await,
        "faults" => fault_tests::faults::show().await,
        "rolling" | "upgrade" => fault_tests::faults::rolling().await,
        "failover" => fault_tests::faults::failover::show().await,
        "traces" => claims::traces::show().await,
        "restore" => fault_tests::restore::show().await,
        "retention" => claims::retention::show().await,
        "reconnect" => claims::reconnect::show().await,
        "doors" => claims::doors::show().await,
        "starve" => claims::starve::show().await,
        "fanout" => benchmarks::fanout::show().await,
        "answer-latency" => benchmarks::answer_latency::show().await,
        "stalls" => fault_tests::stalls::show().await,
        "stop" => claims::stop::show().await,
        "connect" => claims::connect::show().await,
        "hook-cost" => benchmarks::hook_cost::show().await,
        "terminal" => claims::terminal::show().await,
        "throughput" => benchmarks::throughput::show().await,
        "throughput-on-slow-disk" => benchmarks::throughput::show_on_slow_disk().await,
        "claude-park" => claims::claude_park::show().await,
        "claude-recovery" => fault_tests::claude_recovery::show().await,
        "marks" => claims::marks::show().await,
        "mcp" => claims::mcp::show().await,
        "claude-asks" => claims::claude_asks::show().await,
        "boxes" => claims::boxes::show().await,
        "bypass" => claims::bypass::show(),
        "tables" => claims::tables::show(),
        "policy-speed" => benchmarks::policy_speed::show(),
        "scale" => benchmarks::scale::show(),
        "costs" => benchmarks::scale::measure::show().await,
        "deny" => claims::deny::show().await,
        "closed" => claims::closed::show().await,
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
