//! The private PostgreSQL of the show, which is stopped at once and started again.

use std::net::SocketAddr;
use std::process::Stdio;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio::process::Command;

use crate::{Result, ensure};

#[derive(Debug)]
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
        let (port, log) = (format!("-p {}", self.address.port()), format!("{}/../log", self.data));
        self.control(&["start", "--wait", "--log", &log, "--options", &port]).await
    }

    /// As the user that the server runs as: root may not.
    async fn control(&self, args: &[&str]) -> Result<()> {
        use std::os::unix::fs::MetadataExt as _;
        let program = format!("{}/pg_ctl", self.programs);
        let mut command = match std::fs::metadata("/proc/self")?.uid() {
            0 => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command
            }
            _ => Command::new(program),
        };
        command.args(args).arg("--silent").arg("--pgdata").arg(&self.data).current_dir("/");
        // What it starts would keep a pipe open.
        let status =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().await?;
        ensure!(status.success(), "pg_ctl {} failed", args.join(" "));
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
