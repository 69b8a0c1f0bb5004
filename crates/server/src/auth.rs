//! Who is calling, and what the token's role lets them do.
//!
//! A route says what it needs by the type it takes: a [`Reader`], an [`Operator`], an [`Answerer`] or an [`Asker`].
//! An agent's token can become a `Reader` of its own session and an `Asker`, and never an `Answerer`.

use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use holdstead_gateway::{Admitted, Answering, Lease, Manages, Person};
use holdstead_protocol::api::Role;
use holdstead_protocol::transport::InteractionMode;
use holdstead_protocol::{Actor, DeviceId, DeviceKind, IdentifiedBy, OwnerId, PersonId, SessionId, Surface};
use holdstead_store::{bearer_hash, token_hash};
use serde::Deserialize;
use tokio::time::timeout;
use utoipa::IntoParams;

use crate::App;
use crate::body::Asked;
use crate::connections::RequestSeat;
use crate::guard;
use crate::limit::{Bill, Cost};
use crate::problem::ApiError;
use crate::signed::Signed;
use crate::tokens::{BROWSER_BEARER, browser_bearer};

/// Where a program says that a person sits at a terminal.
const SURFACE_HEADER: &str = "holdstead-surface";

/// Where a client says that it only shows asks.
const INTERACTION_HEADER: &str = "holdstead-interaction";

/// A valid token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) person_id: PersonId,
    pub(crate) device_id: DeviceId,
    pub(crate) person: Person,
    pub(crate) role: Role,
    identified_by: IdentifiedBy,
    /// The hash of the token.
    pub(crate) token: [u8; 32],
    /// The one session an agent's token belongs to.
    session: Option<SessionId>,
    /// Ends when the device is revoked, or its person is given another role.
    pub(crate) lease: Lease,
}

/// What a caller may do over a socket, and the words where it may not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rights {
    pub(crate) operate: Result<(), &'static str>,
    pub(crate) answer: Result<(), &'static str>,
}

const MAY_NOT_OPERATE: &str = "This token may not start or stop agents. A person's token may.";
const BOUND: &str = "This token belongs to one session, and may only look at it.";
const ONLY_METRICS: &str = "This token may read metrics, and nothing else.";
const MAY_NOT_SCRAPE: &str = "This token may not read metrics. An admin's may, and one made for it on the gateway's machine: holdstead \
     token --role metrics --name NAME";
const NOT_FROM_HERE: &str = "This page came over plain http, so this device has a token that can be copied, and may not log other devices in. \
     Use https, or run `holdstead pair` on the gateway's machine.";
const NO_PASSKEYS_FROM_HERE: &str = "This page came over plain http, so this device has a token that can be copied, and may not change \
     passkeys. Use a browser on the gateway's machine, or https.";
const MAY_NOT_ANSWER: &str = "This token may not answer. A person's token may.";

impl Caller {
    /// A socket sees everything of its owner, so it is for people's screens.
    pub(crate) fn rights(&self) -> Result<Rights, ApiError> {
        match (self.role, self.session) {
            (Role::Person | Role::Admin, None) => Ok(Rights { operate: Ok(()), answer: Ok(()) }),
            (Role::Viewer, None) => Ok(Rights { operate: Err(MAY_NOT_OPERATE), answer: Err(MAY_NOT_ANSWER) }),
            (Role::Person | Role::Admin | Role::Viewer, Some(_))
            | (Role::Agent | Role::Runner | Role::Metrics, _) => Err(ApiError::Forbidden(
                "A socket is for people's screens. Programs ask with POST /v1/interactions.",
            )),
        }
    }

    /// Who acts, if their device is still good. Asked for right before something is done: it may have been revoked while
    /// the rest of the request was on its way.
    pub(crate) fn now(&self) -> Result<&Person, ApiError> {
        if self.lease.is_good() { Ok(&self.person) } else { Err(ApiError::NoToken) }
    }

    /// Waits for something no longer than the device is good.
    pub(crate) async fn while_good<T>(&self, waiting: impl Future<Output = T>) -> Result<T, ApiError> {
        tokio::select! {
            biased;
            () = self.lease.ended() => Err(ApiError::NoToken),
            done = waiting => Ok(done),
        }
    }

