//! Attacks over every door while another program is served: thousands of inputs that are wrong, requests that two readers
//! understand differently, and the four ways in which one caller starved the others.

mod odd;
mod requests;
mod starving;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_client::requests_to;
use holdstead_protocol::AskState;
use holdstead_protocol::api::{Interaction, Session};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use crate::client::{Client, refusal_words};
use crate::dice::Dice;
use crate::gateway_process::{Environment, GatewayProcess, TokenFor};
use crate::latency::{Latencies, milliseconds};
use crate::responses::APPROVE;
use crate::{Result, ensure};

/// How many files the gateway may have open: the usual limit of a shell.
const FILES: u32 = 1_024;
const INPUTS: usize = 2_400;
const ROUNDS: usize = 6;
/// So many at once, with pauses: this is about what is sent, `show-fanout` is about how much.
const SENDERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(20);
/// How long any of them may wait for its answer. A debug build reads a large body many times slower.
const PATIENCE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 25 } else { 5 });
/// How many answers are timed while all is quiet.
const ANSWERS: usize = 400;
const GOAL: f64 = 1.5;
const LIMIT: f64 = 2.0;
/// Differences below this are the machine's, not the gateway's.
const NOISE: Duration = Duration::from_millis(5);

struct Doors {
    gateway: GatewayProcess,
    address: String,
    http: reqwest::Client,
    person: Client,
    person_token: String,
    /// Whoever sends what nobody should.
    agent: String,
    /// Whoever is to be served meanwhile.
    asker: Client,
}

impl Doors {
    async fn open() -> Result<Self> {
        let gateway = GatewayProcess::serve_in(Environment::WithFiles(FILES)).await?;
        let person = gateway.person()?;
        let person_token = gateway.own_token()?;
        let agent = gateway.token("attacker", TokenFor::Guest).await?;
        let asker = Client::new(&gateway.url, &gateway.token("program", TokenFor::Guest).await?)?;
        let http = requests_to(&gateway.url).timeout(PATIENCE).build()?;
        let address = gateway.url.trim_start_matches("http://").to_owned();
        Ok(Self { gateway, address, http, person, person_token, agent, asker })
    }

    /// Opens an ask of the program that is to be served.
    async fn ask(&self, key: &str) -> Result<Interaction> {
        let call = json!({"key": key, "kind": "approval", "toolName": "deploy", "input": {"key": key}});
        self.asker.post("/v1/interactions", &call).await
    }

    async fn send(&self, method: &str, path: &str, token: &str, body: Vec<u8>) -> Result<(u16, String)> {
        let request = self.http.request(method.parse()?, format!("{}{path}", self.gateway.url));
        let request = request.bearer_auth(token).header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let response = request.body(body).send().await?;
        Ok((response.status().as_u16(), response.text().await?))
    }

    /// Fails if the ask was answered.
    async fn still_open(&self, ask: &Interaction) -> Result<()> {
        let now: Interaction =
            self.person.get(&format!("/v1/interactions/{}", ask.request.interaction_id)).await?;
        ensure!(now.state == AskState::Open, "the ask is {:?}", now.state);
        Ok(())
    }

    /// Fails if other accounts of the machine can read a file of the gateway. The show itself made the log.
    fn files_are_private(&self) -> Result<()> {
        for entry in std::fs::read_dir(self.gateway.folder())? {
            let entry = entry?;
            let found = entry.metadata()?;
            let is_private = found.permissions().mode() & 0o077 == 0;
            ensure!(
                is_private || !found.is_file() || entry.file_name() == "log.txt",
                "others can read {}",
                entry.path().display()
            );
        }
        Ok(())
    }

    /// Asks and answers, and how long each answer took.
    async fn answer(&self, name: &str, number: usize, latencies: &mut Latencies) -> Result<()> {
        let ask = self.ask(&format!("{name} {number}")).await?;
        let begin = Instant::now();
        self.person.win(&ask, APPROVE).await?;
        latencies.add(begin.elapsed());
        let _taken: Interaction =
            self.asker.get(&format!("/v1/interactions/{}", ask.request.interaction_id)).await?;
        Ok(())
    }
}

/// What became of the inputs of one door.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    sent: usize,
    /// Told what is wrong.
    refused: usize,
    slowest: Duration,
}

