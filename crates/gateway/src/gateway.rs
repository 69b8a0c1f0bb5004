//! The gateway: what every face (HTTP, terminal, in-process) calls.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use holdstead_agents::Driver;
use holdstead_core::{Cancel, Command, Manages, Message, Quota, Rejection, may_manage, may_open};
use holdstead_protocol::api::{
    Interaction, InteractionPage, Interrupted, MessageAccepted, OpenSession, SendMessage,
    Session as SessionView,
};
use holdstead_protocol::{
    Actor, Event, EventBody, Hold, HoldThen, InteractionId, MessageId, Opener, OwnerId, PasskeyId, Seq,
    SessionId, SessionOpened, Surface, TurnId, UserMessage, VariableValue, VariablesSet,
};
use holdstead_runner::{FolderIs, Runner};
use holdstead_store::{
    AskFilter, AskQuery, AskRecord, Journal, NodeId, NodeStart, SessionQuery, SessionRecord, StoreError,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::{self, Access};
use crate::age_out::{self, AgeOut};
use crate::ask::Clients;
use crate::carrier::HintsBy;
use crate::choosing::{self, Machine};
use crate::hub::Hub;
use crate::later::{self, Later};
use crate::metrics::{Counted, LastLook};
use crate::node::{self, Node};
use crate::nonce::Run;
use crate::policy::{OrganisationRules, PolicyConfig};
use crate::presence::{Answering, Presence, Watch, Watching};
use crate::quiet::LastWritten;
use crate::runners::Runners;
use crate::session::SessionHandle;
use crate::stopped::{Left, Stopped, StoppedAgent};
use crate::tools::{Followed, Tool, builtin};
use crate::traces::Traces;
use crate::{
    EventStream, GatewayError, InboxStream, Masks, SecretsKey, deadlines, owner_journal, summary, view,
    watchers,
};

/// What the gateway needs to be told.
///
/// Rows of people and devices are checked for the mark of a key only if the journal was told which one, before the gateway
/// starts: `journal.guard_with(secrets_key.guard(), …)`. `holdstead serve` does it. A program of your own that does not lets
/// in whoever can write to its database.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// How long an agent is kept waiting where its ask does not say, and what then.
    pub hold: Hold,
    /// What secret answers are sealed with while they are on their way.
    pub secrets_key: SecretsKey,
    /// Where known secrets are noted, for whoever writes a log.
    pub masks: Masks,
    /// The tools that agents can call, besides those that every gateway has.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Where agents on this machine reach these tools over MCP. Left out: hosted agents do not get them.
    pub mcp_url: Option<String>,
    /// What may wait for a person in one session.
    pub quota: Quota,
    /// Rules for every session, and words that mark a call.
    pub policy: PolicyConfig,
    /// Which node this is among several gateways on one database. One that had this id before takes its own place again at
    /// once, so no two that live may have the same. Left out: a new one.
    pub node: Option<NodeId>,
    /// How nodes tell each other where to read again, where there may be several.
    pub hints_by: HintsBy,
    /// Whether sessions that ended long ago go to files.
    pub age_out: Option<AgeOut>,
}

impl GatewayConfig {
    /// Ten minutes, then parked where that is possible.
    pub const DEFAULT_HOLD: Hold = Hold { after_ms: 600_000, then: HoldThen::Park };
}

/// Who acts: derived from a token, never from a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub owner: OwnerId,
    pub name: String,
    pub surface: Surface,
    /// Their ids, where they came in with a token.
    pub actor: Option<Actor>,
    /// Which sessions they may end and erase.
    pub manages: Manages,
}

impl Person {
    /// The same, in what is written down of what this passkey confirmed.
    pub(crate) fn confirmed_by(&self, passkey_id: Option<PasskeyId>) -> Self {
        Self { actor: self.actor.map(|actor| Actor { passkey_id, ..actor }), ..self.clone() }
    }

    /// Somebody who acts in this process: who they are and what they may do is its own business.
    pub fn new(owner: OwnerId, name: impl Into<String>, surface: Surface) -> Self {
        Self { owner, name: name.into(), surface, actor: None, manages: Manages::All }
    }

