//! The API, as any program uses it.

use std::time::Duration;

use holdstead_client::requests_to;
use holdstead_protocol::api::{EventPage, Interaction, InteractionPage, Receipt, Respond, Session};
use holdstead_protocol::{Event, EventBody, Problem, ResponseDraft, Seq, ToolResult};
use reqwest::header::ACCEPT;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::waiting::until;
use crate::{Result, ensure};

const EVENTS_PER_PAGE: usize = 1_000;

/// One token on one connection.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
}

/// What a refusal says, if it says anything. The short routes say it in `error`.
pub(crate) fn refusal_words(body: &str) -> Option<String> {
    let problem: Value = serde_json::from_str(body).ok()?;
    let said = [&problem["detail"], &problem["error"]].into_iter().find_map(Value::as_str);
    said.filter(|words| !words.is_empty()).map(str::to_owned)
}

/// What became of an answer that was well formed.
#[derive(Debug)]
pub(crate) enum Answered {
    Won(Box<Receipt>),
    Refused(Box<Problem>),
}

impl Client {
    pub(crate) fn new(url: &str, token: &str) -> Result<Self> {
        let http = requests_to(url).timeout(Duration::from_secs(30)).pool_max_idle_per_host(1).build()?;
        Ok(Self { http, url: url.to_owned(), token: token.to_owned() })
    }

    /// The same token on another connection.
    pub(crate) fn with_own_connection(&self) -> Result<Self> {
        Self::new(&self.url, &self.token)
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let request = self.http.get(format!("{}{path}", self.url)).bearer_auth(&self.token);
        // Events come as a page, not as a stream.
        read(request.header(ACCEPT, "application/json")).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        read(self.http.post(format!("{}{path}", self.url)).bearer_auth(&self.token).json(body)).await
    }

