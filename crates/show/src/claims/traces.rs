//! One ask, followed over two nodes and a machine with an agent: its spans reach a collector as one trace, and nothing that was
//! said is in them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdstead_protocol::api::{Interaction, Session};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::client::Client;
use crate::database::{Database, Kind};
use crate::gateway_process::{Environment, GatewayProcess, TokenFor};
use crate::responses::APPROVE;
use crate::{Result, ensure, runner_process};

const MACHINE: &str = "laptop";
const ASKS: usize = 20;
const PLANTED: [&str; 4] = ["swordfish", MACHINE, "scripted", "Bash"];
const STEPS: [&str; 4] = ["ask", "ask.open", "ask.decide", "ask.deliver"];
const PATIENCE: Duration = Duration::from_secs(30);

type Bodies = Arc<Mutex<Vec<Value>>>;

pub(crate) async fn show() -> Result<String> {
    let (collector, bodies) = collect().await?;
    let database = Database::new(Kind::Postgres).await?;
    let environment = Environment::With(vec![("HOLDSTEAD_OTLP_ENDPOINT", collector)]);
    let first = GatewayProcess::serve_on(&database.url(), environment).await?;
    let second = first.beside().await?;
    let folder = TempDir::new()?;
    let token = first.token(MACHINE, TokenFor::Runner).await?;
    let mut runner = runner_process::start(folder.path(), &first.url, &token)?;
    let (asking, answering) = (first.person()?, Client::new(&second.url, &first.own_token()?)?);
    runner_process::connected(&asking, &[MACHINE]).await?;
    let opened: Session =
        asking.post("/v1/sessions", &json!({ "agent": "scripted", "runner": MACHINE })).await?;
    let session = opened.session_id.to_string();
    let calls = (0..ASKS).map(|number| format!("approve Bash {{\"command\":\"echo swordfish {number}\"}}"));
    asking.say(&session, &calls.collect::<Vec<_>>().join("\n")).await?;
    let mut asks = Vec::new();
    for _ in 0..ASKS {
        let ask: Interaction = answering.open_ask(&session, "approval").await?;
        answering.win(&ask, APPROVE).await?;
        asks.push(ask.request.interaction_id);
    }
    asking.done(&session).await?;
    let begin = Instant::now();
    let traces = loop {
        let traces = traces(&bodies)?;
        let whole =
            asks.iter().filter(|ask| traces.get(&ask.uuid().simple().to_string()).is_some_and(is_whole));
        if whole.count() == ASKS {
            break traces;
        }
        ensure!(begin.elapsed() < PATIENCE, "not every ask has its trace: {traces:?}");
        sleep(Duration::from_millis(100)).await;
    };
    for ask in &asks {
        let steps = &traces[&ask.uuid().simple().to_string()];
        let (open, decide) = (&steps["ask.open"], &steps["ask.decide"]);
        ensure!(open.node != decide.node, "{ask} was asked and answered on one node");
        ensure!(steps["ask.deliver"].node == open.node, "{ask} was delivered by another node than asked");
        let root = &steps["ask"];
        for name in &STEPS[1..] {
            let step = &steps[*name];
            ensure!(step.parent == root.id, "{name} of {ask} is no part of it");
            ensure!(step.from <= step.to && step.to <= root.to, "{name} of {ask} is out of its time");
        }
    }
    runner.kill().await?;
    second.stop().await?;
    first.stop().await?;
    let said = format!("{:?}", bodies.lock().unwrap_or_else(PoisonError::into_inner));
    let found: Vec<_> = PLANTED.iter().filter(|word| said.contains(**word)).collect();
    ensure!(found.is_empty(), "traces tell {found:?}");
    database.remove().await?;
    Ok(format!(
        "{ASKS} asks of an agent on a machine of its own, answered on another node: {ASKS} traces of {} spans, each in one piece; \
         0 words that were said",
        STEPS.len()
    ))
}

#[derive(Debug)]
struct Step {
    id: String,
    parent: String,
    node: String,
    from: u128,
    to: u128,
}

type Trace = BTreeMap<String, Step>;

fn is_whole(trace: &Trace) -> bool {
    STEPS.iter().all(|step| trace.contains_key(*step))
}

/// What was collected, by trace and by name.
fn traces(bodies: &Bodies) -> Result<BTreeMap<String, Trace>> {
    let mut traces: BTreeMap<String, Trace> = BTreeMap::new();
    for body in bodies.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let resource = &body["resourceSpans"][0];
        let attributes = resource["resource"]["attributes"].as_array().ok_or("no resource")?;
        let node = attributes.iter().find(|one| one["key"] == "service.instance.id").ok_or("no node")?;
        for span in resource["scopeSpans"][0]["spans"].as_array().ok_or("no spans")? {
            let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
            let step = Step {
                id: text("spanId"),
                parent: text("parentSpanId"),
                node: node["value"]["stringValue"].as_str().unwrap_or_default().to_owned(),
                from: text("startTimeUnixNano").parse()?,
                to: text("endTimeUnixNano").parse()?,
            };
            traces.entry(text("traceId")).or_default().insert(text("name"), step);
        }
    }
    Ok(traces)
}

/// A collector on a free port, which keeps what it is sent.
async fn collect() -> Result<(String, Bodies)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (url, bodies) = (format!("http://{}", listener.local_addr()?), Bodies::default());
    let kept = Arc::clone(&bodies);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(take(stream, Arc::clone(&kept)));
        }
    });
    Ok((url, bodies))
}

/// One request after the other.
async fn take(stream: TcpStream, bodies: Bodies) -> Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        while stream.read_line(&mut line).await? > 0 && line != "\r\n" {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            line.clear();
        }
        if line.is_empty() {
            return Ok(());
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        bodies.lock().unwrap_or_else(PoisonError::into_inner).push(serde_json::from_slice(&body)?);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
            .await?;
    }
}
