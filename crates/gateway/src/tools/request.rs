//! One ask of a tool, from its first showing to the tool's last word.

use std::time::Duration;

use holdstead_core::{
    Basis, Cancel, Command, Outcome, Rejection, Request, Trigger, Verdict, asked, asking, digest,
    offered_scopes,
};
use holdstead_protocol::json::unreadable;
use holdstead_protocol::{
    AskBody, AskState, Capabilities, Closing, InteractionId, InteractionRequest, Origin, PromptId, Timestamp,
};
use holdstead_store::AskRecord;
use serde_json::{Value, json};

use super::turn::Turn;
use super::{
    Asked, Interaction, InteractionError, Reprompt, ResponseHandler, ToolContext, ToolFailure, ToolOutcome,
    ToolResponse, WhenNobody,
};
use crate::patience::Backoff;
use crate::secrets::Revealed;
use crate::{GatewayError, owner_journal};

/// How long a tool's ask stays open where it does not say.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// How soon it is tried again to call a tool that another one calls, who may be gone.
const TRY_AGAIN: Duration = Duration::from_secs(2);

impl ToolContext {
    /// Asks, and returns what the tool's handler makes of the answer.
    pub async fn request_interaction(
        &self,
        interaction: Interaction,
        handler: &dyn ResponseHandler,
    ) -> Result<Value, InteractionError> {
        self.request_with_timeout(interaction, DEFAULT_TIMEOUT, handler).await
    }

    /// Asking the same thing again in the same call finds the same ask, and its answer.
    pub async fn request_with_timeout(
        &self,
        interaction: Interaction,
        timeout: Duration,
        handler: &dyn ResponseHandler,
    ) -> Result<Value, InteractionError> {
        let request = self.first_prompt(interaction, timeout).await?;
        self.request(request, timeout, handler).await
    }

    pub(super) async fn request(
        &self,
        request: InteractionRequest,
        timeout: Duration,
        handler: &dyn ResponseHandler,
    ) -> Result<Value, InteractionError> {
        let id = request.interaction_id;
        loop {
            match self.append(self.asking(&request).await?).await {
                // A person changed the owner's grants meanwhile.
                Err(GatewayError::Rejected(Rejection::RulesChanged)) => {}
                opened => break opened?,
            }
        }
        self.require_audience(id).await?;
        self.follow(id, timeout, handler).await
    }

    /// Opens the ask, or has it settled by a grant of the owner's, if that still counts.
    async fn asking(&self, request: &InteractionRequest) -> Result<Command, GatewayError> {
        let owner = owner_journal::journal_of(&self.owner);
        let owner = self.gateway.patiently(|| self.gateway.inner.journal.session(owner)).await?;
        let (request, quota) = (request.clone(), self.gateway.inner.config.quota);
        let opening = |owner_grants| {
            Command::Request(Box::new(Request { request, owner_grants, allowed_by: None, quota }))
        };
        Ok(match owner.filter(|owner| !owner.state.grants.is_empty()) {
            Some(owner) => {
                let basis = Basis { session: None, owner: (owner.id, owner.state.rules_seq), until: None };
                opening(owner.state.grants.into_values().collect()).based_on(basis, None)
            }
            None => opening(Vec::new()),
        })
    }

    /// Sees an ask through to the tool's last word.
    pub(super) async fn follow(
        &self,
        id: InteractionId,
        timeout: Duration,
        handler: &dyn ResponseHandler,
    ) -> Result<Value, InteractionError> {
        loop {
            let mut changes = self.gateway.changes(self.session);
            let record = self.needing_the_handler(id).await?;
            // A handler of this very process has no other who would call it.
            let is_found_by_name = record.request.handler_state.is_some();
            let _turn = match record.ask.state {
                AskState::Submitted { .. } | AskState::Open if is_found_by_name => {
                    let Some(turn) = Turn::take(&self.gateway, record.ask.prompt_id).await? else {
                        // Whoever has it may be gone before they come to a decision.
                        tokio::time::timeout(TRY_AGAIN, changes.of_ask(id)).await.unwrap_or(Ok(()))?;
                        continue;
                    };
                    let now = self.ask(id).await?.ask;
                    if (now.prompt_id, &now.state) != (record.ask.prompt_id, &record.ask.state) {
                        // It was decided before the turn was free.
                        continue;
                    }
                    Some(turn)
                }
                AskState::Submitted { .. }
                | AskState::Open
                | AskState::Settled { .. }
                | AskState::Closed { .. }
                | AskState::Queued => None,
            };
            let (trigger, wanted) = match record.ask.state {
                AskState::Submitted { .. } => {
                    (Trigger::Response, handler.on_response(self.given(&record).await?).await)
                }
                AskState::Open => (Trigger::Timeout, handler.on_timeout().await),
                // Decided without the handler: by a grant, or in an earlier life of this very call.
                AskState::Settled { .. } => {
                    // A handler of this very process is asked again; a tool that is found by its name has spoken.
                    if record.request.handler_state.is_some()
                        && let Some(result) =
                            self.gateway.patiently(|| self.gateway.tool_result(&record)).await?
                    {
                        return Ok(result?);
                    }
                    let wanted = handler.on_response(self.given(&record).await?).await;
                    self.acknowledge(id).await?;
                    return without_asking_again(wanted, InteractionError::TooManyAttempts);
                }
                // Nobody can be asked again, but the tool may still say what that means.
                AskState::Closed { closing: Closing::Expired } => {
                    return without_asking_again(handler.on_timeout().await, InteractionError::Expired);
                }
                AskState::Closed { closing: Closing::Cancelled | Closing::Withdrawn } => {
                    handler.on_cancel().await;
                    return Err(InteractionError::Cancelled);
                }
                AskState::Queued | AskState::Closed { closing: Closing::AnsweredLate } => {
                    return Ok(pending("The answer comes as a message."));
                }
            };
            let wanted = readable(wanted);
            if self.decided(&record, trigger, &wanted, timeout).await? == Decided::Elsewhere {
                continue;
            }
            match wanted {
                Ok(ToolOutcome::Reprompt(_)) => continue,
                Ok(ToolOutcome::Pending { message }) => return Ok(pending(&message)),
                Ok(ToolOutcome::Complete(_)) | Err(_) if trigger == Trigger::Response => {
                    self.acknowledge(id).await?;
                }
                Ok(ToolOutcome::Complete(_)) | Err(_) => {}
            }
            return without_asking_again(wanted, InteractionError::TooManyAttempts);
        }
    }

