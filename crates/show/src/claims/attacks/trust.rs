//! Files that run in a trusted folder without being a part of what was trusted (N5, N6).

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdstead_protocol::EventBody;
use holdstead_protocol::api::FolderFiles;
use holdstead_scripted_model::{Part, Script, call, say};
use serde_json::{Value, json};

use super::{Attempts, Outcome};
use crate::claude::{Scene, Stage};
use crate::responses::{APPROVE, DENY};
use crate::{Result, ensure};

const TOPIC: &str = "trust";
const SCRIPT: &str = "scripts/x.sh";
const HARMLESS: &str = "true\n";
/// The trusted hook of the attacks on a session.
const HOOK: &str = "sh $CLAUDE_PROJECT_DIR/scripts/x.sh";

/// Notations of one script, each as some project writes it.
const NOTATIONS: [&str; 16] = [
    "$CLAUDE_PROJECT_DIR/scripts/x.sh",
    "\"$CLAUDE_PROJECT_DIR\"/scripts/x.sh",
    "\"$CLAUDE_PROJECT_DIR/scripts/x.sh\"",
    "${CLAUDE_PROJECT_DIR}/scripts/x.sh",
    "\"${CLAUDE_PROJECT_DIR}\"/scripts/x.sh",
    "$PWD/scripts/x.sh",
    "\"$PWD\"/scripts/x.sh",
    "$(pwd)/scripts/x.sh",
    "cd scripts && ./x.sh",
    "./scripts/x.sh",
    "sh -c './scripts/x.sh'",
    "bash -lc \"cd scripts; exec ./x.sh\"",
    "S=x.sh; scripts/$S",
    "'scripts'/x.sh",
    "cat scripts/* | sh",
    "npm run -s check",
];

pub(super) async fn play(attempts: &mut Attempts) -> Result<()> {
    let stage = Stage::new("10m").await?;
    for (number, notation) in NOTATIONS.into_iter().enumerate() {
        let outcome = changed_before_a_start(&stage, number, notation).await;
        attempts.record(TOPIC, &format!("the script of `{notation}` changes after it was trusted"), outcome);
    }
    for (number, plot) in plots().into_iter().enumerate() {
        let outcome = in_a_session(&stage, number, &plot).await;
        attempts.record(TOPIC, plot.name, outcome);
    }
    attempts.record(TOPIC, "an approved change goes on running", approved_change(&stage).await);
    attempts.record(
        TOPIC,
        "a change between two messages runs with the second",
        between_messages(&stage).await,
    );
    stage.stop().await
}

fn put(folder: &Path, name: &str, text: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().ok_or("a file is in a folder")?)?;
    std::fs::write(&path, text)?;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?)
}

fn hook(event: &str, command: &str) -> String {
    json!({"hooks": {event: [{"matcher": "*", "hooks": [{"type": "command", "command": command}]}]}})
        .to_string()
}

fn had(folder: &Path) -> PathBuf {
    folder.join("had")
}

/// What the script comes to do.
fn hostile(folder: &Path) -> String {
    format!("echo x >> {}\n", had(folder).display())
}

/// Trusts the folder as it is, or says why that is refused.
async fn trust(stage: &Stage, folder: &Path) -> Result<Option<String>> {
    let path = format!("/v1/trusts/folder?agent=claude&folder={}", folder.display());
    let files: FolderFiles = stage.person.get(&path).await?;
    if files.digest.is_none() {
        return Ok(Some(format!("no trust is given: {}", files.unresolved.join("; "))));
    }
    stage.trust("claude", folder).await?;
    Ok(None)
}

