//! Calls of commands and files, and the rules that decide about them.

use std::path::{Path, PathBuf};

use holdstead_protocol::api::{Interaction, RulePage, SavedRule};
use holdstead_protocol::{AskBody, Event, EventBody, GrantId, Layer, ResponseDraft, Rule, Scope, Told};
use holdstead_scripted_model::{Script, call};
use reqwest::Method;
use serde_json::{Value, json};

use super::decisions;
use crate::claude::{Scene, Stage, asks};
use crate::responses::DENY;
use crate::{Result, ensure};

const REASON: &str = "Use the editor instead, and say \"why\" first.";

pub(super) struct Calls<'a> {
    stage: &'a Stage,
    folder: PathBuf,
}

impl<'a> Calls<'a> {
    pub(super) fn new(stage: &'a Stage) -> Result<Self> {
        let folder = stage.folder("calls")?;
        std::fs::create_dir_all(folder.join("src"))?;
        Ok(Self { stage, folder })
    }

    /// A session in which the agent makes these calls of Bash, one after the other.
    async fn run(&self, commands: &[&str]) -> Result<Scene> {
        let calls: Vec<(&str, Value)> =
            commands.iter().map(|line| ("Bash", json!({"command": line}))).collect();
        self.call_in(&self.folder, &calls).await
    }

    async fn call_in(&self, folder: &Path, calls: &[(&str, Value)]) -> Result<Scene> {
        let script = calls
            .iter()
            .fold(Script::new(), |script, (tool, input)| script.reply([call(*tool, input.clone())]));
        let name = uuid::Uuid::new_v4().to_string();
        self.stage.play_in(&name, "default", script, folder).await
    }

    async fn rule(&self, line: &str) -> Result<GrantId> {
        let saved: SavedRule = self.stage.person.post("/v1/rules", &json!({"line": line})).await?;
        Ok(saved.grant_id)
    }

    async fn revoke(&self, id: GrantId) -> Result<()> {
        self.stage.person.tell(Method::DELETE, &format!("/v1/rules/{id}")).await
    }

    /// The turn ends without an ask.
    async fn unasked(&self, scene: &Scene) -> Result<Vec<Event>> {
        let events = self.stage.finish(scene).await?;
        ensure!(asks(&events) == 0, "a person was asked {} times", asks(&events));
        Ok(events)
    }

    /// Waits for the one ask, and denies it so that nothing runs.
    async fn asked(&self, scene: &Scene, line: &str) -> Result<(Interaction, Vec<Event>)> {
        let ask = self.stage.decide(scene, DENY).await?;
        ensure!(ask.request.input["command"] == line, "asked about {}", ask.request.input);
        let events = self.stage.finish(scene).await?;
        ensure!(asks(&events) == 1, "{} asks", asks(&events));
        Ok((ask, events))
    }

    fn was_told(&self, scene: &Scene, words: &str) -> bool {
        self.stage.told(&scene.name).iter().any(|told| told.words().contains(words))
    }

    pub(super) async fn allowed(&self) -> Result<String> {
        let id = self.rule("allow Bash(ls:*)").await?;
        let scene = self.run(&["ls", "ls -a src && ls src"]).await?;
        let events = self.unasked(&scene).await?;
        let decided = decisions(&events);
        ensure!(decided.len() == 2 && decided.iter().all(|one| one.told == Told::Allowed), "{decided:?}");
        let rule = decided[1].verdict.parts[1].rule.as_ref().ok_or("the journal names no rule")?;
        ensure!(rule.text == "allow Bash(ls:*)" && rule.layer == Layer::Person, "{rule:?}");
        self.revoke(id).await?;
        Ok(format!("2 calls, 0 asks; the call's event names `{}`", rule.text))
    }

    pub(super) async fn denied(&self) -> Result<String> {
        let id = self.rule(&format!("deny Bash(touch:*) # {REASON}")).await?;
        let scene = self.run(&["touch made.txt"]).await?;
        self.unasked(&scene).await?;
        self.revoke(id).await?;
        ensure!(!self.folder.join("made.txt").exists(), "it ran");
        ensure!(self.was_told(&scene, REASON), "the model was told {:?}", self.stage.told(&scene.name));
        Ok("nothing ran, the reason arrived word for word".to_owned())
    }

    pub(super) async fn joined(&self) -> Result<String> {
        let id = self.rule("allow Bash(ls:*)").await?;
        let line = "ls && rm -rf src";
        let scene = self.run(&[line]).await?;
        let (ask, _) = self.asked(&scene, line).await?;
        self.revoke(id).await?;
        ensure!(!ask.request.marks.is_empty(), "`rm -rf` is not marked");
        ensure!(self.folder.join("src").is_dir(), "it ran");
        Ok(format!("`{line}` asks, marked as {:?}", ask.request.marks[0].risk))
    }

    pub(super) async fn revoked(&self) -> Result<String> {
        let id = self.rule("allow Bash(ls)").await?;
        let scene = self.run(&["ls"]).await?;
        self.unasked(&scene).await?;
        self.revoke(id).await?;
        let scene = self.run(&["ls"]).await?;
        self.asked(&scene, "ls").await?;
        Ok("allowed, revoked, asked".to_owned())
    }

