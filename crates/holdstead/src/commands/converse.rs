//! Answering in the terminal what one session asks, while screens may be faster.

use std::time::Instant;

use holdstead_client::Http;
use holdstead_protocol::api::Interaction;
use holdstead_protocol::{AskState, ResponseDraft, SessionId};
use tokio::sync::mpsc;

use super::answer::{ask_person, box_of, confirmed, receipt_words, show};
use super::respond;
use crate::failure::Failure;
use crate::typeahead;

/// How long one look at an ask waits before it looks again.
const LOOK_SECONDS: u32 = 20;

/// What the terminal does next.
pub(super) enum Next {
    Go,
    Kill,
    Quit,
}

/// What the keyboard can do besides answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Play {
    /// The gateway is there to be killed.
    Demo,
    Work,
}

impl Play {
    const fn offer(self) -> &'static str {
        match self {
            Self::Demo => "Type k and Enter to kill the gateway (-9), q to quit.",
            Self::Work => "Type q and Enter to quit.",
        }
    }

    fn command(self, line: Option<&str>) -> Next {
        match (line.map(str::trim), self) {
            (None | Some("q"), _) => Next::Quit,
            (Some("k"), Self::Demo) => Next::Kill,
            (Some(_), _) => Next::Go,
        }
    }
}

/// A line, and when it was typed.
pub(super) struct Typed {
    words: String,
    at: Instant,
}

/// Lines from the keyboard. A thread of its own reads them: a terminal cannot be waited for otherwise.
pub(super) fn keyboard() -> mpsc::Receiver<Typed> {
    let (send, receive) = mpsc::channel(16);
    std::thread::spawn(move || {
        for words in std::io::stdin().lines().map_while(Result::ok) {
            if send.blocking_send(Typed { words, at: Instant::now() }).is_err() {
                return;
            }
        }
    });
    receive
}

/// Shows the next ask and takes an answer, unless a screen is faster.
pub(super) async fn converse(
    client: &Http,
    session: SessionId,
    keys: &mut mpsc::Receiver<Typed>,
    play: Play,
) -> Result<Next, Failure> {
    let Some(ask) = next_ask(client, session).await? else {
        println!("\nNothing waits for you. {}", play.offer());
        tokio::select! {
            line = keys.recv() => return Ok(play.command(line.as_ref().map(|line| line.words.as_str()))),
            () = until_asked(client, session) => return Ok(Next::Go),
        }
    };
    println!("\n● Waiting for you");
    show(&ask, box_of(client, &ask).await?.as_ref());
    println!("The page can answer, too. {}", play.offer());
    tokio::time::sleep(typeahead::REST).await;
    typeahead::discard();
    let ready = Instant::now();
    // The person is asked on a thread that may block; an answer on the page ends its lines.
    let (typed, lines) = std::sync::mpsc::channel();
    let asked = ask.clone();
    let mut person = tokio::task::spawn_blocking(move || ask_person(&asked, &mut lines.into_iter().map(Ok)));
    loop {
        tokio::select! {
            line = keys.recv() => match line.as_ref().map(|line| line.words.trim()) {
                Some(_) if line.as_ref().is_some_and(|line| line.at < ready) => {
                    println!("\nNot used: it was typed before this could be read.");
                }
                None | Some("q") => return Ok(Next::Quit),
                Some("k") if play == Play::Demo => return Ok(Next::Kill),
                // If nobody reads it any more, the answer is on its way already.
                Some(line) => drop(typed.send(line.to_owned())),
            },
            answered = elsewhere(client, &ask) => {
                println!("\n{}", answered?);
                return Ok(Next::Go);
            }
            said = &mut person => {
                match said.map_err(|error| Failure::Strange(error.to_string()))? {
                    Ok(Some(response)) => send(client, &ask, response).await?,
                    Ok(None) => {}
                    Err(failure) => println!("✕ {failure}"),
                }
                return Ok(Next::Go);
            }
        }
    }
}

async fn send(client: &Http, ask: &Interaction, response: ResponseDraft) -> Result<(), Failure> {
    match respond(client, ask, response).await {
        Ok(receipt) => println!("{}", receipt_words(&receipt, &confirmed(client, ask).await?)),
        Err(failure) => println!("✕ {failure}"),
    }
    Ok(())
}

async fn next_ask(client: &Http, session: SessionId) -> Result<Option<Interaction>, Failure> {
    match client.whole_inbox().await?.into_iter().find(|ask| ask.session_id == session) {
        Some(listed) => Ok(Some(client.whole(listed).await?)),
        None => Ok(None),
    }
}

async fn until_asked(client: &Http, session: SessionId) {
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        if let Ok(Some(_)) = next_ask(client, session).await {
            return;
        }
    }
}

/// Waits until the ask is answered on another screen, and says how.
async fn elsewhere(client: &Http, ask: &Interaction) -> Result<String, Failure> {
    loop {
        let now = client.wait(ask.request.interaction_id, LOOK_SECONDS).await?;
        if let Some(response) = &now.response {
            let who = crate::words::decider(&response.decider);
            return Ok(format!("✓ {who}: {}", crate::words::state(&now)));
        }
        if !matches!(now.state, AskState::Open) {
            return Ok(format!("It is {} now.", crate::words::state(&now)));
        }
    }
}
