//! Programs that take the gateway's place and wait for the terminal's token (N12).

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::process::Command;
use tokio::time::timeout;

use super::{Attempts, Outcome};
use crate::Result;
use crate::gateway_process::{GatewayProcess, program};

const TOPIC: &str = "terminal-token";
const COMMANDS: [&[&str]; 7] = [
    &["inbox"],
    &["sessions"],
    &["rules"],
    &["pair", "--json"],
    &["open", "--no-open"],
    &["runners"],
    &["doctor"],
];
const PATIENCE: Duration = Duration::from_secs(10);
/// It looks like an answer to any of the commands.
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 37\r\n\r\n\
                        {\"interactions\":[],\"sessions\":[]}    ";

/// A program in the gateway's place, and what it was sent.
struct Squatter(Arc<Mutex<Vec<u8>>>);

impl Squatter {
    async fn at_port(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(listen(stream, Arc::clone(&keeps)));
            }
        });
        Ok(Self(heard))
    }

    fn at_socket(path: &Path) -> Result<Self> {
        let listener = UnixListener::bind(path)?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(listen(stream, Arc::clone(&keeps)));
            }
        });
        Ok(Self(heard))
    }

    /// Whether it was sent this token since the last look.
    fn outcome(&self, token: &str) -> Outcome {
        let heard = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        match String::from_utf8_lossy(&heard).contains(token) {
            true => Outcome::Succeeded("the token was sent".to_owned()),
            false => Outcome::Held(format!("{} bytes were sent, and no token", heard.len())),
        }
    }
}

async fn listen(mut stream: impl AsyncRead + AsyncWrite + Unpin, heard: Arc<Mutex<Vec<u8>>>) {
    let mut bytes = [0; 8192];
    // A client that sends nothing is let go.
    let Ok(Ok(read)) = timeout(Duration::from_secs(1), stream.read(&mut bytes)).await else { return };
    heard.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&bytes[..read]);
    drop(stream.write_all(ANSWER).await);
}

/// Runs a command as its person does. Whether it succeeds says nothing.
async fn typed(dir: &Path, args: &[&str], token: Option<&str>) -> Result<()> {
    let mut command = Command::new(program()?);
    command.args(args).arg("--dir").arg(dir).env_remove("HOLDSTEAD_TOKEN").env_remove("HOLDSTEAD_URL");
    if let Some(token) = token {
        command.env("HOLDSTEAD_TOKEN", token);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // What `mcp` passes on. The other commands do not read it.
        drop(input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n").await);
    }
    drop(timeout(PATIENCE, child.wait()).await);
    Ok(())
}

pub(super) async fn play(attempts: &mut Attempts) -> Result<()> {
    for ended in ["stopped", "killed"] {
        let mut gateway = GatewayProcess::serve(None).await?;
        let (token, folder) = (gateway.own_token()?, gateway.folder().to_owned());
        let address: SocketAddr = gateway.url.trim_start_matches("http://").parse()?;
        if ended == "killed" {
            gateway.kill_now().await?
        } else {
            gateway.stop_for_now().await?
        }
        // As people have it who always start their gateway there.
        std::fs::write(folder.join("config.toml"), format!("listen = \"{address}\"\n"))?;
        let squatter = Squatter::at_port(address).await?;
        for args in COMMANDS {
            let seen = typed(&folder, args, None).await.map(|()| squatter.outcome(&token));
            attempts.record(TOPIC, &format!("`{}`, with the gateway {ended}", args[0]), seen);
        }
    }
    named(attempts).await
}

/// Where a person names the gateway, and their token, themselves.
async fn named(attempts: &mut Attempts) -> Result<()> {
    let (folder, project) = (TempDir::new()?, TempDir::new()?);
    let token = "hs_0123456789abcdef0123456789abcdef";
    let free = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let squatter = Squatter::at_port(free).await?;
    for (name, url) in [
        ("an address of this machine", format!("http://{free}")),
        ("localhost", format!("http://localhost:{}", free.port())),
        ("an address behind a name and a password", format!("http://localhost:4780@{free}")),
    ] {
        for args in [&["inbox"][..], &["mcp"]] {
            let args = [args, &["--url", &url]].concat();
            let seen = typed(folder.path(), &args, Some(token)).await.map(|()| squatter.outcome(token));
            attempts.record(TOPIC, &format!("`{}` with a token for {name}", args[0]), seen);
        }
    }
    let socket = project.path().join("elsewhere.sock");
    let squatter = Squatter::at_socket(&socket)?;
    let url = format!("unix:{}", socket.display());
    let seen = typed(folder.path(), &["inbox", "--url", &url], Some(token)).await;
    attempts.record(TOPIC, "a socket in a project", seen.map(|()| squatter.outcome(token)));
    Ok(())
}
