//! Clients that never read, and an agent that never stops: memory stays bounded, and others are served.

use std::time::Instant;

use holdstead_protocol::api::{Interaction, Session};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::stream_request;
use crate::Result;
use crate::client::{Client, approve};
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::latency::Latencies;
use crate::waiting::until;

const CLIENTS: usize = 1_000;
/// Quiet and flooded rounds take turns. In each of them so many answers are timed.
const ROUNDS: usize = 3;
const ANSWERS: usize = 200;
/// So many events the agent has made when the timing begins: more than all buffers on the way to a client hold.
const DEPTH: u64 = 1_500;
const SCRIPT: &str =
    "repeat 1000000\nsay The quick brown fox jumps over the lazy dog and never gets tired of it.\nend";

/// What the flood did to the gateway.
pub(super) struct Flooded {
    /// The most that the gateway had in memory, in bytes.
    pub(super) memory: u64,
    /// p99 of other sessions' answers, in parts of that in the quiet rounds.
    pub(super) slowdown: f64,
}

pub(super) async fn measure() -> Result<Flooded> {
    let gateway = GatewayProcess::serve(None).await?;
    let person = gateway.person()?;
    let asker = Client::new(&gateway.url, &gateway.token("program", TokenFor::Guest).await?)?;
    let (mut quiet, mut flooded) = (Latencies::default(), Latencies::default());
    let mut memory = 0;
    for _ in 0..ROUNDS {
        answers(&person, &asker, &mut quiet).await?;
        let (session, clients) = begin(&gateway, &person).await?;
        answers(&person, &asker, &mut flooded).await?;
        memory = memory.max(gateway.memory()?);
        let _stopped: serde_json::Value =
            person.post(&format!("/v1/sessions/{session}/interrupt"), &json!({})).await?;
        drop(clients);
        person.done(&session).await?;
    }
    println!(
        "answers while quiet {quiet}; with {CLIENTS} clients that never read and a busy agent {flooded}"
    );
    gateway.stop().await?;
    Ok(Flooded { memory, slowdown: flooded.p99().as_secs_f64() / quiet.p99().as_secs_f64() })
}

/// Opens asks and times their answers, one after the other.
async fn answers(person: &Client, asker: &Client, took: &mut Latencies) -> Result<()> {
    for _ in 0..ANSWERS {
        let ask = asker.ask().await?;
        let begin = Instant::now();
        person.win(&ask, approve()).await?;
        took.add(begin.elapsed());
        let _fetched: Interaction =
            asker.get(&format!("/v1/interactions/{}", ask.request.interaction_id)).await?;
    }
    Ok(())
}

/// The session of the agent, and the clients that never read.
async fn begin(gateway: &GatewayProcess, person: &Client) -> Result<(String, Vec<TcpStream>)> {
    let session = person.open_session().await?.session_id.to_string();
    let token = gateway.token("screens", TokenFor::Viewer).await?;
    let address = gateway.url.trim_start_matches("http://");
    let mut clients = Vec::with_capacity(CLIENTS);
    for _ in 0..CLIENTS {
        let mut client = TcpStream::connect(address).await?;
        client.write_all(&stream_request(address, &session, 0, &token)).await?;
        clients.push(client);
    }
    person.say(&session, SCRIPT).await?;
    until("an agent that says much", async || {
        let now: Session = person.get(&format!("/v1/sessions/{session}")).await?;
        Ok((now.seq.0 >= DEPTH).then_some(()))
    })
    .await?;
    Ok((session, clients))
}