    /// Whether this device may let others of its person in. A copy of its token would get a device with more rights, at every
    /// address.
    pub(crate) fn lets_others_in(&self) -> Result<(), ApiError> {
        self.rights()?;
        match self.identified_by {
            IdentifiedBy::Key | IdentifiedBy::Token => self.now().map(drop),
            IdentifiedBy::Bearer => Err(ApiError::Forbidden(NOT_FROM_HERE)),
        }
    }

    fn scrapes(&self) -> Result<Scraper, ApiError> {
        match (self.role, self.session) {
            (Role::Metrics | Role::Admin, None) => Ok(Scraper),
            (Role::Person | Role::Viewer | Role::Agent | Role::Runner, _)
            | (Role::Metrics | Role::Admin, Some(_)) => Err(ApiError::Forbidden(MAY_NOT_SCRAPE)),
        }
    }

    fn own_session(&self) -> SessionId {
        self.session.unwrap_or_else(|| holdstead_gateway::callers_session(&self.person))
    }
}

/// May look at what belongs to its owner, or at its own session.
#[derive(Debug, Clone)]
pub(crate) struct Reader(pub(crate) Caller);

/// May open, message, stop and end sessions.
#[derive(Debug, Clone)]
pub(crate) struct Operator(Caller);

/// May answer asks.
#[derive(Debug, Clone)]
pub(crate) struct Answerer(Caller);

/// May open asks.
#[derive(Debug, Clone)]
pub(crate) struct Asker(pub(crate) Caller);

/// May read what the gateway counts, over all owners.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scraper;

/// May run agents on its own machine.
#[derive(Debug, Clone)]
pub(crate) struct Hosting(pub(crate) Caller);

impl Operator {
    /// See [`Caller::now`].
    pub(crate) fn now(&self) -> Result<&Person, ApiError> {
        self.0.now()
    }
}

impl Answerer {
    /// Who changes which passkeys there are, or what they are for. A copy of a token that went over plain http could add one
    /// of its own, and lock its person out.
    pub(crate) fn changes_passkeys(&self) -> Result<&Person, ApiError> {
        match self.0.identified_by {
            IdentifiedBy::Key | IdentifiedBy::Token => self.now(),
            IdentifiedBy::Bearer => Err(ApiError::Forbidden(NO_PASSKEYS_FROM_HERE)),
        }
    }

    /// See [`Caller::now`].
    pub(crate) fn now(&self) -> Result<&Person, ApiError> {
        self.0.now()
    }
}

impl Reader {
    /// See [`Caller::now`].
    pub(crate) fn now(&self) -> Result<&Person, ApiError> {
        self.0.now()
    }

    /// The owner, if this token may see everything of theirs.
    pub(crate) fn owner(&self) -> Result<&OwnerId, ApiError> {
        match (self.0.role, self.0.session) {
            (Role::Person | Role::Viewer | Role::Admin, None) => Ok(&self.0.now()?.owner),
            (Role::Person | Role::Viewer | Role::Admin, Some(_)) | (Role::Agent | Role::Runner, _) => {
                Err(ApiError::Forbidden("This token can see its own session only."))
            }
            (Role::Metrics, _) => Err(ApiError::Forbidden(ONLY_METRICS)),
        }
    }

    /// The owner, if this token may see this session.
    pub(crate) fn owner_for(&self, session: SessionId) -> Result<&OwnerId, ApiError> {
        if self.0.own_session() == session && self.0.role != Role::Metrics {
            return Ok(&self.0.now()?.owner);
        }
        self.owner()
    }

    /// What this reader would do about an ask, if it wishes so.
    pub(crate) fn answering(&self, wished: InteractionMode) -> Answering {
        match self.0.role {
            Role::Person | Role::Admin => wished.into(),
            Role::Viewer | Role::Agent | Role::Runner | Role::Metrics => Answering::Never,
        }
    }

