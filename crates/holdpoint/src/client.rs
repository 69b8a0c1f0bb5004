//! The HTTP transport: how this binary talks to a gateway.

use futures_util::StreamExt as _;
use holdpoint_protocol::api::{
    Interaction, InteractionPage, LoginLink, OpenSession, Receipt, Respond, SendMessage, Session, SessionPage,
};
use holdpoint_protocol::{InteractionId, Problem, ResponseDraft, Seq, SessionId};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;

#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) name: String,
    pub(crate) data: String,
}

impl Client {
    /// The gateway the flags name, or the one on this machine.
    pub(crate) fn connect(common: &Common) -> Result<Self, Failure> {
        let places = Places::new(common.dir.as_deref())?;
        let url = match (&common.url, places.running()) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, Some(running)) => running.url,
            (None, None) => format!("http://{}", Config::load(common, &places)?.listen),
        };
        let token = std::env::var("HOLDPOINT_TOKEN").ok().or_else(|| places.read_token()).ok_or_else(|| {
            Failure::Usage(format!(
                "There is no token in {}. Start the gateway once (holdpoint serve), or set HOLDPOINT_TOKEN.",
                places.token_file().display()
            ))
        })?;
        Ok(Self::new(url, token))
    }

    pub(crate) fn new(url: String, token: String) -> Self {
        Self { http: reqwest::Client::new(), url, token }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token)
            .header("holdpoint-surface", "terminal")
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        read(self.request(Method::GET, path).header("accept", "application/json").send().await?).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Failure> {
        read(self.request(Method::POST, path).json(body).send().await?).await
    }

    pub(crate) async fn healthy(&self) -> Result<(), Failure> {
        let response = self.request(Method::GET, "/readyz").send().await?;
        if response.status() == StatusCode::NO_CONTENT { Ok(()) } else { Err(problem(response).await) }
    }

    pub(crate) async fn sessions(&self) -> Result<SessionPage, Failure> {
        self.get("/v1/sessions").await
    }

    pub(crate) async fn open_session(&self, open: &OpenSession) -> Result<Session, Failure> {
        self.post("/v1/sessions", open).await
    }

    pub(crate) async fn message(&self, session: SessionId, text: &str) -> Result<(), Failure> {
        let body = SendMessage { text: text.to_owned() };
        self.post::<serde_json::Value>(&format!("/v1/sessions/{session}/messages"), &body).await?;
        Ok(())
    }

    /// Every ask that can still be answered, oldest first.
    pub(crate) async fn inbox(&self) -> Result<Vec<Interaction>, Failure> {
        let mut asks = Vec::new();
        let mut place = String::new();
        loop {
            let page: InteractionPage =
                self.get(&format!("/v1/interactions?state=open&limit=200{place}")).await?;
            asks.extend(page.interactions);
            match page.next {
                Some(next) => place = format!("&after={next}"),
                None => return Ok(asks),
            }
        }
    }

    pub(crate) async fn interaction(&self, id: InteractionId) -> Result<Interaction, Failure> {
        self.get(&format!("/v1/interactions/{id}")).await
    }

    /// Waits until the ask is settled or closed, for a while.
    pub(crate) async fn wait(&self, id: InteractionId, seconds: u32) -> Result<Interaction, Failure> {
        self.get(&format!("/v1/interactions/{id}?wait={seconds}s")).await
    }

    pub(crate) async fn respond(
        &self,
        ask: &Interaction,
        response: ResponseDraft,
    ) -> Result<Receipt, Failure> {
        let body = Respond {
            prompt_id: ask.request.prompt_id,
            idempotency_key: uuid::Uuid::new_v4().to_string(),
            response,
        };
        self.post(&format!("/v1/interactions/{}/respond", ask.request.interaction_id), &body).await
    }

    pub(crate) async fn login_link(&self) -> Result<LoginLink, Failure> {
        self.post("/v1/login-links", &serde_json::json!({})).await
    }

    /// Follows a stream until `each` has seen enough.
    pub(crate) async fn follow(
        &self,
        path: &str,
        after: Option<Seq>,
        mut each: impl AsyncFnMut(Frame) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let mut request = self.request(Method::GET, path).header("accept", "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        let response = request.send().await?;
        if !response.status().is_success() {
            return Err(problem(response).await);
        }
        let mut bytes = response.bytes_stream();
        let mut frames = Frames::default();
        while let Some(chunk) = bytes.next().await {
            for frame in frames.take(&chunk?) {
                if each(frame).await? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

async fn read<T: DeserializeOwned>(response: reqwest::Response) -> Result<T, Failure> {
    if !response.status().is_success() {
        return Err(problem(response).await);
    }
    let text = response.text().await?;
    serde_json::from_str(&text).map_err(|error| Failure::Strange(error.to_string()))
}

async fn problem(response: reqwest::Response) -> Failure {
    let status = response.status();
    match response.json::<Problem>().await {
        Ok(problem) => Failure::Refused(Box::new(problem.refusal)),
        Err(_) => Failure::Strange(format!("status {status}")),
    }
}

/// Cuts a byte stream into server-sent events.
#[derive(Debug, Default)]
struct Frames {
    rest: Vec<u8>,
}

impl Frames {
    fn take(&mut self, chunk: &[u8]) -> Vec<Frame> {
        self.rest.extend_from_slice(chunk);
        let mut frames = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = self.rest.drain(..end + 2).collect();
            let block = String::from_utf8_lossy(&block);
            let field = |name: &str| {
                let lines = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                lines.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect::<Vec<_>>().join("\n")
            };
            let frame = Frame { name: field("event"), data: field("data") };
            // A heartbeat has neither.
            if !frame.data.is_empty() {
                frames.push(frame);
            }
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_across_chunks_and_heartbeats_are_not_frames() {
        let mut frames = Frames::default();
        assert!(frames.take(b"event: snapshot\nda").is_empty());
        let found = frames.take(b"ta: {\"a\":1}\n\n:\n\nid: 7\nevent: upsert\ndata: x\n\n");
        assert_eq!(
            found,
            [
                Frame { name: "snapshot".to_owned(), data: "{\"a\":1}".to_owned() },
                Frame { name: "upsert".to_owned(), data: "x".to_owned() },
            ]
        );
    }
}
