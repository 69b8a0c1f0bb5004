//! Races for the gateway's files through the preview of an edit (N1): a command in the sandbox swaps what a path leads to,
//! while the agent asks again and again to write there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdstead_scripted_model::{Script, call};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Attempts, Outcome};
use crate::claude::{Boxed, Stage};
use crate::responses::{APPROVE, DENY};
use crate::{Result, ensure};

const TOPIC: &str = "preview";
/// So many asks of one turn. A race that is longer has further turns.
const ASKS: usize = 100;
/// How long the first ask may take to come, and how long a turn may take.
const FIRST: Duration = Duration::from_secs(60);
const TURN: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(5);

/// What a path leads to is exchanged some hundred thousand times a second.
const SWAP: &str = r#"
import ctypes, os, sys, time
first, second, seconds = sys.argv[1].encode(), sys.argv[2].encode(), float(sys.argv[3])
if os.fork(): sys.exit()
os.setsid()
for number in range(3): os.close(number)
libc, end = ctypes.CDLL(None), time.time() + seconds
while time.time() < end:
    for _ in range(1000): libc.renameat2(-100, first, -100, second, 2)
"#;

struct Race {
    name: &'static str,
    /// The file of the gateway's.
    secret: &'static str,
    tool: &'static str,
    /// A shell line makes `a` and `b`, which are exchanged.
    prepare: String,
    input: Value,
}

fn races(folder: &Path, gateway: &Path) -> Vec<Race> {
    let (at, own) = (folder.display(), gateway.display());
    let write = |path: &str| json!({ "file_path": format!("{at}/{path}"), "content": "hello\n" });
    let edit =
        |path: &str| json!({"file_path": format!("{at}/{path}"), "old_string": "hs_", "new_string": "no"});
    let race = |name, secret, tool, prepare, input| Race { name, secret, tool, prepare, input };
    vec![
        race(
            "a link, written",
            "token",
            "Write",
            format!("ln -s nowhere a; ln -s {own}/token b"),
            write("a"),
        ),
        race(
            "a key, written",
            "audit.key",
            "Write",
            format!("ln -s nowhere a; ln -s {own}/audit.key b"),
            write("a"),
        ),
        race("a file and a link", "token", "Write", format!("echo x > a; ln -s {own}/token b"), write("a")),
        race("a folder on the way", "token", "Write", format!("mkdir a; ln -s {own} b"), write("a/token")),
        race(
            "a link to a link",
            "token",
            "Write",
            format!("ln -s nowhere a; ln -s {own}/token b; ln -s a c"),
            write("c"),
        ),
        race("a link, edited", "token", "Edit", format!("echo hs_ > a; ln -s {own}/token b"), edit("a")),
    ]
}

/// `seconds` is how long each race lasts.
pub(super) async fn play(attempts: &mut Attempts, seconds: u64) -> Result<()> {
    for setting in ["bubblewrap", "landlock"] {
        let stage = Stage::boxed("30s", Boxed { setting, bare: false }).await?;
        for number in 0..races(Path::new(""), Path::new("")).len() {
            let folder = stage.folder(&format!("race-{number}"))?;
            let race = &races(&folder, stage.gateway.folder())[number];
            let name = format!("{setting}: {}", race.name);
            attempts.record(TOPIC, &name, run(&stage, race, &folder, Duration::from_secs(seconds)).await);
        }
        stage.stop().await?;
    }
    Ok(())
}

async fn run(stage: &Stage, race: &Race, folder: &Path, patience: Duration) -> Result<Outcome> {
    let secret = secret_in(&stage.gateway.folder().join(race.secret))?;
    std::fs::write(folder.join("swap.py"), SWAP)?;
    let long = patience.as_secs() + FIRST.as_secs();
    std::fs::write(folder.join("test.sh"), format!("{}\npython3 swap.py a b {long}\n", race.prepare))?;
    let start = Script::new().reply([call("Bash", json!({ "command": "sh test.sh" }))]);
    let scene = stage.play_in(&name_of(folder), "default", start, folder).await?;
    stage.decide(&scene, APPROVE).await?;
    stage.person.done(&scene.session).await?;
    let (begin, mut asked) = (Instant::now(), 0);
    let goes_on = |asked| begin.elapsed() < if asked == 0 { FIRST } else { patience };
    while goes_on(asked) {
        let script =
            (0..ASKS).fold(Script::new(), |script, _| script.reply([call(race.tool, race.input.clone())]));
        stage.send(&scene, &format!("{}-{asked}", name_of(folder)), script).await?;
        let turn = Instant::now();
        while goes_on(asked) && turn.elapsed() < patience.max(TURN) {
            for ask in stage.person.asks(&scene.session).await? {
                asked += 1;
                if serde_json::to_string(&ask)?.contains(&secret) {
                    stage.end(&scene).await?;
                    let took = begin.elapsed().as_secs_f64();
                    return Ok(Outcome::Succeeded(format!(
                        "{} after {took:.1} s and {asked} asks",
                        race.secret
                    )));
                }
                stage.person.win(&ask, DENY).await?;
            }
            sleep(LOOK).await;
        }
    }
    stage.end(&scene).await?;
    ensure!(asked > 0, "no ask came");
    Ok(Outcome::Held(format!("{asked} previews in {} s", patience.as_secs())))
}

fn name_of(folder: &Path) -> String {
    PathBuf::from(folder.file_name().unwrap_or_default()).display().to_string()
}

/// Enough of it that no other text has it.
fn secret_in(file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file)?;
    let text = text.trim();
    ensure!(text.len() >= 32, "{} has no secret that could be recognised", file.display());
    Ok(text[..32].to_owned())
}
