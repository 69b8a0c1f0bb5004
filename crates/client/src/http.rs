//! HTTP for calls, server-sent events for what happens.

use std::collections::VecDeque;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::{Stream, StreamExt as _};
use holdstead_protocol::api::{
    Agents, AskCall, CallToExplain, ExplainedCall, FolderFiles, Interaction, InteractionPage, Interrupted,
    LoginLink, MessageAccepted, Network, NewPairing, NewRule, OpenNetwork, OpenSession, Pairing, Receipt,
    RemoveRunner, RemovedRunner, Respond, RulePage, RulesToSimulate, Runners, SavedRule, SendMessage,
    Session, SessionFilter, SessionPage, SetInteractionMode, SimulatedRules, SnoozeAsk, SuggestionPage,
    TrustFolder, TrustPage, WhoAmI,
};
use holdstead_protocol::transport::{EventFeed, InboxQuery, InteractionMode, Transport, TransportError};
use holdstead_protocol::{Event, GrantId, InteractionId, Problem, Seq, SessionId, Trust, TrustId};
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sse::{Frame, Frames};
use crate::way::{By, client_of, in_words};

/// One client, with its token.
#[derive(Debug, Clone)]
pub struct Http {
    http: reqwest::Client,
    url: String,
    token: String,
    /// The name of this client among those of its person: what is switched off here stays on elsewhere.
    client: String,
    off: Arc<AtomicBool>,
    surface: &'static str,
}

impl Http {
    pub fn new(url: impl Into<String>, token: impl Into<String>) -> Self {
        Self::by(By::Address, url.into(), token.into())
    }

    /// Of the gateway that listens on this socket: no other program can have its place.
    pub fn at_socket(socket: &Path, url: impl Into<String>, token: impl Into<String>) -> Self {
        Self::by(By::Socket(socket), url.into(), token.into())
    }

    fn by(by: By<'_>, url: String, token: String) -> Self {
        Self {
            http: client_of(&url, by),
            url,
            token,
            client: uuid::Uuid::new_v4().simple().to_string(),
            off: Arc::default(),
            surface: "api",
        }
    }

    /// Says that a person sits at a terminal.
    #[must_use]
    pub fn at_terminal(mut self) -> Self {
        self.surface = "terminal";
        self
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mode = if self.off.load(Ordering::SeqCst) { "off" } else { "on" };
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token)
            .header("holdstead-surface", self.surface)
            .header("holdstead-interaction", mode)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, TransportError> {
        let request = self.request(Method::GET, path).header("accept", "application/json");
        read(request.send().await.map_err(unreachable)?).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, TransportError> {
        read(self.request(Method::POST, path).json(body).send().await.map_err(unreachable)?).await
    }

    async fn stream(&self, path: &str) -> Result<FrameStream, TransportError> {
        let request = self.request(Method::GET, path).header("accept", "text/event-stream");
        let response = request.send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(refused(response).await);
        }
        let bytes =
            response.bytes_stream().map(|chunk| chunk.map(|bytes| bytes.to_vec()).map_err(unreachable));
        Ok(FrameStream { bytes: Box::pin(bytes), frames: Frames::default(), ready: VecDeque::new() })
    }

    /// The gateway answers, and its journal does.
    pub async fn ready(&self) -> Result<(), TransportError> {
        let response = self.request(Method::GET, "/readyz").send().await.map_err(unreachable)?;
        if response.status().is_success() { Ok(()) } else { Err(refused(response).await) }
    }

    /// Who is behind this client's token.
    pub async fn me(&self) -> Result<WhoAmI, TransportError> {
        self.get("/v1/me").await
    }

    /// The machines that run agents and are connected.
    pub async fn runners(&self) -> Result<Runners, TransportError> {
        self.get("/v1/runners").await
    }

    /// A machine goes for good.
    pub async fn remove_runner(&self, name: &str) -> Result<RemovedRunner, TransportError> {
        self.post("/v1/runners/remove", &RemoveRunner { name: name.to_owned() }).await
    }

    /// What the gateway can host, and what is not installed there.
    pub async fn agents(&self) -> Result<Agents, TransportError> {
        self.get("/v1/agents").await
    }

    /// One page of the newest.
    pub async fn sessions(&self, which: SessionFilter) -> Result<SessionPage, TransportError> {
        let which = serde_json::to_value(which).unwrap_or_default();
        self.get(&format!("/v1/sessions?limit=200&state={}", which.as_str().unwrap_or("all"))).await
    }

