//! Floods by callers of every kind, one after the other, while other callers ask and answer: none of them is starved.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_client::{Browser, requests_to};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout, timeout_at};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use uuid::Uuid;

use crate::client::Client;
use crate::gateway_process::{Environment, GatewayProcess, TokenFor};
use crate::latency::{Latencies, milliseconds};
use crate::responses::DENY;
use crate::{Result, ensure, runner_process};

/// How many files the gateway may have open: the usual limit of a shell.
const FILES: u32 = 1_024;
/// How long each flood lasts, and others are timed under it.
const LASTS: Duration = Duration::from_secs(5);
/// How many connections each flood has.
const FLOODERS: usize = 16;
/// Each waits so long after each request: this machine's processors make the flood as well.
const PAUSE: Duration = Duration::from_millis(2);
const LOG_INS: usize = 3_000;
const TERMINALS: usize = 20_000;
/// What a runner may show at once, and a few for the time that passes.
const SHOWN: usize = 1_010;
/// How long a machine may keep a person who opens a session there waiting.
const MUTE: Duration = Duration::from_secs(15);
/// What others' p99 may be, if it is not twice that of a quiet gateway.
const LIMIT: Duration = Duration::from_millis(50);
/// As the wire of runners has it. The gateway refuses another one, and then this show fails.
const RUNNER_VERSION: u32 = 5;

struct Stage {
    gateway: GatewayProcess,
    address: String,
    person: Client,
    asker: Client,
    /// Whose flood it is, where a good token is needed.
    flooder: String,
    screen: String,
    machine: String,
    mute: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flood {
    LogInBodies,
    Tokens,
    Codes,
    RefusedBodies,
    NestedJson,
    Frames,
    Terminals,
    MuteRunner,
}

impl Flood {
    const fn connections(self) -> usize {
        match self {
            Self::Terminals | Self::MuteRunner => 1,
            Self::LogInBodies
            | Self::Tokens
            | Self::Codes
            | Self::RefusedBodies
            | Self::NestedJson
            | Self::Frames => FLOODERS,
        }
    }
}

const FLOODS: [(Flood, &str); 8] = [
    (Flood::LogInBodies, "3,000 log-ins whose bodies do not come"),
    (Flood::Tokens, "made-up tokens"),
    (Flood::Codes, "made-up codes, signed"),
    (Flood::RefusedBodies, "refused bodies of 900 KB"),
    (Flood::NestedJson, "nested JSON of 900 KB"),
    (Flood::Frames, "small socket frames"),
    (Flood::Terminals, "20,000 terminals shown by a runner"),
    (Flood::MuteRunner, "sessions on a runner that never answers"),
];

pub(crate) async fn show() -> Result<String> {
    let gateway = GatewayProcess::serve_in(Environment::WithFiles(FILES)).await?;
    let address = gateway.url.trim_start_matches("http://").to_owned();
    let stage = Arc::new(Stage {
        person: gateway.person()?,
        asker: Client::new(&gateway.url, &gateway.token("program", TokenFor::Guest).await?)?,
        flooder: gateway.token("flooder", TokenFor::Guest).await?,
        screen: gateway.token("screen", TokenFor::Person).await?,
        machine: gateway.token("machine", TokenFor::Runner).await?,
        mute: gateway.token("mute", TokenFor::Runner).await?,
        address,
        gateway,
    });
    stage.others("warm").await?;
    let quiet = stage.others("quiet").await?;
    let limit = LIMIT.max(quiet.p99() * 2);
    let mut figures = vec![format!("{:<42} {quiet}", "quiet")];
    let mut slow = Vec::new();
    for (flood, name) in FLOODS {
        let mut flooders = JoinSet::new();
        for _ in 0..flood.connections() {
            let stage = Arc::clone(&stage);
            flooders.spawn(async move { stage.flood(flood).await });
        }
        let others = stage.others(name).await?;
        let mut sent = 0;
        while let Some(flooder) = flooders.join_next().await {
            sent += flooder??;
        }
        figures.push(format!("{name:<42} {others} ({sent} sent)"));
        ensure!(sent > 0, "{name}: nothing was sent");
        if others.p99() > limit {
            slow.push(name);
        }
    }
    println!("{}", figures.join("\n"));
    let shown = stage.shown().await?;
    println!("a runner that showed {TERMINALS} terminals has {shown} sessions (limit {SHOWN})");
    println!(
        "limit for the p99 of others: {} (twice that of quiet, or {})",
        milliseconds(limit),
        milliseconds(LIMIT)
    );
    ensure!(shown <= SHOWN, "a runner opened {shown} sessions");
    ensure!(slow.is_empty(), "others waited too long under: {}", slow.join(", "));
    Ok(format!("{} floods: p99 of others within {} under each", FLOODS.len(), milliseconds(limit)))
}

impl Stage {
    /// Two who are known ask and answer for as long as a flood lasts, every tenth time over a new connection.
    async fn others(&self, name: &str) -> Result<Latencies> {
        let (begin, mut latencies, mut number) = (Instant::now(), Latencies::default(), 0);
        let (mut asker, mut person) = (self.asker.with_own_connection()?, self.person.with_own_connection()?);
        while begin.elapsed() < LASTS {
            if number % 10 == 0 {
                (asker, person) = (self.asker.with_own_connection()?, self.person.with_own_connection()?);
            }
            let call = json!({"key": format!("{name} {number}"), "kind": "approval", "toolName": "deploy", "input": {}});
            let asked = Instant::now();
            let ask = asker.post("/v1/interactions", &call).await?;
            latencies.add(asked.elapsed());
            let answered = Instant::now();
            person.win(&ask, DENY).await?;
            latencies.add(answered.elapsed());
            number += 1;
            sleep(PAUSE).await;
        }
        Ok(latencies)
    }

