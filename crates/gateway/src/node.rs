//! This gateway among others on the same database: says that it is there, hears who else is, and passes hints on.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use holdstead_protocol::{OwnerId, RunnerId, Seq, SessionId};
use holdstead_store::{
    ConnectedRunner, Journal, LiveNode, Member, NODE_SILENT_AFTER, NodeId, NodeStart, Roll, RunnerPlace,
    Speaking, StoreError,
};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::carrier::{Carrier, HintsBy, Listening};
use crate::hints::{Arrived, Heard, Hint, Notice, Outbox};
use crate::nonce::Run;
use crate::session::SessionHandle;
use crate::{Gateway, GatewayError};

/// How often a node renews, and compares what it follows with the journal.
const RENEW: Duration = Duration::from_secs(2);
/// The runner of sessions that name none: the gateway itself runs their agents.
const OWN_RUNNER: RunnerId = RunnerId::from_uuid(Uuid::nil());
/// How long to wait for the database otherwise.
const PATIENCE: Duration = Duration::from_secs(4);
/// How soon a notice may follow another, in the long run: what is told meanwhile goes with it.
const GATHER: Duration = Duration::from_millis(2);
/// So many may follow each other at once: what an agent does is a few events in a row, and nobody waits for their notices.
const IN_A_ROW: u32 = 10;
/// How long to wait before trying again to tell or to listen.
const PAUSE: Duration = Duration::from_millis(200);
/// Notices that were heard and not looked at yet.
const NOTICES: usize = 256;
/// After so many rolls in a row that found hints missing, the connection that listens is made anew.
const DEAF: u32 = 2;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    start: NodeStart,
    name: String,
    carrier: Arc<Carrier>,
    pub(crate) outbox: Outbox,
    standing: Mutex<Standing>,
    /// Who is there, as of the last renewal.
    roll: watch::Sender<Vec<LiveNode>>,
    /// Up to where whoever follows a session here was told.
    pub(crate) seen: Mutex<HashMap<SessionId, Seq>>,
    /// Somebody who is not a node was heard.
    met_stranger: AtomicBool,
    /// The sessions that are being read again, and what was hinted meanwhile.
    pub(crate) catching_up: Mutex<HashMap<SessionId, Option<Hint>>>,
}

/// What this node may do, and until when.
#[derive(Debug)]
struct Standing {
    member: Member,
    /// Before the last renewal that was taken was sent.
    renewed: Moment,
    /// Cancelled when it could not renew for too long; then there is another one.
    serves: CancellationToken,
    /// The same for the gateway's own runner, while this node is the one that speaks for it.
    speaks: CancellationToken,
    /// The runners that other nodes speak for.
    elsewhere: HashSet<RunnerId>,
}

/// How this node stands, in numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeLook {
    pub(crate) serves: bool,
    /// How long ago.
    pub(crate) renewed: Duration,
    pub(crate) nodes: usize,
    /// Of how many sessions the others are not told yet that something is new.
    pub(crate) hints: usize,
    /// How many sessions are being read again.
    pub(crate) behind: usize,
}

/// A moment on two clocks: one may stand still while the machine sleeps, the other may be set.
#[derive(Debug, Clone, Copy)]
struct Moment(Instant, SystemTime);

impl Moment {
    fn now() -> Self {
        Self(Instant::now(), SystemTime::now())
    }

    /// By the clock that says more.
    fn elapsed(self) -> Duration {
        self.0.elapsed().max(self.1.elapsed().unwrap_or_default())
    }
}

fn cancelled() -> CancellationToken {
    let token = CancellationToken::new();
    token.cancel();
    token
}

