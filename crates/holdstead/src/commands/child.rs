//! A gateway that runs as a process of this command's, and ends with it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use super::io;
use crate::failure::Failure;

/// The gateway's process.
pub(super) struct Gateway {
    pub(super) child: Child,
    /// While it is open, the gateway runs. Waiting for the child must not close it.
    _input: ChildStdin,
    pub(super) url: String,
    pub(super) pid: u32,
}

#[derive(Deserialize)]
struct Announced {
    url: String,
    pid: u32,
}

/// Starts the gateway and waits until it listens.
pub(super) async fn start(
    dir: Option<&Path>,
    store: Option<&str>,
    listen: SocketAddr,
) -> Result<Gateway, Failure> {
    let program = std::env::current_exe().map_err(io("find this program"))?;
    let mut command = Command::new(program);
    command.arg("serve").arg("--json").arg("--listen").arg(listen.to_string());
    if let Some(dir) = dir {
        command.arg("--dir").arg(dir);
    }
    if let Some(store) = store {
        command.arg("--store").arg(store);
    }
    // It ends with us, however we end: its input is ours.
    let mut child = command
        .arg("--until-stdin-ends")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(io("start the gateway"))?;
    let input = child.stdin.take().ok_or_else(|| Failure::Strange("the gateway has no input".to_owned()))?;
    let stdout =
        child.stdout.take().ok_or_else(|| Failure::Strange("the gateway has no output".to_owned()))?;
    let mut lines = BufReader::new(stdout).lines();
    let line = lines.next_line().await.map_err(io("hear from the gateway"))?;
    let line =
        line.ok_or_else(|| Failure::Strange("the gateway did not start; its words are above".to_owned()))?;
    let announced: Announced = serde_json::from_str(&line)
        .map_err(|error| Failure::Strange(format!("the gateway said `{line}`: {error}")))?;
    Ok(Gateway { child, _input: input, url: announced.url, pid: announced.pid })
}