    pub(crate) fn opener(&self) -> Opener {
        Opener { name: self.name.clone(), actor: self.actor }
    }
}

/// A cheap handle: clone it wherever it is needed.
#[derive(Debug, Clone)]
pub struct Gateway {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) config: GatewayConfig,
    pub(crate) organisation: OrganisationRules,
    /// What is known of each kind of agent.
    pub(crate) drivers: Vec<Arc<dyn Driver>>,
    pub(crate) runners: Runners,
    pub(crate) access: Arc<Access>,
    /// Which run of which node this process is.
    pub(crate) run: Run,
    pub(crate) hub: Hub,
    /// Among others on the same database, where it can have others.
    pub(crate) node: Option<Node>,
    pub(crate) later: Later,
    pub(crate) presence: Arc<Presence>,
    pub(crate) last_written: LastWritten,
    pub(crate) counted: Counted,
    pub(crate) last_look: LastLook,
    pub(crate) traces: Traces,
    pub(crate) followed: Followed,
    pub(crate) clients: Clients,
    /// The tasks that run now: see the registry.
    pub(crate) sessions: Mutex<HashMap<SessionId, SessionHandle>>,
    /// Told when an ask with a deadline was opened.
    pub(crate) new_deadline: watch::Sender<()>,
    pub(crate) shutdown: CancellationToken,
    /// Cancelled when it does not speak for any session any more.
    pub(crate) silent: CancellationToken,
    pub(crate) tasks: TaskTracker,
    /// What became of the agents, while it stops.
    pub(crate) stopped: Mutex<Stopped>,
}

impl Inner {
    pub(crate) const fn masks(&self) -> &Masks {
        &self.config.masks
    }
}

impl Gateway {
    /// Starts the gateway on a journal, and takes up what an earlier one left.
    pub async fn start(
        journal: Arc<dyn Journal>,
        drivers: Vec<Arc<dyn Driver>>,
        config: GatewayConfig,
    ) -> Result<Self, GatewayError> {
        Self::start_with(journal, Arc::new(Runner::new(drivers)), config).await
    }

    /// The same, with agents that may be running already.
    pub async fn start_with(
        journal: Arc<dyn Journal>,
        runner: Arc<Runner>,
        mut config: GatewayConfig,
    ) -> Result<Self, GatewayError> {
        // A registered tool takes the place of one that we have.
        let registered = |name: &str| config.tools.iter().any(|tool| tool.name() == name);
        let own: Vec<_> = builtin::tools().into_iter().filter(|tool| !registered(tool.name())).collect();
        config.tools.extend(own);
        let shutdown = CancellationToken::new();
        let id = config.node.unwrap_or_else(NodeId::generate);
        let run = Run { node: id, start: NodeStart::generate() };
        let node = Node::join(&journal, run, &config.hints_by, &shutdown).await?;
        let silent = CancellationToken::new();
        let inner = Inner {
            organisation: OrganisationRules::new(&config.policy),
            journal,
            config,
            drivers: runner.drivers().to_vec(),
            runners: Runners::new(runner, silent.child_token()),
            access: Arc::default(),
            run,
            hub: Hub::default(),
            node,
            later: Later::default(),
            presence: Arc::default(),
            last_written: LastWritten::now(),
            counted: Counted::default(),
            last_look: LastLook::default(),
            traces: Traces::default(),
            followed: Followed::default(),
            clients: Clients::default(),
            sessions: Mutex::default(),
            new_deadline: watch::Sender::new(()),
            shutdown,
            silent,
            tasks: TaskTracker::new(),
            stopped: Mutex::default(),
        };
        let gateway = Self { inner: Arc::new(inner) };
        gateway.recover().await?;
        gateway.note_when_rules_were_read();
        gateway.inner.tasks.spawn(deadlines::run(gateway.clone()));
        gateway.inner.tasks.spawn(access::run(gateway.clone()));
        gateway.inner.tasks.spawn(later::run(gateway.clone()));
        gateway.inner.tasks.spawn(age_out::run(gateway.clone()));
        if gateway.inner.node.is_some() {
            gateway.inner.tasks.spawn(node::stay(gateway.clone()));
            gateway.inner.tasks.spawn(node::tell(gateway.clone()));
            gateway.inner.tasks.spawn(node::follow(gateway.clone()));
            gateway.inner.tasks.spawn(watchers::share(gateway.clone()));
        }
        Ok(gateway)
    }

