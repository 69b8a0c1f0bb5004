//! Approvals that cover more than the call which a person approved (N7), and acts without the passkey that confirms them (N11).

mod finger;

use std::path::Path;

use holdstead_protocol::api::{FolderFiles, Interaction, Session};
use holdstead_protocol::{AskState, EventBody, ResponseDraft, Scope};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use self::finger::Finger;
use super::{Attempts, Outcome};
use crate::client::{Client, approve};
use crate::gateway_process::{GatewayProcess, TokenFor};
use crate::waiting::until;
use crate::{Result, ensure};

const TOPIC: &str = "approvals";
/// Two that nothing marks, and two that are marked.
const COMMANDS: [&str; 4] = ["make deploy", "cargo xtask release", "rm -rf build", "git push --force"];

pub(super) async fn play(attempts: &mut Attempts) -> Result<()> {
    let gateway = GatewayProcess::serve(None).await?;
    let person = gateway.person()?;
    for command in COMMANDS {
        for asker in ["its agent", "a program"] {
            let stage = Laundering::prepare(&gateway, &person, asker).await;
            let outcome = async { stage?.in_its_session(command).await }.await;
            attempts.record(TOPIC, &format!("{asker} asks for `{command}`, and the agent calls it"), outcome);
        }
    }
    for asker in ["its agent", "a program"] {
        let stage = Laundering::prepare(&gateway, &person, asker).await;
        let outcome = async { stage?.for_an_hour().await }.await;
        let name = format!("{asker} asks for an hour, and an agent in another folder makes the call");
        attempts.record(TOPIC, &name, outcome);
    }
    for (asker, other) in [("its agent", "a program"), ("a program", "its agent")] {
        let outcome = other_program(&gateway, &person, asker, other).await;
        attempts.record(TOPIC, &format!("{asker} asks, and {other} asks for the same"), outcome);
    }
    gateway.stop().await?;
    without_passkey(attempts).await
}

/// One session of an agent, and an attacker that asks in it as a program.
struct Laundering {
    person: Client,
    session: String,
    asker: Client,
}

impl Laundering {
    async fn prepare(gateway: &GatewayProcess, person: &Client, asker: &str) -> Result<Self> {
        let session = person.open_session().await?.session_id.to_string();
        let asker = asker_of(gateway, &session, asker).await?;
        Ok(Self { person: person.clone(), session, asker })
    }

    /// An approval for the session of what the program asks for covers the agent's own call of it.
    async fn in_its_session(&self, command: &str) -> Result<Outcome> {
        let input = json!({ "command": command });
        let ask = program_asks(&self.asker, &self.session, &input, &["once", "session"]).await?;
        let given = approve_widely(&self.person, &ask, Scope::Session).await?;
        calls(&self.person, &self.session, &input, &given).await
    }

    /// An approval that reaches further covers the calls of every agent of the owner.
    async fn for_an_hour(&self) -> Result<Outcome> {
        let input = json!({ "command": "make deploy-everything" });
        let ask = match program_asks(&self.asker, &self.session, &input, &["once", "hour"]).await {
            Ok(ask) => ask,
            Err(refused) => return Ok(Outcome::Held(format!("it is refused: {refused}"))),
        };
        let given = approve_widely(&self.person, &ask, Scope::Hour).await?;
        let folder = TempDir::new()?;
        let elsewhere: Session =
            self.person.post("/v1/sessions", &json!({"agent": "scripted", "cwd": folder.path()})).await?;
        calls(&self.person, &elsewhere.session_id.to_string(), &input, &given).await
    }
}

async fn asker_of(gateway: &GatewayProcess, session: &str, asker: &str) -> Result<Client> {
    let name = format!("{asker} {}", Uuid::new_v4());
    let whose = if asker == "a program" { TokenFor::Person } else { TokenFor::Agent(session) };
    Client::new(&gateway.url, &gateway.token(&name, whose).await?)
}

async fn program_asks(asker: &Client, session: &str, input: &Value, scopes: &[&str]) -> Result<Interaction> {
    let call = json!({
        "key": Uuid::new_v4().to_string(),
        "sessionId": session,
        "kind": "approval",
        "toolName": "Bash",
        "input": input,
        "scopes": scopes,
    });
    asker.post("/v1/interactions", &call).await
}

