//! Three gateways on one PostgreSQL, and NATS where it is wanted, behind a load balancer, and two machines that run agents: processes, and the ways
//! between them.

use std::net::SocketAddr;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Child;
use tokio::time::sleep;

use super::hints::{HintsBy, NatsServer};
use super::server::Server;
use crate::cable::Cable;
use crate::claims::audit::auditor::{Auditor, Verdict};
use crate::client::Client;
use crate::gateway_process::{Environment, GatewayProcess, TokenFor};
use crate::{Result, ensure, runner_process};

const NODES: usize = 3;
const MACHINES: [&str; 2] = ["first-machine", "second-machine"];

#[derive(Debug)]
pub(super) struct Field {
    pub(super) server: Server,
    schema: String,
    pub(super) nodes: Vec<Node>,
    pub(super) machines: Vec<Machine>,
    balancer: Cable,
    nats: Option<NatsServer>,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) gateway: GatewayProcess,
    pub(super) to_server: Cable,
    pub(super) to_nats: Cable,
    address: SocketAddr,
    in_rotation: bool,
}

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) name: &'static str,
    token: String,
    folder: TempDir,
    process: Child,
    pub(super) to_gateway: Cable,
}

impl Field {
    pub(super) async fn new(by: HintsBy) -> Result<Self> {
        let server = Server::ours().await?;
        let schema = server.new_schema().await?;
        let balancer = Cable::new().await?;
        let ways = [Cable::new().await?, Cable::new().await?];
        let known = [&balancer, &ways[0], &ways[1]].map(|cable| cable.address.to_string()).join(",");
        let nats = match by {
            HintsBy::Notify => None,
            HintsBy::Nats => Some(NatsServer::start().await?),
        };
        let mut nodes: Vec<Node> = Vec::new();
        for _ in 0..NODES {
            let (to_server, to_nats) = (Cable::new().await?, Cable::new().await?);
            to_server.lead_to(&[server.address]);
            let store = server.store(to_server.address, &schema);
            let mut settings = vec![("HOLDSTEAD_ALLOWED_HOSTS", known.clone())];
            if let Some(nats) = &nats {
                to_nats.lead_to(&[nats.address]);
                settings.push(("HOLDSTEAD_CLUSTER_NOTIFY_URL", format!("nats://{}", to_nats.address)));
            }
            let environment = Environment::With(settings);
            let gateway = match nodes.first() {
                None => GatewayProcess::serve_on(&store, environment).await?,
                Some(first) => first.gateway.beside_in(Some(&store), environment).await?,
            };
            let address = gateway.url.trim_start_matches("http://").parse()?;
            nodes.push(Node { gateway, to_server, to_nats, address, in_rotation: true });
        }
        let mut machines = Vec::new();
        let first = nodes.first().ok_or("there are nodes")?;
        for (name, to_gateway) in MACHINES.into_iter().zip(ways) {
            let token = first.gateway.token(name, TokenFor::Runner).await?;
            let folder = TempDir::new()?;
            to_gateway.lead_to(&[balancer.address]);
            let process =
                runner_process::start(folder.path(), &format!("http://{}", to_gateway.address), &token)?;
            machines.push(Machine { name, token, folder, process, to_gateway });
        }
        let field = Self { server, schema, nodes, machines, balancer, nats };
        field.balance();
        runner_process::connected(&field.admin()?, &MACHINES).await?;
        Ok(field)
    }

    /// Connections go to the nodes in rotation.
    fn balance(&self) {
        let in_rotation = self.nodes.iter().filter(|node| node.in_rotation);
        self.balancer.lead_to(&in_rotation.map(|node| node.address).collect::<Vec<_>>());
    }

    /// As a load balancer does that asks nodes how they are.
    pub(super) fn rotate(&mut self, node: usize, in_rotation: bool) {
        self.nodes[node].in_rotation = in_rotation;
        self.balance();
    }

