//! Run the gateway.

use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdstead_agents::claude_code::ClaudeCodeDriver;
use holdstead_agents::codex::CodexDriver;
use holdstead_agents::host::Host;
use holdstead_agents::opencode::OpencodeDriver;
use holdstead_agents::scripted::ScriptedDriver;
use holdstead_agents::{Boxes, Driver};
use holdstead_gateway::{Door, Gateway, GatewayConfig, HintsBy, Masks, PolicyConfig, Runner, Stopped};
use holdstead_protocol::AgentBox;
use holdstead_server::{Listener, ServerConfig};
use holdstead_store::Heads;
use serde_json::json;

use super::own_terminals::codex;
use crate::checkpoints;
use crate::cli::{Common, ServeFlags};
use crate::config::Config;
use crate::failure::Failure;
use crate::own_person;
use crate::places::{AgentFolders, Places, Running};
use crate::rule_file;
use crate::stop_report::StopReport;
use crate::store;
use crate::traces;

/// For a binary that was built without it.
pub(super) const NO_WEB_UI: &str = "This Holdstead was built without its web UI (`just web` builds it). Answer in a terminal: holdstead inbox";
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(25);
/// How long nothing is open before a gateway in the background ends.
const QUIET: Duration = Duration::from_secs(60 * 60);

/// How long each step of a stop may take. An agent that waits has ten seconds to be parked.
const STOPPING: Duration = Duration::from_secs(20);

pub(super) async fn run(common: &Common, flags: &ServeFlags, masks: Masks) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    places.make()?;
    let config = Config::load(common, &places)?;
    let listen = flags.listen.unwrap_or(config.listen);
    if !listen.ip().is_loopback() && !flags.allow_remote && !config.allow_remote {
        return Err(Failure::Usage(format!(
            "{listen} can be reached from other machines. If a proxy with TLS stands before it, add --allow-remote. \
             For a phone in your local network: holdstead pair"
        )));
    }
    let rules = rule_file::load(&places.rules_file())?;
    let policy = PolicyConfig { rules, marked_words: config.marked_words.clone() };
    let lock = lock(&places).await?;
    places.forget_stop_report();
    if flags.background {
        leave_terminal();
    }
    take_all_files();
    // Before anything listens: what an agent left could otherwise wait for our port.
    let hosted_by = end_left_behind(&lock).await?;
    let journal = holdstead_store::open(&config.store).await?;
    if journal.cluster().is_none() && config.hints_by()? != HintsBy::Notify {
        return Err(Failure::Config(
            "`cluster.notify_url` is for several gateways on one PostgreSQL, and this store has one only: leave it out, or use a \
             postgres:// store".to_owned(),
        ));
    }
    store::match_key(&places, journal.as_ref()).await?;
    store::guard(&places, journal.as_ref()).await?;
    journal.sign_with(places.notary()?);
    let person = own_person::ensure(&places, &config, journal.as_ref()).await?;
    let listener = Listener::bind(listen)?.and_at(&places.gateway_socket())?;
    let address = listener.address();
    let url = format!("http://{}", own(address));
    let running =
        Running { url: url.clone(), pid: std::process::id(), store: Some(store::absolute(&config.store)) };
    places.write_running(&running)?;

    let hold = config.hold()?;
    let node = places.node()?;
    let gateway_config = GatewayConfig {
        node: Some(node),
        hints_by: config.hints_by()?,
        age_out: config.age_out(&places)?,
        hold,
        secrets_key: places.secrets_key()?,
        masks,
        tools: Vec::new(),
        // Agents are told that nobody answered yet before they would give up, which is after five minutes.
        mcp_url: Some(format!("{url}/mcp?wait=270s")),
        quota: config.limits.quota(),
        policy,
    };
    let _claim = journal.claim().await?;
    // What a process of an earlier gateway was started with, which nobody needs any more.
    let folders = agents_folders(places.gateway_folders(), &config, &hosted_by);
    drop(std::fs::remove_dir_all(&folders.launches));
    let boxes = boxes(&places, &config);
    match boxes.found() {
        Ok(AgentBox::Bubblewrap | AgentBox::Landlock) => {}
        Ok(AgentBox::None { why }) => {
            tracing::warn!(why, "agents run without a box: what you approve can read your token");
        }
        Err(why) => tracing::warn!(why, "no agent is started"),
    }
    let host = host(boxes)?.hosted_by(hosted_by);
    let drivers = drivers(&places, &config, host, folders)?;
    let runner = Arc::new(Runner::at_home(drivers, agents_home(&config)));
    let gateway = Gateway::start_with(Arc::clone(&journal), Arc::clone(&runner), gateway_config).await?;
    let door = open_door(&runner, &places);
    let codex = tokio::spawn(codex::listen(Arc::clone(&runner), places.clone()));
    let terminals = tokio::spawn({
        let (gateway, owner) = (gateway.clone(), config.owner.clone());
        async move { gateway.take_up_terminals(&owner).await }
    });
    let tracing_to = config.traces_to()?;
    let traced = tracing_to.map(|to| tokio::spawn(traces::send(gateway.clone(), to, node.to_string())));
    let signing = tokio::spawn(checkpoints::keep_signing(gateway.clone()));
    // Whoever stops it as soon as it says that it is there stops it in good order.
    let stopped = stop_signal();
    if flags.background {
        // What is printed here is kept in a file: no link that lets somebody in.
        println!("Holdstead listens on {url}, as process {}", std::process::id());
    } else {
        let link = holdstead_server::issue_link(journal.as_ref(), person).await?;
        announce(common, address, &url, &format!("{url}/login#{}", link.code))?;
    }
    let server_config =
        ServerConfig { allowed_hosts: config.allowed_hosts.clone(), ..ServerConfig::default() };
    let server = tokio::spawn({
        let gateway = gateway.clone();
        async move { holdstead_server::serve(listener, gateway, &server_config).await }
    });
    tokio::select! {
        () = stopped => {}
        () = stdin_ended(), if flags.until_stdin_ends => {}
        () = gateway.until_quiet(&config.owner, QUIET), if flags.background => {
            println!("Nothing was open for an hour: it ends. `holdstead run` and `attach` start another one.");
        }
    }
    drop(door);
    codex.abort();
    terminals.abort();
    if let Some(stopped) = in_time("agents and what they said last", gateway.stop()).await {
        report(&places, &stopped);
    }
    in_time("requests under way", server).await;
    in_time("signatures", signing).await;
    if let Some(traced) = traced {
        in_time("traces", traced).await;
    }
    in_time("the last signatures", checkpoints::sign(journal.as_ref(), Heads::Changed)).await;
    in_time("the journal", journal.close()).await;
    Ok(())
}