    /// Approves the first call with this reach and the offer that has these lines.
    async fn approve(&self, scene: &Scene, scope: Scope, line: &str) -> Result<()> {
        let ask = self.stage.person.open_ask(&scene.session, "approval").await?;
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

    pub(super) async fn saved(&self) -> Result<String> {
        let scene = self.run(&["ls src", "ls src"]).await?;
        self.approve(&scene, Scope::Hour, "allow Bash(ls src)").await?;
        let events = self.stage.finish(&scene).await?;
        ensure!(decisions(&events).len() == 1, "the second call was not decided by the rule");
        let page: RulePage = self.stage.person.get("/v1/rules").await?;
        let saved: Vec<_> = page.rules.iter().filter(|rule| rule.layer == Layer::Person).collect();
        let [rule] = saved.as_slice() else { return Err(format!("{} rules are saved", saved.len()).into()) };
        ensure!(rule.rule == Rule::Lines { lines: vec!["allow Bash(ls src)".to_owned()] }, "{:?}", rule.rule);
        ensure!(rule.uses >= 1 && rule.expires_at.is_some(), "{rule:?}");
        self.revoke(rule.grant_id.ok_or("a rule without an id")?).await?;
        Ok("`allow Bash(ls src)`, for an hour, used".to_owned())
    }

    pub(super) async fn leaves(&self) -> Result<String> {
        let line = "ls src/../..";
        let scene = self.run(&["ls src", line]).await?;
        self.approve(&scene, Scope::Session, "allow Bash(ls:*)").await?;
        let ask = loop {
            let asks = self.stage.person.open_asks(&scene.session, 1).await?;
            match asks.into_iter().next() {
                Some(ask) if ask.request.input["command"] == line => break ask,
                Some(_) | None => {}
            }
        };
        let why = ask.request.verdict.as_ref().and_then(|verdict| verdict.reason.clone()).unwrap_or_default();
        self.stage.person.win(&ask, DENY).await?;
        self.stage.finish(&scene).await?;
        ensure!(why.contains("outside the folder"), "{why}");
        Ok(why)
    }

    pub(super) async fn project(&self) -> Result<String> {
        let folder = self.folder.join("project");
        std::fs::create_dir_all(folder.join(".holdstead"))?;
        std::fs::write(folder.join(".holdstead/rules"), "allow Bash(id)\ndeny Bash(ls:*) # Not here\n")?;
        let calls = [("Bash", json!({"command": "ls"})), ("Bash", json!({"command": "id"}))];
        let scene = self.call_in(&folder, &calls).await?;
        let (_, events) = self.asked(&scene, "id").await?;
        let decided = decisions(&events);
        ensure!(decided.len() == 1 && decided[0].told == Told::Denied, "{decided:?}");
        let said = events.iter().any(|event| {
            matches!(&event.body, EventBody::Error(error) if error.message.contains("`allow Bash(id)` does not count"))
        });
        ensure!(said, "no screen was told that its allow does not count");
        self.stage.trust("rules", &folder).await?;
        let scene = self.call_in(&folder, &calls).await?;
        self.unasked(&scene).await?;
        Ok("its deny counts, its allow only once the folder is trusted".to_owned())
    }

    pub(super) async fn reads(&self) -> Result<String> {
        std::fs::write(self.folder.join("notes.txt"), "inside")?;
        let outside = self.stage.home().join("outside.txt");
        std::fs::write(&outside, "outside")?;
        let inside = json!({"file_path": self.folder.join("notes.txt")});
        let scene = self.call_in(&self.folder, &[("Read", inside)]).await?;
        let events = self.unasked(&scene).await?;
        ensure!(
            decisions(&events).iter().any(|one| one.told == Told::LeftToAgent),
            "{:?}",
            decisions(&events)
        );
        ensure!(self.was_told(&scene, "inside"), "it was not read");
        let scene = self.call_in(&self.folder, &[("Read", json!({"file_path": outside}))]).await?;
        let ask = self.stage.decide(&scene, DENY).await?;
        ensure!(ask.request.tool_name == "Read", "{:?}", ask.request.tool_name);
        self.stage.finish(&scene).await?;
        ensure!(!self.was_told(&scene, "outside"), "it was read");
        Ok("told as \"no decision\" inside, asked outside".to_owned())
    }

    pub(super) async fn edited_by_hook(&self) -> Result<String> {
        let folder = self.folder.join("hooked");
        std::fs::create_dir_all(folder.join(".claude"))?;
        let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "updatedInput": {"command": "ls /"}}});
        let hook = json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks":
            [{"type": "command", "command": format!("echo '{answer}'")}]}]}});
        std::fs::write(folder.join(".claude/settings.json"), hook.to_string())?;
        self.stage.trust("claude", &folder).await?;
        let id = self.rule("allow Bash(ls:*)").await?;
        let scene = self.call_in(&folder, &[("Bash", json!({"command": "ls"}))]).await?;
        self.asked(&scene, "ls /").await?;
        self.revoke(id).await?;
        Ok("allowed `ls`, made `ls /` by a hook: asked".to_owned())
    }
}
