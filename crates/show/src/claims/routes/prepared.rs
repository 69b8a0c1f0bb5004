//! A gateway with one of everything, so that a refusal is never merely "not found".

use std::time::Duration;

use holdstead_client::{Browser, requests_to};
use holdstead_core::{Command, Rejection, digest};
use holdstead_gateway::SecretsKey;
use holdstead_protocol::api::{
    FolderFiles, Interaction, InteractionPage, LoginLink, RulePage, Session, SessionPage, TrustFolder,
    TrustPage,
};
use holdstead_protocol::{
    DeviceId, DeviceKind, Grant, GrantId, PasskeyId, Rule, Scope, SessionId, SessionOpened, Trust, TrustId,
};
use holdstead_server::{NewDevice, add_device};
use holdstead_store::{AppendError, Unmarked, token_hash};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, COOKIE, HOST, ORIGIN, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::call::{Caller, Route, Wrong};
use crate::client::Client;
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::{Error, Result, ensure};

/// A machine that goes for good.
const REMOVED: &str = "old vm";
const ASKS: &str = r#"together
approve Bash {"command":"make one"}
approve Bash {"command":"make two"}
approve Bash {"command":"make three"}
ask Store: Where? | SQLite | PostgreSQL
approve Bash {"command":"make four"}
end"#;
/// Looks like a token and is none.
const UNKNOWN: &str = "hs_0000000000000000000000000000000000000000000000000000000000000000";
/// Any sixteen bytes.
const SOCKET_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAA==";

#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) person: Client,
    http: reqwest::Client,
    url: String,
    tokens: Tokens,
    session: String,
    /// One ask for each route that answers, and one that is snoozed.
    asks: Vec<Interaction>,
    /// The person's own, which only their token can withdraw.
    own_ask: String,
    grant: GrantId,
    /// A folder with files of its own, and what it takes to trust them.
    folder: TempDir,
    trust: TrustFolder,
    trusted: TrustId,
    /// A device of the person that nobody uses.
    spare: DeviceId,
    code: String,
    /// The token of a browser of the time before they signed.
    old_browser: String,
    /// A browser that logs in by a link, and one that exchanges its token.
    browsers: [Browser; 2],
}

#[derive(Debug)]
struct Tokens {
    admin: String,
    person: String,
    viewer: String,
    runner: String,
    metrics: String,
    own_agent: String,
    other_agent: String,
    revoked: String,
}

impl Prepared {
    pub(crate) async fn new(gateway: &GatewayProcess, store: &str) -> Result<Self> {
        let person = gateway.person()?;
        let ada = gateway.token("Ada", TokenFor::Person).await?;
        // Her own, which she may end and erase.
        let session = Client::new(&gateway.url, &ada)?.open_session().await?.session_id;
        let other = person.open_session().await?.session_id.to_string();
        person.say(&session.to_string(), ASKS).await?;
        let asks = person.open_asks(&session.to_string(), 5).await?;
        let own_ask = Client::new(&gateway.url, &ada)?.ask().await?.request.interaction_id.to_string();
        let tokens = Tokens {
            admin: gateway.own_token()?,
            person: ada,
            viewer: gateway.token("Vic", TokenFor::Viewer).await?,
            runner: gateway.token("vm", TokenFor::Runner).await?,
            metrics: gateway.token("prometheus", TokenFor::Metrics).await?,
            own_agent: gateway.token("own", TokenFor::Agent(&session.to_string())).await?,
            other_agent: gateway.token("other", TokenFor::Agent(&other)).await?,
            revoked: gateway.token("gone", TokenFor::Person).await?,
        };
        gateway.token(REMOVED, TokenFor::Runner).await?;
        let spare = gateway.token("Ada", TokenFor::Person).await?;
        let key = std::fs::read_to_string(gateway.folder().join("secrets.key"))?;
        let planted = plant(store, &key, session, &asks[0], [&tokens.revoked, &spare]).await?;
        let folder = TempDir::new()?;
        std::fs::create_dir(folder.path().join(".claude"))?;
        std::fs::write(folder.path().join(".claude/settings.json"), "{}")?;
        let found: FolderFiles = person.get(&folder_path(&folder)).await?;
        let digest = found.digest.ok_or("the folder cannot be trusted")?;
        let trust = TrustFolder { agent: found.agent, folder: found.folder, digest, runner: None };
        let link: LoginLink = person.post("/v1/login-links", &json!({})).await?;
        let browsers = [Browser::new(&gateway.url), Browser::new(&gateway.url)];
        for browser in &browsers {
            // It is refused, and learns a nonce.
            browser.send(Method::GET, "/v1/me", None).await?;
        }
        Ok(Self {
            person,
            http: requests_to(&gateway.url).build()?,
            url: gateway.url.clone(),
            tokens,
            session: session.to_string(),
            asks,
            own_ask,
            grant: planted.grant,
            folder,
            trust,
            trusted: planted.trust,
            spare: planted.spare,
            code: link.code,
            old_browser: planted.old_browser,
            browsers,
        })
    }

