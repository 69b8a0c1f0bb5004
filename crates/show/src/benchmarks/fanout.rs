//! Streams: what each costs while nothing happens, how fast all are told when something does, and whether clients that
//! never read slow down others.
//!
//! Telling a thousand is compared with a bare loop that writes the same bytes to a thousand sockets, in the same run and
//! with the same readers.

mod bare;
mod flood;
mod readers;

use std::time::{Duration, Instant, SystemTime};

use futures_util::future::try_join_all;
use holdstead_protocol::api::Session;

use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::latency::Latencies;
use crate::{Result, ensure};
use bare::Bare;
use readers::Readers;

const IDLE: usize = 10_000;
/// One token has a bounded number of streams, and of requests a second.
const TOKENS: usize = 8;
/// Bytes of the gateway's memory for an idle stream, and with all of the flood.
const IDLE_LIMIT: u64 = 35 * 1024;
const MEMORY_LIMIT: u64 = 512 * 1024 * 1024;

const WATCHERS: usize = 1_000;
/// How many events come at once, and how often. A reader may lag 64 behind before it reads from the journal.
const BURST: usize = 32;
const BURSTS: usize = 12;
/// How many come alone, for the time until the last watcher has each of them.
const SINGLES: usize = 100;
/// Of the bare loop's speed.
const LIMIT: f64 = 0.5;
/// How much slower answers may be for others while the flood lasts.
const SLOWDOWN: f64 = 2.0;

pub(crate) async fn show() -> Result<String> {
    let per_stream = idle().await?;
    let ratio = told().await?;
    let flooded = flood::measure().await?;
    let figure = format!(
        "an idle stream {:.1} KB (limit {}); {WATCHERS} watchers {ratio:.2} of a bare loop (limit {LIMIT}); clients that never \
         read: memory at most {} MB (limit {}), others' answers p99 {:.2} times the quiet ones (limit {SLOWDOWN})",
        per_stream as f64 / 1024.0,
        IDLE_LIMIT / 1024,
        flooded.memory / (1024 * 1024),
        MEMORY_LIMIT / (1024 * 1024),
        flooded.slowdown,
    );
    let within = per_stream <= IDLE_LIMIT && ratio >= LIMIT;
    let bounded = flooded.memory <= MEMORY_LIMIT && flooded.slowdown <= SLOWDOWN;
    ensure!(within && bounded, "beyond a limit: {figure}");
    Ok(figure)
}

/// By how many bytes the gateway grows for each stream that is open and silent.
async fn idle() -> Result<u64> {
    let gateway = GatewayProcess::serve(None).await?;
    let watched = Watched::new(&gateway).await?;
    // What only the first streams need is not counted.
    let first = watched.open(100).await?;
    let before = gateway.memory()?;
    let streams = watched.open(IDLE).await?;
    let per_stream = gateway.memory()?.saturating_sub(before) / IDLE as u64;
    drop((first, streams));
    gateway.stop().await?;
    Ok(per_stream)
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
    let mut bare_readers = Readers::connect(bare.address, WATCHERS, |_| Vec::new()).await?;
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
        let asked = watched.asker.ask().await?;
        seen += 1;
        readers.have(seen).await?;
        let at = Duration::from_micros(u64::try_from(asked.opened_at.micros()).unwrap_or_default());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        latencies.add(now.saturating_sub(at));
    }
    let per_second = |took: Duration| (WATCHERS * BURST * BURSTS) as f64 / took.as_secs_f64();
    println!(
        "bursts of {BURST} events: {:.0} frames/s, a bare loop {:.0}; one event to the last watcher, with its commit: {latencies}",
        per_second(ours),
        per_second(theirs)
    );
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
        watched.session = watched.asker.ask().await?.session_id.to_string();
        Ok(watched)
    }

    /// So many streams, each from now on; returns when all of them are open.
    async fn open(&self, count: usize) -> Result<Readers> {
        let Self { address, session, tokens, .. } = self;
        let now: Session = self.asker.get(&format!("/v1/sessions/{session}")).await?;
        let request =
            |number: usize| stream_request(address, session, now.seq.0, &tokens[number % tokens.len()]);
        let mut readers = Readers::connect(address.parse()?, count, request).await?;
        // The resumption is the first frame of each.
        readers.have(1).await?;
        readers.begin_anew();
        Ok(readers)
    }

    async fn ask(&self, count: usize) -> Result<()> {
        try_join_all((0..count).map(|_| self.asker.ask())).await.map(drop)
    }
}

/// The bytes of a request for a session's events.
fn stream_request(address: &str, session: &str, after: u64, token: &str) -> Vec<u8> {
    let line = format!("GET /v1/sessions/{session}/events?after={after} HTTP/1.1");
    format!("{line}\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n").into_bytes()
}