impl Node {
    /// `None` where the database has one gateway only.
    pub(crate) async fn join(
        journal: &Arc<dyn Journal>,
        run: Run,
        hints_by: &HintsBy,
        shutdown: &CancellationToken,
    ) -> Result<Option<Self>, StoreError> {
        let Some(cluster) = journal.cluster() else { return Ok(None) };
        let carrier = Carrier::new(hints_by, journal, cluster).await?;
        let (renewed, name) = (Moment::now(), own_name());
        let Run { node: id, start } = run;
        let member = cluster.join(id, start, &name).await?;
        let (serves, elsewhere) = (shutdown.child_token(), HashSet::new());
        let standing = Standing { member, renewed, serves, speaks: cancelled(), elsewhere };
        Ok(Some(Self {
            id,
            start,
            name,
            carrier: Arc::new(carrier),
            outbox: Outbox::default(),
            standing: Mutex::new(standing),
            roll: watch::Sender::new(Vec::new()),
            seen: Mutex::default(),
            met_stranger: AtomicBool::new(false),
            catching_up: Mutex::default(),
        }))
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn look(&self) -> NodeLook {
        let (serves, renewed) = {
            let standing = self.standing();
            (!standing.serves.is_cancelled(), standing.renewed.elapsed())
        };
        NodeLook {
            serves,
            renewed,
            nodes: self.roll.borrow().len(),
            hints: self.outbox.waiting(),
            behind: self.catching_up.lock().unwrap_or_else(PoisonError::into_inner).len(),
        }
    }

    pub(crate) fn member(&self) -> Member {
        self.standing().member
    }

    pub(crate) fn serves(&self) -> CancellationToken {
        self.standing().serves.clone()
    }

    /// Whether another node speaks for the gateway's own runner.
    pub(crate) fn is_spoken_for_elsewhere(&self) -> bool {
        self.standing().elsewhere.contains(&OWN_RUNNER)
    }

    pub(crate) fn speaks(&self) -> CancellationToken {
        self.standing().speaks.clone()
    }

    /// It serves, from now on if it did not. Says whether it speaks for the gateway's own runner.
    fn is_renewed(&self, sent: Moment, roll: &Roll, shutdown: &CancellationToken) -> bool {
        let mut standing = self.standing();
        standing.renewed = sent;
        let elsewhere = roll.spoken_for.iter().filter(|(_, node)| *node != self.id);
        standing.elsewhere = elsewhere.map(|(runner, _)| *runner).collect();
        if standing.serves.is_cancelled() && !shutdown.is_cancelled() {
            tracing::warn!("this node could renew again: it serves from now on");
            standing.serves = shutdown.child_token();
        }
        !standing.speaks.is_cancelled()
    }

    /// Whether that process is a node that runs now. It was said with the last renewal, so it is two seconds old at most where a
    /// node left or was started again, and as long as a node counts as alive where it was killed. A node that cannot renew knows
    /// nobody.
    pub(crate) fn knows(&self, run: Run) -> bool {
        let is_it = |node: &LiveNode| node.id == run.node && node.start == Some(run.start);
        !self.serves().is_cancelled() && self.roll.borrow().iter().any(is_it)
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
    let silent_after = cluster.silent_after();
    let shutdown = gateway.shutdown_token();
    let mut ticks = interval(RENEW);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = ticks.tick() => {}
        }
        // What is left of the time until it must be silent.
        let renewed = node.standing().renewed;
        let left = silent_after.saturating_sub(renewed.elapsed()).min(NODE_SILENT_AFTER);
        let patience = if left.is_zero() { PATIENCE } else { left };
        match timeout(patience, gateway.renew(node)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "this node could not say that it is there"),
            Err(_) => {
                tracing::warn!("this node could not say that it is there: the database does not answer")
            }
        }
        let renewed = node.standing().renewed;
        if renewed.elapsed() >= silent_after {
            gateway.fall_silent(node);
        }
    }
}

impl Gateway {
    async fn renew(&self, node: &Node) -> Result<(), StoreError> {
        let Some(cluster) = self.inner.journal.cluster() else { return Ok(()) };
        let (sent, member) = (Moment::now(), node.standing().member);
        let Some(roll) = cluster.renew(member, node.outbox.made()).await? else {
            self.fall_silent(node);
            let member = cluster.join(node.id, node.start, &node.name).await?;
            tracing::warn!(
                "this node was taken for dead by another one, and begins again. If that goes on, two gateways have a copy of one `node.id`"
            );
            node.standing().member = member;
            return Ok(());
        };
        let speaks = roll.spoken_for.contains(&(OWN_RUNNER, node.id));
        let spoke = node.is_renewed(sent, &roll, &self.inner.shutdown);
        node.roll.send_replace(roll.live);
        self.let_go(|runner| node.standing().elsewhere.contains(&runner));
        match (spoke, speaks) {
            (true, true) => Ok(()),
            (true, false) => {
                self.stop_speaking_here(node);
                Ok(())
            }
            (false, _) => self.speak_if_free(node).await.map(|speaks| {
                if speaks {
                    self.take_up_what_is_left();
                }
            }),
        }
    }

    /// Speaks for the gateway's own runner, if no other node that lives does.
    pub(crate) async fn speak_if_free(&self, node: &Node) -> Result<bool, StoreError> {
        let Some(cluster) = self.inner.journal.cluster() else { return Ok(false) };
        let Some(owner) = OwnerId::new("gateway").ok().filter(|_| !self.drivers().is_empty()) else {
            return Ok(false);
        };
        let (id, name, instance) = (OWN_RUNNER, "own".to_owned(), node.id.uuid());
        let member = node.standing().member;
        let (place, agents) = (RunnerPlace::Inside, Vec::new());
        let own = ConnectedRunner { id, name, owner, instance, place, agents };
        match cluster.speak_for(member, &own).await? {
            Speaking::Here { .. } => {
                node.standing().speaks = CancellationToken::new();
                Ok(true)
            }
            Speaking::Elsewhere { .. } | Speaking::DeclaredDead => Ok(false),
        }
    }

    /// Another one may take its place from now on. Agents go on, streams end: whoever watched comes back elsewhere.
    fn fall_silent(&self, node: &Node) {
        let standing = node.standing();
        if standing.serves.is_cancelled() {
            return;
        }
        standing.serves.cancel();
        drop(standing);
        self.inner.counted.silences.add();
        tracing::error!(
            "this node could not renew in time: it speaks for no agent and ends its streams until it can"
        );
        self.stop_speaking_here(node);
        // Runners dial another node.
        self.forget_tasks(|_| true);
    }