    /// A program's token sees the asks of its own session only: what it fetches has arrived.
    pub(crate) fn is_program(&self) -> bool {
        match self.0.role {
            Role::Agent | Role::Runner | Role::Metrics => true,
            Role::Person | Role::Viewer | Role::Admin => false,
        }
    }
}

impl Asker {
    /// See [`Caller::now`].
    pub(crate) fn now(&self) -> Result<&Person, ApiError> {
        self.0.now()
    }

    /// Where this caller's asks go. A program asks in its own session only: in another's it would read from what is masked
    /// in its own words what was answered there.
    pub(crate) fn place(&self, wanted: Option<SessionId>) -> Result<holdstead_gateway::CallerAsk, ApiError> {
        use holdstead_gateway::CallerAsk;
        let Some(wanted) = wanted else {
            return Ok(self.0.session.map_or(CallerAsk::Own, CallerAsk::In));
        };
        let may_ask_anywhere = match self.0.role {
            Role::Person | Role::Admin => self.0.session.is_none(),
            Role::Viewer | Role::Agent | Role::Runner | Role::Metrics => false,
        };
        if wanted == self.0.own_session() && self.0.session.is_none() {
            return Ok(CallerAsk::Own);
        }
        if may_ask_anywhere || wanted == self.0.own_session() {
            return Ok(CallerAsk::In(wanted));
        }
        Err(ApiError::Forbidden("This token can ask in its own session only."))
    }
}

/// Who opens a socket: whoever has a token, or a ticket that was made with one. Browsers can send no header there.
#[derive(Debug, Clone)]
pub(crate) struct SocketCaller(pub(crate) Caller);

/// How a browser shows who opens a socket.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WithTicket {
    /// Of `POST /v1/tickets`, where the client can send no `Authorization` header. It opens one socket.
    ticket: Option<String>,
}

impl FromRequestParts<App> for SocketCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Asked(WithTicket { ticket }) = Asked::from_request_parts(parts, app).await?;
        let Some(ticket) = ticket.filter(|_| !parts.headers.contains_key(AUTHORIZATION)) else {
            return Caller::from_request_parts(parts, app).await.map(Self);
        };
        // A ticket of a process that is gone opens nothing: a program that took its place may have seen it.
        let runs = ticket.rsplit_once('.').and_then(|(_, nonce)| app.gateway.check_nonce(nonce));
        runs.ok_or(ApiError::BadTicket)?;
        let ticket = token_hash(&ticket);
        let used = async { app.gateway.journal().use_ticket(&ticket).await?.ok_or(ApiError::BadTicket) };
        let hash = app.doubtful.tickets.look_up(used).await?;
        let admitted = admitted(&hash, app).await?;
        count(hash, parts, app)?;
        app.gateway.used(&admitted);
        Ok(Self(Caller::new(admitted, hash, parts)))
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Some(signed) = parts.extensions.get::<Signed>() else {
            let secret = presented(&parts.headers).ok_or(ApiError::NoToken)?;
            return Self::with_token(stored_hash(secret, parts), parts, app).await;
        };
        let admitted = admitted(&signed.hash, app).await?;
        // Keys are no secret: only who has one takes from what it may send.
        if let Err(error) = signed.check() {
            return Err(app.doubtful.tokens.failed(error).await);
        }
        count(signed.hash, parts, app)?;
        app.gateway.used(&admitted);
        Ok(Self::new(admitted, signed.hash, parts))
    }
}

impl Caller {
    async fn with_token(hash: [u8; 32], parts: &Parts, app: &App) -> Result<Self, ApiError> {
        let admitted = admitted(&hash, app).await?;
        count(hash, parts, app)?;
        match (admitted.device.kind, admitted.device.identified_by) {
            // Of the time before browsers signed. A program that had our port for a moment may have it.
            (DeviceKind::Browser, IdentifiedBy::Token) => Err(ApiError::ExchangeNeeded),
            (DeviceKind::Browser, IdentifiedBy::Key | IdentifiedBy::Bearer)
            | (DeviceKind::Terminal | DeviceKind::Token, _) => {
                app.gateway.used(&admitted);
                Ok(Self::new(admitted, hash, parts))
            }
        }
    }

