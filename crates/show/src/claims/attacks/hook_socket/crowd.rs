//! Programs of the account that crowd the socket: a card of another program must not wait for them.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{TOPIC, card};
use crate::Result;
use crate::claims::attacks::{Attempts, Outcome};
use crate::claude::Stage;

/// A card that takes so much longer than one without a crowd waits for others.
const SOON: Duration = Duration::from_secs(2);

pub(super) async fn play(attempts: &mut Attempts) -> Result<()> {
    let stage = Stage::new("10m").await?;
    let alone = card(&stage, 0).await?;
    println!("  a card without a crowd: {} ms", alone.as_millis());
    let line = br#"{"agent":"claude","said":"#;
    let crowds: [(&str, usize, Vec<u8>); 5] = [
        ("200 silent connections", 200, Vec::new()),
        ("4,400 silent connections", 4_400, Vec::new()),
        ("400 half secrets", 400, b"00000000".to_vec()),
        ("400 half lines without a secret", 400, line.to_vec()),
        ("400 large lines that do not end", 400, vec![b'0'; 128 * 1024]),
    ];
    for (number, (name, count, says)) in crowds.into_iter().enumerate() {
        let crowd = crowd(&stage, count, &says);
        attempts.record(TOPIC, &format!("a card behind {name}"), judged(&stage, alone, number + 1).await);
        drop(crowd);
    }
    let waiting = waiting(&stage)?;
    attempts.record(
        TOPIC,
        "a card behind 5,000 asks of one connected program",
        judged(&stage, alone, 10).await,
    );
    drop(waiting);
    attempts.record(TOPIC, "a card while connections come without end", flood(&stage, alone).await);
    stage.stop().await
}

async fn judged(stage: &Stage, alone: Duration, number: usize) -> Result<Outcome> {
    let took = card(stage, number).await?;
    let words = format!("the card took {} ms", took.as_millis());
    Ok(if took > alone + SOON { Outcome::Succeeded(words) } else { Outcome::Held(words) })
}

fn socket(stage: &Stage) -> PathBuf {
    stage.gateway.folder().join("hooks.sock")
}

/// So many connections that say this. The gateway may end any of them.
fn crowd(stage: &Stage, count: usize, says: &[u8]) -> Vec<UnixStream> {
    let mut all = Vec::new();
    for _ in 0..count {
        let Some(mut stream) = connected(&socket(stage)) else { continue };
        // What does not fit is not waited for.
        drop(stream.set_nonblocking(true));
        drop(stream.write(says));
        all.push(stream);
    }
    all
}

/// Without waiting for a place in the queue for more than a moment.
fn connected(socket: &std::path::Path) -> Option<UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
    let address = SocketAddrUnix::new(socket).ok()?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let made = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    for _ in 0..20 {
        if connect(&made, &address).is_ok() {
            return Some(UnixStream::from(made));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// A program that knows the secret, as every connected one can, and asks very often at once.
fn waiting(stage: &Stage) -> Result<Vec<UnixStream>> {
    let secret = std::fs::read(stage.gateway.folder().join("hooks.secret")).unwrap_or_default();
    let said = serde_json::json!({
        "session_id": "00000000-0000-4000-8000-0000000000ff", "cwd": stage.home(), "hook_event_name": "Waiter",
    });
    let line = serde_json::json!({ "agent": "claude", "waits": true, "said": said.to_string() });
    Ok(crowd(stage, 5_000, &[secret, format!("{line}\n").into_bytes()].concat()))
}

async fn flood(stage: &Stage, alone: Duration) -> Result<Outcome> {
    let over = Arc::new(AtomicBool::new(false));
    let (goes_on, socket) = (Arc::clone(&over), socket(stage));
    let floods = std::thread::spawn(move || {
        let mut kept = std::collections::VecDeque::new();
        while !goes_on.load(Ordering::Relaxed) {
            kept.extend(connected(&socket));
            if kept.len() > 1_000 {
                kept.pop_front();
            }
        }
    });
    let outcome = judged(stage, alone, 11).await;
    over.store(true, Ordering::Relaxed);
    floods.join().map_err(|_| "the flood ended by itself")?;
    outcome
}