    /// Where people and programs come in.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.balancer.address)
    }

    pub(super) fn lay_to_balancer(&self, machine: usize) {
        self.machines[machine].to_gateway.lead_to(&[self.balancer.address]);
    }

    pub(super) fn lay_to_server(&self, node: usize) {
        self.nodes[node].to_server.lead_to(&[self.server.address]);
    }

    pub(super) fn lay_to_nats(&self, node: usize) {
        self.nodes[node].to_nats.lead_to(&self.nats.iter().map(|nats| nats.address).collect::<Vec<_>>());
    }

    /// `kill -9`, and another one in its place.
    pub(super) async fn kill_nats(&mut self, away: Duration) -> Result<()> {
        self.nats.take().ok_or("there is no NATS here")?.kill().await?;
        sleep(away).await;
        self.nats = Some(NatsServer::start().await?);
        for node in 0..self.nodes.len() {
            self.lay_to_nats(node);
        }
        Ok(())
    }

    /// Tells all nodes these notices, whoever writes such a thing.
    pub(super) async fn tell(&self, notices: &[String]) -> Result<()> {
        let schema = &self.schema;
        match &self.nats {
            Some(nats) => {
                let name =
                    format!("SELECT encode(fingerprint, 'hex') FROM {schema}.keys WHERE name = 'deployment'");
                let deployment = self.server.read(name).await?.pop().ok_or("the deployment has no name")?;
                nats.tell(&format!("holdstead.{deployment}.hints"), notices).await
            }
            None => self.server.notify(&format!("'holdstead_' || md5('{schema}')"), notices).await,
        }
    }

    pub(super) async fn token(&self, name: &str, whose: TokenFor<'_>) -> Result<String> {
        self.nodes[0].gateway.token(name, whose).await
    }

    pub(super) fn admin(&self) -> Result<Client> {
        Client::new(&self.url(), &self.nodes[0].gateway.own_token()?)
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// On purpose: it is asked to go, and the next one of it is waited for.
    pub(super) async fn restart(&mut self, node: usize) -> Result<()> {
        let gateway = &mut self.nodes[node].gateway;
        gateway.stop_for_now().await?;
        gateway.serve_again().await?;
        gateway.person()?.ready().await
    }

    /// Ends all of it, and looks at what is left as an auditor does: with every node's key, and what each one kept.
    pub(super) async fn end(mut self) -> Result<Verdict> {
        for machine in &mut self.machines {
            machine.process.kill().await?;
        }
        let mut named = Vec::new();
        for (place, node) in self.nodes.iter_mut().enumerate() {
            node.gateway.stop_for_now().await?;
            let folder = node.gateway.folder();
            named.push(("--key", folder.join("audit.key")));
            // It is looked at on the first one's machine.
            if place > 0 {
                named.push(("--log", folder.join("checkpoints.log")));
            }
        }
        let first = self.nodes.first().ok_or("there are nodes")?;
        let store = self.server.store(self.server.address, &self.schema);
        let verdict = Auditor::new(first.gateway.folder(), &store)?.verify_with(&named).await?;
        self.server.run(format!("DROP SCHEMA {} CASCADE", self.schema)).await?;
        Ok(verdict)
    }
}

impl Machine {
    /// `kill -9`, and the same again.
    pub(super) async fn kill(&mut self, away: Duration) -> Result<()> {
        ensure!(
            self.process.try_wait()?.is_none(),
            "the runner of {} ended by itself: {}",
            self.name,
            self.log()?
        );
        self.process.kill().await?;
        sleep(away).await;
        self.process = runner_process::start(
            self.folder.path(),
            &format!("http://{}", self.to_gateway.address),
            &self.token,
        )?;
        Ok(())
    }

    pub(super) fn log(&self) -> Result<String> {
        let log = std::fs::read_to_string(self.folder.path().join("log.txt"))?;
        let lines: Vec<_> = log.lines().collect();
        Ok(lines[lines.len().saturating_sub(5)..].join("\n"))
    }
}
