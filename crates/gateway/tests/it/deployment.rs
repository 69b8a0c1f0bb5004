//! Gateways on one PostgreSQL, in a schema of its own.

use std::sync::Arc;

use futures_util::StreamExt as _;
use holdstead_gateway::{CallerAsk, Gateway, GatewayConfig, HintsBy, Person};
use holdstead_protocol::SessionId;
use holdstead_protocol::api::{AskCall, Interaction, OpenSession};
use serde_json::json;
use sqlx::postgres::PgListener;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use uuid::Uuid;

use crate::world::{PATIENCE, ada, config, opening, scripted};

/// How its nodes tell each other what is new.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By {
    Notify,
    Nats,
}

pub(crate) struct Deployment {
    by: By,
    server: String,
    schema: String,
    folder: TempDir,
    /// Nodes reach NATS through it.
    gate: Gate,
}

fn from_environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: run `just test`, or `scripts/nats with scripts/postgres with cargo nextest run -p holdstead-gateway`"
        )
    })
}

impl Deployment {
    pub(crate) async fn new(by: By) -> Self {
        let (server, folder) = (from_environment("HOLDSTEAD_TEST_POSTGRES"), TempDir::new().unwrap());
        let gate = match by {
            By::Notify => Gate::to("127.0.0.1:1").await,
            By::Nats => Gate::to(from_environment("HOLDSTEAD_TEST_NATS").trim_start_matches("nats://")).await,
        };
        let deployment =
            Self { by, server, schema: format!("test_{}", Uuid::now_v7().simple()), folder, gate };
        deployment.run(format!("CREATE SCHEMA {}", deployment.schema)).await;
        deployment
    }

    pub(crate) async fn run(&self, sql: String) {
        let mut connection = PgConnection::connect(&self.url("test")).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    fn url(&self, name: &str) -> String {
        let schema = &self.schema;
        format!("{}?options[search_path]={schema}&application_name={schema}_{name}", self.server)
    }

    /// A gateway of this name, with the scripted agent.
    pub(crate) async fn node(&self, name: &str) -> Gateway {
        self.node_with(name, config(GatewayConfig::DEFAULT_HOLD)).await
    }

    pub(crate) async fn node_with(&self, name: &str, config: GatewayConfig) -> Gateway {
        let journal = holdstead_store::open(&self.url(name)).await.unwrap();
        let hints_by = match self.by {
            By::Notify => HintsBy::Notify,
            By::Nats => HintsBy::Nats(format!("nats://127.0.0.1:{}", self.gate.port).parse().unwrap()),
        };
        let driver = Arc::new(scripted(&self.folder));
        Gateway::start(journal, vec![driver], GatewayConfig { hints_by, ..config }).await.unwrap()
    }

    /// Whatever a node of this name is connected to, and all nodes' connections to NATS.
    pub(crate) async fn break_connections_of(&self, name: &str) {
        let name = format!("{}_{name}", self.schema);
        self.run(format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
        ))
        .await;
        self.gate.set(Open::No);
        self.gate.set(Open::Yes);
    }

    /// Whoever writes to this table waits with its commit.
    pub(crate) async fn hold_commits_to(&self, table: &str) -> HeldCommits {
        let key = Uuid::now_v7().as_u64_pair().1.cast_signed();
        self.run(format!(
            "CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN PERFORM pg_advisory_xact_lock_shared({key}); RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER held AFTER INSERT OR UPDATE ON {table}
               DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION held()"
        ))
        .await;
        let mut connection = PgConnection::connect(&self.url("holds")).await.unwrap();
        sqlx::query("SELECT pg_advisory_lock($1)").bind(key).execute(&mut connection).await.unwrap();
        HeldCommits { connection, key }
    }

    pub(crate) const fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) async fn stranger(&self) -> Stranger {
        match self.by {
            By::Notify => {
                let mut connection = PgConnection::connect(&self.url("stranger")).await.unwrap();
                let channel: String = sqlx::query_scalar("SELECT 'holdstead_' || md5(current_schema())")
                    .fetch_one(&mut connection)
                    .await
                    .unwrap();
                let mut listener = PgListener::connect(&self.url("stranger")).await.unwrap();
                listener.listen(&channel).await.unwrap();
                Stranger::Notify { listener, connection, channel }
            }
            By::Nats => {
                let mut connection = PgConnection::connect(&self.url("stranger")).await.unwrap();
                let name: String = sqlx::query_scalar(
                    "SELECT encode(fingerprint, 'hex') FROM keys WHERE name = 'deployment'",
                )
                .fetch_one(&mut connection)
                .await
                .unwrap();
                let client = async_nats::connect(from_environment("HOLDSTEAD_TEST_NATS")).await.unwrap();
                let subject = format!("holdstead.{name}.hints");
                let subscriber = client.subscribe(subject.clone()).await.unwrap();
                client.flush().await.unwrap();
                Stranger::Nats { client, subscriber, subject }
            }
        }
    }

    pub(crate) fn opening(&self) -> OpenSession {
        OpenSession { cwd: Some(self.folder.path().display().to_string()), ..opening("scripted") }
    }

    pub(crate) async fn end(self, nodes: [Gateway; 2]) {
        for node in nodes {
            node.stop().await;
            node.journal().close().await;
        }
        self.run(format!("DROP SCHEMA {} CASCADE", self.schema)).await;
    }
}

