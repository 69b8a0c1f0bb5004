//! What an agent of root reaches of the kernel. Each attempt opens a file for writing, and writes back what it read or nothing.

use holdstead_scripted_model::{Script, Told, call};
use serde_json::json;

use super::{Attempts, Outcome};
use crate::claude::{Boxed, Stage};
use crate::responses::APPROVE;
use crate::{Result, ensure};

const TOPIC: &str = "root";
/// What an attempt says that has its way.
const WRITTEN: &str = "the-kernel-took-it";

/// Writes the same text back to `$1`.
const WRITE_BACK: &str = "now=$(cat \"$1\") && printf '%s\\n' \"$now\" > \"$1\" && echo $WRITTEN";
/// Opens `$1` for writing, and writes nothing.
const OPEN: &str = "exec 3>> \"$1\" && echo $WRITTEN";

const ATTEMPTS: [(&str, &str, &str); 8] = [
    ("the program for cores", WRITE_BACK, "/proc/sys/kernel/core_pattern"),
    ("the same by another name", WRITE_BACK, "/proc/self/../sys/kernel/core_pattern"),
    ("whose memory is written to files", WRITE_BACK, "/proc/sys/fs/suid_dumpable"),
    ("a setting below /sys", WRITE_BACK, "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("a parameter of the kernel", WRITE_BACK, "/sys/module/kernel/parameters/panic"),
    ("an event of a device", OPEN, "/sys/class/mem/null/uevent"),
    (
        "after another mount of /proc",
        "unshare -Urmpf --mount-proc sh -c 'now=$(cat \"$1\") && echo \"$now\" > \"$1\" && echo $WRITTEN' sh \"$1\"",
        "/proc/sys/kernel/core_pattern",
    ),
    (
        "after mounting it writable",
        "mount -o remount,rw,bind /proc/sys; umount /proc/sys; unshare -Urm sh -c 'mount -o remount,rw,bind /proc/sys; \
         umount /proc/sys; now=$(cat \"$1\") && echo \"$now\" > \"$1\" && echo $WRITTEN' sh \"$1\"",
        "/proc/sys/kernel/core_pattern",
    ),
];

pub(super) async fn play(attempts: &mut Attempts) -> Result<()> {
    for setting in ["bubblewrap", "landlock"] {
        let stage = Stage::boxed("60s", Boxed { setting, bare: false }).await?;
        ensure!(stage.gateway.runs_as_root()?, "these attempts are of root: run the show as root");
        for (number, (name, script, file)) in ATTEMPTS.iter().enumerate() {
            let outcome = write(&stage, number, script, file).await;
            attempts.record(TOPIC, &format!("{setting}: {name} ({file})"), outcome);
        }
        stage.stop().await?;
    }
    Ok(())
}

async fn write(stage: &Stage, number: usize, script: &str, file: &str) -> Result<Outcome> {
    ensure!(std::path::Path::new(file).exists(), "this kernel has no {file}");
    let name = format!("root-{number}");
    let folder = stage.folder(&name)?;
    std::fs::write(folder.join("write.sh"), format!("export WRITTEN={WRITTEN}\n{script}\n"))?;
    let command = json!({ "command": format!("bash write.sh {file} 2>&1; echo tried") });
    let scene =
        stage.play_in(&name, "default", Script::new().reply([call("Bash", command)]), &folder).await?;
    stage.decide(&scene, APPROVE).await?;
    stage.finish(&scene).await?;
    let told = stage.told(&name).into_iter().find_map(|told| match told {
        Told::ToolResult { content, .. } => Some(content),
        Told::Text { .. } | Told::Reminder { .. } => None,
    });
    let told = told.ok_or("the model was not told what came of it")?;
    ensure!(told.contains("tried"), "it did not run: {told}");
    if told.contains(WRITTEN) {
        return Ok(Outcome::Succeeded("it could be written".to_owned()));
    }
    let last = told.lines().rfind(|line| !line.contains("tried") && !line.trim().is_empty());
    Ok(Outcome::Held(last.unwrap_or_default().rsplit(": ").next().unwrap_or_default().to_owned()))
}