    /// Stops hosting: agents that wait are parked if they can be, agents' processes end, asks stay open. Nothing is started
    /// and no agent is told an answer from now on; the next gateway does that.
    pub async fn stop(&self) -> Stopped {
        self.inner.shutdown.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        // What the last of them left for later.
        self.write_all_earlier().await;
        self.leave_nodes().await;
        std::mem::take(&mut self.inner.stopped.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn note_stopped(&self, agent: StoppedAgent, left: Left) {
        self.inner.stopped.lock().unwrap_or_else(PoisonError::into_inner).add(agent, left);
    }

    /// Speaks for no session from now on, in the middle of whatever it does. Agents go on, and what they say waits for
    /// whoever speaks for them next. People are served as before.
    pub fn stop_speaking(&self) {
        self.inner.silent.cancel();
    }

    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.inner.journal
    }

    /// Ends when the gateway is going away: streams end with it.
    pub fn shutdown_token(&self) -> CancellationToken {
        self.inner.shutdown.clone()
    }

    pub async fn open_session(
        &self,
        person: &Person,
        open: OpenSession,
    ) -> Result<SessionView, GatewayError> {
        choosing::hosted(self.drivers(), &open.agent)?;
        let machine = self.choose_machine(&person.owner, open.runner.as_deref()).await?;
        let cwd = open.cwd.as_deref().unwrap_or(".");
        let folder = match &machine {
            Machine::Here(attached) => attached.runner.folder(&open.agent, cwd).await?,
            // It looks when it starts the agent, and says so in the session if it cannot.
            Machine::Elsewhere(_) => FolderIs::There,
        };
        match folder {
            FolderIs::There => {}
            FolderIs::Missing => return Err(GatewayError::NoFolder { cwd: cwd.to_owned() }),
            FolderIs::Private => return Err(GatewayError::OwnFolder { cwd: cwd.to_owned() }),
        }
        may_open(person.manages, &open)?;
        let confirmation = self.confirm_session(person, &open).await?;
        let id = SessionId::generate(&person.owner);
        let opened = SessionOpened {
            owner: person.owner.clone(),
            agent: open.agent,
            cwd: open.cwd,
            title: open.title,
            permission_mode: open.permission_mode,
            model: open.model,
            system_prompt: open.system_prompt,
            max_turns: open.max_turns,
            allowed_tools: open.allowed_tools,
            mcp_servers: open.mcp_servers,
            program: open.program,
            variables: open.variables,
            opened_by: Some(Box::new(person.confirmed_by(confirmation.passkey()).opener())),
            runner: machine.id(),
            terminal: None,
        };
        let opened = self.append(id, Command::Open(Box::new(opened))).await;
        self.after_confirmation(confirmation, opened).await?;
        self.session(&person.owner, id).await
    }

    pub async fn session(&self, owner: &OwnerId, id: SessionId) -> Result<SessionView, GatewayError> {
        let record = self.record(owner, id).await?;
        Ok(self.with_audience(record))
    }

    pub async fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionView>, GatewayError> {
        let records = self.inner.journal.sessions(query).await?;
        Ok(records.into_iter().map(|record| self.with_audience(record)).collect())
    }

    fn with_audience(&self, record: SessionRecord) -> SessionView {
        let audience = self.inner.presence.audience(&record.owner, record.id);
        let messages = self.messages(&record);
        view::session(record, audience, messages)
    }

    /// Counts a client among those who watch, until the result is dropped.
    pub fn watching(&self, person: &Person, client: &str, answering: Answering, watch: Watch) -> Watching {
        self.inner.presence.watch(person, client, answering, watch)
    }

    /// A client that watches says anew whether it would answer.
    pub fn set_answering(&self, person: &Person, client: &str, answering: Answering) {
        self.inner.presence.set_answering(person, client, answering);
    }

    /// Whether somebody who would answer watches this session now.
    pub fn interaction_available(&self, owner: &OwnerId, session: SessionId) -> bool {
        self.inner.presence.audience(owner, session).enabled > 0
    }

    /// A person's message: it waits for its turn, and answers no ask.
    pub async fn message(
        &self,
        person: &Person,
        session: SessionId,
        message: SendMessage,
    ) -> Result<MessageAccepted, GatewayError> {
        let record = self.record(&person.owner, session).await?;
        // Without an agent it would wait for ever.
        self.driver(&record.opened.agent)?;
        let message_id = message.message_id.unwrap_or_else(MessageId::generate);
        let said = UserMessage {
            turn_id: TurnId::generate(),
            message_id,
            text: message.text.clone(),
            from: person.name.clone(),
            actor: person.actor,
        };
        let turn_id = said.turn_id;
        let said = Message { said, listener: self.listener(&record) };
        match self.append(session, Command::Message(Box::new(said))).await {
            Ok(appended) => Ok(MessageAccepted { turn_id, message_id, seq: appended.head }),
            Err(GatewayError::Rejected(Rejection::AlreadySaid { seq })) => {
                let turn = self.turn_of(session, seq, &message.text).await?;
                let turn_id = turn.ok_or(Rejection::AlreadySaid { seq })?;
                Ok(MessageAccepted { turn_id, message_id, seq })
            }
            Err(error) => Err(error),
        }
    }

    /// The turn of the message in this place, if it has these words.
    async fn turn_of(
        &self,
        session: SessionId,
        seq: Seq,
        text: &str,
    ) -> Result<Option<TurnId>, GatewayError> {
        let events = self.inner.journal.read(session, Seq(seq.0.saturating_sub(1)), 1).await?;
        Ok(events.iter().find_map(|event| {
            let EventBody::UserMessage(said) = &event.body else { return None };
            (said.text == text).then_some(said.turn_id)
        }))
    }

    /// Sets variables that rules ask about, or removes some.
    pub async fn set_variables(
        &self,
        person: &Person,
        session: SessionId,
        variables: BTreeMap<String, Option<VariableValue>>,
    ) -> Result<SessionView, GatewayError> {
        self.record(&person.owner, session).await?;
        let set = VariablesSet { variables, name: person.name.clone(), actor: person.actor };
        self.append(session, Command::SetVariables(set)).await?;
        self.session(&person.owner, session).await
    }

    /// Stops the turn: its asks are cancelled everywhere before the agent hears of it.
    pub async fn interrupt(&self, person: &Person, session: SessionId) -> Result<Interrupted, GatewayError> {
        self.record(&person.owner, session).await?;
        let (gateway, by) = (self.clone(), person.name.clone());
        // To the end, even if whoever stops it goes away: an agent whose asks are cancelled must hear of it.
        let stopped = self
            .inner
            .tasks
            .spawn(async move { gateway.append(session, Command::Cancel(Cancel::Turn { by })).await });
        let cancelled = stopped.await.unwrap_or(Err(GatewayError::Closing))?;
        let mut closed = Vec::new();
        for event in &cancelled.events {
            if let EventBody::InteractionClosed(ask) = &event.body {
                closed.push(ask.interaction_id);
            }
        }
        Ok(Interrupted { cancelled: closed })
    }

    /// Ends a session: its asks are cancelled and its agent goes.
    pub async fn end(&self, person: &Person, session: SessionId) -> Result<(), GatewayError> {
        let record = self.record(&person.owner, session).await?;
        may_manage(person.manages, person.actor, &record.opened)?;
        match self.append(session, Command::End { name: person.name.clone() }).await {
            // Whoever says it again for want of a reply has what they wanted.
            Ok(_) | Err(GatewayError::Rejected(Rejection::Ended)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub async fn read(
        &self,
        owner: &OwnerId,
        session: SessionId,
        after: Seq,
        limit: u32,
    ) -> Result<(Vec<Event>, Seq), GatewayError> {
        let head = self.record(owner, session).await?.head;
        Ok((self.inner.journal.read(session, after, limit).await?, head))
    }

    /// Everything after a cursor, then what happens from now on.
    pub async fn stream(
        &self,
        owner: &OwnerId,
        session: SessionId,
        after: Seq,
    ) -> Result<EventStream, GatewayError> {
        self.record(owner, session).await?;
        let live = self.inner.hub.watch_session(session);
        let journal = Arc::clone(&self.inner.journal);
        Ok(EventStream::new(journal, session, after, live, self.serving_token()))
    }

    pub fn inbox(&self, owner: &OwnerId) -> InboxStream {
        let live = self.inner.hub.watch_owner(owner);
        InboxStream::new(Arc::clone(&self.inner.journal), owner.clone(), live, self.serving_token())
    }

    /// One page of asks as lists show them, and where the next one begins.
    pub async fn page(&self, query: AskQuery) -> Result<InteractionPage, GatewayError> {
        if let Some(session) = query.session {
            self.record(&query.owner, session).await?;
        }
        Ok(summary::page(&self.inner.journal, query).await?)
    }

    pub async fn interaction(&self, owner: &OwnerId, id: InteractionId) -> Result<Interaction, GatewayError> {
        let record = self.ask_of(owner, id).await?;
        let late = self.late_answer(&record).await?;
        let failure = self.failure(&record).await?;
        Ok(Interaction { late, failure, ..view::interaction(record) })
    }

    /// What is known of an ask now. Waits for a store that is away; `None` for an ask that cannot be read.
    pub async fn ask_now(
        &self,
        owner: &OwnerId,
        id: InteractionId,
    ) -> Result<Option<Interaction>, GatewayError> {
        match self.patiently(|| self.ask_of(owner, id)).await {
            Ok(record) => Ok(Some(view::interaction(record))),
            Err(GatewayError::NoAsk | GatewayError::Store(StoreError::Corrupt { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All asks of a session that are not over.
    pub(crate) async fn live_asks_of(
        &self,
        owner: &OwnerId,
        session: SessionId,
    ) -> Result<Vec<AskRecord>, GatewayError> {
        let (owner, only) = (owner.clone(), AskFilter::Live);
        let all = AskQuery { owner, session: Some(session), only, after: None, limit: u32::MAX };
        Ok(self.inner.journal.asks(all).await?)
    }

    /// The open ask of one tool call.
    pub async fn open_ask_of_call(
        &self,
        owner: &OwnerId,
        session: SessionId,
        tool_call_id: &str,
    ) -> Result<Interaction, GatewayError> {
        let query = AskQuery {
            owner: owner.clone(),
            session: Some(session),
            only: AskFilter::Live,
            after: None,
            limit: 1_000,
        };
        let asks = self.page(query).await?.interactions;
        let found = asks
            .into_iter()
            .find(|ask| ask.request.tool_call_id.as_ref().is_some_and(|call| call.as_str() == tool_call_id));
        let found = found.ok_or(GatewayError::NoAsk)?;
        // The list may have shown a part of it.
        self.interaction(owner, found.request.interaction_id).await
    }

    pub(crate) fn drivers(&self) -> &[Arc<dyn Driver>] {
        &self.inner.drivers
    }

    pub(crate) fn driver(&self, name: &str) -> Result<Arc<dyn Driver>, GatewayError> {
        choosing::named(self.drivers(), name)
    }

    /// A session of this owner. Somebody else's session does not exist, and the owner's own journal is no session.
    pub(crate) async fn record(&self, owner: &OwnerId, id: SessionId) -> Result<SessionRecord, GatewayError> {
        let record = self.inner.journal.session(id).await?;
        record
            .filter(|record| record.owner == *owner && !owner_journal::is_owners_journal(record))
            .ok_or(GatewayError::NoSession)
    }

    /// An ask of this owner. Somebody else's ask does not exist.
    pub(crate) async fn ask_of(&self, owner: &OwnerId, id: InteractionId) -> Result<AskRecord, GatewayError> {
        let ask = self.inner.journal.ask(id).await?;
        ask.filter(|ask| ask.owner == *owner).ok_or(GatewayError::NoAsk)
    }
}