    /// How much this flooder sent. That it is refused or cut off is as it should be.
    async fn flood(&self, flood: Flood) -> Result<usize> {
        let end = Instant::now() + LASTS;
        match flood {
            Flood::LogInBodies => self.half_log_ins(end).await,
            Flood::Tokens => {
                let http = requests_to(&self.gateway.url).build()?;
                refused_until(end, || http.get(self.url("/v1/me")).bearer_auth(made_up()).send()).await
            }
            Flood::Codes => {
                let browser = Browser::new(&self.gateway.url);
                let log_in = || {
                    let (browser, code) = (browser.clone(), json!({"code": made_up()}));
                    async move { browser.send(Method::POST, "/v1/login", Some(&code)).await }
                };
                refused_until(end, log_in).await
            }
            Flood::RefusedBodies => self.bodies(end, "x".repeat(900_000)).await,
            Flood::NestedJson => {
                let nested = format!("{}{},", "[".repeat(60), "]".repeat(60)).repeat(7_400);
                self.bodies(end, format!("{{\"input\":[{nested}1]}}")).await
            }
            Flood::Frames => self.frames(end).await,
            Flood::Terminals => self.terminals(end).await,
            Flood::MuteRunner => self.open_on_mute().await,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.gateway.url)
    }

    async fn half_log_ins(&self, end: Instant) -> Result<usize> {
        // Signed, so that the gateway waits for the body: the first answer brings the nonce.
        let (browser, code) = (Browser::new(&self.gateway.url), json!({"code": made_up()}));
        browser.send(Method::POST, "/v1/login", Some(&code)).await?;
        let signature = browser.sign("POST", "/v1/login", &[]);
        let head = format!(
            "POST /v1/login HTTP/1.1\r\nHost: {}\r\nAuthorization: {signature}\r\nContent-Type: application/json\r\n\
             Content-Length: 4000\r\n\r\n{{",
            self.address
        );
        let mut open = Vec::new();
        while open.len() < LOG_INS / FLOODERS && Instant::now() < end {
            let mut stream = TcpStream::connect(self.address.as_str()).await?;
            // One that was turned away was sent as well.
            drop(stream.write_all(head.as_bytes()).await);
            open.push(stream);
            sleep(PAUSE).await;
        }
        sleep_until(end.into()).await;
        Ok(open.len())
    }

    async fn bodies(&self, end: Instant, body: String) -> Result<usize> {
        let http = requests_to(&self.gateway.url).build()?;
        let send = || {
            let request = http.post(self.url("/v1/interactions")).bearer_auth(&self.flooder);
            request.header("content-type", "application/json").body(body.clone()).send()
        };
        refused_until(end, send).await
    }

