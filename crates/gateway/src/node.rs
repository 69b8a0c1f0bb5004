//! This gateway among others on the same database: says that it is there, hears who else is, and passes hints on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdstead_protocol::{Seq, SessionId};
use holdstead_store::{Journal, LiveNode, Member, NodeId, Notices, StoreError};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::Gateway;
use crate::hints::{Arrived, Heard, Hint, Hints, Notice, Notify, Outbox};

/// How often a node renews, and compares what it follows with the journal.
const RENEW: Duration = Duration::from_secs(2);
/// How long a renewal may take.
const PATIENCE: Duration = Duration::from_secs(4);
/// How soon a notice may follow another: what is told meanwhile goes with it.
const GATHER: Duration = Duration::from_millis(2);
/// How long to wait before trying again to tell or to listen.
const PAUSE: Duration = Duration::from_millis(200);
/// Notices that were heard and not looked at yet.
const NOTICES: usize = 256;
/// After so many rolls in a row that found hints missing, the connection that listens is made anew.
const DEAF: u32 = 2;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    name: String,
    hints: Arc<dyn Hints>,
    pub(crate) outbox: Outbox,
    member: Mutex<Member>,
    /// Who is there, as of the last renewal.
    roll: watch::Sender<Vec<LiveNode>>,
    /// Up to where whoever follows a session here was told.
    pub(crate) seen: Mutex<HashMap<SessionId, Seq>>,
    /// The sessions that are being read again, and what was hinted meanwhile.
    pub(crate) catching_up: Mutex<HashMap<SessionId, Option<Hint>>>,
}

impl Node {
    /// `None` where the database has one gateway only.
    pub(crate) async fn join(journal: &Arc<dyn Journal>) -> Result<Option<Self>, StoreError> {
        let Some(cluster) = journal.cluster() else { return Ok(None) };
        let (id, name) = (NodeId::generate(), own_name());
        let member = cluster.join(id, &name).await?;
        Ok(Some(Self {
            id,
            name,
            hints: Arc::new(Notify(Arc::clone(journal))),
            outbox: Outbox::default(),
            member: Mutex::new(member),
            roll: watch::Sender::new(Vec::new()),
            seen: Mutex::default(),
            catching_up: Mutex::default(),
        }))
    }

    fn member(&self) -> MutexGuard<'_, Member> {
        self.member.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this node is the one to see to what any node could. All agree as soon as they have seen each other.
    pub(crate) fn is_its_turn(&self, session: SessionId) -> bool {
        let roll = self.roll.borrow();
        let weigh = |node: NodeId| weight(node, session);
        roll.iter().all(|other| weigh(other.id) <= weigh(self.id))
    }
}

/// Of all nodes the heaviest sees to a session: if one comes or goes, only what was or is its own changes hands.
fn weight(node: NodeId, session: SessionId) -> (u64, NodeId) {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    // The same in every process of one version; two versions may both see to one, which is refused the second time.
    let mut hasher = DefaultHasher::new();
    (node, session).hash(&mut hasher);
    (hasher.finish(), node)
}

/// Renews, for as long as the gateway runs.
pub(crate) async fn stay(gateway: Gateway) {
    let Some(node) = &gateway.inner.node else { return };
    let Some(cluster) = gateway.inner.journal.cluster() else { return };
    let shutdown = gateway.shutdown_token();
    let mut ticks = interval(RENEW);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            _ = ticks.tick() => {}
        }
        let member = *node.member();
        match timeout(PATIENCE, cluster.renew(member, node.outbox.made())).await {
            Ok(Ok(Some(roll))) => drop(node.roll.send_replace(roll.live)),
            Ok(Ok(None)) => match cluster.join(node.id, &node.name).await {
                Ok(member) => {
                    tracing::warn!("this node was taken for dead by another one; it begins again");
                    *node.member() = member;
                }
                Err(error) => tracing::warn!(%error, "this node could not begin again yet"),
            },
            Ok(Err(error)) => tracing::warn!(%error, "this node could not say that it is there"),
            Err(_) => {
                tracing::warn!("this node could not say that it is there: the database does not answer")
            }
        }
    }
}

impl Gateway {
    /// Tells the others that this node is gone.
    pub(crate) async fn leave_nodes(&self) {
        let (Some(node), Some(cluster)) = (&self.inner.node, self.inner.journal.cluster()) else { return };
        let member = *node.member();
        if !matches!(timeout(PATIENCE, cluster.leave(member)).await, Ok(Ok(()))) {
            tracing::warn!("the other nodes were not told that this one is gone; they see it in ten seconds");
        }
    }
}