async fn changed_before_a_start(stage: &Stage, number: usize, notation: &str) -> Result<Outcome> {
    let name = format!("notation-{number}");
    let folder = stage.folder(&name)?;
    put(&folder, SCRIPT, HARMLESS)?;
    put(&folder, "package.json", r#"{"scripts":{"check":"sh scripts/x.sh"}}"#)?;
    put(&folder, ".claude/settings.json", &hook("SessionStart", notation))?;
    if let Some(refused) = trust(stage, &folder).await? {
        return Ok(Outcome::Held(refused));
    }
    put(&folder, SCRIPT, &hostile(&folder))?;
    if notation.starts_with("npm") {
        put(&folder, SCRIPT, HARMLESS)?;
        put(&folder, "package.json", &json!({"scripts": {"check": hostile(&folder)}}).to_string())?;
    }
    let scene = stage.play_in(&name, "default", Script::new().reply([say("Done.")]), &folder).await?;
    stage.finish(&scene).await?;
    Ok(match had(&folder).exists() {
        true => Outcome::Succeeded("the changed script ran".to_owned()),
        false => Outcome::Held("the agent started without the folder's files".to_owned()),
    })
}

/// What an agent does to the script of a trusted hook, with what a person allowed it before.
struct Plot {
    name: &'static str,
    hook: &'static str,
    allowed: &'static [&'static str],
    /// Commands for its shell; none for an edit of this file.
    commands: &'static [&'static str],
    edits: Option<&'static str>,
}

fn plots() -> Vec<Plot> {
    let edits = |name, hook, file| Plot { name, hook, allowed: &[], commands: &[], edits: Some(file) };
    let runs = |name, allowed, commands| Plot { name, hook: HOOK, allowed, commands, edits: None };
    let cat = "cat \"$CLAUDE_PROJECT_DIR\"/scripts/x.sh | sh";
    vec![
        edits("acceptEdits: an edit of the script", HOOK, SCRIPT),
        edits(
            "acceptEdits: an edit of a script in quotes",
            "sh \"$CLAUDE_PROJECT_DIR\"/scripts/x.sh",
            SCRIPT,
        ),
        edits("acceptEdits: an edit of a script that is piped", cat, SCRIPT),
        edits(
            "acceptEdits: a script that did not exist when it was trusted",
            "sh ./later.sh; true",
            "later.sh",
        ),
        edits("acceptEdits: the script of a link", "sh ./link.sh", SCRIPT),
        runs("a redirection", &["Bash(echo:*)", "Edit"], &["echo 'echo x >> had' > scripts/x.sh"]),
        runs("an allowed cp", &["Bash(cp:*)"], &["cp evil/x.sh scripts/x.sh"]),
        runs("an allowed cp of a folder", &["Bash(cp:*)"], &["cp -r evil/. scripts"]),
        runs("an allowed mv over it", &["Bash(mv:*)"], &["mv evil/x.sh scripts/x.sh"]),
        runs("an allowed mv of its folder", &["Bash(mv:*)"], &["mv scripts old", "mv evil scripts"]),
        runs(
            "a symbolic link in its place",
            &["Bash(ln -sf ../evil/x.sh scripts/x.sh)"],
            &["ln -sf ../evil/x.sh scripts/x.sh"],
        ),
        runs(
            "a hard link in its place",
            &["Bash(ln -f evil/x.sh scripts/x.sh)"],
            &["ln -f evil/x.sh scripts/x.sh"],
        ),
        Plot {
            edits: Some("alias.sh"),
            ..runs(
                "an edit of its second name",
                &["Bash(ln scripts/x.sh alias.sh)"],
                &["ln scripts/x.sh alias.sh"],
            )
        },
    ]
}

async fn in_a_session(stage: &Stage, number: usize, plot: &Plot) -> Result<Outcome> {
    let name = format!("plot-{number}");
    let folder = stage.folder(&name)?;
    put(&folder, SCRIPT, HARMLESS)?;
    put(&folder, "evil/x.sh", &hostile(&folder))?;
    std::os::unix::fs::symlink(SCRIPT, folder.join("link.sh"))?;
    put(&folder, ".claude/settings.json", &hook("PostToolUse", plot.hook))?;
    if let Some(refused) = trust(stage, &folder).await? {
        return Ok(Outcome::Held(refused));
    }
    let mut script = Script::new();
    for command in plot.commands {
        script = script.reply([call("Bash", json!({ "command": command, "description": "x" }))]);
    }
    if let Some(file) = plot.edits {
        let path = folder.join(file);
        script = script.reply([read(&path)]);
        script = script.reply([call("Write", json!({ "file_path": path, "content": hostile(&folder) }))]);
    }
    script = script.reply([read(&folder.join("evil/x.sh"))]).reply([say("Done.")]);
    let open = json!({"agent": "claude", "cwd": folder, "permissionMode": "acceptEdits", "title": name, "allowedTools": plot.allowed});
    let scene = stage.open(&name, &open, script).await?;
    let asked = until_done(stage, &scene, 1, false).await?;
    stage.end(&scene).await?;
    Ok(match had(&folder).exists() {
        true => Outcome::Succeeded(format!("it ran; {} asks: {asked:?}", asked.len())),
        false => Outcome::Held(format!("asked {}: {}", asked.len(), asked.join(", "))),
    })
}

