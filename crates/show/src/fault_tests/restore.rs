//! A backup is made while a gateway writes, and killed while it is made. Restored elsewhere, it has everything up to the backup,
//! it verifies, and what an agent said after that is refused and told.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdstead_protocol::api::{Interaction, Session};
use holdstead_protocol::{Event, EventBody};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::sleep;
use uuid::Uuid;

use crate::cable::Cable;
use crate::claims::audit::auditor::Auditor;
use crate::client::Client;
use crate::database::Kind;
use crate::gateway_process::{Environment, GatewayProcess, TokenFor, program};
use crate::responses::APPROVE;
use crate::{Result, ensure, runner_process};

const MACHINE: &str = "laptop";
/// Backups that are killed in the middle.
const KILLED: usize = 3;
/// What makes a backup take long enough for that: so many programs ask so often, with so many bytes each.
const PROGRAMS: usize = 2;
const ASKS: usize = 25;
const BYTES: usize = 900_000;
const LOADED: Duration = Duration::from_secs(1);
/// Two asks: one before the backup, one after it.
const SCRIPT: &str = "say One\napprove Bash {\"command\":\"make one\"}\nsay Two\napprove Bash {\"command\":\"make two\"}\nsay Three";
const LACKS: &str = "lacks what this agent said";
const OLDER: &str = "It is an older copy";
/// What lies beside the journal, and comes along.
const FILES: [&str; 6] =
    ["secrets.key", "audit.key", "row-macs.enabled", "token", "node.id", "checkpoints.log"];
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn show() -> Result<String> {
    let mut figures = Vec::new();
    for kind in Kind::ALL {
        figures.push(format!("{kind}: {}", restored(kind).await?));
    }
    Ok(figures.join("; "))
}

async fn restored(kind: Kind) -> Result<String> {
    let place = Place::new(kind).await?;
    let cable = Cable::new().await?;
    let environment = Environment::With(vec![("HOLDSTEAD_ALLOWED_HOSTS", cable.address.to_string())]);
    let mut gateway = match place.store() {
        Some(store) => GatewayProcess::serve_on(&store, environment.clone()).await?,
        None => GatewayProcess::serve_in(environment.clone()).await?,
    };
    let store = gateway_store(&gateway, &place);
    cable.lead_to(&[gateway.url.trim_start_matches("http://").parse()?]);
    let person = gateway.person()?;
    let runners = TempDir::new()?;
    let mut runner = runner_process::start(
        runners.path(),
        &format!("http://{}", cable.address),
        &gateway.token(MACHINE, TokenFor::Runner).await?,
    )?;
    runner_process::connected(&person, &[MACHINE]).await?;
    let session = on_machine(&person).await?;
    let auditor = Auditor::new(gateway.folder(), &store)?;

    let backups = TempDir::new()?;
    let file = backups.path().join("backup");
    let mut killed = 0;
    if kind == Kind::Sqlite {
        fill(&gateway, &person).await?;
        killed = kill_backups(&gateway, &file).await?;
    }
    let load = Load::start(&gateway, &person).await?;
    sleep(LOADED).await;
    auditor.run(&["checkpoint"]).await?;
    let begin = Instant::now();
    place.back_up(&gateway, &file).await?;
    let took = begin.elapsed();
    sleep(LOADED).await;
    let accepted = load.end().await?;
    // After the backup the agent goes on, and the journal has what it says.
    let ask = person.open_ask(&session, "approval").await?;
    person.win(&ask, APPROVE).await?;
    let said = person.done(&session).await?;
    auditor.run(&["checkpoint"]).await?;
    cable.cut();
    gateway.kill_now().await?;

    let elsewhere = TempDir::new()?;
    for name in FILES {
        if gateway.folder().join(name).exists() {
            std::fs::copy(gateway.folder().join(name), elsewhere.path().join(name))?;
        }
    }
    let store = place.restore(&file, elsewhere.path()).await?;
    let auditor = Auditor::new(elsewhere.path(), &store)?;
    let verdict = auditor.verify(None).await?;
    let findings = verdict.words.lines().filter(|line| line.starts_with('✕')).count();
    ensure!(!verdict.sound, "an older database beside a newer log is taken for what was written");
    ensure!(findings == 1 && verdict.words.contains(OLDER), "it is told otherwise:\n{}", verdict.words);
    cut_log(&verdict.words, elsewhere.path()).await?;
    let verdict = auditor.verify(None).await?;
    ensure!(verdict.sound, "the restored journal does not verify:\n{}", verdict.words);

    let restored = match place.store() {
        Some(_) => GatewayProcess::serve_from(elsewhere, Some(&store), environment).await?,
        None => GatewayProcess::serve_from(elsewhere, None, environment).await?,
    };
    let person = restored.person()?;
    person.ready().await?;
    let before: Vec<_> = accepted.iter().filter(|(_, at)| *at < begin).collect();
    ensure!(!before.is_empty(), "nothing was accepted before the backup");
    for (ask, _) in &before {
        let there: Interaction = person.get(&format!("/v1/interactions/{ask}")).await?;
        ensure!(
            there.state.is_over() && there.response.is_some(),
            "{ask} is not what it was: {:?}",
            there.state
        );
    }
    cable.lead_to(&[restored.url.trim_start_matches("http://").parse()?]);
    let kept = told(&person, &session).await?;
    let later = said.iter().filter(|event| event.seq.0 > kept as u64).count();
    ensure!(later > 0, "the agent said nothing after the backup");
    let there = person.journal(&session).await?;
    ensure!(there[..kept] == said[..kept], "what was said before the backup is not what it was");
    let taken = |event: &Event| there.iter().any(|other| other.id == event.id);
    ensure!(!said[kept..].iter().any(taken), "something that was said after the backup was taken");
    let metrics = restored.text("/metrics").await?;
    ensure!(metrics.contains("\nholdstead_data_loss_total 1\n"), "the loss is not counted");
    runner.kill().await?;
    let folder = restored.folder().to_owned();
    let mut restored = restored;
    restored.stop_for_now().await?;
    let verdict = Auditor::new(&folder, &store)?.verify(None).await?;
    ensure!(verdict.sound, "the journal that went on does not verify:\n{}", verdict.words);
    place.remove().await?;
    let killed =
        if killed > 0 { format!("{killed} backups killed, none looked whole; ") } else { String::new() };
    Ok(format!(
        "{killed}backed up in {:.1} s under load, {} answers accepted before it: {} there; audit verifies; {later} events that an \
         agent brought about later: 0 taken, told in its session",
        took.as_secs_f64(),
        before.len(),
        before.len(),
    ))
}