    async fn socket(&self, path: &str, token: &str) -> Result<WebSocketStream<MaybeTlsStream<TcpStream>>> {
        let mut request = format!("ws://{}{path}", self.address).into_client_request()?;
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse()?);
        Ok(tokio_tungstenite::connect_async(request).await?.0)
    }

    async fn frames(&self, end: Instant) -> Result<usize> {
        let (mut send, mut heard) = self.socket("/v1/ws", &self.screen).await?.split();
        let frame = json!({"type": "session", "id": 1, "session": Uuid::now_v7()}).to_string();
        let sending = async {
            let mut sent = 0;
            while let Ok(Ok(())) = timeout_at(end.into(), send.send(Message::text(frame.clone()))).await {
                sent += 1;
            }
            sent
        };
        let hearing = async { while let Ok(Some(Ok(_))) = timeout_at(end.into(), heard.next()).await {} };
        Ok(tokio::join!(sending, hearing).0)
    }

    /// A runner that says it is there.
    async fn runner(&self, token: &str) -> Result<WebSocketStream<MaybeTlsStream<TcpStream>>> {
        let mut socket = self.socket("/v1/runner", token).await?;
        let agents = json!([{"name": "scripted", "installed": true}, {"name": "claude", "installed": true}]);
        let hello =
            json!({"type": "hello", "version": RUNNER_VERSION, "instance": Uuid::new_v4(), "agents": agents});
        for frame in [hello, json!({"type": "ready"})] {
            socket.send(Message::text(frame.to_string())).await?;
        }
        Ok(socket)
    }

    async fn terminals(&self, end: Instant) -> Result<usize> {
        let mut socket = self.runner(&self.machine).await?;
        let mut sent = 0;
        while sent < TERMINALS {
            let name = Uuid::new_v4();
            let shown = json!({"type": "appeared", "agent": "claude", "agentRef": name, "cwd": "/"});
            match timeout_at(end.into(), socket.send(Message::text(shown.to_string()))).await {
                Ok(written) => written?,
                Err(_) => break,
            }
            sent += 1;
        }
        // It stays, so that what it showed is taken up.
        sleep_until(end.into()).await;
        Ok(sent)
    }

    /// A machine that lives and answers nothing: a person who opens a session there is told in time.
    async fn open_on_mute(&self) -> Result<usize> {
        let mut socket = self.runner(&self.mute).await?;
        let living = async {
            while socket.send(Message::text(json!({"type": "alive"}).to_string())).await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        };
        let opening = async {
            runner_process::connected(&self.person, &["mute"]).await?;
            let open = json!({"agent": "scripted", "cwd": "/tmp", "runner": "mute"});
            let opened = (0..FLOODERS).map(|_| timeout(MUTE, self.person.status_of("/v1/sessions", &open)));
            for status in futures_util::future::join_all(opened).await {
                let status = status.map_err(|_| "a runner that never answers was waited for")??;
                ensure!(status == 503, "a session on a runner that never answers got {status}");
            }
            Ok(FLOODERS)
        };
        tokio::select! {
            () = living => Err("the mute runner was let go".into()),
            opened = opening => opened,
        }
    }

    /// How many sessions there are of what the machine showed.
    async fn shown(&self) -> Result<usize> {
        let (mut count, mut before) = (0, String::new());
        loop {
            let page: Value = self.person.get(&format!("/v1/sessions?limit=200{before}")).await?;
            let sessions = page["sessions"].as_array().ok_or("no list of sessions")?;
            count += sessions.iter().filter(|session| session["agent"] == "claude").count();
            let Some(next) = page["next"].as_str() else { return Ok(count) };
            before = format!("&before={next}");
        }
    }
}

fn made_up() -> String {
    format!("hs_{}", Uuid::new_v4().simple())
}

/// Sends until then, and fails if any of it is taken.
async fn refused_until<F>(end: Instant, send: impl Fn() -> F) -> Result<usize>
where
    F: Future<Output = reqwest::Result<Response>>,
{
    let mut sent = 0;
    while Instant::now() < end {
        // A connection that is cut off is refused as well.
        if let Ok(Ok(answer)) = timeout_at(end.into(), send()).await {
            ensure!(answer.status().is_client_error(), "what is to be refused got {}", answer.status());
        }
        sent += 1;
        sleep(PAUSE).await;
    }
    Ok(sent)
}