    /// A grant may have decided it; otherwise somebody has to.
    async fn require_audience(&self, id: InteractionId) -> Result<(), InteractionError> {
        let available = self.gateway.interaction_available(&self.owner, self.session);
        if available
            || self.when_nobody == WhenNobody::Wait
            || self.ask(id).await?.ask.state != AskState::Open
        {
            return Ok(());
        }
        self.append(Command::Cancel(Cancel::Ask(id))).await?;
        Err(InteractionError::Unavailable)
    }

    pub(super) async fn first_prompt(
        &self,
        interaction: Interaction,
        timeout: Duration,
    ) -> Result<InteractionRequest, GatewayError> {
        let (input, body) = self.shown(interaction.asked);
        // One call may ask several things, one after the other: what is asked is part of the ask's id.
        let key = format!("tool\n{}\n{}", self.tool_call_id, digest(&json!([input, body])).as_str());
        let usual = InteractionId::derive(self.session, &key);
        let interaction_id = self.ask_id(usual, &asked(&input, &body)).await?;
        Ok(InteractionRequest {
            turn_id: self.turn,
            tool_call_id: Some(self.tool_call_id.clone()),
            marks: self.gateway.marks_of(&self.tool_name, &input, &body),
            agent_says: interaction.words,
            presentation: interaction.presentation,
            completed_view: interaction.completed_view,
            deadline: Some(self.now().await?.after(timeout)),
            has_handler: true,
            ..asking(
                interaction_id,
                PromptId::generate(),
                Origin::Tool,
                self.tool_name.clone(),
                input,
                body,
                Capabilities { reason: true, edit_input: true, scopes: true },
            )
        })
    }

    /// What would be done, and what is asked about it.
    fn shown(&self, asked: Asked) -> (Value, AskBody) {
        match asked {
            Asked::Approval { input, scopes } => {
                let offered_scopes = offered_scopes(&self.tool_name, &digest(&input), &scopes);
                (input, AskBody::Approval { preview: None, offered_scopes, is_plan: false })
            }
            Asked::Questions { questions } => (Value::Null, AskBody::Question { questions }),
            Asked::Form { form } => (Value::Null, AskBody::Form { form }),
        }
    }

    async fn next_prompt(
        &self,
        request: &InteractionRequest,
        again: &Reprompt,
        timeout: Duration,
    ) -> Result<InteractionRequest, GatewayError> {
        let errors = again.field_errors.iter().map(|(field, why)| (field.clone(), Value::from(why.clone())));
        let mut request = request.clone();
        if let Some(now) = again.interaction.as_deref().cloned() {
            (request.input, request.body) = self.shown(now.asked);
            request.input_digest = digest(&request.input);
            request.marks = self.gateway.marks_of(&self.tool_name, &request.input, &request.body);
            request.agent_says = now.words;
            request.presentation = now.presentation;
            request.completed_view = now.completed_view;
        }
        Ok(InteractionRequest {
            prompt_id: PromptId::generate(),
            error: again.error.clone(),
            field_errors: errors.collect(),
            initial_values: again.initial_values.clone(),
            deadline: Some(self.now().await?.after(timeout)),
            ..request
        })
    }

    /// Waits while a person may still answer in time.
    async fn needing_the_handler(&self, id: InteractionId) -> Result<AskRecord, GatewayError> {
        let mut changes = self.gateway.changes(self.session);
        loop {
            let record = self.ask(id).await?;
            if record.ask.state != AskState::Open {
                return Ok(record);
            }
            // The journal's clock decides what is late.
            let now = self.now().await?;
            let left = record.ask.deadline.map_or(Duration::MAX, |deadline| deadline.since(now));
            if left.is_zero() {
                return Ok(record);
            }
            // When time is up, the journal is read again as well.
            tokio::time::timeout(left, changes.of_ask(id)).await.unwrap_or(Ok(()))?;
        }
    }