/// The person remembers it as far as the card offers it. Says how it was approved.
async fn approve_widely(person: &Client, ask: &Interaction, scope: Scope) -> Result<String> {
    let wide = ResponseDraft::Approve { scope: Some(scope), lines: Vec::new(), edited_input: None };
    if person.win(ask, wide).await.is_ok() {
        return Ok(format!("approved for {}", scope.as_str()));
    }
    person.win(ask, approve()).await?;
    Ok("approved once: no more was offered".to_owned())
}

/// The agent makes the call. It was covered if its turn ends without an ask.
async fn calls(person: &Client, session: &str, input: &Value, given: &str) -> Result<Outcome> {
    person.say(session, &format!("approve Bash {input}")).await?;
    until("the agent's call was decided or asked about", async || {
        if !person.asks(session).await?.is_empty() {
            return Ok(Some(Outcome::Held(format!("{given}, and the agent's call was asked about"))));
        }
        let done =
            person.journal(session).await?.iter().any(|event| matches!(event.body, EventBody::Done(_)));
        Ok(done.then(|| Outcome::Succeeded(format!("{given}, and the agent's call ran unasked"))))
    })
    .await
}

async fn other_program(
    gateway: &GatewayProcess,
    person: &Client,
    asker: &str,
    other: &str,
) -> Result<Outcome> {
    let session = person.open_session().await?.session_id.to_string();
    let (first, second) =
        (asker_of(gateway, &session, asker).await?, asker_of(gateway, &session, other).await?);
    let input = json!({ "command": "make release" });
    let ask = program_asks(&first, &session, &input, &["once", "session"]).await?;
    let given = approve_widely(person, &ask, Scope::Session).await?;
    let again = program_asks(&second, &session, &input, &["once", "session"]).await?;
    Ok(match again.state {
        AskState::Open => Outcome::Held(format!("{given}, and the other program's ask waits for a person")),
        AskState::Submitted { .. }
        | AskState::Settled { .. }
        | AskState::Queued
        | AskState::Closed { .. } => Outcome::Succeeded(format!("{given}, and the other's was settled")),
    })
}