/// Until they are released.
pub(crate) struct HeldCommits {
    connection: PgConnection,
    key: i64,
}

impl HeldCommits {
    pub(crate) async fn somebody_waits(&mut self) {
        const WAITS: &str = "SELECT EXISTS (SELECT FROM pg_locks held JOIN pg_locks waits
             USING (locktype, database, classid, objid, objsubid)
             WHERE held.pid = pg_backend_pid() AND locktype = 'advisory' AND NOT waits.granted)";
        let look = async {
            while !sqlx::query_scalar::<_, bool>(WAITS).fetch_one(&mut self.connection).await.unwrap() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, look).await.expect("somebody waits");
    }

    /// Returns when those who waited have committed.
    pub(crate) async fn release(mut self) {
        for step in ["SELECT pg_advisory_unlock($1)", "SELECT pg_advisory_lock($1)"] {
            sqlx::query(step).bind(self.key).execute(&mut self.connection).await.unwrap();
        }
        self.connection.close().await.unwrap();
    }
}

/// Somebody who may read and write where nodes tell each other what is new, and is none.
pub(crate) enum Stranger {
    Notify { listener: PgListener, connection: PgConnection, channel: String },
    Nats { client: async_nats::Client, subscriber: async_nats::Subscriber, subject: String },
}

impl Stranger {
    pub(crate) async fn hear(&mut self) -> Vec<u8> {
        let next = async {
            match self {
                Self::Notify { listener, .. } => listener.recv().await.unwrap().payload().as_bytes().to_vec(),
                Self::Nats { subscriber, .. } => subscriber.next().await.unwrap().payload.to_vec(),
            }
        };
        tokio::time::timeout(PATIENCE, next).await.expect("a notice in time")
    }

    /// Reads on until this session is told of.
    pub(crate) async fn hear_of(&mut self, session: SessionId) -> Vec<u8> {
        loop {
            let notice = self.hear().await;
            if String::from_utf8_lossy(&notice).contains(&session.to_string()) {
                return notice;
            }
        }
    }

    /// A node that was just started may not be connected to NATS yet: what it tells meanwhile is lost.
    pub(crate) async fn until_hints_go(&mut self, node: &Gateway, deployment: &Deployment) {
        let heard = async {
            loop {
                let session = node.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
                if tokio::time::timeout(PATIENCE / 40, self.hear_of(session)).await.is_ok() {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, heard).await.expect("hints go");
    }

    /// What PostgreSQL does not let through, a stranger cannot say there.
    pub(crate) async fn say(&mut self, bytes: Vec<u8>) {
        match self {
            Self::Notify { connection, channel, .. } => {
                let Ok(text) = String::from_utf8(bytes) else { return };
                if text.len() < 8_000 && !text.contains('\0') {
                    let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(channel.as_str()).bind(text);
                    notify.execute(connection).await.unwrap();
                }
            }
            Self::Nats { client, subject, .. } => {
                client.publish(subject.clone(), bytes.into()).await.unwrap();
                client.flush().await.unwrap();
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    Yes,
    No,
}

/// A way to a server that can be cut.
pub(crate) struct Gate {
    port: u16,
    open: watch::Sender<Open>,
}

impl Gate {
    async fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (open, watched) = watch::channel(Open::Yes);
        let server = server.to_owned();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (mut watched, server) = (watched.clone(), server.clone());
                tokio::spawn(async move {
                    if *watched.borrow_and_update() == Open::No {
                        return;
                    }
                    let Ok(mut server) = TcpStream::connect(server).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                        _ = watched.changed() => {}
                    }
                });
            }
        });
        Self { port, open }
    }

    /// Either way, whoever is connected is cut off.
    pub(crate) fn set(&self, open: Open) {
        self.open.send_replace(open);
    }
}

pub(crate) async fn ask(gateway: &Gateway, caller: &Person, n: usize) -> Interaction {
    let call =
        json!({ "key": format!("key {n}"), "toolName": "deploy", "kind": "approval", "input": { "n": n } });
    let call: AskCall = serde_json::from_value(call).unwrap();
    gateway.ask(caller, CallerAsk::Own, call).await.unwrap()
}
