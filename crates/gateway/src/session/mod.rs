//! One task per session that has something to do: it hosts the agent's process.
//!
//! The task is told that something changed, reads the journal, and acts on what it finds there. It never trusts
//! what it was told; it could be started again at any moment and would do the same.

mod asks;
mod deltas;
mod handle;
mod holds;
mod left;
mod listen;
mod loss;
mod process;
mod start;

use std::collections::HashMap;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use holdstead_core::{Command, Output, Rejection};
use holdstead_protocol::{AgentState, SessionError, SessionId, ToolCallId};
use holdstead_store::{AppendError, Appended, PendingAppend};
use serde_json::Value;
use tokio::time::Instant;

use crate::{Gateway, GatewayError};
use deltas::Deltas;
pub(crate) use handle::SessionHandle;
use holds::Holds;
pub(crate) use process::life;
use process::{Heard, Process};

/// How many appends of the agent's words may be on their way before we stop listening to it.
const MOST_IN_FLIGHT: usize = 64;

#[derive(Debug)]
pub(crate) struct SessionTask {
    gateway: Gateway,
    session: SessionId,
    handle: SessionHandle,
    process: Option<Process>,
    deltas: Deltas,
    holds: Holds,
    /// Appends that nobody waits for, in their order: published when they are durable.
    in_flight: FuturesOrdered<PendingAppend>,
    /// Inputs of calls that were shown with their secrets masked: the agent goes on with what it asked about.
    unmasked: HashMap<ToolCallId, Value>,
    fruitless_starts: u32,
    /// The agent does not know its conversation any more: the next process begins another one.
    forgotten: bool,
}

impl SessionTask {
    pub(crate) fn new(gateway: Gateway, session: SessionId) -> (Self, SessionHandle) {
        let handle = SessionHandle::default();
        let task = Self {
            gateway,
            session,
            handle: handle.clone(),
            process: None,
            deltas: Deltas::default(),
            holds: Holds::default(),
            in_flight: FuturesOrdered::new(),
            unmasked: HashMap::new(),
            fruitless_starts: 0,
            forgotten: false,
        };
        (task, handle)
    }

    pub(crate) async fn run(mut self) {
        let shutdown = self.gateway.shutdown_token();
        while !shutdown.is_cancelled() {
            self.take_interrupt();
            if self.handle.take_wake() {
                self.look_again().await;
                continue;
            }
            if self.process.is_none() && self.in_flight.is_empty() && self.gateway.retire(self.session) {
                return;
            }
            let listening = self.in_flight.len() < MOST_IN_FLIGHT && !self.deltas.is_full();
            let stop_by = self.process.as_ref().and_then(|process| process.stop_by);
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.handle.told() => {}
                heard = Process::next(self.process.as_mut(), listening) => self.heard(heard).await,
                Some(appended) = self.in_flight.next() => self.recorded(appended),
                () = sleep_until(self.deltas.due()) => self.write_gathered(),
                () = sleep_until(self.holds.due()) => self.hold_ran_out().await,
                () = sleep_until(stop_by) => self.kill().await,
            }
        }
        // The gateway is going away. What was said is kept; the process goes; asks stay open.
        self.kill().await;
        while let Some(appended) = self.in_flight.next().await {
            self.recorded(appended);
        }
    }

    fn take_interrupt(&mut self) {
        if let Some(turn) = self.handle.take_interrupt()
            && let Some(process) = self.process.as_mut()
            && process.turn == Some(turn)
        {
            process.stop_turn();
        }
    }

    /// Does what the journal asks for, and says so in the journal where that fails.
    async fn look_again(&mut self) {
        if let Err(error) = self.advance().await {
            self.complain(error);
        }
    }

    async fn advance(&mut self) -> Result<(), GatewayError> {
        let Some(record) = self.gateway.inner.journal.session(self.session).await? else { return Ok(()) };
        if record.state.agent == AgentState::Ended {
            self.kill().await;
        }
        self.retell_orphaned_answers(&record.state).await?;
        if self.process.is_some() {
            self.resolve_asks(&record.state).await?;
            self.park_overdue().await?;
            return self.begin_next_turn(&record.state).await;
        }
        self.start_if_needed(record).await
    }

    /// Ends the process, and listens to it until its end: what it managed to say is kept.
    async fn kill(&mut self) {
        if let Some(process) = &self.process {
            process.kill();
        }
        while self.process.is_some() {
            let heard = Process::next(self.process.as_mut(), true).await;
            self.heard(heard).await;
        }
    }

    async fn heard(&mut self, heard: Heard) {
        let result = match heard {
            Heard::Said(event) => self.agent_said(event).await,
            Heard::Written(written) => self.written(written).await,
        };
        if let Err(error) = result {
            self.complain(error);
        }
    }

    /// Appends. A refusal is an answer too: somebody was faster, or it cannot be any more.
    async fn unless_refused(&mut self, command: Command) -> Result<Option<Appended>, GatewayError> {
        match self.gateway.append(self.session, command).await {
            Ok(appended) => Ok(Some(appended)),
            Err(GatewayError::Rejected(rejection)) => {
                tracing::debug!(session = %self.session, %rejection, "not now");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes what the agent said, without waiting for it to be durable.
    fn record(&mut self, outputs: Vec<Output>) {
        let command = self.gateway.inner.masks().command(self.session, Command::Record(outputs));
        let append = self.gateway.inner.journal.append(self.session, command);
        self.in_flight.push_back(append);
    }

    /// Writes all words that were gathered.
    fn flush(&mut self) {
        self.deltas.let_go();
        self.write_gathered();
    }

    /// The same, but for words that may turn out to be the beginning of a secret.
    fn write_gathered(&mut self) {
        let outputs = self.deltas.take();
        if !outputs.is_empty() {
            self.record(outputs);
        }
    }

    fn recorded(&mut self, appended: Result<Appended, AppendError>) {
        match appended {
            Ok(appended) => self.gateway.published(self.session, &appended),
            Err(AppendError::TooLarge { bytes, limit }) => {
                let message = format!(
                    "The agent said something of {bytes} bytes, which is not kept: {limit} are allowed."
                );
                self.record(vec![Output::Error(SessionError { turn_id: None, message })]);
            }
            Err(AppendError::Rejected(Rejection::Ended)) => {}
            Err(error @ (AppendError::Rejected(_) | AppendError::Closed | AppendError::Store(_))) => {
                tracing::error!(session = %self.session, %error, "the agent's words could not be kept");
            }
        }
    }

    fn complain(&mut self, error: GatewayError) {
        tracing::warn!(session = %self.session, %error, "a session could not go on");
        let message = error.to_string();
        self.record(vec![Output::Error(SessionError { turn_id: None, message })]);
    }
}

/// Never, if there is nothing to wait for.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