    /// Records what the tool wants.
    async fn decided(
        &self,
        record: &AskRecord,
        trigger: Trigger,
        wanted: &Result<ToolOutcome, ToolFailure>,
        timeout: Duration,
    ) -> Result<Decided, InteractionError> {
        let verdict = match wanted {
            // Whoever made the call may be gone: the result is kept for who comes back for it.
            Ok(ToolOutcome::Complete(result)) => Verdict::Complete { result: Some(result.clone()) },
            Err(failure) => Verdict::Failed { message: failure.0.clone() },
            Ok(ToolOutcome::Pending { message }) => Verdict::Pending { message: message.clone() },
            Ok(ToolOutcome::Reprompt(again)) => {
                Verdict::Reprompt(Box::new(self.next_prompt(&record.request, again, timeout).await?))
            }
        };
        let (interaction_id, prompt_id) = (record.id, record.ask.prompt_id);
        let outcome =
            |verdict| Command::Outcome(Box::new(Outcome { interaction_id, prompt_id, trigger, verdict }));
        match self.append(outcome(verdict)).await {
            Ok(()) => Ok(Decided::Here),
            Err(GatewayError::Rejected(
                Rejection::NothingToDecide | Rejection::NotDue | Rejection::Ended,
            )) => Ok(Decided::Elsewhere),
            Err(GatewayError::Rejected(Rejection::TooManyAttempts { .. })) => {
                // No answer was good enough, and nobody waits for another one.
                self.append(Command::Cancel(Cancel::Ask(interaction_id))).await?;
                Err(InteractionError::TooManyAttempts)
            }
            // What the tool wants cannot be written or shown. It has no other wish, so its call ends here.
            Err(
                error @ (GatewayError::TooLarge { .. }
                | GatewayError::Rejected(Rejection::BadAsk { .. } | Rejection::SecretInName { .. })),
            ) => {
                let failure = ToolFailure(error.to_string());
                self.append(outcome(Verdict::Failed { message: failure.0.clone() })).await?;
                Err(failure.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn acknowledge(&self, interaction_id: InteractionId) -> Result<(), GatewayError> {
        match self.append(Command::Acknowledge { interaction_id }).await {
            // The turn was stopped in the last moment: the journal says that it never arrived.
            Err(GatewayError::Rejected(Rejection::NotDeliverable)) => Ok(()),
            other => other,
        }
    }

    /// The response, with its secrets.
    async fn given(&self, record: &AskRecord) -> Result<ToolResponse, GatewayError> {
        let mut response = record.response.clone().ok_or(GatewayError::NoAsk)?;
        let mut backoff = Backoff::default();
        let revealed = loop {
            match self.gateway.reveal(self.session, &record.request.body, &mut response).await {
                Err(error) if error.may_pass() => tokio::time::sleep(backoff.pause()).await,
                revealed => break revealed?,
            }
        };
        match revealed {
            Revealed::Whole => {}
            Revealed::Gone => return Err(GatewayError::SecretGone),
        }
        Ok(ToolResponse {
            interaction_id: record.id,
            decider: response.decider,
            prompt_id: record.ask.prompt_id,
            attempt: record.ask.attempt,
            response: response.response,
        })
    }

    async fn ask(&self, id: InteractionId) -> Result<AskRecord, GatewayError> {
        self.gateway.patiently(|| self.gateway.inner.journal.ask(id)).await?.ok_or(GatewayError::NoAsk)
    }

    /// A person may be answering, or has answered: a store that is away for a moment does not end the call.
    async fn append(&self, command: Command) -> Result<(), GatewayError> {
        self.gateway.patiently(|| self.gateway.append(self.session, command.clone())).await.map(drop)
    }

    async fn now(&self) -> Result<Timestamp, GatewayError> {
        self.gateway.patiently(|| self.gateway.inner.journal.now()).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decided {
    Here,
    /// The turn was stopped, or time ran out, while the tool made up its mind.
    Elsewhere,
}

/// A result that the journal could not read again is none.
fn readable(wanted: Result<ToolOutcome, ToolFailure>) -> Result<ToolOutcome, ToolFailure> {
    match &wanted {
        Ok(ToolOutcome::Complete(result)) => match unreadable(result) {
            Some(bad) => Err(ToolFailure(format!("its result cannot be kept: {bad}"))),
            None => wanted,
        },
        Ok(ToolOutcome::Reprompt(_) | ToolOutcome::Pending { .. }) | Err(_) => wanted,
    }
}

/// The tool's last word, where a new prompt is not possible.
fn without_asking_again(
    wanted: Result<ToolOutcome, ToolFailure>,
    impossible: InteractionError,
) -> Result<Value, InteractionError> {
    match wanted? {
        ToolOutcome::Complete(value) => Ok(value),
        ToolOutcome::Pending { message } => Ok(pending(&message)),
        ToolOutcome::Reprompt(_) => Err(impossible),
    }
}

pub(super) fn pending(message: &str) -> Value {
    json!({ "pending": true, "queued": true, "message": message })
}
