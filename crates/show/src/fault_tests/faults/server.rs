//! The private PostgreSQL of the show, which is stopped at once and started again.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use holdstead_protocol::SessionId;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio::process::Command;
use tokio::time::sleep;
use uuid::Uuid;

use crate::{Result, ensure};

/// What the primary knows its standby by.
const STANDBY: &str = "standby";

/// Whether an answer can be accepted that only the primary has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Replication {
    Synchronous,
    Asynchronous,
}

#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    url: String,
    programs: String,
    data: String,
}

impl Server {
    /// The one that the environment names.
    pub(super) async fn ours() -> Result<Self> {
        let url = std::env::var("HOLDSTEAD_TEST_POSTGRES").map_err(
            |_| "this show needs PostgreSQL: run it with `just`, or with `scripts/postgres with …`",
        )?;
        let options: PgConnectOptions = url.parse()?;
        let address = SocketAddr::new("127.0.0.1".parse()?, options.get_port());
        let mut connection = options.connect().await?;
        let data = sqlx::query_scalar("SHOW data_directory").fetch_one(&mut connection).await?;
        let programs = sqlx::query_scalar("SELECT setting FROM pg_config WHERE name = 'BINDIR'");
        let programs = programs.fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(Self { address, url, programs, data })
    }

    /// As if its machine lost power: it recovers when it is started.
    pub(super) async fn stop_at_once(&self) -> Result<()> {
        self.control(&["stop", "--wait", "--mode=immediate"]).await
    }

    pub(super) async fn start(&self) -> Result<()> {
        self.start_with("").await
    }

    async fn start_with(&self, options: &str) -> Result<()> {
        let options = format!("-p {} {options}", self.address.port());
        let log = format!("{}/../log", self.data);
        self.control(&["start", "--wait", "--log", &log, "--options", &options]).await
    }

    /// Another place beside it, where nothing runs yet.
    pub(super) fn beside(&self) -> Result<Self> {
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let url = self.url.replacen(&self.address.to_string(), &address.to_string(), 1);
        Ok(Self { address, url, data: format!("{}-beside", self.data), ..self.clone() })
    }

    /// In this place there is a standby from now on, which has what the primary has and follows it by this way.
    pub(super) async fn follow(&self, primary: &Self, by: SocketAddr) -> Result<()> {
        if std::fs::exists(&self.data)? {
            std::fs::remove_dir_all(&self.data)?;
        }
        let user = primary.options()?.get_username().to_owned();
        let from = |port: u16| format!("host=127.0.0.1 port={port} user={user}");
        let copy = ["--wal-method=stream", "--checkpoint=fast", "--no-sync", "--write-recovery-conf"];
        let place = ["--pgdata", &self.data, "--dbname", &from(primary.address.port())];
        self.program("pg_basebackup", &[&copy[..], &place[..]].concat()).await?;
        let by = format!("-c primary_conninfo='{} application_name={STANDBY}'", from(by.port()));
        self.start_with(&by).await
    }

    pub(super) async fn new_schema(&self) -> Result<String> {
        let schema = format!("show_{}", Uuid::now_v7().simple());
        self.run(format!("CREATE SCHEMA {schema}")).await?;
        Ok(schema)
    }

    pub(super) async fn promote(&self) -> Result<()> {
        self.control(&["promote", "--wait"]).await
    }

    /// Whether commits wait until the standby has them, once this returns and all before it are there.
    pub(super) async fn replicate(&self, replication: Replication) -> Result<()> {
        let (names, state) = match replication {
            Replication::Synchronous => (STANDBY, "sync"),
            Replication::Asynchronous => ("", "async"),
        };
        self.run(format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'")).await?;
        self.run("SELECT pg_reload_conf()".to_owned()).await?;
        let mut connection = self.options()?.connect().await?;
        let here: String =
            sqlx::query_scalar("SELECT pg_current_wal_flush_lsn()::text").fetch_one(&mut connection).await?;
        for _ in 0..3_000 {
            let there = sqlx::query_scalar(
                "SELECT count(*) FROM pg_stat_replication WHERE application_name = $1 AND sync_state = $2 AND flush_lsn >= $3::pg_lsn",
            );
            let there: i64 = there.bind(STANDBY).bind(state).bind(&here).fetch_one(&mut connection).await?;
            if there == 1 {
                return Ok(connection.close().await?);
            }
            sleep(Duration::from_millis(20)).await;
        }
        Err("the standby never had what the primary has".into())
    }

    /// Where the journals of this schema stand.
    pub(super) async fn heads(&self, schema: &str) -> Result<BTreeMap<SessionId, (i64, Vec<u8>)>> {
        let mut connection = self.options()?.connect().await?;
        let sql = sqlx::AssertSqlSafe(format!("SELECT id, last_seq, head_hash FROM {schema}.sessions"));
        let rows: Vec<(Uuid, i64, Vec<u8>)> = sqlx::query_as(sql).fetch_all(&mut connection).await?;
        connection.close().await?;
        Ok(rows.into_iter().map(|(id, seq, hash)| (SessionId::from_uuid(id), (seq, hash))).collect())
    }

    fn options(&self) -> Result<PgConnectOptions> {
        Ok(self.url.parse()?)
    }

    async fn control(&self, args: &[&str]) -> Result<()> {
        self.program("pg_ctl", &[args, &["--silent", "--pgdata", &self.data]].concat()).await
    }

    /// As the user that the server runs as: root may not.
    async fn program(&self, name: &str, args: &[&str]) -> Result<()> {
        use std::os::unix::fs::MetadataExt as _;
        let program = format!("{}/{name}", self.programs);
        let mut command = match std::fs::metadata("/proc/self")?.uid() {
            0 => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command
            }
            _ => Command::new(program),
        };
        command.args(args).current_dir("/");
        // What it starts would keep a pipe open.
        let status =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().await?;
        ensure!(status.success(), "{name} {} failed", args.join(" "));
        Ok(())
    }

    /// By this way to it, in this schema.
    pub(super) fn store(&self, by: SocketAddr, schema: &str) -> String {
        let user = self.url.replacen(&self.address.to_string(), &by.to_string(), 1);
        format!("{user}?options[search_path]={schema}&application_name={}", by.port())
    }

    /// One column of text.
    pub(super) async fn read(&self, sql: String) -> Result<Vec<String>> {
        let mut connection = PgConnection::connect(&self.url).await?;
        let rows = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_all(&mut connection).await?;
        connection.close().await?;
        Ok(rows)
    }

    /// Tells these texts on the channel that this expression names.
    pub(super) async fn notify(&self, channel: &str, texts: &[String]) -> Result<()> {
        let mut connection = PgConnection::connect(&self.url).await?;
        let sql = format!("SELECT pg_notify({channel}, text) FROM unnest($1::text[]) AS text");
        sqlx::query(sqlx::AssertSqlSafe(sql)).bind(texts).execute(&mut connection).await?;
        Ok(connection.close().await?)
    }

    pub(super) async fn run(&self, sql: String) -> Result<()> {
        let mut connection = PgConnection::connect(&self.url).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await?;
        Ok(connection.close().await?)
    }
}
