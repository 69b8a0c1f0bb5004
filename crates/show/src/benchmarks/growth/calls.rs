//! The calls that are measured, over HTTP, at places chosen by chance.

use std::time::{Duration, Instant};

use holdstead_protocol::api::{EventPage, InteractionPage, SearchPage};
use rand::seq::IndexedRandom as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use super::load::{Loaded, OpenAsk, RARE};
use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::{Result, ensure};

/// In so many sessions of the largest owner a program asks.
const CALLERS: usize = 8;
/// Asks, or places that were found.
const PAGE: usize = 50;
const EVENTS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Ask,
    Answer,
    InboxFirstPage,
    InboxLastPage,
    ReplayPage,
    SearchRareWord,
    SearchCommonWords,
    SearchWordsThatNeverMeet,
}

impl Call {
    pub(super) const ALL: [Self; 8] = [
        Self::Ask,
        Self::Answer,
        Self::InboxFirstPage,
        Self::InboxLastPage,
        Self::ReplayPage,
        Self::SearchRareWord,
        Self::SearchCommonWords,
        Self::SearchWordsThatNeverMeet,
    ];

    /// A search may take longer where more is found: its times are recorded only.
    pub(super) const fn must_stay_flat(self) -> bool {
        !matches!(self, Self::SearchRareWord | Self::SearchCommonWords | Self::SearchWordsThatNeverMeet)
    }
}

/// A gateway, programs that ask there, and the person who has most to answer.
pub(super) struct Desk {
    pub(super) gateway: GatewayProcess,
    callers: Vec<Client>,
    person: Client,
    loaded: Loaded,
    /// Where the last page of the inbox begins.
    last_page: String,
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
        let last_page = place(&person, loaded.open.len() - PAGE).await?;
        Ok(Self { gateway, callers, person, loaded, last_page })
    }

    /// Makes the call, and says how long it took.
    pub(super) async fn make(&mut self, call: Call) -> Result<Duration> {
        let found = async |count, words: &str| {
            let path = format!("/v1/search?limit={PAGE}&q={words}");
            self.page(&path, count, |page: SearchPage| page.results.len()).await
        };
        match call {
            Call::InboxFirstPage => self.inbox("").await,
            Call::InboxLastPage => self.inbox(&format!("&after={}", self.last_page)).await,
            Call::ReplayPage => {
                let session =
                    *self.loaded.sessions.choose(&mut rand::rng()).ok_or("there are no sessions")?;
                let after = rand::random_range(0..20);
                let path = format!("/v1/sessions/{session}/events?after={after}&limit={EVENTS}");
                self.page(&path, EVENTS, |page: EventPage| page.events.len()).await
            }
            // The call, and the decision about it.
            Call::SearchRareWord => found(2, RARE).await,
            Call::SearchCommonWords => found(PAGE, "kubectl+rollout+pro").await,
            Call::SearchWordsThatNeverMeet => found(0, &format!("{RARE}+production")).await,
            Call::Ask => self.ask().await,
            Call::Answer => self.answer().await,
        }
    }

    async fn ask(&mut self) -> Result<Duration> {
        let caller = self.callers.choose(&mut rand::rng()).ok_or("there are no callers")?;
        let begin = Instant::now();
        let asked = caller.ask().await?;
        let took = begin.elapsed();
        let (id, prompt) = (asked.request.interaction_id, asked.request.prompt_id);
        self.loaded.open.push(OpenAsk { id, prompt });
        Ok(took)
    }

    /// As many asks are answered as are asked, so the number of open ones stays what it was.
    async fn answer(&mut self) -> Result<Duration> {
        let open = &mut self.loaded.open;
        ensure!(!open.is_empty(), "nothing is open");
        let ask = open.swap_remove(rand::random_range(0..open.len()));
        let key = Uuid::new_v4().to_string();
        let answer = json!({ "promptId": ask.prompt, "idempotencyKey": key, "action": "approve" });
        let begin = Instant::now();
        let receipt: Value =
            self.person.post(&format!("/v1/interactions/{}/respond", ask.id), &answer).await?;
        let took = begin.elapsed();
        ensure!(receipt["settlement"] == "approved", "the person was told {receipt}");
        Ok(took)
    }

    async fn inbox(&self, after: &str) -> Result<Duration> {
        let path = format!("/v1/interactions?state=open&limit={PAGE}{after}");
        self.page(&path, PAGE, |page: InteractionPage| page.interactions.len()).await
    }

    /// Reads a page that must have so many rows.
    async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
        rows: usize,
        count: impl Fn(T) -> usize,
    ) -> Result<Duration> {
        let begin = Instant::now();
        let page: T = self.person.get(path).await?;
        let took = begin.elapsed();
        let count = count(page);
        ensure!(count == rows, "{path} has {count} rows, not {rows}");
        Ok(took)
    }
}

/// The place behind so many open asks.
async fn place(person: &Client, behind: usize) -> Result<String> {
    let (mut passed, mut after) = (0, String::new());
    loop {
        let limit = (behind - passed).min(200);
        let path = format!("/v1/interactions?state=open&limit={limit}{after}");
        let page: InteractionPage = person.get(&path).await?;
        passed += page.interactions.len();
        let next = page.next.ok_or("the inbox is shorter than what was opened")?;
        if passed == behind {
            return Ok(next);
        }
        after = format!("&after={next}");
    }
}