/// Says what became of the agents, in the log and to `holdstead stop`, which waits until the lock is free.
fn report(places: &Places, stopped: &Stopped) {
    for agent in &stopped.parked {
        tracing::info!(session = %agent.session, "its agent is parked");
    }
    for (agent, why) in &stopped.not_parked {
        tracing::warn!(session = %agent.session, %why, "its agent waited and could not be parked");
    }
    if let Err(failure) = places.write_stop_report(&StopReport::new(std::process::id(), stopped)) {
        tracing::warn!(%failure, "`holdstead stop` does not learn what became of the agents");
    }
}

/// One step on the way out. Whoever is stopped is not kept up by it: as after a kill, the next start finds everything written.
async fn in_time<T>(what: &str, step: impl Future<Output = T>) -> Option<T> {
    let done = tokio::time::timeout(STOPPING, step).await.ok();
    if done.is_none() {
        tracing::error!("it stops without waiting any longer for {what}");
    }
    done
}

fn announce(common: &Common, address: SocketAddr, url: &str, link: &str) -> Result<(), Failure> {
    if common.json {
        return super::print_json(&json!({ "url": url, "link": link, "pid": std::process::id() }));
    }
    println!("Holdstead listens on {url}");
    if address.ip().is_unspecified() {
        for ip in
            holdstead_server::private_addresses().into_iter().filter(|ip| address.is_ipv6() || ip.is_ipv4())
        {
            println!("Other machines reach it at http://{}", SocketAddr::new(ip, address.port()));
        }
        println!("Let a phone in: holdstead pair");
    }
    if holdstead_server::has_web_ui() {
        println!("Open it (works once, for 10 minutes): {link}");
    } else {
        println!("{NO_WEB_UI}");
    }
    println!("Ctrl-C stops it. Asks stay open and can be answered when it runs again.");
    Ok(())
}

/// From now on no key of the terminal that started it ends it, and neither does closing its window.
fn leave_terminal() {
    if let Err(error) = rustix::process::setsid() {
        tracing::warn!(%error, "it ends with the terminal that it was started in");
    }
}

/// Connections, agents and the journal all cost files, and the usual limit of a shell is far below what is allowed.
pub(super) fn take_all_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, ?limit, "the limit of open files stays as it is");
    }
}

/// Where this machine reaches a gateway that listens there.
fn own(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        // It listens there, too.
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, address.port())
}