/// Where the journal is, and how it is backed up.
enum Place {
    /// In the gateway's own folder.
    Sqlite,
    /// Two databases of their own: one to be used, one to be restored to.
    Postgres { server: String, programs: String, names: [String; 2] },
}

impl Place {
    async fn new(kind: Kind) -> Result<Self> {
        use sqlx::Connection as _;
        if kind == Kind::Sqlite {
            return Ok(Self::Sqlite);
        }
        let server = std::env::var("HOLDSTEAD_TEST_POSTGRES").map_err(
            |_| "this show needs PostgreSQL: run it with `just`, or with `scripts/postgres with …`",
        )?;
        let mut connection = sqlx::PgConnection::connect(&server).await?;
        let programs = sqlx::query_scalar("SELECT setting FROM pg_config WHERE name = 'BINDIR'");
        let programs: String = programs.fetch_one(&mut connection).await?;
        connection.close().await?;
        let names = [(); 2].map(|()| format!("show_{}", Uuid::now_v7().simple()));
        let place = Self::Postgres { server, programs, names };
        place.on_server("CREATE DATABASE").await?;
        Ok(place)
    }

    /// For each of its databases.
    async fn on_server(&self, what: &str) -> Result<()> {
        use sqlx::Connection as _;
        let Self::Postgres { server, names, .. } = self else { return Ok(()) };
        let mut connection = sqlx::PgConnection::connect(server).await?;
        for name in names {
            sqlx::raw_sql(sqlx::AssertSqlSafe(format!("{what} {name}"))).execute(&mut connection).await?;
        }
        Ok(connection.close().await?)
    }

    fn url(&self, place: usize) -> Option<String> {
        let Self::Postgres { server, names, .. } = self else { return None };
        let (before, _) = server.rsplit_once('/')?;
        Some(format!("{before}/{}", names[place]))
    }

    /// What the gateway is told to use.
    fn store(&self) -> Option<String> {
        self.url(0)
    }

    async fn back_up(&self, gateway: &GatewayProcess, file: &Path) -> Result<()> {
        match (self, self.url(0)) {
            (Self::Postgres { programs, .. }, Some(url)) => {
                let mut dump = Command::new(format!("{programs}/pg_dump"));
                dump.args(["--format=custom", "--dbname", &url, "--file"]).arg(file);
                run(dump).await
            }
            (Self::Postgres { .. } | Self::Sqlite, _) => {
                let output = gateway.holdstead(&["backup", &file.to_string_lossy()]).await?;
                ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                let again = gateway.holdstead(&["backup", &file.to_string_lossy()]).await?;
                ensure!(!again.status.success(), "a backup took the place of another");
                Ok(())
            }
        }
    }

    /// Says where it is now.
    async fn restore(&self, file: &Path, folder: &Path) -> Result<String> {
        match (self, self.url(1)) {
            (Self::Postgres { programs, .. }, Some(url)) => {
                let mut restore = Command::new(format!("{programs}/pg_restore"));
                restore.args(["--exit-on-error", "--no-owner", "--dbname", &url]).arg(file);
                run(restore).await?;
                Ok(url)
            }
            (Self::Postgres { .. } | Self::Sqlite, _) => {
                let database = folder.join("holdstead.db");
                std::fs::copy(file, &database)?;
                Ok(format!("sqlite:{}", database.display()))
            }
        }
    }