    /// What a refused call must not change.
    pub(crate) async fn fingerprint(&self) -> Result<String> {
        let session: Session = self.person.get(&format!("/v1/sessions/{}", self.session)).await?;
        let sessions: SessionPage = self.person.get("/v1/sessions").await?;
        let open: InteractionPage = self.person.get("/v1/interactions?state=open").await?;
        let rules: RulePage = self.person.get("/v1/rules").await?;
        let trusts: TrustPage = self.person.get("/v1/trusts").await?;
        Ok(format!(
            "{} sessions, the first at event {} ({:?}), {} open asks, {} rules, {} trusts",
            sessions.sessions.len(),
            session.seq,
            session.state,
            open.interactions.len(),
            rules.rules.len(),
            trusts.trusts.len()
        ))
    }

    /// Makes the call and returns the status and, of a refusal, the body.
    pub(crate) async fn call(
        &self,
        route: &Route,
        caller: Caller,
        wrong: Option<Wrong>,
    ) -> Result<(u16, Value)> {
        let mut request =
            self.http.request(route.method.clone(), format!("{}{}", self.url, self.fill(route)?));
        if route.takes_body() {
            let kind = if wrong == Some(Wrong::ContentType) { "text/plain" } else { "application/json" };
            let body = self.body(route, caller)?.to_string();
            if route.is_login() && caller != Caller::Unsigned {
                let browser = &self.browsers[usize::from(route.exchanges())];
                let signature = browser.sign(route.method.as_str(), &route.path, body.as_bytes());
                request = request.header(AUTHORIZATION, signature);
            }
            request = request.header(CONTENT_TYPE, kind).body(body);
        }
        if let (Some(token), false) = (self.token(route, caller), route.is_login()) {
            request = request.bearer_auth(token);
        }
        if caller == Caller::Cookie {
            request = request.header(COOKIE, format!("holdstead={}", self.tokens.person));
        }
        if route.is_socket() {
            request = request.header(CONNECTION, "upgrade").header(UPGRADE, "websocket");
            request = request.header(SEC_WEBSOCKET_VERSION, "13").header(SEC_WEBSOCKET_KEY, SOCKET_KEY);
        }
        if route.is_mcp() {
            request = request.header(ACCEPT, "application/json, text/event-stream");
        }
        if wrong == Some(Wrong::Host) {
            request = request.header(HOST, "holdstead.example");
        }
        if wrong == Some(Wrong::Origin) {
            request = request.header(ORIGIN, "https://holdstead.example");
        }
        let response = request.send().await?;
        let status = response.status();
        // A stream that was let in does not end; that it was is all there is to know.
        let let_in = status.is_success() || status == StatusCode::SWITCHING_PROTOCOLS;
        let body = if let_in { Value::Null } else { response.json().await? };
        Ok((status.as_u16(), body))
    }

