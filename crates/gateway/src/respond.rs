//! A person answers.

use holdstead_core::{Command, Confirmed, Rejection, Respond, Together, conceal};
use holdstead_protocol::api::{
    Interaction, LateResponse, ManyReceipts, OneOfMany, OneReceipt, Receipt, Respond as RespondBody,
    RespondMany,
};
use holdstead_protocol::{
    AskState, Event, EventBody, InteractionId, LateAnswer, MessageId, Refusal, Seq, SessionId, Timestamp,
    TurnId,
};
use holdstead_store::{Appended, AskRecord};

use crate::node::Node;
use crate::{Gateway, GatewayError, Person};

/// How many answers one request may bring.
const MOST_AT_ONCE: usize = 50;

impl Gateway {
    /// The first answer to a prompt wins. Returns when it is durable; the agent is told after that.
    pub async fn respond(
        &self,
        person: &Person,
        id: InteractionId,
        body: RespondBody,
    ) -> Result<Receipt, GatewayError> {
        self.respond_so(person, id, body, Together::Alone).await
    }

    async fn respond_so(
        &self,
        person: &Person,
        id: InteractionId,
        body: RespondBody,
        together: Together,
    ) -> Result<Receipt, GatewayError> {
        let ask = self.ask_of(&person.owner, id).await?;
        let confirmation = self.confirm_answer(person, &ask, &body).await?;
        let person = person.confirmed_by(confirmation.passkey());
        let answered = self.respond_confirmed(&person, ask, body, together, confirmation.confirmed).await;
        self.after_confirmation(confirmation, answered).await
    }

    async fn respond_confirmed(
        &self,
        person: &Person,
        ask: AskRecord,
        body: RespondBody,
        together: Together,
        confirmed: Confirmed,
    ) -> Result<Receipt, GatewayError> {
        let id = ask.id;
        let key = body.idempotency_key.clone();
        let (response, secrets) = conceal(&ask.ask, body.response)?;
        let command = Respond {
            interaction_id: id,
            prompt_id: body.prompt_id,
            idempotency_key: body.idempotency_key,
            response,
            secrets_mac: None,
            name: person.name.clone(),
            surface: person.surface,
            actor: person.actor,
            together,
            confirmed,
            turn_id: TurnId::generate(),
            message_id: MessageId::generate(),
        };
        let session = ask.session;
        let appended = if secrets.is_empty() {
            let respond = Command::Respond(Box::new(command));
            match self.hand_over_at_once(&ask).await {
                Some(delivering) => self.append_both(session, respond, delivering).await?,
                None => self.append(session, respond).await?,
            }
        } else {
            self.respond_secretly(session, command, secrets, &ask.request.body).await?
        };
        let receipt = receipt(session, id, &key, &appended)?;
        if appended.events.is_empty() {
            // The answer was written before: perhaps by the database for a gateway that was killed, and after this one had read
            // what that one left.
            self.publish_again(session);
        }
        if appended.session.asks.get(&id).is_some_and(|ask| ask.rule_unsaved) {
            self.rule_saved(session, id).await;
        }
        Ok(receipt)
    }

    /// What follows an answer to an agent that we write to: it shares the answer's commit, so that the agent does not wait
    /// for another one. It is refused if the agent cannot be given the answer now; then its session's task sees to it.
    async fn hand_over_at_once(&self, record: &AskRecord) -> Option<Command> {
        let asked_in = record.ask.asked_in.filter(|_| record.ask.origin.is_agent())?;
        // While the gateway stops, no task tells an agent anything: what is marked and not told would be lost.
        let told_here =
            !self.inner.shutdown.is_cancelled() && self.listening(record.session) == Some(asked_in);
        let can_be_told = told_here || self.is_told_elsewhere(record.session).await;
        can_be_told.then_some(Command::Delivering { interaction_id: record.id, incarnation: asked_in })
    }

    /// Whether the node that speaks for its agent finds it in the journal, and writes it. Of a runner that dialled another
    /// node it is not known whether it is there now.
    async fn is_told_elsewhere(&self, session: SessionId) -> bool {
        self.inner.node.as_ref().is_some_and(Node::is_spoken_for_elsewhere)
            && matches!(self.inner.journal.session(session).await, Ok(Some(record)) if record.state.runner.is_none())
    }

