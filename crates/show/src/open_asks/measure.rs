//! The calls, over HTTP.

use std::fmt;
use std::time::{Duration, Instant};

use holdstead_protocol::api::{Interaction, InteractionPage};
use rand::seq::IndexedRandom as _;
use serde_json::{Value, json};
use uuid::Uuid;

use super::load::Loaded;
use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::growth::load::OpenAsk;
use crate::{Result, ensure, processes};

/// In so many sessions of the largest owner a program goes on asking.
const CALLERS: usize = 8;
const INBOX_PAGE: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Ask,
    Answer,
    Inbox,
}

impl Call {
    pub(super) const ALL: [Self; 3] = [Self::Ask, Self::Answer, Self::Inbox];
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ask => "ask",
            Self::Answer => "answer",
            Self::Inbox => "inbox page",
        })
    }
}

/// A gateway, programs that ask there, and the person who has most to answer.
#[derive(Debug)]
pub(super) struct Desk {
    gateway: GatewayProcess,
    callers: Vec<Client>,
    person: Client,
    open: Vec<OpenAsk>,
}

impl Desk {
    pub(super) async fn new(url: &str, loaded: Loaded) -> Result<Self> {
        let gateway = GatewayProcess::serve(Some(url)).await?;
        let mut callers = Vec::new();
        for (number, session) in loaded.sessions.iter().take(CALLERS).enumerate() {
            let whose = TokenFor::Agent(&session.to_string());
            let token = gateway.token(&format!("caller {number}"), whose).await?;
            callers.push(Client::new(&gateway.url, &token)?);
        }
        let person = gateway.person()?;
        Ok(Self { gateway, callers, person, open: loaded.open })
    }

    /// What the gateway has in memory, in bytes.
    pub(super) fn memory(&self) -> Result<u64> {
        processes::memory(self.gateway.pid().ok_or("the gateway is gone")?)
    }

    pub(super) async fn close(self) -> Result<()> {
        self.gateway.stop().await
    }

    /// Makes the call at a place chosen by chance, and says how long it took.
    pub(super) async fn make(&mut self, call: Call) -> Result<Duration> {
        match call {
            Call::Ask => self.ask().await,
            Call::Answer => self.answer().await,
            Call::Inbox => self.inbox().await,
        }
    }

    async fn ask(&mut self) -> Result<Duration> {
        let caller = self.callers.choose(&mut rand::rng()).ok_or("nobody asks")?;
        let call = json!({
            "key": Uuid::new_v4().to_string(),
            "toolName": "Bash",
            "kind": "approval",
            "input": { "command": "kubectl --context production rollout restart deployment/shop-api" },
        });
        let begin = Instant::now();
        let asked: Interaction = caller.post("/v1/interactions", &call).await?;
        let took = begin.elapsed();
        let (id, prompt) = (asked.request.interaction_id, asked.request.prompt_id);
        self.open.push(OpenAsk { session: asked.session_id, id, prompt });
        Ok(took)
    }

    /// Of any ask that is open; as many are asked, so their number stays what it was.
    async fn answer(&mut self) -> Result<Duration> {
        ensure!(!self.open.is_empty(), "nothing is open");
        let OpenAsk { id, prompt, .. } = self.open.swap_remove(rand::random_range(0..self.open.len()));
        let key = Uuid::new_v4().to_string();
        let answer = json!({ "promptId": prompt, "idempotencyKey": key, "action": "approve" });
        let begin = Instant::now();
        let receipt: Value = self.person.post(&format!("/v1/interactions/{id}/respond"), &answer).await?;
        let took = begin.elapsed();
        ensure!(receipt["settlement"] == "approved", "the person was told {receipt}");
        Ok(took)
    }

    async fn inbox(&self) -> Result<Duration> {
        let begin = Instant::now();
        let page: InteractionPage =
            self.person.get(&format!("/v1/interactions?state=open&limit={INBOX_PAGE}")).await?;
        let took = begin.elapsed();
        ensure!(page.interactions.len() == INBOX_PAGE, "the page has {} asks", page.interactions.len());
        Ok(took)
    }
}
