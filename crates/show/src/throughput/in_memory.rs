//! A gateway that keeps everything in memory, for scale: nothing in it is durable, checked or told to a screen.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::Result;
use crate::client::Client;

const LASTING: Duration = Duration::from_secs(5);
const SOURCE: &str = include_str!("in_memory.mjs");

/// Prints what it does. Where there is no Node, it says so.
pub(super) async fn print(callers: usize) -> Result<()> {
    let mut node = Command::new("node");
    node.args(["--input-type=module", "-e", SOURCE]);
    let node = node.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn();
    let Ok(mut node) = node else {
        println!("\nin memory: there is no Node here");
        return Ok(());
    };
    let stdout = node.stdout.take().ok_or("Node has no output")?;
    let url = BufReader::new(stdout).lines().next_line().await?.ok_or("Node did not say where it listens")?;
    let begin = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..callers {
        let client = Client::new(&url, "none")?;
        running.spawn(async move {
            let mut cycles = 0_u32;
            while begin.elapsed() < LASTING {
                let ask: Value =
                    client.post("/v1/interactions", &json!({ "input": { "command": "make" } })).await?;
                let id = ask["id"].as_str().unwrap_or_default().to_owned();
                let respond = format!("/v1/interactions/{id}/respond");
                let _receipt: Value = client.post(&respond, &json!({ "action": "approve" })).await?;
                let _settled: Value = client.get(&format!("/v1/interactions/{id}?wait=10")).await?;
                cycles += 1;
            }
            Ok::<_, crate::Error>(cycles)
        });
    }
    let mut cycles = 0;
    while let Some(ended) = running.join_next().await {
        cycles += ended??;
    }
    let per_second = f64::from(cycles) / begin.elapsed().as_secs_f64();
    println!("\nin memory, in Node, nothing durable: {per_second:.0} cycles/s at {callers} callers");
    Ok(node.kill().await?)
}
