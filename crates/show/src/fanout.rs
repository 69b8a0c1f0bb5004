//! Many who only watch: what each costs while nothing happens, and how fast all are told when something does.
//!
//! Telling a thousand is compared with a bare loop that writes the same bytes to a thousand sockets, in the same run and with
//! the same readers.

mod bare;
mod readers;

use std::time::{Duration, Instant, SystemTime};

use futures_util::future::try_join_all;
use holdstead_protocol::api::Interaction;
use serde_json::json;
use uuid::Uuid;

use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::latency::Latencies;
use crate::processes;
use crate::{Result, ensure};
use bare::Bare;
use readers::Readers;

const IDLE: usize = 10_000;
/// One token has a bounded number of streams, and of requests a second.
const TOKENS: usize = 8;
const IDLE_GOAL: u64 = 20 * 1024;
const IDLE_LIMIT: u64 = 35 * 1024;

const WATCHERS: usize = 1_000;
/// How many events come at once, and how often. A reader may lag 64 behind before it reads from the journal.
const BURST: usize = 32;
const BURSTS: usize = 12;
/// How many come alone, for the time until the last one has it.
const SINGLES: usize = 100;
const GOAL: f64 = 0.8;
const LIMIT: f64 = 0.5;

pub(crate) async fn show() -> Result<String> {
    let per_client = idle().await?;
    let ratio = told().await?;
    let figure = format!(
        "an idle stream {:.1} KB (goal {}, limit {}); {WATCHERS} watchers {ratio:.2} of a bare loop (goal {GOAL}, limit {LIMIT})",
        per_client as f64 / 1024.0,
        IDLE_GOAL / 1024,
        IDLE_LIMIT / 1024
    );
    ensure!(per_client <= IDLE_LIMIT && ratio >= LIMIT, "beyond a limit: {figure}");
    Ok(figure)
}

/// By how many bytes the gateway grows for each stream that is open and silent.
async fn idle() -> Result<u64> {
    let gateway = GatewayProcess::serve(None).await?;
    let pid = gateway.pid().ok_or("the gateway is gone")?;
    let watched = Watched::new(&gateway).await?;
    // What the first ones bring about is not of the clients' cost.
    let first = watched.open(100).await?;
    let before = processes::memory(pid)?;
    let clients = watched.open(IDLE).await?;
    let after = processes::memory(pid)?;
    let per_client = after.saturating_sub(before) / IDLE as u64;
    println!(
        "{IDLE} idle streams: memory from {} to {} KB, {} bytes each",
        before / 1024,
        after / 1024,
        per_client
    );
    drop((first, clients));
    gateway.stop().await?;
    Ok(per_client)
}

/// Our speed in parts of the bare loop's.
async fn told() -> Result<f64> {
    let gateway = GatewayProcess::serve(None).await?;
    let watched = Watched::new(&gateway).await?;
    let mut readers = watched.open(WATCHERS).await?;
    // The first shows what the bytes of an event are.
    watched.ask(1).await?;
    let chunk = readers.first_event().await?;
    readers.have(1).await?;
    let bare = Bare::start(WATCHERS)?;
    let mut bare_readers = Readers::connect(bare.address(), WATCHERS, |_| Vec::new()).await?;
    let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
    let mut seen = 1;
    for burst in 0..BURSTS {
        let begin = Instant::now();
        let last = seen + BURST;
        let ((), ()) = tokio::try_join!(watched.ask(BURST), readers.have(last))?;
        ours += begin.elapsed();
        seen = last;
        let begin = Instant::now();
        bare.write(&chunk, BURST)?;
        bare_readers.have((burst + 1) * BURST).await?;
        theirs += begin.elapsed();
    }
    let mut latencies = Latencies::default();
    for _ in 0..SINGLES {
        let asked = watched.ask_one().await?;
        seen += 1;
        readers.have(seen).await?;
        let at = Duration::from_micros(u64::try_from(asked.opened_at.micros()).unwrap_or_default());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        latencies.add(now.saturating_sub(at));
    }
    let per_second = |took: Duration| (WATCHERS * BURST * BURSTS) as f64 / took.as_secs_f64();
    println!("an event is {} bytes on the wire", chunk.len());
    println!(
        "{WATCHERS} watchers, bursts of {BURST}: {:.0} frames/s, a bare loop {:.0}",
        per_second(ours),
        per_second(theirs)
    );
    println!("from an event's time, before its commit, to the last watcher: {latencies}");
    drop((readers, bare_readers));
    gateway.stop().await?;
    Ok(per_second(ours) / per_second(theirs))
}

/// The session of a program that asks, and tokens of those who watch it.
struct Watched {
    address: String,
    session: String,
    tokens: Vec<String>,
    asker: Client,
}

impl Watched {
    async fn new(gateway: &GatewayProcess) -> Result<Self> {
        let mut tokens = Vec::new();
        for number in 0..TOKENS {
            tokens.push(gateway.token(&format!("screens {number}"), TokenFor::Viewer).await?);
        }
        let asker = Client::new(&gateway.url, &gateway.token("program", TokenFor::Guest).await?)?;
        let address = gateway.url.trim_start_matches("http://").to_owned();
        let mut watched = Self { address, session: String::new(), tokens, asker };
        watched.session = watched.ask_one().await?.session_id.to_string();
        Ok(watched)
    }

    /// So many streams, each from now on; returns when all of them are open.
    async fn open(&self, count: usize) -> Result<Readers> {
        let Self { address, session, tokens, .. } = self;
        let now: holdstead_protocol::api::Session =
            self.asker.get(&format!("/v1/sessions/{session}")).await?;
        let request = |number: usize| {
            let (token, after) = (&tokens[number % tokens.len()], now.seq);
            format!(
                "GET /v1/sessions/{session}/events?after={after} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
            )
            .into_bytes()
        };
        let mut readers = Readers::connect(address.parse()?, count, request).await?;
        // The resumption is the first frame of each.
        readers.have(1).await?;
        readers.begin_anew();
        Ok(readers)
    }

    async fn ask_one(&self) -> Result<Interaction> {
        let call = json!({
            "key": Uuid::new_v4().to_string(),
            "toolName": "Bash",
            "kind": "approval",
            "input": { "command": "kubectl --context production rollout restart deployment/shop-api" },
        });
        self.asker.post("/v1/interactions", &call).await
    }

    async fn ask(&self, count: usize) -> Result<()> {
        try_join_all((0..count).map(|_| self.ask_one())).await.map(drop)
    }
}
