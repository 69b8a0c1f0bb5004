//! A client that follows a session over all lives of the gateway, and keeps what it was shown.

use std::sync::Arc;

use holdstead_client::Http;
use holdstead_protocol::transport::Transport as _;
use holdstead_protocol::{Event, Seq, SessionId};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::arena::{Arena, Moment};
use super::history::Seen;

/// Reads on from its cursor until it is told that the session is over. What it sees also goes to `out`.
pub(super) async fn follow(
    arena: Arc<Arena>,
    client: Http,
    session: SessionId,
    out: Option<mpsc::UnboundedSender<Event>>,
    mut over: watch::Receiver<bool>,
) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    let mut looking = arena.looking();
    while !*over.borrow() {
        tokio::select! {
            _ = looking.wait_for(|looking| *looking) => {}
            _ = over.wait_for(|over| *over) => break,
        }
        let Some(life) = arena.up().await else { break };
        let cursor = seen.last().map_or(Seq::START, |seen| seen.seq);
        let feed = client.subscribe(session, cursor).await;
        // If the gateway went meanwhile, it is not known whose stream this is.
        let same_life = arena.life().number == life;
        let (Ok(mut feed), true) = (feed, same_life) else {
            sleep(arena.pace.pause).await;
            continue;
        };
        loop {
            let next = tokio::select! {
                biased;
                _ = looking.wait_for(|looking| !*looking) => break,
                next = feed.next() => next,
                _ = over.wait_for(|over| *over) => return seen,
            };
            // What was on its way when the gateway died is still read; then the stream ends.
            let Ok(Some(event)) = next else { break };
            seen.push(Seen { seq: event.seq, id: event.id, life });
            if let Some(moment) = Moment::of(&event) {
                arena.saw(moment);
            }
            if let Some(out) = &out {
                let _the_session_may_be_over = out.send(event);
            }
        }
    }
    seen
}