    fn new(Admitted { device, person, lease }: Admitted, token: [u8; 32], parts: &Parts) -> Self {
        let surface = match device.kind {
            DeviceKind::Browser => Surface::Web,
            DeviceKind::Terminal | DeviceKind::Token => said_surface(parts),
        };
        let role = match (device.identified_by, person.role) {
            // Its token went over the network for everybody to read.
            (IdentifiedBy::Bearer, Role::Admin) => Role::Person,
            (IdentifiedBy::Key | IdentifiedBy::Bearer | IdentifiedBy::Token, role) => role,
        };
        let manages = match role {
            Role::Admin => Manages::All,
            Role::Person | Role::Viewer | Role::Agent | Role::Runner | Role::Metrics => Manages::Own,
        };
        let actor = Some(Actor { person_id: person.id, device_id: device.id, passkey_id: None });
        let caller = Person { owner: person.owner, name: person.name, surface, actor, manages };
        Self {
            person_id: person.id,
            device_id: device.id,
            person: caller,
            role,
            identified_by: device.identified_by,
            token,
            session: device.session,
            lease,
        }
    }
}

/// Counts a request for a caller that was let in, who pays for its body as well.
fn count(hash: [u8; 32], parts: &Parts, app: &App) -> Result<(), ApiError> {
    if let Some(bill) = parts.extensions.get::<Bill>() {
        bill.goes_to(&app.limits, hash);
    }
    app.limits.take(&hash, Cost::REQUEST, Instant::now()).map_err(ApiError::TooMany)?;
    match parts.extensions.get::<RequestSeat>() {
        Some(seat) if !seat.count(hash) => Err(ApiError::TooManyAtOnce),
        Some(_) | None => Ok(()),
    }
}

async fn admitted(hash: &[u8; 32], app: &App) -> Result<Admitted, ApiError> {
    let admit = async { app.gateway.admit(hash).await?.ok_or(ApiError::NoToken) };
    if !app.limits.knows(hash) {
        return app.doubtful.tokens.look_up(admit).await;
    }
    match admit.await {
        Err(ApiError::NoToken) => {
            app.limits.forget(hash);
            Err(app.doubtful.tokens.failed(ApiError::NoToken).await)
        }
        admitted => admitted,
    }
}

/// What is stored of a token that came with this request.
fn stored_hash(secret: &str, parts: &Parts) -> [u8; 32] {
    if secret.starts_with(BROWSER_BEARER) {
        return bearer_hash(guard::host(&parts.headers, &parts.uri).unwrap_or_default(), secret);
    }
    token_hash(secret)
}

/// A browser that logs in.
#[derive(Debug)]
pub(crate) struct Newcomer {
    /// What identifies it from then on, as it is stored.
    pub(crate) hash: [u8; 32],
    pub(crate) identified_by: IdentifiedBy,
    /// Where it cannot sign.
    pub(crate) token: Option<String>,
}

impl Newcomer {
    /// Whether this browser is logged in already.
    pub(crate) async fn is_known(&self, app: &App) -> Result<bool, ApiError> {
        if app.gateway.admit(&self.hash).await?.is_some() {
            return Ok(true);
        }
        // A key that was logged out stays out.
        match app.gateway.journal().device_by_hash(&self.hash).await? {
            Some(_) => Err(ApiError::NoToken),
            None => Ok(false),
        }
    }
}

/// A browser that logs in, before its signature is checked: that costs more than to wait for the rest of its request.
#[derive(Debug)]
pub(crate) struct Claimant {
    newcomer: Newcomer,
    signed: Option<Signed>,
}

