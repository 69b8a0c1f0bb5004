//! The machines whose agents this gateway speaks for: its own, and those that dialled in.
//!
//! A runner listens to one gateway at a time, the one it dialled last, and that is who speaks for it. If an earlier one
//! still believes that it does, nothing it says arrives; what both write is kept apart by the journal's fences.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdstead_core::Head;
use holdstead_protocol::{OwnerId, RunnerId};
use holdstead_runner::{Arrived, Ended, Runner, Wire, arrive};
use holdstead_store::{ConnectedRunner, RunnerPlace, SessionRecord, Speaking, StoreError};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::new_terminals::NewTerminals;
use crate::{Gateway, GatewayError};

/// What the gateway's own machine is called where somebody has to choose.
pub const OWN: &str = "gateway";

#[derive(Debug)]
pub(crate) struct Runners {
    own: Arc<Attached>,
    others: Mutex<HashMap<RunnerId, Arc<Attached>>>,
    /// A machine that dials in again has no more left than before.
    new_terminals: Mutex<HashMap<Option<RunnerId>, Arc<NewTerminals>>>,
}

/// A runner that this gateway speaks for now.
#[derive(Debug)]
pub(crate) struct Attached {
    whose: Option<Whose>,
    pub(crate) runner: Arc<Runner>,
    /// Cancelled when this gateway does not speak for it any more.
    pub(crate) silent: CancellationToken,
}

#[derive(Debug)]
struct Whose {
    id: RunnerId,
    name: String,
    owner: OwnerId,
    instance: Uuid,
}

/// A runner that dials in, as its token says.
#[derive(Debug, Clone)]
pub struct Dialled {
    pub id: RunnerId,
    pub name: String,
    pub owner: OwnerId,
}

/// Attached until this is dropped.
struct OnlyNow {
    gateway: Gateway,
    attached: Arc<Attached>,
    /// The number of its connection, while the other nodes know of it.
    spoken: Option<u64>,
}

impl Drop for OnlyNow {
    fn drop(&mut self) {
        self.gateway.detach(&self.attached);
        // Nobody waited for the end: its token was taken back, say.
        if let (Some(epoch), Some(id)) = (self.spoken, self.attached.id()) {
            let gateway = self.gateway.clone();
            self.gateway.inner.tasks.spawn(async move { gateway.stop_speaking_for(id, epoch).await });
        }
    }
}

impl Runners {
    pub(crate) fn new(own: Arc<Runner>, silent: CancellationToken) -> Self {
        let own = Arc::new(Attached { whose: None, runner: own, silent });
        Self { own, others: Mutex::default(), new_terminals: Mutex::default() }
    }

    pub(crate) fn new_terminals_of(&self, machine: Option<RunnerId>) -> Arc<NewTerminals> {
        let mut all = self.new_terminals.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(machine).or_insert_with(|| Arc::new(NewTerminals::new())))
    }

    pub(crate) fn own(&self) -> Arc<Attached> {
        Arc::clone(&self.own)
    }

    /// Those of an owner that dialled in here.
    pub(crate) fn of(&self, owner: &OwnerId) -> Vec<Arc<Attached>> {
        let others = self.others();
        let is_theirs = |one: &&Arc<Attached>| one.whose.as_ref().is_some_and(|whose| whose.owner == *owner);
        others.values().filter(is_theirs).cloned().collect()
    }

    /// How many dialled in here.
    pub(crate) fn dialled_in(&self) -> usize {
        self.others().len()
    }

    fn others(&self) -> MutexGuard<'_, HashMap<RunnerId, Arc<Attached>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attached {
    pub(crate) fn name(&self) -> &str {
        self.whose.as_ref().map_or(OWN, |whose| &whose.name)
    }

    pub(crate) fn id(&self) -> Option<RunnerId> {
        self.whose.as_ref().map(|whose| whose.id)
    }
}

fn to_connected(dialled: &Dialled, arrived: &Arrived) -> ConnectedRunner {
    ConnectedRunner {
        id: dialled.id,
        name: dialled.name.clone(),
        owner: dialled.owner.clone(),
        instance: arrived.instance,
        place: RunnerPlace::Outside,
        agents: arrived.runner.agents(),
    }
}

impl Gateway {
    /// The runner of this session, while this gateway speaks for it.
    pub(crate) fn attached(&self, head: &Head) -> Option<Arc<Attached>> {
        match head.runner {
            None => Some(Arc::clone(&self.inner.runners.own)),
            Some(id) => self.inner.runners.others().get(&id).cloned(),
        }
        .filter(|attached| !attached.silent.is_cancelled())
    }

    /// The same, for whoever cannot go on without it.
    pub(crate) fn runner_of(&self, record: &SessionRecord) -> Result<Arc<Runner>, GatewayError> {
        let attached = self.attached(&record.state);
        attached
            .map(|attached| Arc::clone(&attached.runner))
            .ok_or(GatewayError::Runner(holdstead_runner::Unable::Away))
    }