    async fn remove(self) -> Result<()> {
        self.on_server("DROP DATABASE").await
    }
}

fn gateway_store(gateway: &GatewayProcess, place: &Place) -> String {
    place.store().unwrap_or_else(|| format!("sqlite:{}", gateway.folder().join("holdstead.db").display()))
}

async fn run(mut command: Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().await?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// An agent on that machine, which has said something, was answered once, and asks again.
async fn on_machine(person: &Client) -> Result<String> {
    let opened: Session =
        person.post("/v1/sessions", &json!({ "agent": "scripted", "runner": MACHINE })).await?;
    let session = opened.session_id.to_string();
    person.say(&session, SCRIPT).await?;
    let ask = person.open_ask(&session, "approval").await?;
    person.win(&ask, APPROVE).await?;
    person.said(&session, "Two").await?;
    person.open_ask(&session, "approval").await?;
    Ok(session)
}

/// Asks that show much.
async fn fill(gateway: &GatewayProcess, person: &Client) -> Result<()> {
    for number in 0..PROGRAMS {
        let name = format!("program {number}");
        let client = Client::new(&gateway.url, &gateway.token(&name, TokenFor::Guest).await?)?;
        for key in 0..ASKS {
            let ask = asking(&key.to_string(), &json!({ "words": "word ".repeat(BYTES / 5) }));
            let _asked: Interaction = client.post("/v1/interactions", &ask).await?;
        }
    }
    person.ready().await
}

fn asking(key: &str, input: &Value) -> Value {
    json!({ "key": key, "toolName": "deploy", "kind": "approval", "input": input })
}

/// Kills backups in the middle, and sees that none of them looks like one.
async fn kill_backups(gateway: &GatewayProcess, file: &Path) -> Result<usize> {
    let partial = PathBuf::from(format!("{}.partial", file.display()));
    let (mut killed, mut tries) = (0, 0);
    while killed < KILLED {
        tries += 1;
        ensure!(tries <= 10 * KILLED, "backups are over before they can be killed");
        let mut command = Command::new(program()?);
        command.arg("backup").arg(file).arg("--dir").arg(gateway.folder()).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn()?;
        while std::fs::metadata(&partial).map_or(0, |found| found.len()) == 0 && child.try_wait()?.is_none() {
            sleep(Duration::from_millis(1)).await;
        }
        child.kill().await?;
        if file.exists() {
            std::fs::remove_file(file)?;
            continue;
        }
        ensure!(partial.exists(), "a backup that was killed left nothing");
        std::fs::remove_file(&partial)?;
        killed += 1;
    }
    Ok(killed)
}

/// Somebody asks, and is answered, again and again.
struct Load {
    over: Arc<AtomicBool>,
    accepted: Arc<Mutex<Vec<(String, Instant)>>>,
    task: tokio::task::JoinHandle<Result<()>>,
}

impl Load {
    async fn start(gateway: &GatewayProcess, person: &Client) -> Result<Self> {
        let program = Client::new(&gateway.url, &gateway.token("busy program", TokenFor::Guest).await?)?;
        let (over, accepted) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<Vec<_>>>::default());
        let (person, is_over, taken) =
            (person.with_own_connection()?, Arc::clone(&over), Arc::clone(&accepted));
        let task = tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let ask = asking(&Uuid::new_v4().to_string(), &json!({}));
                let ask: Interaction = program.post("/v1/interactions", &ask).await?;
                person.win(&ask, APPROVE).await?;
                let one = (ask.request.interaction_id.to_string(), Instant::now());
                taken.lock().unwrap_or_else(PoisonError::into_inner).push(one);
            }
            Ok(())
        });
        Ok(Self { over, accepted, task })
    }

    async fn end(self) -> Result<Vec<(String, Instant)>> {
        self.over.store(true, Ordering::Relaxed);
        self.task.await??;
        Ok(std::mem::take(&mut *self.accepted.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Does what the words of the finding say: goes on with the beginning of the file.
async fn cut_log(words: &str, folder: &Path) -> Result<()> {
    let (_, command) = words.split_once("sed '").ok_or("it does not say how to go on")?;
    let (script, _) = command.split_once('\'').ok_or("it does not say how to go on")?;
    let (log, old) = (folder.join("checkpoints.log"), folder.join("checkpoints.old"));
    std::fs::rename(&log, &old)?;
    let output = Command::new("sed").arg(script).arg(&old).output().await?;
    ensure!(output.status.success() && !output.stdout.is_empty(), "sed '{script}' found nothing");
    Ok(std::fs::write(&log, output.stdout)?)
}

/// Waits until the session says why its agent is not listened to. Returns how many events are from before the backup.
async fn told(person: &Client, session: &str) -> Result<usize> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let events = person.journal(session).await?;
        let tells =
            |event: &Event| matches!(&event.body, EventBody::Error(error) if error.message.contains(LACKS));
        if let Some(place) = events.iter().position(tells) {
            return Ok(place);
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err("its session does not say that the journal lacks what its agent said".into())
}
