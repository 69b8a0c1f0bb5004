//! Commands that a person approved, and should not have. `crates/agents/tests/it/boxes.rs` tries more of them without an agent.

use holdstead_scripted_model::{Script, Told, call};
use serde_json::json;

use crate::claude::Stage;
use crate::gateway_process::program;
use crate::responses::APPROVE;
use crate::scenes::Scenes;
use crate::{Result, ensure};

/// A command, and the words that it must not bring to the model.
struct Attempt {
    name: &'static str,
    command: String,
    taken: String,
    /// Whether it has its way where there is no box: the gateway keeps its memory to itself, but not from root.
    works_without: bool,
}

fn attempts(stage: &Stage) -> Result<Vec<Attempt>> {
    let folder = stage.gateway.folder().display();
    let gateway = stage.gateway.pid().ok_or("the gateway is gone")?;
    let other = std::process::id();
    let token = stage.gateway.own_token()?;
    let is_root = stage.gateway.runs_as_root()?;
    let attempt = |name, command: String, taken: &str, works_without| Attempt {
        name,
        command,
        taken: taken.to_owned(),
        works_without,
    };
    let memory = |pid| {
        format!(
            "a=$(grep -m1 heap /proc/{pid}/maps | cut -d- -f1) && test -n \"$a\" && \
             dd if=/proc/{pid}/mem bs=4096 count=1 skip=$((0x$a / 4096)) status=none | wc -c"
        )
    };
    Ok(vec![
        attempt("cat of the token", format!("cat {folder}/token"), &token, true),
        attempt(
            "the person's own command",
            format!("{} sessions --dir {folder} --json", program()?.display()),
            "\"sessionId\"",
            true,
        ),
        attempt("the gateway's memory", memory(gateway), "4096", is_root),
        attempt("the memory of another program", memory(other), "4096", true),
    ])
}

/// What the model was told of an approved command, and whether that was an error.
type Outcome = (String, bool);

pub(super) async fn in_a_box(stage: &Stage, on: &str, scenes: &mut Scenes) -> Result<()> {
    for (attempt, outcome) in tried(stage).await? {
        scenes.add(&format!("{on}: {}", attempt.name), refused(&attempt, &outcome));
    }
    Ok(())
}

pub(super) async fn without_a_box(stage: &Stage, scenes: &mut Scenes) -> Result<()> {
    for (attempt, outcome) in tried(stage).await? {
        let seen =
            if attempt.works_without { taken(&attempt, &outcome) } else { refused(&attempt, &outcome) };
        scenes.add(&format!("no box: {}", attempt.name), seen);
    }
    Ok(())
}

fn refused(attempt: &Attempt, (words, is_error): &Outcome) -> Result<String> {
    ensure!(!words.contains(&attempt.taken), "the model was told: {words}");
    ensure!(*is_error, "it went well and said: {words}");
    let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    Ok(format!("refused: {}", last.rsplit(": ").next().unwrap_or_default()))
}

fn taken(attempt: &Attempt, (words, _): &Outcome) -> Result<String> {
    ensure!(words.contains(&attempt.taken), "it did not work without a box either: {words}");
    Ok("had its way, so the scene can fail".to_owned())
}

/// All of them, one after the other in one session. Each is a script of the project's, as the program itself refuses a
/// command that names the gateway's folders.
async fn tried(stage: &Stage) -> Result<Vec<(Attempt, Outcome)>> {
    let (name, attempts) = ("attempts", attempts(stage)?);
    let folder = stage.folder(name)?;
    let mut script = Script::new();
    for (number, attempt) in attempts.iter().enumerate() {
        std::fs::write(folder.join(format!("{number}.sh")), format!("{}\n", attempt.command))?;
        script = script.reply([call("Bash", json!({ "command": format!("bash {number}.sh") }))]);
    }
    let scene = stage.play_in(name, "default", script, &folder).await?;
    for _ in &attempts {
        stage.decide(&scene, APPROVE).await?;
    }
    stage.finish(&scene).await?;
    let outcomes = stage.told(name).into_iter().filter_map(|told| match told {
        Told::ToolResult { content, is_error, .. } => Some((content, is_error)),
        Told::Text { .. } | Told::Reminder { .. } => None,
    });
    let outcomes: Vec<_> = outcomes.collect();
    ensure!(outcomes.len() == attempts.len(), "the model was told of {} commands", outcomes.len());
    Ok(attempts.into_iter().zip(outcomes).collect())
}