/// Tells the others what was written here.
pub(crate) async fn tell(gateway: Gateway) {
    let Some(node) = &gateway.inner.node else { return };
    let shutdown = gateway.shutdown_token();
    loop {
        let notice = tokio::select! {
            () = shutdown.cancelled() => return,
            notice = node.outbox.take(node.id) => notice,
        };
        let text = notice.to_text();
        // It is lost if it cannot be told: its number says so to whoever hears the next one.
        if let Err(error) = node.hints.tell(&text).await {
            tracing::warn!(%error, "other nodes could not be told what is new; they find out by themselves");
            sleep(PAUSE).await;
        }
        sleep(GATHER).await;
    }
}

/// Hears what was written elsewhere.
pub(crate) async fn follow(gateway: Gateway) {
    let Some(node) = &gateway.inner.node else { return };
    let shutdown = gateway.shutdown_token();
    let mut rolls = node.roll.subscribe();
    let mut heard = Heard::default();
    while !shutdown.is_cancelled() {
        let mut notices = listening(&gateway, Arc::clone(&node.hints));
        let mut deaf = 0;
        while deaf < DEAF {
            let arrived = tokio::select! {
                () = shutdown.cancelled() => return,
                notice = notices.recv() => match notice {
                    Some(Some(text)) => gateway.hear(node, &mut heard, &text),
                    Some(None) => Arrived::NotAll,
                    None => break,
                },
                changed = rolls.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let arrived = heard.roll(&rolls.borrow_and_update(), node.id);
                    deaf = if arrived == Arrived::All { 0 } else { deaf + 1 };
                    gateway.compare_heads();
                    arrived
                }
            };
            match arrived {
                Arrived::All => {}
                Arrived::NotAll => gateway.look_everywhere(),
            }
        }
    }
}

/// In a task of its own, which ends with whoever listens. `None`: something may have been missed.
fn listening(gateway: &Gateway, hints: Arc<dyn Hints>) -> mpsc::Receiver<Option<String>> {
    let (sender, receiver) = mpsc::channel(NOTICES);
    let shutdown = gateway.shutdown_token();
    gateway.inner.tasks.spawn(async move {
        let pass_on = async {
            loop {
                match hints.listen().await {
                    Ok(notices) => pass_on(notices, &sender).await,
                    Err(error) => tracing::warn!(%error, "other nodes cannot be heard"),
                }
                sleep(PAUSE).await;
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = sender.closed() => {}
            () = pass_on => {}
        }
    });
    receiver
}

async fn pass_on(mut notices: Box<dyn Notices>, to: &mpsc::Sender<Option<String>>) {
    // What was told before it began to listen.
    let mut notice = Ok(None);
    while let Ok(heard) = notice {
        if to.send(heard).await.is_err() {
            return;
        }
        notice = notices.next().await;
    }
    if let Err(error) = notice {
        tracing::warn!(%error, "other nodes cannot be heard");
    }
}

impl Gateway {
    fn hear(&self, node: &Node, heard: &mut Heard, text: &str) -> Arrived {
        let Some(notice) = Notice::parse(text) else {
            tracing::warn!("something that is not a node wrote to the nodes' channel");
            return Arrived::All;
        };
        if notice.node == node.id {
            return Arrived::All;
        }
        for hint in &notice.hints {
            self.hinted(*hint);
        }
        heard.notice(&notice)
    }
}

/// For people who look at several.
fn own_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host: String = host.chars().filter(|c| c.is_ascii_alphanumeric() || ".-_".contains(*c)).collect();
    format!("{host} (process {})", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdstead_protocol::OwnerId;

    #[test]
    fn each_session_is_the_turn_of_one_node_and_the_work_is_spread() {
        let nodes: Vec<NodeId> = (0..3).map(|_| NodeId::generate()).collect();
        let owner = OwnerId::new("local").unwrap();
        let mut turns = [0; 3];
        for _ in 0..3_000 {
            let session = SessionId::generate(&owner);
            let heaviest = (0..3).max_by_key(|at| weight(nodes[*at], session)).unwrap();
            turns[heaviest] += 1;
        }
        assert!(turns.iter().all(|turns| (800..1_200).contains(turns)), "{turns:?}");
    }
}
