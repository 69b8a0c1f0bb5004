//! How long an answer takes from the person to the agent, beside the two commits that it cannot do without.

mod commits;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holdstead_client::Http;
use holdstead_protocol::api::Respond;
use holdstead_protocol::transport::{EventFeed, Transport as _};
use holdstead_protocol::{Event, EventBody, InteractionRequest, ResponseDraft, Seq};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::database::{Database, Kind};
use crate::gateway_process::GatewayProcess;
use crate::latency::Latencies;
use crate::{Result, ensure};
pub(crate) use commits::Commits;

const ANSWERS: usize = 1_000;
/// Not counted: caches fill, connections open.
const FIRST: usize = 50;
/// The goal, and where the show fails.
const GOAL: f64 = 1.5;
const LIMIT: f64 = 2.0;
const PATIENCE: Duration = Duration::from_secs(30);
/// A person does not answer while the agent still speaks.
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) async fn show() -> Result<String> {
    let mut figures = Vec::new();
    let mut beyond = Vec::new();
    println!("{:<56}{:>10}{:>10}", format!("{ANSWERS} answers, scripted agent"), "p50", "p99");
    for kind in Kind::ALL {
        let (answers, commits) = measure(kind).await?;
        for (what, took) in
            [("from the person's POST to the agent's input", &answers), ("two bare commits", &commits)]
        {
            let what = format!("{kind}, {what}");
            println!("{what:<56}{:>7.2} ms{:>7.2} ms", millis(took.p50()), millis(took.p99()));
        }
        let ratio = answers.p50().as_secs_f64() / commits.p50().as_secs_f64();
        let goal = if ratio <= GOAL { "within" } else { "beyond" };
        if ratio > LIMIT {
            beyond.push(format!("an answer takes {ratio:.2} times two bare commits on {kind}"));
        }
        figures.push(format!(
            "{kind}: p50 {:.2} ms, two bare commits of the same bytes p50 {:.2} ms, ratio {ratio:.2}, {goal} the goal",
            millis(answers.p50()),
            millis(commits.p50()),
        ));
    }
    let figure = format!("{}; goal {GOAL}, limit {LIMIT}", figures.join("; "));
    ensure!(beyond.is_empty(), "{}: {figure}", beyond.join(", "));
    Ok(figure)
}

/// What answers took, and what two bare commits did in between.
async fn measure(kind: Kind) -> Result<(Latencies, Latencies)> {
    let database = Database::new(kind).await?;
    let gateway = GatewayProcess::serve(Some(&database.url())).await?;
    let person = gateway.person()?;
    let token = std::fs::read_to_string(gateway.folder().join("token"))?;
    let client = Http::new(gateway.url.clone(), token.trim().to_owned());
    let mut bare = None;
    let session = person.open_session().await?.session_id;
    let mut feed = client.subscribe(session, Seq::START).await?;
    let rounds = FIRST + ANSWERS;
    let script = format!("repeat {rounds}\napprove [timed] Bash {{\"command\": \"make release\"}}\nend");
    person.say(&session.to_string(), &script).await?;
    let (mut answers, mut commits) = (Latencies::default(), Latencies::default());
    for round in 0..rounds {
        let request = next(feed.as_mut(), asked).await?;
        sleep(PAUSE).await;
        // One after the other, in turns: whatever else the machine does hits both alike.
        let two_commits = match &mut bare {
            None if round == 0 => Duration::ZERO,
            None => bare.insert(Commits::like(&database).await?).two().await?,
            Some(bare) => bare.two().await?,
        };
        sleep(PAUSE).await;
        let sent = now()?;
        let respond = Respond {
            prompt_id: request.prompt_id,
            idempotency_key: Uuid::new_v4().to_string(),
            response: ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None },
        };
        client.respond(request.interaction_id, respond).await?;
        let came = Duration::from_micros(next(feed.as_mut(), came_at).await?);
        ensure!(came >= sent, "the answer came before it was sent: the clock was set");
        if round >= FIRST {
            answers.add(came - sent);
            commits.add(two_commits);
        }
    }
    gateway.stop().await?;
    if let Some(bare) = bare {
        bare.remove().await?;
    }
    database.remove().await?;
    Ok((answers, commits))
}

/// Reads on until an event says what is wanted.
async fn next<T>(feed: &mut dyn EventFeed, wanted: impl Fn(&Event) -> Option<T>) -> Result<T> {
    loop {
        let event = timeout(PATIENCE, feed.next()).await.map_err(|_| "nothing happens any more")??;
        if let Some(found) = wanted(&event.ok_or("the stream ended")?) {
            return Ok(found);
        }
    }
}

pub(crate) fn asked(event: &Event) -> Option<InteractionRequest> {
    if let EventBody::InteractionRequest(request) = &event.body { Some((**request).clone()) } else { None }
}

pub(crate) fn came_at(event: &Event) -> Option<u64> {
    let EventBody::ToolResult(result) = &event.body else { return None };
    result.output["cameAtMicros"].as_u64()
}

pub(crate) fn now() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
