//! How long an answer takes from the person to the agent, beside the two commits that make it durable.
//!
//! On SQLite one gateway does everything. On PostgreSQL there are three: the first runs the agent, people answer on the
//! first and on the second in turns, and screens are open on the first and on the third. This is measured with hints by
//! NOTIFY and with hints by NATS.
//!
//! The ratio to two bare commits is recorded only: `docs/performance.md` says what limits it. What gates is the price of
//! several nodes, beside the same on one of them in the same run.

mod commits;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holdstead_client::Http;
use holdstead_protocol::api::Respond;
use holdstead_protocol::transport::{EventFeed, Transport as _};
use holdstead_protocol::{Event, EventBody, InteractionRequest, Seq, SessionId};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::client::approve;
use crate::database::{Database, Kind};
use crate::gateway_process::{Environment, GatewayProcess};
use crate::latency::{Latencies, milliseconds};
use crate::{Result, ensure};
use commits::Commits;

/// On each node that people answer on.
const ANSWERS: usize = 400;
/// Not counted: caches fill, connections open.
const FIRST: usize = 50;
/// How much longer an answer may take by way of another node.
const LIMIT: f64 = 2.0;
const PATIENCE: Duration = Duration::from_secs(30);
/// A person does not answer while the agent still speaks.
const PAUSE: Duration = Duration::from_millis(5);

/// The first of each pair is on the node that runs the agent. The second is on another node, and empty if there is none.
#[derive(Default)]
struct Measured {
    /// From the person's POST to the agent's input.
    answers: [Latencies; 2],
    /// From the time when an event was decided until a screen has it. The commit is in both.
    screens: [Latencies; 2],
    two_commits: Latencies,
}

pub(crate) async fn show() -> Result<String> {
    let nats = std::env::var("HOLDSTEAD_TEST_NATS")
        .map_err(|_| "HOLDSTEAD_TEST_NATS is not set: `just show-answer-latency` starts a NATS server")?;
    let by_nats = Environment::With(vec![("HOLDSTEAD_CLUSTER_NOTIFY_URL", nats)]);
    let (mut figures, mut beyond) = (Vec::new(), Vec::new());
    for (name, kind, environment) in [
        ("SQLite", Kind::Sqlite, Environment::Ours),
        ("PostgreSQL, hints by NOTIFY", Kind::Postgres, Environment::Ours),
        ("PostgreSQL, hints by NATS", Kind::Postgres, by_nats),
    ] {
        let database = Database::new(kind).await?;
        let mut nodes = vec![GatewayProcess::serve_on(&database.url(), environment).await?];
        if kind == Kind::Postgres {
            nodes.push(nodes[0].beside().await?);
            nodes.push(nodes[0].beside().await?);
        }
        let measured = measure(&database, &nodes).await?;
        for node in nodes.into_iter().rev() {
            node.stop().await?;
        }
        database.remove().await?;
        figures.push(format!("{name}: {}", measured.figure(name)));
        beyond.extend(measured.beyond().map(|what| format!("{what} ({name})")));
    }
    let figure = figures.join("; ");
    ensure!(beyond.is_empty(), "{}: {figure}", beyond.join(", "));
    Ok(figure)
}

impl Measured {
    fn has_several_nodes(&self) -> bool {
        !self.answers[1].is_empty()
    }

    /// How much longer an answer takes by way of another node.
    fn by_another_node(&self) -> f64 {
        self.answers[1].ratio_to(&self.answers[0])
    }

    /// How late a screen on another node may be.
    fn allowed(&self) -> Duration {
        self.screens[0].p99() + self.two_commits.p99()
    }

    /// Prints what was measured.
    fn figure(&self, name: &str) -> String {
        println!("{name}");
        for (what, took) in [
            ("answer to the agent's input, all on one node", &self.answers[0]),
            ("the same, the person on another node", &self.answers[1]),
            ("event to a screen on the same node", &self.screens[0]),
            ("event to a screen on another node", &self.screens[1]),
            ("two bare commits of the same bytes", &self.two_commits),
        ] {
            if !took.is_empty() {
                println!("  {what:<46} {took}");
            }
        }
        let ratio = self.answers[0].ratio_to(&self.two_commits);
        let one = format!("p50 {}, {ratio:.2} times two bare commits", milliseconds(self.answers[0].p50()));
        if !self.has_several_nodes() {
            return one;
        }
        format!(
            "{one}, {:.2} times as long by way of another node (limit {LIMIT}), event to a screen there p99 {} ({} allowed)",
            self.by_another_node(),
            milliseconds(self.screens[1].p99()),
            milliseconds(self.allowed()),
        )
    }