    /// Speaks for a runner that dialled in, until the connection ends. Returns why it did.
    pub async fn host_runner(&self, dialled: Dialled, wire: Wire) -> Ended {
        let arrived = match arrive(wire).await {
            Ok(arrived) => arrived,
            Err(ended) => return ended,
        };
        let refused = |place: &str| {
            format!(
                "another process with the token of runner `{}` is connected{place}: a machine has one runner, and each runner \
                 a token of its own",
                dialled.name
            )
        };
        // Also when nobody waits for this any more.
        let place = self.attach(&dialled, &arrived);
        let place = place.map(|attached| OnlyNow { gateway: self.clone(), attached, spoken: None });
        let Some(mut place) = place else {
            let why = refused("");
            arrived.refuse(&why);
            return Ended::Refused(why);
        };
        // In a task of its own: whoever stops waiting now would not learn whether the other nodes know of it, and nobody would
        // tell them that it is gone.
        let speaking = self.inner.tasks.spawn({
            let (gateway, runner) = (self.clone(), to_connected(&dialled, &arrived));
            async move {
                let speaking = gateway.speak_for(&runner).await;
                if let Ok(Speaking::Here { epoch }) = speaking {
                    place.spoken = Some(epoch);
                }
                (place, speaking)
            }
        });
        let Ok((mut place, speaking)) = speaking.await else { return Ended::LetGo };
        match speaking {
            Ok(Speaking::Here { .. }) => {}
            Ok(Speaking::Elsewhere { node }) => {
                let why = refused(&format!(" to the node `{node}`"));
                arrived.refuse(&why);
                return Ended::Refused(why);
            }
            Ok(Speaking::DeclaredDead) => return Ended::LetGo,
            Err(error) => {
                tracing::warn!(runner = dialled.name, %error, "a runner cannot be taken now");
                return Ended::LetGo;
            }
        }
        tracing::info!(runner = dialled.name, "a runner is connected");
        let gateway = self.clone();
        let silent = place.attached.silent.clone();
        let taking_up = self.inner.tasks.spawn({
            let attached = Arc::clone(&place.attached);
            async move {
                tokio::select! {
                    () = attached.silent.cancelled() => {}
                    () = async {
                        if let Err(error) = gateway.take_up_of(attached.id()).await {
                            tracing::error!(%error, "not all sessions of a runner were taken up");
                        }
                        gateway.sweep_copies(&attached.runner, attached.id()).await;
                    } => {}
                }
            }
        });
        let serves = self.serving_token();
        let terminals = Arc::clone(&place.attached);
        let ended = tokio::select! {
            () = self.take_up_terminals_of(&terminals, &dialled.owner) => Ended::LetGo,
            ended = arrived.attend(&dialled.name, silent) => ended,
            // It dials another one.
            () = serves.cancelled() => Ended::LetGo,
        };
        let spoken = place.spoken.take();
        drop(place);
        // In a task of its own: its token may be taken back, and this future dropped, while the database is slow.
        let left = self.inner.tasks.spawn({
            let (gateway, runner) = (self.clone(), dialled.id);
            async move {
                // It ends with what it was for.
                drop(taking_up.await);
                if let Some(epoch) = spoken {
                    gateway.stop_speaking_for(runner, epoch).await;
                }
            }
        });
        drop(left.await);
        tracing::info!(runner = dialled.name, %ended, "a runner is not connected any more; its agents go on");
        ended
    }

    /// Says to the other nodes that this one speaks for it. Without other nodes, nobody else could.
    async fn speak_for(&self, runner: &ConnectedRunner) -> Result<Speaking, StoreError> {
        let (Some(node), Some(cluster)) = (&self.inner.node, self.inner.journal.cluster()) else {
            return Ok(Speaking::Here { epoch: 0 });
        };
        cluster.speak_for(node.member(), runner).await
    }

    async fn stop_speaking_for(&self, runner: RunnerId, epoch: u64) {
        let (Some(node), Some(cluster)) = (&self.inner.node, self.inner.journal.cluster()) else { return };
        if let Err(error) = cluster.stop_speaking_for(node.member(), runner, epoch).await {
            tracing::warn!(%error, "the other nodes were not told that a runner is gone; its next process may have to wait");
        }
    }

    /// Those that came by another node, which may not be known here yet.
    pub(crate) fn let_go(&self, elsewhere: impl Fn(RunnerId) -> bool) {
        let others = self.inner.runners.others();
        let gone: Vec<_> = others.values().filter(|one| one.id().is_some_and(&elsewhere)).cloned().collect();
        drop(others);
        gone.iter().for_each(|attached| self.detach(attached));
    }

    /// The same process may come back before its last connection is known to be gone; another one may not.
    fn attach(&self, dialled: &Dialled, arrived: &Arrived) -> Option<Arc<Attached>> {
        let whose = Whose {
            id: dialled.id,
            name: dialled.name.clone(),
            owner: dialled.owner.clone(),
            instance: arrived.instance,
        };
        let attached = Arc::new(Attached {
            whose: Some(whose),
            runner: Arc::clone(&arrived.runner),
            silent: self.inner.silent.child_token(),
        });
        let mut others = self.inner.runners.others();
        let before = others.get(&dialled.id).cloned();
        let same =
            |before: &Attached| before.whose.as_ref().is_none_or(|whose| whose.instance == arrived.instance);
        if before.as_ref().is_some_and(|before| !same(before)) {
            return None;
        }
        others.insert(dialled.id, Arc::clone(&attached));
        drop(others);
        if let Some(before) = before {
            self.silence(&before);
        }
        Some(attached)
    }

    fn detach(&self, attached: &Arc<Attached>) {
        let mut others = self.inner.runners.others();
        if let Some(id) = attached.id()
            && others.get(&id).is_some_and(|now| Arc::ptr_eq(now, attached))
        {
            others.remove(&id);
        }
        drop(others);
        self.silence(attached);
    }

    /// Nobody here speaks for its sessions over that connection any more.
    fn silence(&self, attached: &Arc<Attached>) {
        attached.silent.cancel();
        self.forget_tasks(|handle| handle.is_of(attached));
        attached.runner.is_left();
    }
}
