//! A client that loses its connection again and again has seen every event exactly once.

use std::time::{Duration, Instant};

use holdstead_client::{Http, Socket};
use holdstead_protocol::transport::{InteractionMode, Transport};
use holdstead_protocol::{EventBody, Seq, SessionId};

use crate::gateway_process::GatewayProcess;
use crate::{Result, ensure};

/// How many connections each client uses, and how many events flow meanwhile.
const CONNECTIONS: u64 = 1_000;
const EVENTS: u64 = 50_000;
/// A tool call without a person makes four events.
const CALLS: u64 = EVENTS / 4;
/// How long nothing may come while events flow.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Sse,
    WebSocket,
}

pub(crate) async fn show() -> Result<String> {
    let gateway = GatewayProcess::serve(None).await?;
    let person = gateway.person()?;
    let token = gateway.own_token()?;
    let session = person.open_session().await?.session_id;
    person.say(&session.to_string(), &format!("repeat {CALLS}\ntool Read {{\"n\":1}} => ok\nend")).await?;
    let begin = Instant::now();
    let follow = |kind| follow(kind, gateway.url.clone(), token.clone(), session);
    let (sse, socket) = tokio::try_join!(follow(Kind::Sse), follow(Kind::WebSocket))?;
    let journal = person.journal(&session.to_string()).await?;
    let mut figures = Vec::new();
    for (name, seen) in [("SSE", sse), ("WebSocket", socket)] {
        ensure!(seen.seqs.len() == journal.len(), "{name}: {} of {} events", seen.seqs.len(), journal.len());
        let in_order = seen.seqs.iter().zip(1..).all(|(seq, wanted)| *seq == wanted);
        ensure!(in_order, "{name}: an event is missing, doubled or out of order");
        ensure!(seen.connections >= CONNECTIONS, "{name}: only {} connections", seen.connections);
        figures.push(format!("{} over {name} on {} connections", seen.seqs.len(), seen.connections));
    }
    ensure!(journal.len() as u64 >= EVENTS, "only {} events flowed", journal.len());
    println!("took {:.1} s", begin.elapsed().as_secs_f64());
    gateway.stop().await?;
    Ok(format!("every event seen exactly once: {}", figures.join(", ")))
}

struct Seen {
    seqs: Vec<u64>,
    connections: u64,
}

/// Reads a little, drops the connection, and comes back with its cursor, until the turn is done.
async fn follow(kind: Kind, url: String, token: String, session: SessionId) -> Result<Seen> {
    let mut connections = 0;
    let mut seqs: Vec<u64> = Vec::new();
    let mut done = false;
    while !done {
        let client: Box<dyn Transport> = match kind {
            Kind::Sse => Box::new(Http::new(url.clone(), token.clone())),
            Kind::WebSocket => Box::new(Socket::connect(&url, &token, InteractionMode::On).await?),
        };
        connections += 1;
        let mut feed = client.subscribe(session, Seq(seqs.last().copied().unwrap_or(0))).await?;
        // Uneven portions, so that connections break at every kind of place.
        let portion = 1 + (connections * 37) % (2 * EVENTS / CONNECTIONS - 1);
        for _ in 0..portion {
            let next = tokio::time::timeout(PATIENCE, feed.next()).await;
            let Some(event) = next.map_err(|_| "no event came for a minute")?? else { break };
            seqs.push(event.seq.0);
            if let EventBody::Done(_) = event.body {
                done = true;
                break;
            }
        }
    }
    Ok(Seen { seqs, connections })
}