    /// Every ask that can still be answered, oldest first.
    pub async fn whole_inbox(&self) -> Result<WholeInbox, TransportError> {
        let mut inbox = WholeInbox::default();
        let mut query = InboxQuery { limit: Some(200), ..InboxQuery::default() };
        loop {
            let page: PageOfAny = self.get(&inbox_path(&query)).await?;
            for ask in page.interactions {
                match serde_json::from_value(ask) {
                    Ok(ask) => inbox.asks.push(ask),
                    Err(_) => inbox.unknown += 1,
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(inbox),
            }
        }
    }

    /// The whole of an ask: a list may have shown a part of it, and nobody decides on that.
    pub async fn whole(&self, listed: Interaction) -> Result<Interaction, TransportError> {
        match listed.cut {
            None => Ok(listed),
            Some(_) => self.interaction(listed.request.interaction_id).await,
        }
    }

    /// Waits until the ask is settled or closed, for a while.
    pub async fn wait(&self, id: InteractionId, seconds: u32) -> Result<Interaction, TransportError> {
        self.get(&format!("/v1/interactions/{id}?wait={seconds}s")).await
    }

    /// What a folder brings that an agent would run.
    pub async fn folder_files(&self, agent: &str, folder: &str) -> Result<FolderFiles, TransportError> {
        let request =
            self.request(Method::GET, "/v1/trusts/folder").query(&[("agent", agent), ("folder", folder)]);
        read(request.send().await.map_err(unreachable)?).await
    }

    /// Trusts a folder's own files, as they were shown.
    pub async fn trust(&self, folder: &TrustFolder) -> Result<Trust, TransportError> {
        self.post("/v1/trusts", folder).await
    }

    pub async fn trusts(&self) -> Result<TrustPage, TransportError> {
        self.get("/v1/trusts").await
    }

    pub async fn revoke_trust(&self, id: TrustId) -> Result<(), TransportError> {
        let request = self.request(Method::DELETE, &format!("/v1/trusts/{id}"));
        let response = request.json(&serde_json::json!({})).send().await.map_err(unreachable)?;
        if response.status().is_success() { Ok(()) } else { Err(refused(response).await) }
    }

    pub async fn rules(&self) -> Result<RulePage, TransportError> {
        self.get("/v1/rules").await
    }

    /// Saves a rule for all sessions of the owner.
    pub async fn add_rule(&self, rule: &NewRule) -> Result<SavedRule, TransportError> {
        self.post("/v1/rules", rule).await
    }

    /// What rules would make of a call.
    pub async fn explain(&self, call: &CallToExplain) -> Result<ExplainedCall, TransportError> {
        self.post("/v1/rules/explain", call).await
    }

    /// What a file of rules would have made of past calls.
    pub async fn simulate(&self, rules: &RulesToSimulate) -> Result<SimulatedRules, TransportError> {
        self.post("/v1/rules/simulate", rules).await
    }

    /// The rules that would have saved most asks.
    pub async fn suggestions(&self) -> Result<SuggestionPage, TransportError> {
        self.get("/v1/rules/suggest").await
    }

    /// Takes a rule back. One that is for a session is named with it.
    pub async fn revoke_rule(&self, id: GrantId, session: Option<SessionId>) -> Result<(), TransportError> {
        let session: Vec<_> = session.map(|session| ("session", session.to_string())).into_iter().collect();
        let request = self.request(Method::DELETE, &format!("/v1/rules/{id}")).query(&session);
        let response = request.json(&serde_json::json!({})).send().await.map_err(unreachable)?;
        if response.status().is_success() { Ok(()) } else { Err(refused(response).await) }
    }

    /// Puts an ask out of sight for a while, on every screen.
    pub async fn snooze(&self, id: InteractionId, body: &SnoozeAsk) -> Result<(), TransportError> {
        let request = self.request(Method::PUT, &format!("/v1/interactions/{id}/snooze")).json(body);
        let response = request.send().await.map_err(unreachable)?;
        if response.status().is_success() { Ok(()) } else { Err(refused(response).await) }
    }

    pub async fn login_link(&self) -> Result<LoginLink, TransportError> {
        self.post("/v1/login-links", &serde_json::json!({})).await
    }

    /// Where other machines reach the gateway, and where they could.
    pub async fn network(&self) -> Result<Network, TransportError> {
        self.get("/v1/network").await
    }

    /// Lets a private network reach the gateway until it ends.
    pub async fn open_network(&self, url: &str) -> Result<Network, TransportError> {
        self.post("/v1/network", &OpenNetwork { url: url.to_owned() }).await
    }

    /// A link that logs a phone in once, as a QR code, too.
    pub async fn pair(&self, url: &str) -> Result<Pairing, TransportError> {
        self.post("/v1/pairings", &NewPairing { url: url.to_owned() }).await
    }

    /// The changes of the inbox, frame by frame.
    pub async fn inbox_stream(&self) -> Result<FrameStream, TransportError> {
        self.stream("/v1/interactions/events").await
    }

    /// A session's events, frame by frame, beginning with `resume`.
    pub async fn session_stream(
        &self,
        session: SessionId,
        after: Seq,
    ) -> Result<FrameStream, TransportError> {
        let mode = if self.off.load(Ordering::SeqCst) { "off" } else { "on" };
        let path =
            format!("/v1/sessions/{session}/events?after={after}&client={}&interaction={mode}", self.client);
        self.stream(&path).await
    }
}

#[async_trait]
impl Transport for Http {
    async fn open_session(&self, open: OpenSession) -> Result<Session, TransportError> {
        self.post("/v1/sessions", &open).await
    }

