//! What goes wrong, one thing after the other.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holdstead_protocol::Timestamp;
use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::field::Field;
use super::hints::HintsBy;
use crate::Result;
use crate::processes::signal;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    NodeKilled,
    MachineKilled,
    DatabaseStopped,
    NodeWithoutDatabase,
    MachineWithoutGateway,
    NodeSuspended,
    NatsKilled,
    NodeWithoutNats,
    HintsLost,
    NoHints,
    HintsInvented,
    /// On purpose, as for a new version.
    NodeRestarted,
}

impl Fault {
    /// What can go wrong where nodes hint to each other this way.
    pub(super) fn all(by: HintsBy) -> Vec<Self> {
        let always = [
            Self::NodeKilled,
            Self::MachineKilled,
            Self::DatabaseStopped,
            Self::NodeWithoutDatabase,
            Self::MachineWithoutGateway,
            Self::NodeSuspended,
            Self::HintsInvented,
        ];
        let more: &[Self] = match by {
            HintsBy::Notify => &[Self::HintsLost],
            HintsBy::Nats => &[Self::NatsKilled, Self::NodeWithoutNats, Self::NoHints],
        };
        always.into_iter().chain(more.iter().copied()).collect()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NodeKilled => "kill -9 of a node",
            Self::MachineKilled => "kill -9 of a runner",
            Self::DatabaseStopped => "PostgreSQL stopped at once",
            Self::NodeWithoutDatabase => "a node cut from PostgreSQL",
            Self::MachineWithoutGateway => "a runner cut from its gateway",
            Self::NodeSuspended => "a node stopped past its lease",
            Self::NatsKilled => "kill -9 of NATS",
            Self::NodeWithoutNats => "a node cut from NATS",
            Self::HintsLost => "hints lost",
            Self::NoHints => "no hints at all",
            Self::HintsInvented => "hints doubled and invented",
            Self::NodeRestarted => "a node restarted on purpose",
        })
    }
}

/// One fault, and when it was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Happened {
    pub(super) fault: Fault,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

/// A node is silent after six seconds, and dead after ten.
const PAST_ITS_LEASE: Duration = Duration::from_millis(11_500);
/// How long a load balancer takes to see that a node does not answer.
const NOTICED: Duration = Duration::from_secs(2);

/// Makes it happen, and mends it.
pub(super) async fn make(field: &mut Field, fault: Fault, rng: &mut StdRng) -> Result<Happened> {
    let (node, machine) = (rng.random_range(0..field.nodes.len()), rng.random_range(0..field.machines.len()));
    let away = Duration::from_millis(rng.random_range(0..4_000));
    let from = now()?;
    match fault {
        Fault::NodeKilled => {
            field.nodes[node].gateway.kill_now().await?;
            sleep(away / 4).await;
            field.nodes[node].gateway.serve_again().await?;
        }
        Fault::NodeRestarted => field.restart(node).await?,
        Fault::MachineKilled => field.machines[machine].kill(away / 4).await?,
        Fault::DatabaseStopped => {
            field.server.stop_at_once().await?;
            sleep(away / 4).await;
            field.server.start().await?;
        }
        Fault::NodeWithoutDatabase => {
            field.nodes[node].to_server.cut();
            // Sometimes for so long that it must be silent.
            sleep(away * 2).await;
            field.lay_to_server(node);
        }
        Fault::MachineWithoutGateway => {
            field.machines[machine].to_gateway.cut();
            sleep(away).await;
            field.lay_to_balancer(machine);
        }
        Fault::NodeSuspended => {
            let pid = field.nodes[node].gateway.pid().ok_or("the node is gone")?;
            signal("-STOP", &[pid])?;
            sleep(NOTICED).await;
            field.rotate(node, false);
            sleep(PAST_ITS_LEASE - NOTICED).await;
            signal("-CONT", &[pid])?;
            sleep(NOTICED).await;
            field.rotate(node, true);
        }
        Fault::NatsKilled => field.kill_nats(away / 4).await?,
        Fault::NodeWithoutNats => {
            field.nodes[node].to_nats.cut();
            sleep(away).await;
            field.lay_to_nats(node);
        }
        Fault::NoHints => {
            for node in &field.nodes {
                node.to_nats.cut();
            }
            sleep(away).await;
            for node in 0..field.nodes.len() {
                field.lay_to_nats(node);
            }
        }
        Fault::HintsLost => {
            // Whoever listens has to connect anew, and misses what is told meanwhile.
            let listening =
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
            for _ in 0..5 {
                field.server.run(listening.to_owned()).await?;
                sleep(Duration::from_millis(100)).await;
            }
        }
        Fault::HintsInvented => {
            // What no node wrote, and what could be one's: with numbers that are not its own, about events that are not there.
            let schema = field.schema();
            let noise = (1..=300).map(|length| "?".repeat(length));
            let alike = format!(
                "SELECT replace(n.id::text, '-', '') || ' ' || n.epoch || ' ' || n.hints + 7 || chr(10) || \
                 'ses_' || replace(s.id::text, '-', '') || ' 1 999999 host' FROM {schema}.sessions s, {schema}.nodes n LIMIT 300"
            );
            let notices: Vec<_> = noise.chain(field.server.read(alike).await?).collect();
            for _ in 0..2 {
                field.tell(&notices).await?;
            }
        }
    }
    Ok(Happened { fault, from, to: now()? })
}

pub(super) fn now() -> Result<Timestamp> {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
    Ok(Timestamp::from_micros(i64::try_from(micros)?))
}