    fn stop_speaking_here(&self, node: &Node) {
        node.standing().speaks.cancel();
        self.forget_tasks(SessionHandle::is_of_own_runner);
    }

    /// Tells the others that this node is gone.
    pub(crate) async fn leave_nodes(&self) {
        let (Some(node), Some(cluster)) = (&self.inner.node, self.inner.journal.cluster()) else { return };
        let member = node.standing().member;
        if !matches!(timeout(PATIENCE, cluster.leave(member)).await, Ok(Ok(()))) {
            tracing::warn!("the other nodes were not told that this one is gone; they see it in ten seconds");
        }
    }

    /// Whether it can serve: its writer, its database, and its place among the nodes.
    pub async fn ready(&self) -> Result<(), GatewayError> {
        self.inner.journal.ready().await?;
        self.serves()
    }

    /// The part of [`Gateway::ready`] that needs no database.
    pub fn serves(&self) -> Result<(), GatewayError> {
        match self.serving_token().is_cancelled() {
            true if self.inner.shutdown.is_cancelled() => Err(GatewayError::Closing),
            true => Err(GatewayError::Silent),
            false => Ok(()),
        }
    }

    /// Ends when this node is going away, or could not renew for too long: streams end with it.
    pub fn serving_token(&self) -> CancellationToken {
        self.inner.node.as_ref().map_or_else(|| self.shutdown_token(), Node::serves)
    }
}

/// Tells the others what was written here.
pub(crate) async fn tell(gateway: Gateway) {
    let Some(node) = &gateway.inner.node else { return };
    let shutdown = gateway.shutdown_token();
    let mut next = tokio::time::Instant::now();
    loop {
        let notice = tokio::select! {
            () = shutdown.cancelled() => return,
            notice = node.outbox.take(|| node.member()) => notice,
        };
        // It is lost if it cannot be told: its number says so to whoever hears the next one.
        let told = tokio::select! {
            () = shutdown.cancelled() => return,
            told = node.carrier.tell(notice.to_text()) => told,
        };
        if let Err(error) = told {
            tracing::warn!(%error, "other nodes could not be told what is new; they find out by themselves");
            sleep(PAUSE).await;
        }
        next = next.max(tokio::time::Instant::now() - GATHER * IN_A_ROW) + GATHER;
        sleep_until(next).await;
    }
}

/// Hears what was written elsewhere.
pub(crate) async fn follow(gateway: Gateway) {
    let Some(node) = &gateway.inner.node else { return };
    let shutdown = gateway.shutdown_token();
    let mut rolls = node.roll.subscribe();
    let mut heard = Heard::default();
    // When everything was read again last, and whether that is to be done once more.
    let (mut looked, mut missed) = (tokio::time::Instant::now(), false);
    while !shutdown.is_cancelled() {
        let mut notices = listening(&gateway, Arc::clone(&node.carrier));
        let mut deaf = 0;
        while deaf < DEAF {
            let arrived = tokio::select! {
                () = shutdown.cancelled() => return,
                notice = notices.recv() => match notice {
                    Some(Some(notice)) => gateway.hear(node, &mut heard, &notice),
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
                () = sleep_until(looked + PAUSE), if missed => Arrived::All,
            };
            missed |= arrived == Arrived::NotAll;
            // Not for each of many: somebody else than a node may be the one who counts wrong.
            if missed && looked.elapsed() >= PAUSE {
                (looked, missed) = (tokio::time::Instant::now(), false);
                gateway.inner.counted.hints_missed.add();
                gateway.look_everywhere();
            }
        }
    }
}

/// In a task of its own, which ends with whoever listens. `None`: something may have been missed.
fn listening(gateway: &Gateway, carrier: Arc<Carrier>) -> mpsc::Receiver<Option<Bytes>> {
    let (sender, receiver) = mpsc::channel(NOTICES);
    let shutdown = gateway.shutdown_token();
    gateway.inner.tasks.spawn(async move {
        let pass_on = async {
            loop {
                match carrier.listen().await {
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

async fn pass_on(mut notices: Listening, to: &mpsc::Sender<Option<Bytes>>) {
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
    fn hear(&self, node: &Node, heard: &mut Heard, bytes: &[u8]) -> Arrived {
        let Some(notice) = Notice::parse(bytes) else {
            // Once: whoever writes there could fill the log.
            if !node.met_stranger.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "something that is not a node writes where nodes tell each other what is new: it can wake them, and \
                     no more. See who else may write there"
                );
            }
            return Arrived::All;
        };
        if notice.node == node.id {
            return Arrived::All;
        }
        let taken = notice.hints.iter().map(|hint| self.hinted(*hint)).fold(Arrived::All, Arrived::and);
        heard.notice(&notice).and(taken)
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