    fn token(&self, route: &Route, caller: Caller) -> Option<&str> {
        match caller {
            Caller::Right if route.is_for_admins() => Some(&self.tokens.admin),
            Caller::Right if route.is_for_metrics() => Some(&self.tokens.metrics),
            Caller::Right if route.is_for_runners() => Some(&self.tokens.runner),
            Caller::Right | Caller::Person => Some(&self.tokens.person),
            Caller::Nobody | Caller::Cookie | Caller::Unsigned => None,
            Caller::Unknown => Some(UNKNOWN),
            Caller::Revoked => Some(&self.tokens.revoked),
            Caller::Viewer => Some(&self.tokens.viewer),
            Caller::Runner => Some(&self.tokens.runner),
            Caller::Metrics => Some(&self.tokens.metrics),
            Caller::OwnAgent => Some(&self.tokens.own_agent),
            Caller::OtherAgent => Some(&self.tokens.other_agent),
        }
    }

    /// The path with ids of things that exist.
    fn fill(&self, route: &Route) -> Result<String> {
        let path = &route.path;
        let id = if path.contains("/sessions/") {
            self.session.clone()
        } else if path.ends_with("/snooze") {
            self.asks[4].request.interaction_id.to_string()
        } else if path.contains("/interactions/") && route.method == Method::DELETE {
            self.own_ask.clone()
        } else if path.contains("/interactions/") {
            self.asks[0].request.interaction_id.to_string()
        } else if path.contains("/rules/") {
            self.grant.to_string()
        } else if path.contains("/trusts/") {
            self.trusted.to_string()
        } else if path.contains("/passkeys/") {
            PasskeyId::generate().to_string()
        } else if path.contains("/devices/") {
            self.spare.to_string()
        } else {
            String::new()
        };
        if path == "/v1/trusts/folder" {
            return Ok(folder_path(&self.folder));
        }
        match path.as_str() {
            "/v1/search" => return Ok("/v1/search?q=make".to_owned()),
            // What an agent may see of it.
            "/v1/interactions" if !route.takes_body() => {
                return Ok(format!("/v1/interactions?session={}", self.session));
            }
            "/v1/decisions/export" => return Ok("/v1/decisions/export?format=csv".to_owned()),
            _ => {}
        }
        let filled = path.replace("{id}", &id);
        ensure!(!filled.contains('{') && !filled.contains("//"), "{route}: this show has no id to fill in");
        Ok(filled)
    }

    /// A body that the right caller is not refused for.
    fn body(&self, route: &Route, caller: Caller) -> Result<Value> {
        let call = |number: usize| self.asks[number].request.tool_call_id.clone();
        Ok(match route.path.as_str() {
            "/v1/sessions" => json!({ "agent": "scripted" }),
            "/v1/sessions/{id}/variables" => json!({ "variables": { "phase": "release" } }),
            "/v1/sessions/{id}/messages" => json!({ "text": "say Hello" }),
            "/v1/sessions/{id}/interrupt" | "/v1/sessions/{id}/erase" | "/v1/sessions/{id}/archive" => {
                json!({})
            }
            "/v1/login-links" | "/v1/tickets" => json!({}),
            "/v1/passkeys/challenges" => json!({ "purpose": "register" }),
            "/v1/passkeys/requirement" => json!({ "required": false }),
            "/v1/passkeys" => {
                json!({ "challenge": "", "name": "show", "clientData": "", "authenticatorData": "" })
            }
            "/v1/passkeys/confirmations" => {
                json!({ "challenge": "", "credentialId": "", "clientData": "", "authenticatorData": "", "signature": "" })
            }
            "/v1/pairings" => json!({ "url": self.url }),
            "/v1/network" => json!({ "url": "http://203.0.113.9:4780" }),
            "/v1/runners/remove" => json!({ "name": REMOVED }),
            "/v1/rules" => json!({ "line": "deny Bash(nothing:*)" }),
            "/v1/rules/simulate" => json!({ "text": "deny Bash(nothing:*)" }),
            "/v1/rules/explain" => {
                json!({ "sessionId": self.session, "toolName": "Bash", "input": { "command": "ls" } })
            }
            "/v1/interactions/respond" => json!({ "answers": [] }),
            "/v1/trusts" => serde_json::to_value(&self.trust)?,
            "/v1/interaction-mode" => json!({ "client": "show", "mode": "on" }),
            "/v1/interactions" => {
                json!({ "sessionId": self.session, "key": "one", "toolName": "deploy", "kind": "approval", "input": { "to": "staging" } })
            }
            "/v1/interactions/{id}/respond" => {
                json!({ "promptId": self.asks[0].request.prompt_id, "idempotencyKey": "one", "action": "approve" })
            }
            "/v1/interactions/{id}/snooze" => {
                let until = self.asks[4].opened_at.after(Duration::from_secs(3_600));
                json!({ "promptId": self.asks[4].request.prompt_id, "until": until })
            }
            "/v1/login" if caller == Caller::Right => json!({ "code": self.code }),
            "/v1/login" if caller == Caller::Nobody => json!({}),
            "/v1/login" => json!({ "code": UNKNOWN }),
            "/v1/login/exchange" if caller == Caller::Right => json!({ "token": self.old_browser }),
            "/v1/login/exchange" if caller == Caller::Nobody => json!({ "token": "" }),
            "/v1/login/exchange" => json!({ "token": UNKNOWN }),
            "/mcp" => json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
            "/api/sessions/{id}/approve" => json!({ "toolCallId": call(1) }),
            "/api/sessions/{id}/deny" => json!({ "toolCallId": call(2) }),
            "/api/sessions/{id}/submit-answers" => {
                json!({ "toolCallId": call(3), "answers": { "store": "SQLite" } })
            }
            _ => return Err(format!("{route}: this show has no body for it").into()),
        })
    }
}

