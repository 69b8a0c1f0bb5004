//! The machines whose agents this gateway speaks for: its own, and those that dialled in.
//!
//! A runner listens to one gateway at a time, the one it dialled last, and that is who speaks for it. If an earlier one
//! still believes that it does, nothing it says arrives; what both write is kept apart by the journal's fences.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdstead_core::Head;
use holdstead_protocol::api::{HostedAgent, ListedRunner};
use holdstead_protocol::{OwnerId, RunnerId};
use holdstead_runner::{Arrived, Ended, Runner, Wire, arrive};
use holdstead_store::SessionRecord;
use tokio_util::sync::CancellationToken;

use crate::{Gateway, GatewayError};

/// What the gateway's own machine is called where somebody has to choose.
pub(crate) const OWN: &str = "gateway";

#[derive(Debug)]
pub(crate) struct Runners {
    own: Arc<Attached>,
    others: Mutex<HashMap<RunnerId, Arc<Attached>>>,
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
    instance: String,
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
}

impl Drop for OnlyNow {
    fn drop(&mut self) {
        self.gateway.detach(&self.attached);
    }
}

impl Runners {
    pub(crate) fn new(own: Arc<Runner>, silent: CancellationToken) -> Self {
        Self { own: Arc::new(Attached { whose: None, runner: own, silent }), others: Mutex::default() }
    }

    fn others(&self) -> MutexGuard<'_, HashMap<RunnerId, Arc<Attached>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attached {
    fn name(&self) -> &str {
        self.whose.as_ref().map_or(OWN, |whose| &whose.name)
    }

    pub(crate) fn id(&self) -> Option<RunnerId> {
        self.whose.as_ref().map(|whose| whose.id)
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

    /// The runners that an owner's new session could have.
    pub(crate) fn runners_for(&self, owner: &OwnerId) -> Vec<Arc<Attached>> {
        let own = &self.inner.runners.own;
        let mut all: Vec<_> = self.inner.runners.others().values().cloned().collect();
        all.retain(|attached| attached.whose.as_ref().is_some_and(|whose| whose.owner == *owner));
        all.sort_by(|a, b| a.name().cmp(b.name()));
        if !own.runner.agents().is_empty() {
            all.insert(0, Arc::clone(own));
        }
        all
    }

    /// The runner that a new session names, or the only one there is.
    pub(crate) fn choose_runner(
        &self,
        owner: &OwnerId,
        named: Option<&str>,
    ) -> Result<Arc<Attached>, GatewayError> {
        let all = self.runners_for(owner);
        let names = || all.iter().map(|attached| attached.name()).collect::<Vec<_>>().join(", ");
        match (named, all.as_slice()) {
            (_, []) => Err(GatewayError::NoRunner),
            (None, [only]) => Ok(Arc::clone(only)),
            (None, _) => Err(GatewayError::WhichRunner { known: names() }),
            (Some(name), _) => all
                .iter()
                .find(|attached| attached.name() == name)
                .cloned()
                .ok_or_else(|| GatewayError::UnknownRunner { name: name.to_owned(), known: names() }),
        }
    }

    /// The agents that can be hosted, and what each needs on the machine that would run it.
    pub fn agents(&self, owner: &OwnerId) -> Vec<HostedAgent> {
        let mut agents: Vec<HostedAgent> = Vec::new();
        for agent in self.runners_for(owner).iter().flat_map(|attached| attached.runner.agents()) {
            match agents.iter_mut().find(|known| known.name == agent.name) {
                Some(known) if agent.installed => *known = agent,
                Some(_) => {}
                None => agents.push(agent),
            }
        }
        agents
    }

    /// The runners of an owner that are connected to this gateway.
    pub fn connected_runners(&self, owner: &OwnerId) -> Vec<ListedRunner> {
        let listed = self.runners_for(owner).into_iter().map(|attached| ListedRunner {
            name: attached.name().to_owned(),
            agents: attached.runner.agents(),
            sessions: attached.runner.sessions().len(),
        });
        listed.collect()
    }

    /// Speaks for a runner that dialled in, until the connection ends. Returns why it did.
    pub async fn host_runner(&self, dialled: Dialled, wire: Wire) -> Ended {
        let arrived = match arrive(wire).await {
            Ok(arrived) => arrived,
            Err(ended) => return ended,
        };
        let Some(attached) = self.attach(&dialled, &arrived) else {
            let why = format!(
                "another process with the token of runner `{}` is connected: a machine has one runner, and each runner a \
                 token of its own",
                dialled.name
            );
            arrived.refuse(&why);
            return Ended::Refused(why);
        };
        tracing::info!(runner = dialled.name, "a runner is connected");
        let gateway = self.clone();
        let silent = attached.silent.clone();
        let taking_up = self.inner.tasks.spawn({
            let attached = Arc::clone(&attached);
            async move {
                tokio::select! {
                    () = attached.silent.cancelled() => {}
                    result = gateway.take_up_of(attached.id()) => if let Err(error) = result {
                        tracing::error!(%error, "not all sessions of a runner were taken up");
                    },
                }
            }
        });
        // Also when nobody waits for this any more.
        let attached = OnlyNow { gateway: self.clone(), attached };
        let serves = self.serving_token();
        let ended = tokio::select! {
            ended = arrived.attend(&dialled.name, silent) => ended,
            // It dials another one.
            () = serves.cancelled() => Ended::LetGo,
        };
        drop(attached);
        // It ends with what it was for.
        drop(taking_up.await);
        tracing::info!(runner = dialled.name, %ended, "a runner is not connected any more; its agents go on");
        ended
    }

    /// The same process may come back before its last connection is known to be gone; another one may not.
    fn attach(&self, dialled: &Dialled, arrived: &Arrived) -> Option<Arc<Attached>> {
        let whose = Whose {
            id: dialled.id,
            name: dialled.name.clone(),
            owner: dialled.owner.clone(),
            instance: arrived.instance.clone(),
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
    }
}
