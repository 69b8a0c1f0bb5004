//! A thousand clients that never read and an agent that never stops: memory stays bounded, others are served.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use holdstead_protocol::ResponseDraft;
use holdstead_protocol::api::{Interaction, Session};

use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::latency::{Latencies, milliseconds};
use crate::processes::memory;
use crate::{Result, ensure};

const CLIENTS: usize = 1_000;
/// How many answers are timed, quiet and flooded, in rounds that take turns.
const ROUNDS: usize = 3;
const ANSWERS: usize = 200;
/// How many events the agent must have made before the timing begins: more than all buffers on the way to a client hold.
const DEPTH: u64 = 1_500;
/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the gateway may have in memory, with all of it.
const MEMORY_LIMIT: u64 = 512 * 1024 * 1024;
/// How much slower the slowest answers may be.
const SLOWDOWN: f64 = 2.0;
/// The flood: each turn says this much, and then it begins again.
const SCRIPT: &str =
    "repeat 1000000\nsay The quick brown fox jumps over the lazy dog and never gets tired of it.\nend";

pub(crate) async fn show() -> Result<String> {
    let gateway = GatewayProcess::serve(None).await?;
    let person = gateway.person()?;
    let pid = gateway.pid().ok_or("the gateway is gone")?;
    let asker = Client::new(
        &gateway.url,
        &gateway.token("program", TokenFor::Agent(&quiet_session(&person).await?)).await?,
    )?;
    let (mut quiet, mut flooded) = (Latencies::default(), Latencies::default());
    let start = memory(pid)?;
    let mut peak = start;
    for round in 0..ROUNDS {
        answers(&person, &asker, &format!("quiet {round}"), &mut quiet).await?;
        let flood = Flood::begin(&gateway, &person).await?;
        answers(&person, &asker, &format!("flooded {round}"), &mut flooded).await?;
        peak = peak.max(memory(pid)?);
        flood.end(&person).await?;
    }
    let ratio = flooded.p99().as_secs_f64() / quiet.p99().as_secs_f64();
    println!("answers while quiet    {quiet}");
    println!(
        "answers while flooded  {flooded}   ({CLIENTS} clients that never read, 1 agent that never stops)"
    );
    println!("memory at the start {}, at most {}", megabytes(start), megabytes(peak));
    ensure!(peak <= MEMORY_LIMIT, "memory went to {}, over {}", megabytes(peak), megabytes(MEMORY_LIMIT));
    ensure!(
        ratio <= SLOWDOWN,
        "p99 of other sessions' answers went from {} to {}, {ratio:.2} × (wanted: at most {SLOWDOWN} ×)",
        milliseconds(quiet.p99()),
        milliseconds(flooded.p99())
    );
    gateway.stop().await?;
    Ok(format!(
        "memory at most {} (bound {}), p99 of other sessions' answers {ratio:.2} × of the quiet run",
        megabytes(peak),
        megabytes(MEMORY_LIMIT)
    ))
}

async fn quiet_session(person: &Client) -> Result<String> {
    Ok(person.open_session().await?.session_id.to_string())
}

/// Opens asks and times their answers, one after the other.
async fn answers(person: &Client, asker: &Client, name: &str, latencies: &mut Latencies) -> Result<()> {
    for number in 0..ANSWERS {
        let call = json!({
            "key": format!("{name} {number}"), "kind": "approval", "toolName": "deploy", "input": { "number": number },
        });
        let ask: Interaction = asker.post("/v1/interactions", &call).await?;
        let begin = Instant::now();
        person
            .win(&ask, ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None })
            .await?;
        latencies.add(begin.elapsed());
        // The program takes its answer, as programs do.
        let id = ask.request.interaction_id;
        let _taken: Interaction = asker.get(&format!("/v1/interactions/{id}")).await?;
    }
    Ok(())
}

struct Flood {
    session: String,
    /// Open, and never read.
    _clients: Vec<TcpStream>,
}

impl Flood {
    async fn begin(gateway: &GatewayProcess, person: &Client) -> Result<Self> {
        let session = person.open_session().await?.session_id.to_string();
        let token = gateway.token("screens", TokenFor::Viewer).await?;
        let address = gateway.url.trim_start_matches("http://").to_owned();
        let mut clients = Vec::with_capacity(CLIENTS);
        for _ in 0..CLIENTS {
            let mut client = TcpStream::connect(&address).await?;
            let request = format!(
                "GET /v1/sessions/{session}/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
            );
            client.write_all(request.as_bytes()).await?;
            clients.push(client);
        }
        person.say(&session, SCRIPT).await?;
        let begin = Instant::now();
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now: Session = person.get(&format!("/v1/sessions/{session}")).await?;
            if now.seq.0 >= DEPTH {
                let took = begin.elapsed().as_secs_f64();
                println!("the flood is {} events deep after {took:.1} s, and the timing begins", now.seq);
                return Ok(Self { session, _clients: clients });
            }
            ensure!(begin.elapsed() < PATIENCE, "only {} events came: that is no flood", now.seq);
        }
    }

    async fn end(self, person: &Client) -> Result<()> {
        let path = format!("/v1/sessions/{}/interrupt", self.session);
        let _stopped: serde_json::Value = person.post(&path, &json!({})).await?;
        drop(self._clients);
        // The agent must have flooded to the end, and what it said is written.
        tokio::time::sleep(Duration::from_secs(2)).await;
        Ok(())
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes / 1024 / 1024)
}
