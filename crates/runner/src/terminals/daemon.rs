//! The way to Codex's own daemon, of which its terminals are clients and we are one more. What is said there, and what
//! follows, is [`Link`]'s; this only carries it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_agents::codex::{Link, LinkEffect, Waits};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::{Reply, Said};
use crate::Runner;

/// So often it is looked for while it is not there.
const AGAIN: Duration = Duration::from_secs(2);
/// So often [`Link`] may do something by itself.
const LOOK: Duration = Duration::from_millis(250);
/// A daemon that takes nothing for so long is gone for us.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest text: a whole conversation.
const LONGEST: usize = 256 * 1024 * 1024;
/// Whose program it is.
const AGENT: &str = "codex";

pub(super) fn listen(runner: &Arc<Runner>, socket: PathBuf) -> JoinHandle<()> {
    let runner = Arc::clone(runner);
    tokio::spawn(async move {
        loop {
            if let Some((stream, pid)) = dial(&socket).await {
                Connection { runner: &runner, pid, stream, link: Link::new(), waiting: JoinSet::new() }
                    .run()
                    .await;
            }
            sleep(AGAIN).await;
        }
    })
}

/// Only to a daemon of this account.
async fn dial(socket: &Path) -> Option<(WebSocketStream<UnixStream>, Option<u32>)> {
    let stream = UnixStream::connect(socket).await.ok()?;
    let peer = stream.peer_cred().ok()?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        tracing::warn!(socket = %socket.display(), "this socket is another account's: nobody listens to it");
        return None;
    }
    let config = WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
    let dialed = timeout(PATIENCE, client_async_with_config("ws://localhost/", stream, Some(config)));
    let (stream, _) = dialed.await.ok()?.ok()?;
    Some((stream, peer.pid().and_then(|pid| u32::try_from(pid).ok())))
}

struct Connection<'a> {
    runner: &'a Runner,
    pid: Option<u32>,
    stream: WebSocketStream<UnixStream>,
    link: Link,
    /// Those that wait for what is answered.
    waiting: JoinSet<(Waits, Option<Reply>)>,
}

impl Connection<'_> {
    async fn run(mut self) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut effects = self.link.hello();
        while self.follow(effects).await {
            effects = tokio::select! {
                message = self.stream.next() => match message {
                    Some(Ok(Message::Text(text))) => self.link.heard(&text, Instant::now()),
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Vec::new(),
                    Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => break,
                },
                Some(Ok((waits, reply))) = self.waiting.join_next() => self.replied(waits, reply),
                _ = looks.tick() => self.link.passed(Instant::now()),
            };
        }
        for effect in self.link.gone() {
            if let LinkEffect::Said { text, .. } = effect {
                self.hand_on(text, None);
            }
        }
    }

    /// Says whether the daemon still takes something.
    async fn follow(&mut self, effects: Vec<LinkEffect>) -> bool {
        for effect in effects {
            match effect {
                LinkEffect::Said { text, waits } => self.hand_on(text, waits),
                LinkEffect::Send(text) => {
                    let sent = timeout(PATIENCE, self.stream.send(Message::text(text))).await;
                    if !matches!(sent, Ok(Ok(()))) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn hand_on(&mut self, text: String, waits: Option<Waits>) {
        let waits = waits.map(|waits| {
            let (reply, replied) = oneshot::channel();
            self.waiting.spawn(async move { (waits, replied.await.ok()) });
            reply
        });
        // If there is no room for another conversation, whoever waits learns that nobody listens.
        drop(self.runner.said_in_terminal(Said {
            agent: AGENT.to_owned(),
            pid: self.pid,
            text,
            waits,
            brief: false,
        }));
    }

    fn replied(&mut self, waits: Waits, reply: Option<Reply>) -> Vec<LinkEffect> {
        match (waits, reply) {
            (Waits::Request { id }, Some(Reply::Answer(answer))) => self.link.answered(&id, answer),
            (Waits::Words { thread, .. }, Some(Reply::Say(words))) => {
                self.link.say(&thread, words, Instant::now())
            }
            (Waits::Words { thread, number }, Some(Reply::Answer(_)) | None) => {
                self.link.left(&thread, number, Instant::now());
                Vec::new()
            }
            // What is no answer to it leaves it to the terminal.
            (Waits::Request { .. }, Some(Reply::Say(_)) | None) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
