//! Every attack that ever worked, and those that did not, tried again on the running product: none gets through.

mod bytes;
mod callers;
mod crowds;
mod files;
mod requests;

use std::pin::Pin;
use std::time::{Duration, Instant};

use holdstead_client::requests_to;
use holdstead_protocol::AskState;
use holdstead_protocol::api::Interaction;
use serde_json::{Value, json};

use crate::claude::Stage;
use crate::client::{Client, refusal_words};
use crate::gateway_process::TokenFor;
use crate::{Result, closed, doors, ensure};

/// How many attempts there are at least.
const ATTEMPTS: usize = 40;
/// How long an attacker waits for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// What an attempt came to, in words; an error if it got through.
type Tried<'a> = Pin<Box<dyn Future<Output = Result<String>> + 'a>>;

/// An attempt: the row of the list of findings, what is tried, and the try.
struct Attempt<'a> {
    row: &'static str,
    what: &'static str,
    tried: Tried<'a>,
}

fn attempt<'a>(
    row: &'static str,
    what: &'static str,
    tried: impl Future<Output = Result<String>> + 'a,
) -> Attempt<'a> {
    Attempt { row, what, tried: Box::pin(tried) }
}

/// The product, with whoever is attacked and whoever attacks.
struct Target {
    stage: Stage,
    http: reqwest::Client,
    person_token: String,
    /// A program that nobody hosts, and somebody else's.
    agent: String,
    other: String,
}

/// Status and body of an answer.
type Answer = (u16, String);

impl Target {
    async fn new() -> Result<Self> {
        let stage = Stage::new("10m").await?;
        let http = requests_to(&stage.gateway.url).timeout(PATIENCE).build()?;
        let person_token = std::fs::read_to_string(stage.gateway.folder().join("token"))?.trim().to_owned();
        let agent = stage.gateway.token("attacker", TokenFor::Guest).await?;
        let other = stage.gateway.token("victim", TokenFor::Guest).await?;
        Ok(Self { stage, http, person_token, agent, other })
    }

    fn person(&self) -> &Client {
        &self.stage.person
    }

    fn url(&self) -> &str {
        &self.stage.gateway.url
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: impl Into<reqwest::Body>,
    ) -> Result<Answer> {
        let request = self.http.request(method.parse()?, format!("{}{path}", self.url())).bearer_auth(token);
        let request = request.header("accept", "application/json, text/event-stream");
        let response = request.header("content-type", "application/json").body(body).send().await?;
        Ok((response.status().as_u16(), response.text().await?))
    }

    async fn post(&self, path: &str, token: &str, body: &Value) -> Result<Answer> {
        self.send("POST", path, token, body.to_string()).await
    }

    /// An open ask of somebody else's program.
    async fn ask(&self, key: &str) -> Result<Interaction> {
        let body = json!({"key": key, "kind": "approval", "toolName": "deploy", "input": {"to": key}});
        let (status, words) = self.post("/v1/interactions", &self.other, &body).await?;
        ensure!(status == 201, "the victim's ask got {status}: {words}");
        Ok(serde_json::from_str(&words)?)
    }

    /// Nobody has answered it.
    async fn still_open(&self, ask: &Interaction) -> Result<()> {
        let now: Interaction =
            self.person().get(&format!("/v1/interactions/{}", ask.request.interaction_id)).await?;
        ensure!(now.state == AskState::Open, "the ask is {:?}", now.state);
        Ok(())
    }
}

/// Refused, in words of ours.
fn refused((status, words): &Answer) -> Result<String> {
    ensure!((400..500).contains(status), "it got {status}: {words}");
    let said = refusal_words(words).ok_or_else(|| format!("{status} without words: {words}"))?;
    Ok(format!("{status} {}", said.chars().take(90).collect::<String>()))
}

pub(crate) async fn show() -> Result<String> {
    let begin = Instant::now();
    let target = Target::new().await?;
    let mut attempts = Vec::new();
    attempts.extend(bytes::all(&target));
    attempts.extend(callers::all(&target));
    attempts.extend(files::all(&target));
    attempts.extend(requests::all(&target));
    attempts.extend(crowds::all(&target));
    for (name, scene) in closed::some(&target.stage) {
        attempts.push(Attempt { row: "D2", what: name, tried: scene });
    }
    attempts.push(attempt(
        "D10",
        "the gateway's token is read by an agent",
        closed::token_is_read(&target.stage),
    ));
    attempts.push(attempt(
        "D15",
        "credentials on the agent's command line",
        closed::command_line(&target.stage),
    ));
    attempts.push(attempt("D8", "the four ways to starve others", async {
        doors::starve().await.map(|()| "others were served".to_owned())
    }));
    // Last: nothing of all this may have left a mark.
    attempts.push(attempt("D3", "the trail after all of it", files::audit(&target)));
    let count = attempts.len();
    ensure!(count >= ATTEMPTS, "{count} attempts are too few");
    let mut through = Vec::new();
    for Attempt { row, what, tried } in attempts {
        match tried.await {
            Ok(words) => println!("{row:<5} {what:<62} {words}"),
            Err(error) => {
                println!("{row:<5} {what:<62} THROUGH: {error}");
                through.push(format!("{row} {what}: {error}"));
            }
        }
    }
    target.person().ready().await?;
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    target.stage.stop().await?;
    ensure!(through.is_empty(), "{} of {count} attempts got through:\n{}", through.len(), through.join("\n"));
    Ok(format!("{count} attempts, 0 through"))
}
