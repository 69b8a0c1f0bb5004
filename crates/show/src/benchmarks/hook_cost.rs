//! What a connected program pays for each step that it tells us about, beside starting `/bin/true`: with the gateway there,
//! gone, and accepting but silent.

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::gateway_process::{GatewayProcess, program};
use crate::{Result, ensure};

const TIMES: usize = 200;
/// What it may cost above that, at the 95th percentile.
const LIMIT: Duration = Duration::from_millis(10);

pub(crate) async fn show() -> Result<String> {
    let gateway = GatewayProcess::serve(None).await?;
    let (down, silent) = (TempDir::new()?, TempDir::new()?);
    // It takes what comes, as far as the kernel does, and says nothing.
    let listener = UnixListener::bind(silent.path().join("hooks.sock"))?;
    for folder in [&silent, &down] {
        std::fs::write(folder.path().join("hooks.secret"), format!("{:064}\n", 0))?;
    }
    let accepts = listener.try_clone()?;
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = accepts.accept() {
            kept.push(stream);
        }
    });
    // What an earlier one left behind.
    drop(UnixListener::bind(down.path().join("hooks.sock"))?);
    let places = [("up", gateway.folder()), ("down", down.path()), ("silent", silent.path())];
    let mut bare = Vec::new();
    let mut ours = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..TIMES {
        // In turns, as the machine is not the same all the time.
        bare.push(timed(&mut Command::new("/bin/true"), "")?);
        for ((_, folder), times) in places.iter().zip(&mut ours) {
            times.push(timed(&mut hook(folder)?, &said(round))?);
        }
    }
    let bare = percentile(&mut bare);
    println!("/bin/true: p50 {:.1} ms, p95 {:.1} ms", ms(bare.0), ms(bare.1));
    let mut above = Vec::new();
    for ((name, _), times) in places.iter().zip(&mut ours) {
        let (half, most) = percentile(times);
        println!("gateway {name}: p50 {:.1} ms, p95 {:.1} ms", ms(half), ms(most));
        above.push((*name, most.saturating_sub(bare.1)));
    }
    gateway.stop().await?;
    let words: Vec<_> = above.iter().map(|(name, above)| format!("{:.1} ms {name}", ms(*above))).collect();
    let words = format!(
        "p95 of a hook above /bin/true: {} (limit {} ms), {TIMES} times each; nothing was printed",
        words.join(", "),
        LIMIT.as_millis()
    );
    ensure!(above.iter().all(|(_, above)| *above <= LIMIT), "{words}");
    Ok(words)
}

fn hook(folder: &Path) -> Result<Command> {
    let mut command = Command::new(program()?);
    command.args(["hook", "claude", "--dir"]).arg(folder).env("CLAUDE_CODE_SESSION_ATTENDED", "1");
    Ok(command)
}

/// A step of a program that writes a file of some size.
fn said(round: usize) -> String {
    let content = "a line of a file\n".repeat(200);
    json!({ "session_id": "11111111-2222-3333-4444-555555555555", "cwd": "/nowhere", "hook_event_name": "PreToolUse",
        "tool_name": "Write", "tool_input": { "file_path": "/nowhere/a", "content": content },
        "tool_use_id": format!("toolu_{round}") })
    .to_string()
}

fn timed(command: &mut Command, said: &str) -> Result<Duration> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ended does not read.
        drop(stdin.write_all(said.as_bytes()));
    }
    let output = child.wait_with_output()?;
    let took = begin.elapsed();
    ensure!(output.status.success(), "it ended with {}", output.status);
    let printed = [output.stdout, output.stderr].concat();
    ensure!(printed.is_empty(), "it printed {}", String::from_utf8_lossy(&printed));
    Ok(took)
}

/// Half of them, and nearly all.
fn percentile(times: &mut [Duration]) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() * 95 / 100])
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