    pub(crate) async fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        read(self.http.put(format!("{}{path}", self.url)).bearer_auth(&self.token).json(body)).await
    }

    /// A call whose answer has no body.
    pub(crate) async fn tell(&self, method: Method, path: &str) -> Result<()> {
        let request = self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
        let response = request.json(&json!({})).send().await?;
        let status = response.status();
        ensure!(status == StatusCode::NO_CONTENT, "{path} answered {status}: {}", response.text().await?);
        Ok(())
    }

    /// Asks for an approval under a new key, as a program does.
    pub(crate) async fn ask(&self) -> Result<Interaction> {
        let call = json!({
            "key": Uuid::new_v4().to_string(),
            "toolName": "Bash",
            "kind": "approval",
            "input": {
                "command": "kubectl --context production rollout restart deployment/shop-api",
                "description": "Restarts the deployment so that it reads its new settings",
            },
        });
        self.post("/v1/interactions", &call).await
    }

    pub(crate) async fn open_session(&self) -> Result<Session> {
        self.post("/v1/sessions", &json!({ "agent": "scripted" })).await
    }

    pub(crate) async fn say(&self, session: &str, text: &str) -> Result<()> {
        let _accepted: Value =
            self.post(&format!("/v1/sessions/{session}/messages"), &json!({ "text": text })).await?;
        Ok(())
    }

    /// Waits until this many asks of the session are open.
    pub(crate) async fn open_asks(&self, session: &str, count: usize) -> Result<Vec<Interaction>> {
        until(&format!("{count} asks are open in {session}"), async || {
            let asks = self.asks(session).await?;
            Ok((asks.len() == count).then_some(asks))
        })
        .await
    }

    /// The asks of the session that are open now.
    pub(crate) async fn asks(&self, session: &str) -> Result<Vec<Interaction>> {
        let page: InteractionPage =
            self.get(&format!("/v1/interactions?state=open&session={session}")).await?;
        Ok(page.interactions)
    }

    /// Waits until the agent has said this.
    pub(crate) async fn said(&self, session: &str, words: &str) -> Result<()> {
        let said =
            |event: &Event| matches!(&event.body, EventBody::TextDelta(delta) if delta.text.contains(words));
        until(&format!("{session} says {words}"), async || {
            Ok(self.journal(session).await?.iter().any(said).then_some(()))
        })
        .await
    }

    /// The status of the answer to this.
    pub(crate) async fn status_of(&self, path: &str, body: &impl Serialize) -> Result<u16> {
        let request = self.http.post(format!("{}{path}", self.url)).bearer_auth(&self.token).json(body);
        Ok(request.send().await?.status().as_u16())
    }

    /// Waits until the one open ask of the session is of this kind.
    pub(crate) async fn open_ask(&self, session: &str, kind: &str) -> Result<Interaction> {
        let asks = self.open_asks(session, 1).await?;
        let ask = asks.into_iter().next().ok_or("no ask is open")?;
        ensure!(
            ask.request.body.kind() == kind,
            "the open ask is no {kind} but a {}",
            ask.request.body.kind()
        );
        Ok(ask)
    }

    /// Answers under a key of its own.
    pub(crate) async fn respond(&self, ask: &Interaction, response: ResponseDraft) -> Result<Answered> {
        let body = Respond {
            prompt_id: ask.request.prompt_id,
            idempotency_key: Uuid::new_v4().to_string(),
            response,
        };
        let path = format!("{}/v1/interactions/{}/respond", self.url, ask.request.interaction_id);
        let response = self.http.post(path).bearer_auth(&self.token).json(&body).send().await?;
        if response.status() == StatusCode::OK {
            Ok(Answered::Won(response.json().await?))
        } else {
            Ok(Answered::Refused(response.json().await?))
        }
    }

    /// Answers, and fails if that does not win.
    pub(crate) async fn win(&self, ask: &Interaction, response: ResponseDraft) -> Result<Receipt> {
        match self.respond(ask, response).await? {
            Answered::Won(receipt) => Ok(*receipt),
            Answered::Refused(problem) => {
                Err(format!("the only answer was refused: {}", problem.refusal.detail).into())
            }
        }
    }

    /// The whole journal of a session, checked to have no gap.
    pub(crate) async fn journal(&self, session: &str) -> Result<Vec<Event>> {
        let events = self.pages(session).await?;
        for (index, event) in events.iter().enumerate() {
            ensure!(event.seq == Seq(index as u64 + 1), "event {} is at place {}", event.seq, index + 1);
        }
        Ok(events)
    }

    /// The whole journal of a session as its pages have it.
    pub(crate) async fn pages(&self, session: &str) -> Result<Vec<Event>> {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let after = events.last().map_or(Seq::START, |event| event.seq);
            let path = format!("/v1/sessions/{session}/events?after={after}&limit={EVENTS_PER_PAGE}");
            let page: EventPage = self.get(&path).await?;
            let full = page.events.len() == EVENTS_PER_PAGE;
            events.extend(page.events);
            if !full {
                return Ok(events);
            }
        }
    }

    /// Waits for the end of the session's only turn.
    pub(crate) async fn done(&self, session: &str) -> Result<Vec<Event>> {
        self.turns(session, 1).await
    }

    /// Waits until so many turns of the session have ended.
    pub(crate) async fn turns(&self, session: &str, count: usize) -> Result<Vec<Event>> {
        until(&format!("turn {count} of {session} ends"), async || {
            let events = self.journal(session).await?;
            let ended = events.iter().filter(|event| matches!(event.body, EventBody::Done(_))).count();
            Ok((ended >= count).then_some(events))
        })
        .await
    }

    /// Waits until the gateway answers.
    pub(crate) async fn ready(&self) -> Result<()> {
        until(&format!("the gateway is ready at {}", self.url), async || {
            let request = self.http.get(format!("{}/readyz", self.url)).bearer_auth(&self.token);
            Ok(request.send().await.is_ok_and(|response| response.status().is_success()).then_some(()))
        })
        .await
    }
}

/// An approval of what was asked, for this once.
pub(crate) const fn approve() -> ResponseDraft {
    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None }
}

async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T> {
    let response = request.send().await?;
    let (status, url) = (response.status(), response.url().clone());
    let text = response.text().await?;
    ensure!(status.is_success(), "{url} answered {status}: {text}");
    Ok(serde_json::from_str(&text)?)
}

/// What the agent says it was given for this ask.
pub(crate) fn received<'e>(events: &'e [Event], ask: &Interaction) -> Result<&'e ToolResult> {
    let call = ask.request.tool_call_id.as_ref().ok_or("the ask belongs to no tool call")?;
    let mut results =
        events.iter().filter_map(|event| result_of(&event.body)).filter(|r| r.tool_call_id == *call);
    let result = results.next().ok_or_else(|| format!("the agent got nothing for {call}"))?;
    ensure!(results.next().is_none(), "the agent got {call} twice");
    Ok(result)
}

fn result_of(body: &EventBody) -> Option<&ToolResult> {
    if let EventBody::ToolResult(result) = body { Some(result) } else { None }
}

/// The ask's answer as the agent must get it: this settlement, this response, and the input it was about.
pub(crate) fn expected(ask: &Interaction, settlement: &str, response: &Value) -> Value {
    json!({ "outcome": "settled", "settlement": settlement, "response": response, "input": ask.request.input })
}