    fn beyond(&self) -> Option<&'static str> {
        if self.has_several_nodes() && self.by_another_node() > LIMIT {
            Some("an answer takes too long by way of another node")
        } else if self.has_several_nodes() && self.screens[1].p99() > self.allowed() {
            Some("a screen on another node is too late")
        } else {
            None
        }
    }
}

async fn measure(database: &Database, nodes: &[GatewayProcess]) -> Result<Measured> {
    let person = nodes[0].person()?;
    let session = person.open_session().await?.session_id;
    let clients = nodes.iter().map(GatewayProcess::http).collect::<Result<Vec<Http>>>()?;
    let answering = &clients[..clients.len().min(2)];
    let mut near = Screen::open(&clients[0], session).await?;
    let mut far = match clients.get(2) {
        Some(client) => Some(Screen::open(client, session).await?),
        None => None,
    };
    let rounds = FIRST + answering.len() * ANSWERS;
    let script = format!("repeat {rounds}\napprove [timed] Bash {{\"command\": \"make release\"}}\nend");
    person.say(&session.to_string(), &script).await?;
    let mut bare = None;
    let mut measured = Measured::default();
    for round in 0..rounds {
        let (request, asked, near_at) = near.next(asked).await?;
        let far_at = match &mut far {
            Some(far) => Some(far.next(|event| (event.seq == asked.seq).then_some(())).await?.2),
            None => None,
        };
        sleep(PAUSE).await;
        // One after the other, in turns: what else the machine does slows both down alike.
        let two_commits = match &mut bare {
            // There is no answer yet whose bytes could be counted.
            None if round == 0 => Duration::ZERO,
            None => bare.insert(Commits::like(database).await?).two().await?,
            Some(bare) => bare.two().await?,
        };
        sleep(PAUSE).await;
        let place = round % answering.len();
        let respond = Respond {
            prompt_id: request.prompt_id,
            idempotency_key: Uuid::new_v4().to_string(),
            response: approve(),
        };
        let sent = now()?;
        answering[place].respond(request.interaction_id, respond).await?;
        let came = Duration::from_micros(near.next(came_at).await?.0);
        ensure!(came >= sent, "the answer came before it was sent: the clock was set");
        if round >= FIRST {
            measured.answers[place].add(came - sent);
            measured.two_commits.add(two_commits);
            let decided = Duration::from_micros(u64::try_from(asked.at.micros())?);
            for (screen, at) in measured.screens.iter_mut().zip([Some(near_at), far_at]) {
                at.into_iter().for_each(|at| screen.add(at.saturating_sub(decided)));
            }
        }
    }
    if let Some(bare) = bare {
        bare.remove().await?;
    }
    Ok(measured)
}

/// A stream of the session's events, and when each of them came.
struct Screen(mpsc::UnboundedReceiver<(Event, Duration)>);

impl Screen {
    async fn open(client: &Http, session: SessionId) -> Result<Self> {
        let mut feed: Box<dyn EventFeed> = client.subscribe(session, Seq::START).await?;
        let (sender, events) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let (Ok(Some(event)), Ok(at)) = (feed.next().await, now()) {
                if sender.send((event, at)).is_err() {
                    return;
                }
            }
        });
        Ok(Self(events))
    }

    /// Reads on until an event says what is wanted.
    async fn next<T>(&mut self, wanted: impl Fn(&Event) -> Option<T>) -> Result<(T, Event, Duration)> {
        loop {
            let next = timeout(PATIENCE, self.0.recv()).await.map_err(|_| "no event came for 30 s")?;
            let (event, at) = next.ok_or("the stream ended")?;
            if let Some(found) = wanted(&event) {
                return Ok((found, event, at));
            }
        }
    }
}

fn asked(event: &Event) -> Option<InteractionRequest> {
    if let EventBody::InteractionRequest(request) = &event.body { Some((**request).clone()) } else { None }
}

fn came_at(event: &Event) -> Option<u64> {
    let EventBody::ToolResult(result) = &event.body else { return None };
    result.output["cameAtMicros"].as_u64()
}

fn now() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}