fn folder_path(folder: &TempDir) -> String {
    format!("/v1/trusts/folder?agent=claude&folder={}", folder.path().display())
}

struct Planted {
    grant: GrantId,
    trust: TrustId,
    spare: DeviceId,
    old_browser: String,
}

/// What no route makes: an always-grant and a trust, a token that was revoked, and one of an old browser.
async fn plant(
    store: &str,
    key: &str,
    session: SessionId,
    ask: &Interaction,
    [revoked, spare]: [&str; 2],
) -> Result<Planted> {
    let journal = holdstead_store::open(store).await?;
    // A row of a device counts only with the mark of the gateway's key.
    journal.guard_with(SecretsKey::from_secret_text(key)?.guard(), Unmarked::Refused).await?;
    let owner = journal.session(session).await?.ok_or("the session is not in the journal")?.owner;
    let grant = Grant {
        grant_id: GrantId::from_answer(ask.request.prompt_id),
        rule: Rule::ExactInput {
            tool_name: "Bash".to_owned(),
            input_digest: digest(&json!({ "command": "ls" })),
            source: None,
        },
        scope: Scope::Always,
        given_by: "Ada".to_owned(),
        interaction_id: Some(ask.request.interaction_id),
        given_at: journal.now().await?,
        expires_at: None,
    };
    let grant_id = grant.grant_id;
    let files = digest(&json!("files"));
    let trust = Trust {
        trust_id: TrustId::of("claude", "/elsewhere", &files),
        agent: "claude".to_owned(),
        folder: "/elsewhere".to_owned(),
        digest: files,
        files: Vec::new(),
        given_by: "Ada".to_owned(),
        given_at: journal.now().await?,
    };
    let trust_id = trust.trust_id;
    let own = SessionId::derive(&owner, "owner");
    let opened = SessionOpened::new(owner, "owner");
    // The first call that rules judge opens it, too.
    match journal.append(own, Command::Open(Box::new(opened))).await {
        Ok(_) | Err(AppendError::Rejected(Rejection::AlreadyOpen)) => {}
        Err(error) => return Err(error.into()),
    }
    journal.append(own, Command::Grant(grant)).await?;
    journal.append(own, Command::Trust(Box::new(trust))).await?;
    let device = async |token: &str| {
        let found = journal.device_by_hash(&token_hash(token)).await?;
        Ok::<_, Error>(found.ok_or("the token is not in the store")?.0)
    };
    let spare = device(spare).await?;
    journal.revoke_device(device(revoked).await?.id).await?;
    let browser = NewDevice { kind: DeviceKind::Browser, name: "Old browser", ..NewDevice::TOKEN };
    let (_, old_browser) = add_device(journal.as_ref(), spare.person, browser).await?;
    journal.close().await;
    Ok(Planted { grant: grant_id, trust: trust_id, spare: spare.id, old_browser })
}
