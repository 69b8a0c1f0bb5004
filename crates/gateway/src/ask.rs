//! Any program asks.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdstead_core::{
    CALLER, Command, Rejection, Request, Session, Withdraw, asking, digest, form_from_schema, is_concealed,
    offered_scopes,
};
use holdstead_protocol::api::{AskCall, AskCallBody, FormCall, Interaction, LONGEST_TIMEOUT_MS};
use holdstead_protocol::{
    AskBody, Asker, Capabilities, Delivery, Event, EventBody, Form, InteractionId, InteractionRequest,
    Origin, Presentation, PromptId, SessionId, SessionOpened,
};
use holdstead_store::{Appended, AskRecord};
use serde_json::Value;

use crate::{Gateway, GatewayError, Person, view};

/// Which session the ask goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerAsk {
    /// One that is open already.
    In(SessionId),
    /// The caller's own, named after its token and opened on first use.
    Own,
}

/// A name is for a person to read.
const LONGEST_CLIENT_NAME: usize = 64;
/// How many sessions under further names one token may open while this gateway runs.
const CLIENTS: u32 = 8;

/// How many sessions were opened for programs that share a token.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<SessionId, u32>>);

impl Clients {
    /// Counts one more for this caller; `false` if there are enough.
    fn take(&self, caller: SessionId) -> bool {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = opened.entry(caller).or_default();
        *count += 1;
        *count <= CLIENTS
    }
}

impl Gateway {
    /// Opens the ask, or finds the one that was opened with this key.
    pub async fn ask(
        &self,
        caller: &Person,
        place: CallerAsk,
        call: AskCall,
    ) -> Result<Interaction, GatewayError> {
        let (session, agent) = match place {
            CallerAsk::In(session) => (session, self.record(&caller.owner, session).await?.agent),
            CallerAsk::Own => (callers_session(caller), CALLER.to_owned()),
        };
        let deadline = match call.timeout_ms {
            Some(after) if after > LONGEST_TIMEOUT_MS => return Err(too_long(after).into()),
            Some(after) => Some(self.inner.journal.now().await?.after(Duration::from_millis(after))),
            None => None,
        };
        let (body, capabilities) = ask_body(call.body, &call.tool_name, &call.input)?;
        let errors = call.field_errors.into_iter().map(|(field, why)| (field, Value::from(why)));
        let interaction_id = InteractionId::derive(session, &format!("key\n{}", call.key));
        let asked_by = Asker { name: caller.name.clone(), surface: caller.surface, actor: caller.actor };
        let request = InteractionRequest {
            asked_by: Some(asked_by),
            marks: self.marks_of(&call.tool_name, &call.input, &body),
            agent_says: call.agent_says,
            error: call.error,
            field_errors: errors.collect(),
            initial_values: call.initial_values,
            presentation: call.presentation.unwrap_or(Presentation::Questionnaire),
            completed_view: call.completed_view,
            // A caller waits as long as it likes: there is no process of its to hold.
            deadline,
            ..asking(
                interaction_id,
                PromptId::generate(),
                Origin::Caller,
                call.tool_name,
                call.input,
                body,
                capabilities,
            )
        };
        let quota = self.inner.config.quota;
        let command = || {
            let request = request.clone();
            Command::Request(Box::new(Request { request, owner_grants: Vec::new(), allowed_by: None, quota }))
        };
        let appended = match (self.append(session, command()).await, place) {
            // It is opened on first use.
            (Err(GatewayError::Rejected(Rejection::NotOpened)), CallerAsk::Own) => {
                self.own_session(caller).await?;
                self.append(session, command()).await?
            }
            (appended, CallerAsk::Own | CallerAsk::In(_)) => appended?,
        };
        match opened(appended, interaction_id, session, agent) {
            Some(record) => Ok(view::interaction(record)),
            // It was asked before, and may have been answered.
            None => self.interaction(&caller.owner, interaction_id).await,
        }
    }

    /// Takes an ask back for the program that asked. Its device is compared with the one that asked: a person has many.
    pub async fn withdraw(&self, caller: &Person, id: InteractionId) -> Result<Interaction, GatewayError> {
        let session = self.ask_of(&caller.owner, id).await?.session;
        let by = caller.actor.ok_or(Rejection::NotTheAsker)?.device_id;
        self.append(session, Command::Withdraw(Withdraw { interaction_id: id, by })).await?;
        self.interaction(&caller.owner, id).await
    }

    /// Hands the interaction to somebody who reads it. Whoever asked has what was decided by that: once, with its secrets.
    /// Anybody else only looks.
    pub async fn read_by(
        &self,
        reader: &Person,
        interaction: Interaction,
    ) -> Result<Interaction, GatewayError> {
        let asker = interaction.request.asked_by.as_ref();
        let is_same = |asker: &Asker| match (asker.actor, reader.actor) {
            (Some(asker), Some(reader)) => asker.person_id == reader.person_id,
            // Of before people had ids, or without them.
            (None, _) | (_, None) => asker.name == reader.name,
        };
        // The same person at another surface only looks: a script's answer is not used up by a glance at the page.
        match asker.filter(|asker| is_same(asker) && asker.surface == reader.surface) {
            Some(_) => self.fetched(interaction).await,
            None => Ok(interaction),
        }
    }