/// Two gateways on one folder would both believe that the other's agents are dead.
///
/// A gateway that was killed may have left a process that was about to become an agent: it lets go of the lock when
/// it does, so the lock is worth a few tries.
async fn lock(places: &Places) -> Result<File, Failure> {
    let path = places.lock_file();
    let io = |source| Failure::Io { what: format!("lock {}", path.display()), source };
    let file = holdstead_store::owners_alone().create(true).truncate(false).open(&path).map_err(io)?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            // `stop` reads who holds it.
            Ok(()) => {
                file.set_len(0).and_then(|()| writeln!(&file, "{}", std::process::id())).map_err(io)?;
                return Ok(file);
            }
            Err(std::fs::TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
            Err(std::fs::TryLockError::Error(source)) => return Err(io(source)),
        }
    }
    let at = places.running().map(|running| format!(" at {}", running.url)).unwrap_or_default();
    Err(Failure::Usage(format!("A gateway runs here already{at}. Open it: holdstead open")))
}

/// Where programs in people's own terminals come in.
pub(super) fn open_door(runner: &Arc<Runner>, places: &Places) -> Option<Door> {
    let path = places.hooks_socket();
    match runner.open_door(&path) {
        Ok(door) => Some(door),
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "terminals that are connected are not seen");
            None
        }
    }
}

/// What keeps agents from what is the gateway's own.
pub(super) fn boxes(places: &Places, config: &Config) -> Boxes {
    let aged = config.age_out(places).ok().flatten().map(|age_out| age_out.to);
    Boxes::of(
        config.agents.account(),
        config.agents.boxed,
        &places.private(&store::absolute(&config.store), aged),
    )
}

/// Ends what agents of an earlier process with this lock left running, and returns the name that they carry. Only one process
/// at a time has a lock, so a process that carries its name is left over.
pub(super) async fn end_left_behind(lock: &File) -> Result<String, Failure> {
    use std::os::unix::fs::MetadataExt as _;
    let io = |source| Failure::Io { what: "look at the lock".to_owned(), source };
    let file = lock.metadata().map_err(io)?;
    let name = format!("{}:{}", file.dev(), file.ino());
    let ended = name.clone();
    let left = tokio::task::spawn_blocking(move || holdstead_agents::host::end_all(&ended)).await;
    if let Some(pid) = left.ok().flatten() {
        tracing::warn!(pid, "a process that an agent left running would not end: end it yourself");
    }
    Ok(name)
}

/// The home of agents, as far as rules need to know.
pub(super) fn agents_home(config: &Config) -> Option<String> {
    match config.agents.other_account() {
        Some(account) => Some(account.home().to_string_lossy().into_owned()),
        None => std::env::var("HOME").ok(),
    }
}

/// What another account is started with lies where it has a way to.
pub(super) fn agents_folders(folders: AgentFolders, config: &Config, hosted_by: &str) -> AgentFolders {
    match config.agents.other_account() {
        Some(_) => {
            AgentFolders { launches: PathBuf::from("/run/holdstead-agents").join(hosted_by), ..folders }
        }
        None => folders,
    }
}

/// What every agent is started under.
pub(super) fn host(boxes: Boxes) -> Result<Host, Failure> {
    Ok(Host::new(vec![this_program()?, "agent-host".to_owned()], boxes))
}

fn this_program() -> Result<String, Failure> {
    let program = std::env::current_exe()
        .map_err(|source| Failure::Io { what: "find this program".to_owned(), source })?;
    Ok(program.to_string_lossy().into_owned())
}

pub(super) fn drivers(
    places: &Places,
    config: &Config,
    host: Host,
    folders: AgentFolders,
) -> Result<Vec<Arc<dyn Driver>>, Failure> {
    let command = vec![this_program()?, "scripted-agent".to_owned()];
    let state: PathBuf = places.scripted_state();
    let claude = ClaudeCodeDriver::new(
        host.clone(),
        config.agents.claude.program.clone(),
        folders.launches,
        folders.conversations,
    );
    let opencode = OpencodeDriver::new(host.clone());
    let scripted = ScriptedDriver::new(host, command, state);
    Ok(vec![Arc::new(claude), Arc::new(scripted), Arc::new(CodexDriver), Arc::new(opencode)])
}

/// A thread of its own waits for it: it must not keep us from ending.
async fn stdin_ended() {
    let (ended, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // An error is an end, too.
        drop(std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink()));
        let _nobody_may_wait = ended.send(());
    });
    drop(told.await);
}

/// Ctrl-C, or whoever ends programs. Listens from the call on, and not only when it is waited for.
pub(super) fn stop_signal() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let terminate = {
        use tokio::signal::unix::{SignalKind, signal};
        let heard = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
        async move {
            // Without a way to be told to stop there is nothing to do but run.
            let [Ok(mut interrupt), Ok(mut terminate)] = heard else { return std::future::pending().await };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
    };
    #[cfg(not(unix))]
    let terminate = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    terminate
}