/// What a thief of a token does who has no passkey, though the person requires one.
#[derive(Debug, Clone, Copy)]
enum Theft {
    Session(&'static str),
    Trust,
    Rule,
    Answer(&'static str),
}

const THEFTS: [(&str, Theft); 8] = [
    ("opens a session with its own program", Theft::Session("program")),
    ("opens a session with an MCP server", Theft::Session("mcpServers")),
    ("opens a session with allowed tools", Theft::Session("allowedTools")),
    ("trusts a folder", Theft::Trust),
    ("saves a rule", Theft::Rule),
    ("approves for an hour", Theft::Answer("hour")),
    ("approves for always", Theft::Answer("always")),
    ("approves with an edited input", Theft::Answer("edited")),
];

/// What the thief has of a passkey.
#[derive(Debug, Clone, Copy)]
enum Has {
    Nothing,
    /// The person confirmed the very same kind of act before, and did it.
    Used,
    /// The person confirmed something else, and did not do it yet.
    OfAnother,
}

async fn without_passkey(attempts: &mut Attempts) -> Result<()> {
    let gateway = GatewayProcess::serve(None).await?;
    let finger = Finger::required_of(&gateway).await?;
    let folder = TempDir::new()?;
    std::fs::create_dir(folder.path().join(".holdstead"))?;
    let stage = Burglary { gateway, finger, folder };
    for (name, theft) in THEFTS {
        for (having, has) in [
            ("no confirmation", Has::Nothing),
            ("a confirmation that was used", Has::Used),
            ("a confirmation of another act", Has::OfAnother),
        ] {
            let outcome = stage.commit(theft, has).await;
            attempts.record(TOPIC, &format!("a thief {name}, with {having}"), outcome);
        }
    }
    let token = stage.gateway.token("thief", TokenFor::Person).await?;
    let body = session_with("program");
    let status = Client::new(&stage.gateway.url, &token)?.status_of("/v1/sessions", &body).await?;
    let outcome = outcome_of(status, "a person who is no admin");
    attempts.record(TOPIC, "a person who is no admin chooses the program", outcome);
    stage.gateway.stop().await
}

struct Burglary {
    gateway: GatewayProcess,
    finger: Finger,
    folder: TempDir,
}

/// One act: where it is sent, with what, and what a passkey would confirm.
struct Planned {
    path: String,
    body: Value,
    purpose: Value,
}

impl Burglary {
    async fn commit(&self, theft: Theft, has: Has) -> Result<Outcome> {
        match has {
            Has::Nothing => {}
            Has::Used => {
                let before = self.plan(theft).await?;
                // An older gateway confirms fewer acts, and does them all the same.
                let confirmed = self.finger.confirm(&before.purpose).await?;
                let status = self.send(&before).await?;
                ensure!(status < 300, "confirmed: {confirmed}, the person's own act answered {status}");
            }
            Has::OfAnother => {
                let session = json!({"agent": "scripted", "permissionMode": "auto", "title": Uuid::new_v4()});
                let purpose = json!({"purpose": "open_session", "session": session});
                ensure!(self.finger.confirm(&purpose).await?, "a session in `auto` was not confirmed");
            }
        }
        let planned = self.plan(theft).await?;
        outcome_of(self.send(&planned).await?, "the thief")
    }

    async fn send(&self, planned: &Planned) -> Result<u16> {
        self.finger.send(Method::POST, &planned.path, &planned.body).await.map(|(status, _)| status)
    }

    async fn plan(&self, theft: Theft) -> Result<Planned> {
        match theft {
            Theft::Session(with) => {
                let body = session_with(with);
                let purpose = json!({"purpose": "open_session", "session": body});
                Ok(Planned { path: "/v1/sessions".to_owned(), body, purpose })
            }
            Theft::Rule => {
                let body = json!({"line": "allow Bash(make test)"});
                let purpose = json!({"purpose": "save_rule", "rule": body});
                Ok(Planned { path: "/v1/rules".to_owned(), body, purpose })
            }
            Theft::Trust => {
                let folder = self.folder.path();
                std::fs::write(folder.join(RULES), format!("# {}\nallow Bash(make)\n", Uuid::new_v4()))?;
                let body = self.trust_of(folder).await?;
                let purpose = json!({"purpose": "trust_folder", "trust": body});
                Ok(Planned { path: "/v1/trusts".to_owned(), body, purpose })
            }
            Theft::Answer(how) => self.answer(how).await,
        }
    }

    async fn trust_of(&self, folder: &Path) -> Result<Value> {
        let path = format!("/v1/trusts/folder?agent=rules&folder={}", folder.display());
        let found: FolderFiles = self.gateway.person()?.get(&path).await?;
        Ok(json!({"agent": "rules", "folder": found.folder, "digest": found.digest}))
    }

    async fn answer(&self, how: &str) -> Result<Planned> {
        let person = self.gateway.person()?;
        let session = person.open_session().await?.session_id.to_string();
        // Each of them is another line: the rule that one saves covers no other.
        let input = json!({"command": format!("ls {}", Uuid::new_v4())});
        person.say(&session, &format!("approve Bash {input}")).await?;
        let ask = person.open_ask(&session, "approval").await?;
        let response = match how {
            "edited" => json!({"action": "approve", "editedInput": {"command": "make other"}}),
            scope => json!({"action": "approve", "scope": scope}),
        };
        let (interaction, prompt) = (ask.request.interaction_id, ask.request.prompt_id);
        let purpose = json!({
            "purpose": "approve", "interactionId": interaction, "promptId": prompt, "response": response,
        });
        let mut body = response;
        body["promptId"] = json!(prompt);
        body["idempotencyKey"] = json!(Uuid::new_v4());
        Ok(Planned { path: format!("/v1/interactions/{interaction}/respond"), body, purpose })
    }
}

/// The rules of a folder.
const RULES: &str = ".holdstead/rules";

fn session_with(with: &str) -> Value {
    let mut body = json!({"agent": "scripted"});
    body[with] = match with {
        "program" => json!("/bin/true"),
        "mcpServers" => json!({"x": {"command": "sh"}}),
        _ => json!(["Bash(make test)"]),
    };
    body
}

fn outcome_of(status: u16, who: &str) -> Result<Outcome> {
    match status {
        200..300 => Ok(Outcome::Succeeded(format!("{who} was answered {status}"))),
        403 => Ok(Outcome::Held(format!("{who} was answered {status}"))),
        _ => Err(format!("{who} was answered {status}").into()),
    }
}
