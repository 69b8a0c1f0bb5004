//! How nodes hint to each other in a show: through the database, or through a NATS server of the show's own.

use std::fmt;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HintsBy {
    Notify,
    Nats,
}

impl fmt::Display for HintsBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Notify => "NOTIFY",
            Self::Nats => "NATS",
        })
    }
}

/// On loopback, on a port of its own choice.
#[derive(Debug)]
pub(super) struct NatsServer {
    process: Child,
    pub(super) address: SocketAddr,
}

impl NatsServer {
    pub(super) async fn start() -> Result<Self> {
        let folder = TempDir::new()?;
        let mut command = Command::new("nats-server");
        command.args(["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"]).arg(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let process = command.spawn().map_err(|error| {
            format!("nats-server did not start ({error}): install it, as with `apt-get install nats-server`")
        })?;
        for _ in 0..200 {
            sleep(Duration::from_millis(20)).await;
            if let Some(address) = said(&folder)? {
                return Ok(Self { process, address });
            }
        }
        Err("nats-server did not say where it listens".into())
    }

    pub(super) async fn kill(mut self) -> Result<()> {
        Ok(self.process.kill().await?)
    }

    /// As somebody would who may write to it.
    pub(super) async fn tell(&self, subject: &str, texts: &[String]) -> Result<()> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(b"CONNECT {\"verbose\":false}\r\n").await?;
        for text in texts {
            stream.write_all(format!("PUB {subject} {}\r\n{text}\r\n", text.len()).as_bytes()).await?;
        }
        // It has read all of it when it answers.
        stream.write_all(b"PING\r\n").await?;
        let mut heard = Vec::new();
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&heard).contains("PONG") {
            match stream.read(&mut buffer).await? {
                0 => return Err("NATS hung up".into()),
                count => heard.extend_from_slice(&buffer[..count]),
            }
        }
        Ok(())
    }
}

/// Where it listens, once it has written that down.
fn said(folder: &TempDir) -> Result<Option<SocketAddr>> {
    for file in std::fs::read_dir(folder.path())? {
        let Ok(ports) = serde_json::from_str::<Value>(&std::fs::read_to_string(file?.path())?) else {
            continue;
        };
        if let Some(url) = ports["nats"][0].as_str() {
            return Ok(Some(url.trim_start_matches("nats://").parse()?));
        }
    }
    Ok(None)
}