    async fn session(&self, session: SessionId) -> Result<Session, TransportError> {
        self.get(&format!("/v1/sessions/{session}")).await
    }

    async fn message(
        &self,
        session: SessionId,
        message: SendMessage,
    ) -> Result<MessageAccepted, TransportError> {
        self.post(&format!("/v1/sessions/{session}/messages"), &message).await
    }

    async fn interrupt(&self, session: SessionId) -> Result<Interrupted, TransportError> {
        self.post(&format!("/v1/sessions/{session}/interrupt"), &serde_json::json!({})).await
    }

    async fn inbox(&self, query: InboxQuery) -> Result<InteractionPage, TransportError> {
        self.get(&inbox_path(&query)).await
    }

    async fn interaction(&self, id: InteractionId) -> Result<Interaction, TransportError> {
        self.get(&format!("/v1/interactions/{id}")).await
    }

    async fn ask(&self, call: AskCall) -> Result<Interaction, TransportError> {
        self.post("/v1/interactions", &call).await
    }

    async fn respond(&self, id: InteractionId, body: Respond) -> Result<Receipt, TransportError> {
        self.post(&format!("/v1/interactions/{id}/respond"), &body).await
    }

    async fn subscribe(&self, session: SessionId, after: Seq) -> Result<Box<dyn EventFeed>, TransportError> {
        Ok(Box::new(self.session_stream(session, after).await?))
    }

    async fn set_interaction_mode(&self, mode: InteractionMode) -> Result<(), TransportError> {
        self.off.store(mode == InteractionMode::Off, Ordering::SeqCst);
        let body = SetInteractionMode { client: self.client.clone(), mode };
        let request = self.request(Method::POST, "/v1/interaction-mode").json(&body);
        let response = request.send().await.map_err(unreachable)?;
        if response.status().is_success() { Ok(()) } else { Err(refused(response).await) }
    }
}

/// Frames of a stream, one by one.
pub struct FrameStream {
    bytes: Pin<Box<dyn Stream<Item = Result<Vec<u8>, TransportError>> + Send>>,
    frames: Frames,
    ready: VecDeque<Frame>,
}

impl std::fmt::Debug for FrameStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameStream").field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl FrameStream {
    pub async fn next_frame(&mut self) -> Result<Option<Frame>, TransportError> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(Some(frame));
            }
            match self.bytes.next().await {
                Some(chunk) => self.ready.extend(self.frames.take(&chunk?)),
                None => return Ok(None),
            }
        }
    }
}

#[async_trait]
impl EventFeed for FrameStream {
    async fn next(&mut self) -> Result<Option<Event>, TransportError> {
        loop {
            match self.next_frame().await? {
                None => return Ok(None),
                Some(frame) if frame.name == "resume" => {}
                Some(frame) => return parse(&frame.data).map(Some),
            }
        }
    }
}

pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, TransportError> {
    serde_json::from_str(text)
        .map_err(|error| TransportError::Unreachable(format!("it said `{text}`: {error}")))
}

/// What can be answered.
#[derive(Debug, Default)]
pub struct WholeInbox {
    pub asks: Vec<Interaction>,
    /// How many more there are of kinds that this version does not know.
    pub unknown: usize,
}

/// A page of a gateway that may be newer than this client.
#[derive(Deserialize)]
struct PageOfAny {
    interactions: Vec<Value>,
    next: Option<String>,
}

fn inbox_path(query: &InboxQuery) -> String {
    let mut path = "/v1/interactions?state=open".to_owned();
    if let Some(session) = query.session {
        path.push_str(&format!("&session={session}"));
    }
    if let Some(after) = &query.after {
        path.push_str(&format!("&after={after}"));
    }
    if let Some(limit) = query.limit {
        path.push_str(&format!("&limit={limit}"));
    }
    path
}

async fn read<T: DeserializeOwned>(response: Response) -> Result<T, TransportError> {
    if !response.status().is_success() {
        return Err(refused(response).await);
    }
    parse(&response.text().await.map_err(unreachable)?)
}

async fn refused(response: Response) -> TransportError {
    let status = response.status();
    match response.json::<Problem>().await {
        Ok(problem) => problem.refusal.into(),
        Err(_) => TransportError::Unreachable(format!("it answered with status {status}")),
    }
}

fn unreachable(error: reqwest::Error) -> TransportError {
    TransportError::Unreachable(in_words(&error))
}