pub(crate) async fn show() -> Result<String> {
    let seed = std::env::args().nth(2).map_or(Ok(20_260), |seed| seed.parse())?;
    println!("--seed {seed}");
    let doors = Doors::open().await?;
    let (mut quiet, mut meanwhile) = (Latencies::default(), Latencies::default());
    let (mut answers, mut sent) = (0, Vec::new());
    // In turns: what else the machine does meets both alike.
    for round in 0..ROUNDS {
        for number in 0..ANSWERS / ROUNDS {
            doors.answer(&format!("quiet {round}"), number, &mut quiet).await?;
        }
        let over = AtomicBool::new(false);
        let answering = async {
            let mut number = 0;
            while !over.load(Ordering::Relaxed) {
                doors.answer(&format!("meanwhile {round}"), number, &mut meanwhile).await?;
                number += 1;
            }
            Ok::<_, crate::Error>(number)
        };
        let sending = async {
            let seeds = (0..SENDERS).map(|sender| seed + (round * SENDERS + sender) as u64);
            let senders = seeds.map(|seed| send_odd(&doors, seed, INPUTS / ROUNDS / SENDERS));
            let sent = futures_util::future::join_all(senders).await;
            over.store(true, Ordering::Relaxed);
            sent.into_iter().collect::<Result<Vec<_>>>()
        };
        let (answered, tallies) = tokio::join!(answering, sending);
        answers += answered?;
        sent.extend(tallies?);
    }
    let mut all = 0;
    for (door, name) in DOORS.iter().enumerate() {
        let tally = sent.iter().fold(Tally::default(), |sum, one| Tally {
            sent: sum.sent + one[door].sent,
            refused: sum.refused + one[door].refused,
            slowest: sum.slowest.max(one[door].slowest),
        });
        all += tally.sent;
        println!(
            "{name:<10} {:>5} inputs, {:>5} told what is wrong, slowest {}",
            tally.sent,
            tally.refused,
            milliseconds(tally.slowest)
        );
    }
    let ratio = meanwhile.p99().as_secs_f64() / quiet.p99().max(NOISE).as_secs_f64();
    println!("answers while quiet {quiet}; meanwhile {meanwhile} ({answers} of them)");
    println!("p99 meanwhile {ratio:.2} × of quiet (goal {GOAL} ×, limit {LIMIT} ×)");
    ensure!(all >= 2_000, "only {all} inputs were sent");
    if cfg!(debug_assertions) {
        println!("(not judged: this is a debug build)");
    } else {
        ensure!(ratio <= LIMIT, "others' answers were {ratio:.2} × slower");
    }

    starving::all(&doors).await?;
    requests::all(&doors).await?;
    doors.files_are_private()?;

    doors.person.ready().await?;
    let log = std::fs::read_to_string(doors.gateway.folder().join("log.txt")).unwrap_or_default();
    let panics = log.matches("panicked").count();
    ensure!(panics == 0, "the gateway panicked {panics} times");
    doors.gateway.stop().await?;
    Ok(format!(
        "{all} odd inputs over {} doors: 0 crashes, 0 unanswered, p99 of others {ratio:.2} × of quiet; 0 confused or smuggled requests through; 4 of 4 ways to starve others held off",
        DOORS.len()
    ))
}

const DOORS: [&str; 5] = ["http", "socket", "mcp", "scripts", "lines"];

async fn send_odd(doors: &Doors, seed: u64, count: usize) -> Result<[Tally; 5]> {
    let mut dice = Dice::new(&seed.to_string(), "odd inputs");
    let mut tallies = [Tally::default(); 5];
    let session = doors.person.open_session().await?.session_id.to_string();
    for number in 0..count {
        // Scripts and lines start a process each: fewer of them.
        let door = *dice.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 4]);
        let begin = Instant::now();
        let trying = async {
            match door {
                0 => http(doors, &mut dice, &session, number).await,
                1 => socket(doors, &mut dice, &session).await,
                2 => mcp(doors, &mut dice, number).await,
                3 => script(doors, &mut dice).await,
                _ => lines(doors, &mut dice).await,
            }
        };
        let refused = match tokio::time::timeout(PATIENCE, trying).await {
            Ok(refused) => {
                refused.map_err(|error| format!("{} (seed {seed}, input {number}): {error}", DOORS[door]))?
            }
            Err(_) => {
                return Err(format!(
                    "{}: no answer in {PATIENCE:?} (seed {seed}, input {number})",
                    DOORS[door]
                )
                .into());
            }
        };
        let tally = &mut tallies[door];
        tally.sent += 1;
        tally.refused += usize::from(refused);
        tally.slowest = tally.slowest.max(begin.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(tallies)
}

/// A request with a body that is wrong. Whatever it is, the answer is no failure of ours.
async fn http(doors: &Doors, dice: &mut Dice, session: &str, number: usize) -> Result<bool> {
    let question = json!({"id": "q", "header": "Q", "question": "Which?", "options": [{"label": "a"}]});
    let ask =
        json!({"key": format!("odd {number}"), "toolName": "t", "kind": "question", "questions": [question]});
    let respond = json!({"promptId": "00000000-0000-7000-8000-000000000000", "idempotencyKey": "k", "action": "approve"});
    let routes = [
        ("/v1/interactions".to_owned(), ask.clone()),
        (format!("/v1/interactions/{session}/respond"), respond),
        (
            "/v1/sessions".to_owned(),
            json!({"agent": "scripted", "title": "odd", "permissionMode": "default"}),
        ),
        (format!("/v1/sessions/{session}/messages"), json!({"text": "\u{0}"})),
        (format!("/api/sessions/{session}/approve"), json!({"toolCallId": "x"})),
        (format!("/api/sessions/{session}/submit-answers"), json!({"toolCallId": "x", "answers": {}})),
        ("/v1/interaction-mode".to_owned(), json!({"client": "x", "mode": "off"})),
        ("/v1/login".to_owned(), json!({"code": "x"})),
    ];
    let (path, good) = &routes[dice.below(routes.len())];
    let token = *dice.pick(&[&doors.agent, &doors.person_token]);
    let (status, words) = doors.send("POST", path, token, odd::body(dice, good)).await?;
    ensure!(status < 500, "{path} answered {status}: {words}");
    ensure!(
        status < 400 || refusal_words(&words).is_some(),
        "{path} answered {status} without words: {words}"
    );
    Ok(status >= 400)
}

