//! A gateway of root starts agents as another account, or not at all.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use holdstead_scripted_model::{Script, Told, call};
use serde_json::json;
use tempfile::TempDir;

use super::{HOLD, doctor, without};
use crate::claude::{Boxed, Stage, mark};
use crate::gateway_process::AGENTS_USER;
use crate::responses::APPROVE;
use crate::scenes::Scenes;
use crate::{Result, ensure, processes};

/// Continuous integration makes it, with a home.
const USER: &str = "holdstead-agent";

struct Account {
    uid: u32,
    gid: u32,
    home: PathBuf,
}

/// Why these scenes cannot be played here is an error.
fn find() -> Result<Account> {
    ensure!(processes::as_root(), "the show does not run as root");
    let found = Command::new("getent").args(["passwd", USER]).output()?;
    let line = String::from_utf8(found.stdout)?;
    let fields: Vec<_> = line.trim().split(':').collect();
    let [_, _, uid, gid, _, home, _] = fields[..] else {
        return Err(format!("there is no account {USER}: `useradd --create-home {USER}`").into());
    };
    Ok(Account { uid: uid.parse()?, gid: gid.parse()?, home: home.into() })
}

pub(super) async fn all(scenes: &mut Scenes) -> Result<()> {
    let account = match find() {
        Ok(account) => account,
        Err(why) if std::env::var("CI").is_ok_and(|ci| ci == "true") => return Err(why),
        Err(why) => {
            println!("- agents of another account: not shown, because {why}");
            return Ok(());
        }
    };
    for setting in ["bubblewrap", "landlock"] {
        let stage = stage(&account.home, setting, USER).await?;
        let seen = works(&stage, &account).await;
        scenes.add(&format!("{setting}: root's gateway, agents of another account"), seen);
        stage.stop().await?;
    }
    let stage = stage(&account.home, "best", "").await?;
    scenes.add("root's gateway, no account named for agents", without::refuses(&stage, "agents.user").await);
    stage.stop().await
}

/// In the account's home, so that it has a way to its project.
async fn stage(home: &Path, setting: &'static str, user: &str) -> Result<Stage> {
    let folder = TempDir::new_in(home)?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    let more = vec![(AGENTS_USER, user.to_owned())];
    Stage::boxed_at(folder, HOLD, Boxed { setting, bare: false }, more).await
}

async fn works(stage: &Stage, account: &Account) -> Result<String> {
    let name = "account";
    let folder = stage.folder(name)?;
    let file = folder.join("a.txt");
    std::fs::write(&file, "one\ntwo\n")?;
    for path in [&folder, &file] {
        chown(path, Some(account.uid), Some(account.gid))?;
    }
    let token = format!("cat {}/token; id -un", stage.gateway.folder().display());
    std::fs::write(folder.join("look.sh"), format!("{token}\n"))?;
    let script = Script::new()
        .reply([call("Read", json!({ "file_path": file }))])
        .reply([call("Edit", json!({"file_path": file, "old_string": "two", "new_string": "2"}))])
        .reply([call("Bash", json!({ "command": "bash look.sh" }))])
        .reply([call("Bash", mark("parked"))]);
    let scene = stage.play_in(name, "default", script, &folder).await?;
    let edit = stage.decide(&scene, APPROVE).await?;
    ensure!(edit.request.tool_name == "Edit", "it asked for {}", edit.request.tool_name);
    ensure!(serde_json::to_string(&edit)?.contains("+2"), "the card shows no change");
    let gateway = stage.gateway.pid().ok_or("the gateway is gone")?;
    let hosts = processes::children(gateway)?;
    ensure!(!hosts.is_empty(), "its host was not found");
    for host in hosts {
        ensure!(
            processes::account(host) == Some(account.uid),
            "its host runs as {:?}",
            processes::account(host)
        );
    }
    stage.decide(&scene, APPROVE).await?;
    let ask = stage.until_parked(&scene).await?;
    let left = processes::of_account(account.uid)?.len();
    ensure!(left == 0, "{left} processes of the account are left");
    stage.person.win(&ask, APPROVE).await?;
    stage.finish(&scene).await?;
    ensure!(scene.marks() == "parked\n", "it ran: {:?}", scene.marks());
    ensure!(std::fs::read_to_string(&file)? == "one\n2\n", "its edit is not there");
    let told = stage.told(name);
    let said = |words: &str| {
        told.iter().any(|told| matches!(told, Told::ToolResult { content, .. } if content.contains(words)))
    };
    ensure!(said(USER), "it ran as another account: {told:#?}");
    ensure!(!said(&stage.gateway.own_token()?), "it read the token");
    let (health, words) = doctor(stage).await?;
    ensure!(health == "good" && words.contains(USER), "doctor says {health}: {words}");
    Ok(format!("it edited, ran, parked and resumed as {USER}; the gateway's folder stayed closed"))
}
