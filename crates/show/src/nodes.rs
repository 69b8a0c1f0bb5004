//! Three gateways on one PostgreSQL: the agent is spoken for by the first, a person answers on the second, a screen is open
//! on the third. Beside it, in turns, the same on one of them. With hints by NOTIFY, and then by NATS.

use std::time::Duration;

use holdstead_client::Http;
use holdstead_protocol::api::Respond;
use holdstead_protocol::transport::{EventFeed, Transport as _};
use holdstead_protocol::{Event, ResponseDraft, Seq, SessionId};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::answer_latency::{Commits, asked, came_at, now};
use crate::database::{Database, Kind};
use crate::gateway_process::{Environment, GatewayProcess};
use crate::latency::{Latencies, milliseconds};
use crate::{Result, ensure};

/// Of each kind.
const ANSWERS: usize = 400;
/// Not counted: caches fill, connections open.
const FIRST: usize = 50;
/// How much longer an answer may take by way of another node: the goal, and where the show fails.
const GOAL: f64 = 1.5;
const LIMIT: f64 = 2.0;
const PATIENCE: Duration = Duration::from_secs(30);
/// A person does not answer while the agent still speaks.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Default)]
struct Measured {
    /// From the person's POST to the agent's input.
    answer_here: Latencies,
    answer_elsewhere: Latencies,
    /// From when an event was decided to when a screen has it: the commit is in both.
    screen_here: Latencies,
    screen_elsewhere: Latencies,
    two_commits: Latencies,
}

pub(crate) async fn show() -> Result<String> {
    let nats = std::env::var("HOLDSTEAD_TEST_NATS")
        .map_err(|_| "HOLDSTEAD_TEST_NATS is not set: run `just show-nodes`, which starts a NATS server")?;
    println!("{:<64}{:>12}{:>12}", format!("{ANSWERS} answers each, scripted agent"), "p50", "p99");
    let (mut figures, mut beyond) = (Vec::new(), Vec::new());
    for (by, environment) in
        [("NOTIFY", Environment::Ours), ("NATS", Environment::With(vec![("HOLDSTEAD_HINTS", nats)]))]
    {
        let database = Database::new(Kind::Postgres).await?;
        let first = GatewayProcess::serve_on(&database.url(), environment).await?;
        let second = first.beside().await?;
        let third = first.beside().await?;
        let measured = measure(&database, [&first, &second, &third]).await?;
        for gateway in [third, second, first] {
            gateway.stop().await?;
        }
        database.remove().await?;
        figures.push(measured.figure(by));
        beyond.extend(measured.beyond(by));
    }
    let figure = format!("{}; goal {GOAL}, limit {LIMIT}", figures.join("; "));
    ensure!(beyond.is_empty(), "{}: {figure}", beyond.join(", "));
    Ok(figure)
}

impl Measured {
    fn ratio(&self) -> f64 {
        self.answer_elsewhere.p50().as_secs_f64() / self.answer_here.p50().as_secs_f64()
    }

    /// How late a screen on another node may be.
    fn allowed(&self) -> Duration {
        self.screen_here.p99() + self.two_commits.p99()
    }

    fn figure(&self, by: &str) -> String {
        let rows = [
            ("answer to the agent's input, all on one node", &self.answer_here),
            ("the same, the person on another node", &self.answer_elsewhere),
            ("event to a screen on the same node", &self.screen_here),
            ("event to a screen on another node", &self.screen_elsewhere),
            ("two bare commits", &self.two_commits),
        ];
        for (what, took) in rows {
            let what = format!("hints by {by}: {what}");
            println!("{what:<64}{:>12}{:>12}", milliseconds(took.p50()), milliseconds(took.p99()));
        }
        let goal = if self.ratio() <= GOAL { "within" } else { "beyond" };
        format!(
            "by {by}, answer to the agent's input p50 {} by way of another node, {} on one, ratio {:.2}, {goal} the goal, and \
             event to a screen p99 {} on another node, {} on the same, {} allowed",
            milliseconds(self.answer_elsewhere.p50()),
            milliseconds(self.answer_here.p50()),
            self.ratio(),
            milliseconds(self.screen_elsewhere.p99()),
            milliseconds(self.screen_here.p99()),
            milliseconds(self.allowed()),
        )
    }

    fn beyond(&self, by: &str) -> Vec<String> {
        let mut beyond = Vec::new();
        if self.ratio() > LIMIT {
            beyond.push(format!("an answer takes too long by way of another node, by {by}"));
        }
        if self.screen_elsewhere.p99() > self.allowed() {
            beyond.push(format!("a screen on another node is too late, by {by}"));
        }
        beyond
    }
}

async fn measure(database: &Database, nodes: [&GatewayProcess; 3]) -> Result<Measured> {
    let [first, second, third] = nodes;
    let person = first.person()?;
    let session = person.open_session().await?.session_id;
    let (here, elsewhere) = (client(first)?, client(second)?);
    let mut near = Screen::open(&here, session).await?;
    let mut far = Screen::open(&client(third)?, session).await?;
    let rounds = FIRST + 2 * ANSWERS;
    let script = format!("repeat {rounds}\napprove [timed] Bash {{\"command\": \"make release\"}}\nend");
    person.say(&session.to_string(), &script).await?;
    let mut bare = None;
    let mut measured = Measured::default();
    for round in 0..rounds {
        let (request, asked, near_at) = near.next(asked).await?;
        let (_, _, far_at) = far.next(|event| (event.seq == asked.seq).then_some(())).await?;
        sleep(PAUSE).await;
        // One after the other, in turns: whatever else the machine does hits all alike.
        let two_commits = match &mut bare {
            None if round == 0 => Duration::ZERO,
            None => bare.insert(Commits::like(database).await?).two().await?,
            Some(bare) => bare.two().await?,
        };
        sleep(PAUSE).await;
        let (by, took) = match round % 2 {
            0 => (&here, &mut measured.answer_here),
            _ => (&elsewhere, &mut measured.answer_elsewhere),
        };
        let sent = now()?;
        let response = ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None };
        let idempotency_key = Uuid::new_v4().to_string();
        by.respond(
            request.interaction_id,
            Respond { prompt_id: request.prompt_id, idempotency_key, response },
        )
        .await?;
        let (came, _, _) = near.next(came_at).await?;
        let came = Duration::from_micros(came);
        ensure!(came >= sent, "the answer came before it was sent: the clock was set");
        if round >= FIRST {
            took.add(came - sent);
            let at = Duration::from_micros(u64::try_from(asked.at.micros())?);
            measured.screen_here.add(near_at.saturating_sub(at));
            measured.screen_elsewhere.add(far_at.saturating_sub(at));
            measured.two_commits.add(two_commits);
        }
    }
    if let Some(bare) = bare {
        bare.remove().await?;
    }
    Ok(measured)
}

fn client(gateway: &GatewayProcess) -> Result<Http> {
    Ok(Http::new(gateway.url.clone(), gateway.own_token()?))
}

/// Somebody who watches, and when each event came.
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
            let next = timeout(PATIENCE, self.0.recv()).await.map_err(|_| "nothing happens any more")?;
            let (event, at) = next.ok_or("the stream ended")?;
            if let Some(found) = wanted(&event) {
                return Ok((found, event, at));
            }
        }
    }
}