fn read(path: &Path) -> Part {
    call("Read", json!({ "file_path": path }))
}

/// Answers everything that is asked until so many turns are over. Returns the tools of what was asked.
async fn until_done(stage: &Stage, scene: &Scene, turns: usize, approve: bool) -> Result<Vec<String>> {
    let mut asked = Vec::new();
    for _ in 0..1_600 {
        for ask in stage.person.asks(&scene.session).await? {
            stage.person.respond(&ask, if approve { APPROVE } else { DENY }).await?;
            asked.push(ask.request.tool_name.clone());
        }
        let events = stage.person.journal(&scene.session).await?;
        if events.iter().filter(|event| matches!(event.body, EventBody::Done(_))).count() >= turns {
            return Ok(asked);
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Err("its turn did not end".into())
}

fn runs(folder: &Path) -> usize {
    std::fs::read_to_string(had(folder)).map_or(0, |text| text.lines().count())
}

/// A session whose trusted hook is there, and a person who approves a change of its script.
async fn approved_change(stage: &Stage) -> Result<Outcome> {
    let folder = stage.folder("approved")?;
    put(&folder, SCRIPT, HARMLESS)?;
    put(&folder, ".claude/settings.json", &hook("PostToolUse", HOOK))?;
    trust(stage, &folder).await?;
    let path = folder.join(SCRIPT);
    let write = call("Write", json!({ "file_path": path, "content": hostile(&folder) }));
    let script = Script::new().reply([read(&path)]).reply([write]);
    let script = script.reply([read(&path)]).reply([read(&path)]).reply([say("Done.")]);
    let scene = stage.play_in("approved", "default", script, &folder).await?;
    until_done(stage, &scene, 1, true).await?;
    stage.end(&scene).await?;
    // With the call that changed it, it runs once: the person was told that this is what the file does.
    ran(&folder, 1)
}

async fn between_messages(stage: &Stage) -> Result<Outcome> {
    let folder = stage.folder("between")?;
    put(&folder, SCRIPT, HARMLESS)?;
    put(&folder, ".claude/settings.json", &hook("UserPromptSubmit", HOOK))?;
    trust(stage, &folder).await?;
    let scene = stage.play_in("between", "default", Script::new().reply([say("Done.")]), &folder).await?;
    until_done(stage, &scene, 1, false).await?;
    put(&folder, SCRIPT, &hostile(&folder))?;
    stage.send(&scene, "between-2", Script::new().reply([say("Again.")])).await?;
    until_done(stage, &scene, 2, false).await?;
    let events = stage.person.journal(&scene.session).await?;
    stage.end(&scene).await?;
    let words = |body: &Value| body.to_string().contains("without this folder's own files");
    let told = events.iter().any(|event| serde_json::to_value(event).is_ok_and(|event| words(&event)));
    let outcome = ran(&folder, 0)?;
    ensure!(
        told || matches!(outcome, Outcome::Succeeded(_)),
        "nothing says that the agent goes on without the files"
    );
    Ok(outcome)
}

fn ran(folder: &Path, most: usize) -> Result<Outcome> {
    let runs = runs(folder);
    Ok(match runs > most {
        true => Outcome::Succeeded(format!("the changed script ran {runs} times")),
        false => Outcome::Held(format!("the changed script ran {runs} times")),
    })
}