impl Claimant {
    pub(crate) fn check(self) -> Result<Newcomer, ApiError> {
        if let Some(signed) = self.signed {
            signed.check()?;
        }
        Ok(self.newcomer)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Claimant {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        if let Some(signed) = parts.extensions.get::<Signed>().cloned() {
            let newcomer = Newcomer { hash: signed.hash, identified_by: IdentifiedBy::Key, token: None };
            return Ok(Self { newcomer, signed: Some(signed) });
        }
        let host = guard::host(&parts.headers, &parts.uri).unwrap_or_default();
        if guard::is_this_machine(host) {
            return Err(ApiError::SignatureNeeded);
        }
        let token = browser_bearer();
        let hash = bearer_hash(host, &token);
        let newcomer = Newcomer { hash, identified_by: IdentifiedBy::Bearer, token: Some(token) };
        Ok(Self { newcomer, signed: None })
    }
}

/// The secret of the header. Never of a cookie: browsers send those to every port of a host, and an agent's own server is
/// one of them.
pub(crate) fn presented(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// Whether the client that sent this answers asks, by its own word.
pub(crate) fn answers_here(headers: &HeaderMap) -> InteractionMode {
    match headers.get(INTERACTION_HEADER).and_then(|value| value.to_str().ok()) {
        Some("off") => InteractionMode::Off,
        Some(_) | None => InteractionMode::On,
    }
}

fn said_surface(parts: &Parts) -> Surface {
    match parts.headers.get(SURFACE_HEADER).and_then(|value| value.to_str().ok()) {
        Some("terminal") => Surface::Terminal,
        Some(_) | None => Surface::Api,
    }
}

impl FromRequestParts<App> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Caller::from_request_parts(parts, app).await.map(Self)
    }
}

impl FromRequestParts<App> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        match (caller.role, caller.session) {
            (Role::Person | Role::Admin, None) => Ok(Self(caller)),
            (Role::Person | Role::Admin, Some(_)) => Err(ApiError::Forbidden(BOUND)),
            (Role::Viewer | Role::Agent | Role::Runner | Role::Metrics, _) => {
                Err(ApiError::Forbidden(MAY_NOT_OPERATE))
            }
        }
    }
}

impl FromRequestParts<App> for Answerer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        match (caller.role, caller.session) {
            (Role::Person | Role::Admin, None) => Ok(Self(caller)),
            (Role::Person | Role::Admin, Some(_)) => Err(ApiError::Forbidden(BOUND)),
            (Role::Viewer | Role::Agent | Role::Runner | Role::Metrics, _) => {
                Err(ApiError::Forbidden(MAY_NOT_ANSWER))
            }
        }
    }
}

impl FromRequestParts<App> for Asker {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        match caller.role {
            Role::Person | Role::Agent | Role::Runner | Role::Admin => Ok(Self(caller)),
            Role::Viewer => Err(ApiError::Forbidden("This token may look, and not ask.")),
            Role::Metrics => Err(ApiError::Forbidden(ONLY_METRICS)),
        }
    }
}

impl FromRequestParts<App> for Hosting {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        match (caller.role, caller.session) {
            (Role::Runner, None) => Ok(Self(caller)),
            (Role::Person | Role::Viewer | Role::Agent | Role::Metrics | Role::Admin, _)
            | (Role::Runner, Some(_)) => Err(ApiError::Forbidden(
                "Only a runner's token may do this. Make one on the gateway's machine: holdstead token --role runner --name NAME",
            )),
        }
    }
}

/// How long the store may take to say whether a token is still good to read metrics.
const STORE_PATIENCE: Duration = Duration::from_secs(1);

impl FromRequestParts<App> for Scraper {
    type Rejection = ApiError;

    /// Metrics are needed most while the store does not answer: a token that was good a while ago is good enough then, for
    /// numbers.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Some(secret) = presented(&parts.headers) else {
            return Caller::from_request_parts(parts, app).await.and_then(|caller| caller.scrapes());
        };
        let hash = stored_hash(secret, parts);
        let caller = Caller::with_token(hash, parts, app);
        let caller = if app.scrapers.was_let_in(&hash, Instant::now()) {
            match timeout(STORE_PATIENCE, caller).await {
                Ok(Err(ApiError::Gateway(_))) | Err(_) => return Ok(Self),
                Ok(caller) => caller,
            }
        } else {
            caller.await
        };
        let may = match caller {
            Ok(caller) => caller.scrapes(),
            Err(error) => Err(error),
        };
        match &may {
            Ok(_) => app.scrapers.let_in(hash, Instant::now()),
            Err(_) => app.scrapers.forget(&hash),
        }
        may
    }
}