    /// The caller has what was decided: once, with its secrets.
    pub async fn fetched(&self, mut interaction: Interaction) -> Result<Interaction, GatewayError> {
        let unfetched = interaction.delivery == Some(Delivery::Accepted);
        match interaction.request.origin {
            Origin::Caller if unfetched => {}
            // Nothing to fetch, or only the agent or the tool itself can show that it has it.
            Origin::Caller | Origin::Agent | Origin::Attached | Origin::Tool => return Ok(interaction),
        }
        let acknowledge = Command::Acknowledge { interaction_id: interaction.request.interaction_id };
        let response = interaction.response.as_mut();
        let Some(secret) = response.filter(|given| is_concealed(&interaction.request.body, &given.response))
        else {
            self.append_later(interaction.session_id, acknowledge);
            return Ok(interaction);
        };
        // What is gone was fetched before: it stays concealed.
        self.reveal(interaction.session_id, &interaction.request.body, secret).await?;
        // A secret is handed out once, so that is durable first.
        match self.append(interaction.session_id, acknowledge).await {
            Ok(_) | Err(GatewayError::Rejected(Rejection::NotDeliverable)) => Ok(interaction),
            Err(error) => Err(error),
        }
    }

    /// The session of a program that only asks, opened on first use.
    pub async fn own_session(&self, caller: &Person) -> Result<SessionId, GatewayError> {
        self.open_own(callers_session(caller), caller, &caller.name).await
    }

    /// The session of one program among those that share a token: an MCP client by the name it gives itself. A token
    /// under ever new names gets no further sessions: each has a quota of its own.
    pub async fn client_session(&self, caller: &Person, client: &str) -> Result<SessionId, GatewayError> {
        let client: String = client.chars().take(LONGEST_CLIENT_NAME).collect();
        let session = SessionId::derive(&caller.owner, &format!("{CALLER}\n{}\n{client}", caller.name));
        if self.inner.journal.session(session).await?.is_some() {
            return Ok(session);
        }
        if !self.inner.clients.take(callers_session(caller)) {
            return self.own_session(caller).await;
        }
        self.open_own(session, caller, &client).await
    }

    async fn open_own(
        &self,
        session: SessionId,
        caller: &Person,
        title: &str,
    ) -> Result<SessionId, GatewayError> {
        if self.inner.journal.session(session).await?.is_some() {
            return Ok(session);
        }
        let opened = SessionOpened {
            title: Some(title.to_owned()),
            opened_by: Some(Box::new(caller.opener())),
            ..SessionOpened::new(caller.owner.clone(), CALLER)
        };
        match self.append(session, Command::Open(Box::new(opened))).await {
            Ok(_) | Err(GatewayError::Rejected(Rejection::AlreadyOpen)) => Ok(session),
            Err(error) => Err(error),
        }
    }
}

/// The ask, if this append opened it and did nothing else.
fn opened(appended: Appended, id: InteractionId, session: SessionId, agent: String) -> Option<AskRecord> {
    let [event] = <[Event; 1]>::try_from(appended.events).ok()?;
    let EventBody::InteractionRequest(request) = event.body else { return None };
    let Session { head, mut asks } = appended.session;
    Some(AskRecord {
        id,
        session,
        owner: head.owner.clone(),
        ask: asks.remove(&id)?,
        request: *request,
        response: None,
        session_title: head.title.clone(),
        agent,
        agent_state: head.agent,
    })
}

/// What a caller's ask shows, and what it can be given back.
fn ask_body(body: AskCallBody, tool_name: &str, input: &Value) -> Result<(AskBody, Capabilities), Rejection> {
    let plain = Capabilities { reason: true, edit_input: false, scopes: false };
    match body {
        AskCallBody::Approval { preview, editable, scopes } => {
            let offered_scopes = offered_scopes(tool_name, &digest(input), &scopes);
            let can = Capabilities { edit_input: editable, scopes: !scopes.is_empty(), ..plain };
            Ok((AskBody::Approval { preview, offered_scopes, is_plan: false }, can))
        }
        AskCallBody::Question { questions } => Ok((AskBody::Question { questions }, plain)),
        AskCallBody::Form { form } => Ok((AskBody::Form { form: whole(form)? }, plain)),
    }
}

fn whole(call: FormCall) -> Result<Form, Rejection> {
    match call.schema {
        None => Ok(Form { title: call.title, fields: call.fields }),
        Some(schema) if call.fields.is_empty() => form_from_schema(call.title, &schema),
        Some(_) => Err(bad_ask("the form has `fields` and a `schema`: give one of them")),
    }
}

fn too_long(after: u64) -> Rejection {
    bad_ask(&format!(
        "`timeoutMs` is {after}, and an ask can stay open for {LONGEST_TIMEOUT_MS} (366 days) at most: leave it out for an \
         ask that stays open until a person answers"
    ))
}

fn bad_ask(why: &str) -> Rejection {
    Rejection::BadAsk { why: why.to_owned() }
}

/// The session that the asks of this caller go to where it names none.
pub fn callers_session(caller: &Person) -> SessionId {
    SessionId::derive(&caller.owner, &format!("{CALLER}\n{}", caller.name))
}
