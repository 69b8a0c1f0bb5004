//! The same rules for the real Claude Code and for the scripted agent: what they allow never asks, what they deny never
//! runs, and whatever leaves their bounds asks.

use std::path::{Path, PathBuf};

use holdstead_protocol::api::{FolderFiles, Interaction, RulePage, SavedRule, Session};
use holdstead_protocol::{
    AskBody, CallDecision, Event, EventBody, GrantId, Layer, ResponseDraft, Rule, Scope, Told, Trust,
};
use holdstead_scripted_model::{Script, call};
use reqwest::Method;
use serde_json::{Value, json};

use crate::claude::Stage;
use crate::{Result, ensure};

const REASON: &str = "Use the editor instead, and say \"why\" first.";

/// What was decided about calls without asking.
pub(crate) fn decisions(events: &[Event]) -> Vec<&CallDecision> {
    let mut decided = Vec::new();
    for event in events {
        if let EventBody::ToolCallEnd(end) = &event.body {
            decided.extend(end.decision.as_deref());
        }
    }
    decided
}

type Check<'a> = std::pin::Pin<Box<dyn Future<Output = Result<String>> + 'a>>;

#[derive(Debug, Clone, Copy)]
enum Agent {
    Claude,
    Scripted,
}

struct Scene<'a> {
    stage: &'a Stage,
    agent: Agent,
    folder: PathBuf,
}

pub(crate) async fn show() -> Result<String> {
    let stage = Stage::new("10m").await?;
    let mut held = 0;
    let mut failures = Vec::new();
    for agent in [Agent::Claude, Agent::Scripted] {
        let name = format!("{agent:?}").to_lowercase();
        let folder = stage.home().join("projects").join(&name);
        std::fs::create_dir_all(folder.join("src"))?;
        let scene = Scene { stage: &stage, agent, folder };
        let checks: Vec<(&str, Check<'_>)> = vec![
            ("an allowed call never asks, also as one of several", Box::pin(scene.allowed())),
            ("a denied call never runs, and the model reads why", Box::pin(scene.denied())),
            ("what stands beside an allowed command asks", Box::pin(scene.joined())),
            ("a revoked rule asks at the next call", Box::pin(scene.revoked())),
            ("what is saved is what was shown", Box::pin(scene.saved())),
            ("an input that leaves the bounds of what was saved asks", Box::pin(scene.leaves())),
            ("a project's file cannot widen, and can narrow", Box::pin(scene.project())),
        ];
        for (words, check) in checks {
            report(&name, words, check.await, &mut held, &mut failures);
        }
        if let Agent::Claude = agent {
            report(
                &name,
                "reads pass inside the folder and ask outside",
                scene.reads().await,
                &mut held,
                &mut failures,
            );
            let edited = scene.edited_by_hook().await;
            report(
                &name,
                "an input that a hook edits out of the bounds asks",
                edited,
                &mut held,
                &mut failures,
            );
        }
    }
    stage.stop().await?;
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(format!("{held} of {held} checks hold with the same rules for Claude Code and the scripted agent"))
}

fn report(agent: &str, words: &str, result: Result<String>, held: &mut u32, failures: &mut Vec<String>) {
    match result {
        Ok(seen) => {
            *held += 1;
            println!("{agent}: {words}: {seen}");
        }
        Err(error) => failures.push(format!("{agent}: {words}: {error}")),
    }
}

