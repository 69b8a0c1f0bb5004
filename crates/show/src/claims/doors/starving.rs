//! The four ways in which one caller starved the others.

use std::time::{Duration, Instant};

use holdstead_protocol::api::{Interaction, InteractionPage};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::{Doors, PATIENCE};
use crate::latency::milliseconds;
use crate::processes;
use crate::responses::DENY;
use crate::{Result, ensure};

const HALF_SENT: usize = 1_100;
/// How long anybody else's answer may take meanwhile.
const SLOWEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 2 });
const FORMS: usize = 30;
const LARGE_ASKS: usize = 210;
const STREAMS: usize = 8;
/// What the gateway may have in memory with all of that.
const MEMORY: u64 = 512;
/// What one load of an inbox may take.
const LARGEST_PAGE: usize = 4 * 1024 * 1024;
const MANY: usize = 230;

pub(super) async fn all(doors: &Doors) -> Result<()> {
    large_forms(doors).await?;
    half_sent(doors).await?;
    large_asks(doors).await?;
    many_asks(doors).await
}

/// Half-sent heads, without a token: nobody else is kept out.
async fn half_sent(doors: &Doors) -> Result<()> {
    let mut open = Vec::with_capacity(HALF_SENT);
    for _ in 0..HALF_SENT {
        let mut stream = TcpStream::connect(&doors.address).await?;
        stream.write_all(b"GET /v1/me HTTP/1.1\r\nHost: ").await?;
        open.push(stream);
    }
    let mut slowest = Duration::ZERO;
    for n in 0..20 {
        let begin = Instant::now();
        // A connection of its own, as a newcomer has.
        let newcomer = doors.gateway.person()?;
        let ask = doors.ask(&format!("half-sent {n}")).await?;
        newcomer.win(&ask, DENY).await?;
        slowest = slowest.max(begin.elapsed());
    }
    println!(
        "{HALF_SENT} half-sent heads at {} files: a newcomer's ask and answer took {} at most (limit {})",
        super::FILES,
        milliseconds(slowest),
        milliseconds(SLOWEST)
    );
    ensure!(slowest <= SLOWEST, "newcomers were kept out");
    Ok(())
}

/// Forms of 34,000 options: refused in words, and the writer has not even seen them.
async fn large_forms(doors: &Doors) -> Result<()> {
    let options: Vec<_> = (0..34_000).map(|n| json!({"value": n.to_string(), "label": "x"})).collect();
    let form = json!({"fields": [{"id": "f", "label": "F", "type": "select", "options": options}]});
    let sending = (0..FORMS).map(|n| {
        let call = json!({"key": format!("form {n}"), "toolName": "t", "kind": "form", "form": form});
        doors.send("POST", "/v1/interactions", &doors.agent, call.to_string().into_bytes())
    });
    let sending = futures_util::future::join_all(sending);
    let denying = async {
        let mut slowest = Duration::ZERO;
        for n in 0..20 {
            let ask = doors.ask(&format!("beside forms {n}")).await?;
            let begin = Instant::now();
            doors.person.win(&ask, DENY).await?;
            slowest = slowest.max(begin.elapsed());
        }
        Ok::<_, crate::Error>(slowest)
    };
    let (answers, slowest) = tokio::join!(sending, denying);
    for answer in answers {
        let (status, words) = answer?;
        ensure!((400..500).contains(&status), "a form of 34,000 options got {status}: {words}");
    }
    let slowest = slowest?;
    println!(
        "{FORMS} forms of 34,000 options: all refused in words; a Deny beside them took {} at most (limit {})",
        milliseconds(slowest),
        milliseconds(SLOWEST)
    );
    ensure!(slowest <= SLOWEST, "a Deny waited for the forms");
    Ok(())
}

/// Asks of a megabyte: as many as the quota lets in, a list that is short all the same, and streams nobody reads.
async fn large_asks(doors: &Doors) -> Result<()> {
    let text = "x".repeat(900_000);
    let mut taken = 0;
    let mut refused = String::new();
    for n in 0..LARGE_ASKS {
        let call = json!({"key": format!("large {n}"), "toolName": "t", "kind": "approval", "input": {"text": text}});
        let (status, words) =
            doors.send("POST", "/v1/interactions", &doors.agent, call.to_string().into_bytes()).await?;
        match status {
            201 => taken += 1,
            400..500 => refused = words,
            _ => return Err(format!("a large ask got {status}: {words}").into()),
        }
    }
    ensure!(taken > 0 && !refused.is_empty(), "{taken} of {LARGE_ASKS} large asks were taken, none refused");
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = TcpStream::connect(&doors.address).await?;
        let head = format!(
            "GET /v1/interactions/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
            doors.address, doors.person_token
        );
        stream.write_all(head.as_bytes()).await?;
        streams.push(stream);
    }
    let begin = Instant::now();
    let (status, page) =
        doors.send("GET", "/v1/interactions?limit=200", &doors.person_token, Vec::new()).await?;
    let took = begin.elapsed();
    let held = processes::memory(doors.gateway.pid().ok_or("the gateway is gone")?)? / 1024 / 1024;
    println!(
        "{LARGE_ASKS} asks of 0.9 MB: {taken} taken, the others told: {}",
        serde_json::from_str::<Value>(&refused)?["detail"].as_str().unwrap_or(&refused)
    );
    println!(
        "the inbox with them: {} KB in {} (limits {} KB, {}); memory with {STREAMS} unread streams {held} MB (limit {MEMORY} MB)",
        page.len() / 1024,
        milliseconds(took),
        LARGEST_PAGE / 1024,
        milliseconds(PATIENCE)
    );
    ensure!(
        status == 200 && page.len() <= LARGEST_PAGE && took <= PATIENCE,
        "the inbox is too large or too slow"
    );
    ensure!(held <= MEMORY, "memory went to {held} MB");
    Ok(())
}

/// More open asks than a snapshot holds: pages lead to every one of them.
async fn many_asks(doors: &Doors) -> Result<()> {
    for n in 0..MANY {
        doors.ask(&format!("many {n}")).await?;
    }
    let last: Interaction = doors.ask("the other agent's").await?;
    let mut seen = 0;
    let mut found = false;
    let mut after = String::new();
    loop {
        let page: InteractionPage = doors.person.get(&format!("/v1/interactions?limit=200{after}")).await?;
        seen += page.interactions.len();
        found |=
            page.interactions.iter().any(|ask| ask.request.interaction_id == last.request.interaction_id);
        match page.next {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    println!(
        "{seen} open asks: pages lead to all of them, the newest agent's {}",
        if found { "too" } else { "NOT" }
    );
    ensure!(found && seen > MANY, "an ask is missing from the inbox");
    Ok(())
}