    /// Each for itself: one that is refused does not touch the others. What is marked is never answered among others.
    pub async fn respond_to_many(
        &self,
        person: &Person,
        many: RespondMany,
    ) -> Result<ManyReceipts, GatewayError> {
        let given = many.answers.len();
        if given > MOST_AT_ONCE {
            return Err(Rejection::TooManyAtOnce { given, most: MOST_AT_ONCE }.into());
        }
        let mut results = Vec::with_capacity(given);
        for OneOfMany { interaction_id, answer } in many.answers {
            results.push(match self.respond_so(person, interaction_id, answer, Together::WithOthers).await {
                Ok(receipt) => OneReceipt::Taken { receipt },
                // Whoever sent them sends them again with the same keys.
                Err(error) if error.may_pass() => return Err(error),
                Err(error) => OneReceipt::Refused { interaction_id, problem: Refusal::from(&error) },
            });
        }
        Ok(ManyReceipts { results })
    }

    /// The answer that came too late to settle this ask, if one did.
    pub(crate) async fn late_answer(&self, record: &AskRecord) -> Result<Option<LateResponse>, GatewayError> {
        let late = self.late_answer_of(record).await?;
        let at = record.ask.late.as_ref().map(|late| late.at);
        Ok(late.zip(at).map(|(late, at)| {
            let LateAnswer { name, surface, actor, response, .. } = late;
            LateResponse { name, surface, actor, response, at }
        }))
    }

    /// The same as the journal has it.
    pub(crate) async fn late_answer_of(
        &self,
        record: &AskRecord,
    ) -> Result<Option<LateAnswer>, GatewayError> {
        let Some(late) = &record.ask.late else { return Ok(None) };
        let before = Seq(late.seq.0.saturating_sub(1));
        let events = self.inner.journal.read(record.session, before, 1).await?;
        match events.into_iter().next() {
            Some(Event { body: EventBody::LateAnswer(late), .. }) => Ok(Some(*late)),
            Some(_) | None => Ok(None),
        }
    }

    /// Waits until nothing more will happen to an ask that was open when it was read, or until `patience` has run out.
    pub async fn wait_settled(
        &self,
        person: &Person,
        read: Interaction,
        patience: std::time::Duration,
    ) -> Result<Interaction, GatewayError> {
        let id = read.request.interaction_id;
        let mut changes = self.changes(read.session_id);
        let over = async {
            loop {
                // Again: it may have been answered between that read and the subscription.
                let now = self.interaction(&person.owner, id).await?;
                if now.state.is_over() {
                    return Ok(now);
                }
                match changes.of_ask(id).await {
                    Ok(()) => {}
                    Err(GatewayError::Closing) => return Ok(now),
                    Err(error) => return Err(error),
                }
            }
        };
        match tokio::time::timeout(patience, over).await {
            Ok(result) => result,
            Err(_) => self.interaction(&person.owner, id).await,
        }
    }
}

/// What was recorded under this key: now, or when it was sent the first time.
fn receipt(
    session: SessionId,
    id: InteractionId,
    key: &str,
    appended: &Appended,
) -> Result<Receipt, GatewayError> {
    let ask = appended.session.asks.get(&id).ok_or(GatewayError::NoAsk)?;
    let Some(record) = ask.response_with_key(key) else {
        return Err(match ask.state {
            AskState::Closed { closing } => Rejection::Dead { closing }.into(),
            AskState::Open | AskState::Submitted { .. } | AskState::Settled { .. } | AskState::Queued => {
                GatewayError::NoAsk
            }
        });
    };
    let (seq, at): (Seq, Timestamp) = (record.seq, record.at);
    Ok(Receipt {
        interaction_id: id,
        prompt_id: record.prompt_id,
        session_id: session,
        seq,
        at,
        state: ask.state.clone(),
        delivery: ask.delivery.clone(),
        late: ask.late.as_ref().is_some_and(|late| late.seq == seq),
    })
}
