//! Which agent a new session has, and on which machine it runs: the gateway's own, or one of its owner's that dialled in,
//! here or at another node.

use std::sync::Arc;

use holdstead_agents::{Driver, StartedBy};
use holdstead_protocol::api::{HostedAgent, ListedRunner};
use holdstead_protocol::{OwnerId, RunnerId};
use holdstead_store::KnownRunner;

use crate::runners::Attached;
use crate::{Gateway, GatewayError};

/// The agent of this name, if a session can be opened with it.
pub fn hosted(drivers: &[Arc<dyn Driver>], name: &str) -> Result<Arc<dyn Driver>, GatewayError> {
    let driver = named(drivers, name)?;
    match driver.started_by() {
        StartedBy::Us => Ok(driver),
        StartedBy::People => Err(GatewayError::OnlyInTerminal { name: name.to_owned() }),
    }
}

pub(crate) fn named(drivers: &[Arc<dyn Driver>], name: &str) -> Result<Arc<dyn Driver>, GatewayError> {
    let found = drivers.iter().find(|driver| driver.name() == name);
    found.cloned().ok_or_else(|| {
        let ours = drivers.iter().filter(|driver| driver.started_by() == StartedBy::Us);
        let known: Vec<_> = ours.map(|driver| driver.name()).collect();
        GatewayError::NoAgent {
            name: name.to_owned(),
            known: match known.as_slice() {
                [] => "this gateway hosts none".to_owned(),
                names => format!("this gateway hosts {}", names.join(", ")),
            },
        }
    })
}

/// One machine that could run it.
#[derive(Debug)]
pub(crate) enum Machine {
    /// This gateway speaks for it.
    Here(Arc<Attached>),
    /// Another node does.
    Elsewhere(KnownRunner),
}

impl Machine {
    fn name(&self) -> &str {
        match self {
            Self::Here(attached) => attached.name(),
            Self::Elsewhere(known) => &known.name,
        }
    }

    fn agents(&self) -> Vec<HostedAgent> {
        match self {
            Self::Here(attached) => attached.runner.agents(),
            Self::Elsewhere(known) => known.agents.clone(),
        }
    }

    pub(crate) fn id(&self) -> Option<RunnerId> {
        match self {
            Self::Here(attached) => attached.id(),
            Self::Elsewhere(known) => Some(known.id),
        }
    }

    fn listed(&self) -> ListedRunner {
        let (sessions, node) = match self {
            Self::Here(attached) => (Some(attached.runner.sessions().len()), None),
            Self::Elsewhere(known) => (None, Some(known.node_name.clone())),
        };
        ListedRunner { name: self.name().to_owned(), agents: self.agents(), sessions, node }
    }
}

impl Gateway {
    /// The machines that an owner's new session could have: the gateway's own first.
    pub(crate) async fn machines_for(&self, owner: &OwnerId) -> Result<Vec<Machine>, GatewayError> {
        let mut all: Vec<Machine> = self.inner.runners.of(owner).into_iter().map(Machine::Here).collect();
        if let (Some(node), Some(cluster)) = (&self.inner.node, self.inner.journal.cluster()) {
            let known = cluster.runners_of(owner).await?;
            // What is here, is here, whatever was written down before that.
            let new = known.into_iter().filter(|known| {
                known.node != node.id && !all.iter().any(|machine| machine.id() == Some(known.id))
            });
            let new: Vec<_> = new.map(Machine::Elsewhere).collect();
            all.extend(new);
        }
        all.sort_by(|a, b| a.name().cmp(b.name()));
        let own = self.inner.runners.own();
        if !own.runner.agents().is_empty() {
            all.insert(0, Machine::Here(own));
        }
        Ok(all)
    }

    /// The one that is named, or the only one there is.
    pub(crate) async fn choose_machine(
        &self,
        owner: &OwnerId,
        named: Option<&str>,
    ) -> Result<Machine, GatewayError> {
        let mut all = self.machines_for(owner).await?;
        let names = |all: &[Machine]| all.iter().map(Machine::name).collect::<Vec<_>>().join(", ");
        let at = match (named, all.len()) {
            (_, 0) => return Err(GatewayError::NoRunner),
            (None, 1) => 0,
            (None, _) => return Err(GatewayError::WhichRunner { known: names(&all) }),
            (Some(name), _) => all
                .iter()
                .position(|machine| machine.name() == name)
                .ok_or_else(|| GatewayError::UnknownRunner { name: name.to_owned(), known: names(&all) })?,
        };
        Ok(all.swap_remove(at))
    }

    /// The agents that can be hosted, and what each needs on the machine that would run it.
    pub async fn agents(&self, owner: &OwnerId) -> Result<Vec<HostedAgent>, GatewayError> {
        let mut agents: Vec<HostedAgent> = Vec::new();
        for agent in self.machines_for(owner).await?.iter().flat_map(Machine::agents) {
            match agents.iter_mut().find(|known| known.name == agent.name) {
                Some(known) if agent.installed => *known = agent,
                Some(_) => {}
                None => agents.push(agent),
            }
        }
        Ok(agents)
    }

    /// The machines that run an owner's agents and are connected.
    pub async fn connected_runners(&self, owner: &OwnerId) -> Result<Vec<ListedRunner>, GatewayError> {
        Ok(self.machines_for(owner).await?.iter().map(Machine::listed).collect())
    }
}