impl Scene<'_> {
    /// A session in which the agent makes these calls of Bash, one after the other.
    async fn run(&self, commands: &[&str]) -> Result<(String, String)> {
        let calls: Vec<(&str, Value)> =
            commands.iter().map(|line| ("Bash", json!({"command": line}))).collect();
        self.call(&calls).await
    }

    async fn call(&self, calls: &[(&str, Value)]) -> Result<(String, String)> {
        self.call_in(&self.folder, calls).await
    }

    async fn call_in(&self, folder: &Path, calls: &[(&str, Value)]) -> Result<(String, String)> {
        let name = uuid::Uuid::new_v4().to_string();
        match self.agent {
            Agent::Claude => {
                let script = calls
                    .iter()
                    .fold(Script::new(), |script, (tool, input)| script.reply([call(*tool, input.clone())]));
                let scene = self.stage.play_in(&name, "default", script, folder).await?;
                Ok((scene.session, name))
            }
            Agent::Scripted => {
                let open = json!({"agent": "scripted", "cwd": folder, "title": name});
                let session: Session = self.stage.person.post("/v1/sessions", &open).await?;
                let lines: Vec<String> =
                    calls.iter().map(|(tool, input)| format!("approve {tool} {input}")).collect();
                let session = session.session_id.to_string();
                self.stage.person.say(&session, &lines.join("\n")).await?;
                Ok((session, name))
            }
        }
    }

    async fn rule(&self, line: &str) -> Result<GrantId> {
        let saved: SavedRule = self.stage.person.post("/v1/rules", &json!({"line": line})).await?;
        Ok(saved.grant_id)
    }

    async fn revoke(&self, id: GrantId) -> Result<()> {
        self.stage.person.tell(Method::DELETE, &format!("/v1/rules/{id}")).await
    }

    /// The turn ends without an ask.
    async fn unasked(&self, session: &str) -> Result<Vec<Event>> {
        let events = self.stage.person.done(session).await?;
        let asked = events.iter().find(|event| matches!(event.body, EventBody::InteractionRequest(_)));
        ensure!(asked.is_none(), "somebody was asked: {asked:?}");
        Ok(events)
    }

    /// Waits for the one ask, which is denied so that nothing runs.
    async fn asks(&self, session: &str, line: &str) -> Result<(Interaction, Vec<Event>)> {
        let ask = self.stage.person.open_ask(session, "approval").await?;
        ensure!(ask.request.input["command"] == line, "asked about {}", ask.request.input);
        self.stage.person.win(&ask, ResponseDraft::Deny { reason: None }).await?;
        let events = self.stage.person.done(session).await?;
        let asked =
            events.iter().filter(|event| matches!(event.body, EventBody::InteractionRequest(_))).count();
        ensure!(asked == 1, "{asked} asks");
        Ok((ask, events))
    }

    async fn allowed(&self) -> Result<String> {
        let id = self.rule("allow Bash(ls:*)").await?;
        let (session, _) = self.run(&["ls", "ls -a src && ls src"]).await?;
        let events = self.unasked(&session).await?;
        let decided = decisions(&events);
        ensure!(decided.len() == 2 && decided.iter().all(|one| one.told == Told::Allowed), "{decided:?}");
        let rule = decided[1].verdict.parts[1].rule.as_ref().ok_or("the journal names no rule")?;
        ensure!(rule.text == "allow Bash(ls:*)" && rule.layer == Layer::Person, "{rule:?}");
        self.revoke(id).await?;
        Ok(format!("2 calls, 0 asks; the call's event names `{}`", rule.text))
    }

    async fn denied(&self) -> Result<String> {
        let id = self.rule(&format!("deny Bash(touch:*) # {REASON}")).await?;
        let (session, name) = self.run(&["touch made.txt"]).await?;
        let events = self.unasked(&session).await?;
        self.revoke(id).await?;
        ensure!(!self.folder.join("made.txt").exists(), "it ran");
        let told = match self.agent {
            Agent::Claude => self.stage.told(&name).iter().any(|told| told.words() == REASON),
            Agent::Scripted => events.iter().any(|event| {
                let reason = |output: &Value| output["received"]["response"]["reason"] == REASON;
                matches!(&event.body, EventBody::ToolResult(result) if reason(&result.output))
            }),
        };
        ensure!(told, "the model was not told why: {:?}", self.stage.told(&name));
        Ok("nothing ran, the reason arrived word for word".to_owned())
    }

    async fn joined(&self) -> Result<String> {
        let id = self.rule("allow Bash(ls:*)").await?;
        let line = "ls && rm -rf src";
        let (session, _) = self.run(&[line]).await?;
        let (ask, _) = self.asks(&session, line).await?;
        self.revoke(id).await?;
        ensure!(!ask.request.marks.is_empty(), "`rm -rf` is not marked");
        ensure!(self.folder.join("src").is_dir(), "it ran");
        Ok(format!("`{line}` asks, marked as {:?}", ask.request.marks[0].risk))
    }

    async fn revoked(&self) -> Result<String> {
        let id = self.rule("allow Bash(ls)").await?;
        let (session, _) = self.run(&["ls"]).await?;
        self.unasked(&session).await?;
        self.revoke(id).await?;
        let (session, _) = self.run(&["ls"]).await?;
        self.asks(&session, "ls").await?;
        Ok("allowed, revoked, asked".to_owned())
    }

    /// Approves the first call with this reach and the offer that has these lines.
    async fn approve(&self, session: &str, scope: Scope, line: &str) -> Result<()> {
        let ask = self.stage.person.open_ask(session, "approval").await?;
        let AskBody::Approval { offered_scopes, .. } = &ask.request.body else {
            return Err("no approval".into());
        };
        let lines = vec![line.to_owned()];
        let offered = offered_scopes
            .iter()
            .any(|offer| offer.scope == scope && offer.rule == Rule::Lines { lines: lines.clone() });
        ensure!(offered, "`{line}` is not offered: {offered_scopes:?}");
        let draft = ResponseDraft::Approve { scope: Some(scope), lines, edited_input: None };
        self.stage.person.win(&ask, draft).await?;
        Ok(())
    }

    async fn saved(&self) -> Result<String> {
        let (session, _) = self.run(&["ls src", "ls src"]).await?;
        self.approve(&session, Scope::Hour, "allow Bash(ls src)").await?;
        let events = self.stage.person.done(&session).await?;
        ensure!(decisions(&events).len() == 1, "the second call was not decided by the rule");
        let page: RulePage = self.stage.person.get("/v1/rules").await?;
        let saved: Vec<_> = page.rules.iter().filter(|rule| rule.layer == Layer::Person).collect();
        let [rule] = saved.as_slice() else { return Err(format!("{} rules are saved", saved.len()).into()) };
        ensure!(rule.rule == Rule::Lines { lines: vec!["allow Bash(ls src)".to_owned()] }, "{:?}", rule.rule);
        ensure!(rule.uses >= 1 && rule.expires_at.is_some(), "{rule:?}");
        self.revoke(rule.grant_id.ok_or("a rule without an id")?).await?;
        Ok("`allow Bash(ls src)`, for an hour, used".to_owned())
    }

    async fn leaves(&self) -> Result<String> {
        let line = "ls src/../..";
        let (session, _) = self.run(&["ls src", line]).await?;
        self.approve(&session, Scope::Session, "allow Bash(ls:*)").await?;
        let ask = loop {
            let asks = self.stage.person.open_asks(&session, 1).await?;
            match asks.into_iter().next() {
                Some(ask) if ask.request.input["command"] == line => break ask,
                Some(_) | None => {}
            }
        };
        let why = ask.request.verdict.as_ref().and_then(|verdict| verdict.reason.clone()).unwrap_or_default();
        self.stage.person.win(&ask, ResponseDraft::Deny { reason: None }).await?;
        self.stage.person.done(&session).await?;
        ensure!(why.contains("outside the folder"), "{why}");
        Ok(why)
    }

    async fn project(&self) -> Result<String> {
        let folder = self.folder.join("project");
        std::fs::create_dir_all(folder.join(".holdstead"))?;
        std::fs::write(folder.join(".holdstead/rules"), "allow Bash(id)\ndeny Bash(ls:*) # Not here\n")?;
        let calls = [("Bash", json!({"command": "ls"})), ("Bash", json!({"command": "id"}))];
        let (session, _) = self.call_in(&folder, &calls).await?;
        let (_, events) = self.asks(&session, "id").await?;
        let decided = decisions(&events);
        ensure!(decided.len() == 1 && decided[0].told == Told::Denied, "{decided:?}");
        let said = events.iter().any(|event| {
            matches!(&event.body, EventBody::Error(error) if error.message.contains("`allow Bash(id)` does not count"))
        });
        ensure!(said, "nobody was told that its allow does not count");
        let path = format!("/v1/trusts/folder?agent=rules&folder={}", folder.display());
        let files: FolderFiles = self.stage.person.get(&path).await?;
        let body = json!({"agent": "rules", "folder": files.folder, "digest": files.digest});
        let _: Trust = self.stage.person.post("/v1/trusts", &body).await?;
        let (session, _) = self.call_in(&folder, &calls).await?;
        self.unasked(&session).await?;
        Ok("its deny counts, its allow only once the folder is trusted".to_owned())
    }

    async fn reads(&self) -> Result<String> {
        std::fs::write(self.folder.join("notes.txt"), "inside")?;
        let outside = self.stage.home().join("outside.txt");
        std::fs::write(&outside, "outside")?;
        let inside = json!({"file_path": self.folder.join("notes.txt")});
        let (session, name) = self.call(&[("Read", inside)]).await?;
        let events = self.unasked(&session).await?;
        ensure!(
            decisions(&events).iter().any(|one| one.told == Told::LeftToAgent),
            "{:?}",
            decisions(&events)
        );
        ensure!(self.stage.told(&name).iter().any(|told| told.words().contains("inside")), "it was not read");
        let (session, name) = self.call(&[("Read", json!({"file_path": outside}))]).await?;
        let ask = self.stage.person.open_ask(&session, "approval").await?;
        ensure!(ask.request.tool_name == "Read", "{:?}", ask.request.tool_name);
        self.stage.person.win(&ask, ResponseDraft::Deny { reason: None }).await?;
        self.stage.person.done(&session).await?;
        ensure!(!self.stage.told(&name).iter().any(|told| told.words().contains("outside")), "it was read");
        Ok("told as \"no decision\" inside, asked outside".to_owned())
    }

    async fn edited_by_hook(&self) -> Result<String> {
        let folder = self.folder.join("hooked");
        std::fs::create_dir_all(folder.join(".claude"))?;
        let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "updatedInput": {"command": "ls /"}}});
        let hook = json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks":
            [{"type": "command", "command": format!("echo '{answer}'")}]}]}});
        std::fs::write(folder.join(".claude/settings.json"), hook.to_string())?;
        let path = format!("/v1/trusts/folder?agent=claude&folder={}", folder.display());
        let files: FolderFiles = self.stage.person.get(&path).await?;
        let body = json!({"agent": "claude", "folder": files.folder, "digest": files.digest});
        let _: Trust = self.stage.person.post("/v1/trusts", &body).await?;
        let id = self.rule("allow Bash(ls:*)").await?;
        let (session, _) = self.call_in(&folder, &[("Bash", json!({"command": "ls"}))]).await?;
        self.asks(&session, "ls /").await?;
        self.revoke(id).await?;
        Ok("allowed `ls`, made `ls /` by a hook: asked".to_owned())
    }
}