/// A frame that is wrong: an error frame, or a close with a code.
async fn socket(doors: &Doors, dice: &mut Dice, session: &str) -> Result<bool> {
    let mut request = format!("ws://{}/v1/ws", doors.address).into_client_request()?;
    request.headers_mut().insert("authorization", format!("Bearer {}", doors.person_token).parse()?);
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await?;
    let good = json!({"type": "session", "id": 7, "session": session});
    let frame = match dice.below(6) {
        0 => Message::Binary(Bytes::from_static(b"\x00\xff")),
        1 => Message::text(json!({"type": "no_such_frame", "id": 7}).to_string()),
        _ => match String::from_utf8(odd::body(dice, &good)) {
            Ok(text) => Message::text(text),
            Err(_) => Message::text(""),
        },
    };
    // One that is too large may be cut off while it is being sent.
    let _cut_off = socket.send(frame).await;
    let mut welcomed = false;
    while let Some(message) = socket.next().await {
        match message {
            Ok(Message::Text(text)) => {
                let said: Value = serde_json::from_str(&text)?;
                if said["type"] == "welcome" && !welcomed {
                    welcomed = true;
                    continue;
                }
                return Ok(said["type"] != "reply");
            }
            Ok(Message::Close(frame)) => {
                ensure!(frame.is_some_and(|frame| !frame.reason.is_empty()), "closed without words");
                return Ok(true);
            }
            Ok(_) => {}
            Err(_) => return Ok(true),
        }
    }
    Err("the socket ended without a word".into())
}

/// A message of MCP that is wrong: an error of the protocol, or a result that says what is wrong.
async fn mcp(doors: &Doors, dice: &mut Dice, number: usize) -> Result<bool> {
    let tool = *dice.pick(&["ask_user", "request_approval", "show_form", "await_answer", "no_such_tool"]);
    let arguments = odd::value(dice, 3);
    let good = json!({
        "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments},
    });
    let body = if dice.below(2) == 0 { good.to_string().into_bytes() } else { odd::body(dice, &good) };
    let (status, words) = doors.send("POST", "/mcp?wait=0s", &doors.agent, body).await?;
    ensure!(status < 500, "/mcp answered {status}: {words}");
    ensure!(status >= 400 || status == 202 || !words.is_empty(), "/mcp answered {status} without words");
    Ok(status >= 400 || words.contains("\"error\"") || words.contains("\"isError\":true"))
}

/// A script that is none: the turn ends with words, and nothing is asked that cannot be shown.
async fn script(doors: &Doors, dice: &mut Dice) -> Result<bool> {
    let session = doors.person.open_session().await?.session_id.to_string();
    let script = odd::script(dice);
    let (status, words) = doors
        .send(
            "POST",
            &format!("/v1/sessions/{session}/messages"),
            &doors.person_token,
            json!({"text": script}).to_string().into_bytes(),
        )
        .await?;
    if status >= 400 {
        ensure!(status < 500 && refusal_words(&words).is_some(), "a script got {status}: {words}");
        return Ok(true);
    }
    ended(doors, &session)
        .await
        .map_err(|error| format!("{error}: {}", script.chars().take(80).collect::<String>()).into())
}

/// An agent's program that says what no agent says: the turn ends with words or with an ask that can be shown.
async fn lines(doors: &Doors, dice: &mut Dice) -> Result<bool> {
    let folder = tempfile::TempDir::new()?;
    let program = folder.path().join("program");
    std::fs::write(folder.path().join("lines"), odd::lines(dice))?;
    std::fs::write(&program, "#!/bin/sh\nread -r first\nexec cat lines -\n")?;
    std::fs::set_permissions(&program, Permissions::from_mode(0o700))?;
    let open = json!({"agent": "claude", "cwd": folder.path(), "program": program});
    let session: Session = doors.person.post("/v1/sessions", &open).await?;
    let session = session.session_id.to_string();
    let said: Value =
        doors.person.post(&format!("/v1/sessions/{session}/messages"), &json!({"text": "Go."})).await?;
    ended(doors, &session).await.map_err(|error| format!("{error}: {said}").into())
}

/// Waits until the agent's turn is over or somebody is asked, and ends the session. Whether there were words of what
/// went wrong.
async fn ended(doors: &Doors, session: &str) -> Result<bool> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let events = doors.person.journal(session).await?;
        let said = |kind: &str| events.iter().any(|event| event.body.event_type().as_str() == kind);
        if said("error") || said("done") || said("interaction_request") {
            doors.person.tell(reqwest::Method::DELETE, &format!("/v1/sessions/{session}")).await?;
            return Ok(said("error"));
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Err("nothing came of it".into())
}
