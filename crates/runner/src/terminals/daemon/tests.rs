//! With a daemon that says what Codex's would.

use std::sync::Arc;
use std::time::Duration;

use holdstead_agents::codex::CodexDriver;
use holdstead_agents::{Agent, AgentEvent, Driver, Launch, Outgoing, ProjectFiles, Resolution};
use holdstead_protocol::{
    Incarnation, KnownBy, OwnerId, PermissionMode, Response, Scope, SessionId, Settlement, TerminalAnswer,
};
use serde_json::{Map, Value, json};
use tokio::net::UnixListener;
use tokio_tungstenite::accept_async;

use super::*;

/// The other end of one connection.
struct Daemon(WebSocketStream<UnixStream>);

impl Daemon {
    /// Takes the next connection, up to what is called last.
    async fn comes(listener: &UnixListener, turns: Value) -> Self {
        let (stream, _) = soon(listener.accept()).await.unwrap();
        let mut daemon = Self(soon(accept_async(stream)).await.unwrap());
        let hello = daemon.called("initialize").await;
        assert_eq!(hello["params"]["clientInfo"]["name"], "holdstead");
        daemon.says(json!({"id": hello["id"], "result": {}})).await;
        assert_eq!(daemon.next().await, json!({"method": "initialized"}));
        daemon.returns("thread/loaded/list", json!({"data": ["th"], "nextCursor": null})).await;
        daemon.returns("thread/read", json!({"thread": {"id": "th", "cwd": "/", "ephemeral": false}})).await;
        daemon.returns("thread/resume", json!({"thread": {"turns": turns}})).await;
        daemon
    }

    async fn next(&mut self) -> Value {
        let message = soon(self.0.next()).await.unwrap().unwrap();
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    async fn called(&mut self, method: &str) -> Value {
        let call = self.next().await;
        assert_eq!(call["method"], method, "{call}");
        assert!(call.get("jsonrpc").is_none());
        call
    }

    async fn returns(&mut self, method: &str, result: Value) {
        let call = self.called(method).await;
        self.says(json!({"id": call["id"], "result": result})).await;
    }

    async fn says(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(10), future).await.expect("it comes in time")
}

/// Timers see this time pass; nothing else waits for it.
async fn passes(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

async fn taken(runner: &Runner, in_turn: bool) -> Agent {
    let appeared = soon(runner.appears()).await;
    assert_eq!((appeared.agent.as_str(), appeared.agent_ref.as_str()), ("codex", "th"));
    let launch = Launch {
        session: SessionId::generate(&OwnerId::new("local").expect("a name")),
        incarnation: Incarnation(1),
        cwd: "/".into(),
        permission_mode: PermissionMode::Default,
        model: None,
        system_prompt: None,
        max_turns: None,
        mcp_servers: Map::new(),
        tool_server: None,
        project_files: ProjectFiles::Closed,
        program: None,
        resume: None,
        terminal: Some("th".to_owned()),
        life: "life".to_owned(),
    };
    soon(runner.terminals().take(Arc::new(CodexDriver), launch, in_turn)).await.expect("it is there")
}

/// The next thing of this kind that an agent says.
async fn says<T>(agent: &mut Agent, kind: impl Fn(AgentEvent) -> Option<T>) -> T {
    loop {
        let event = soon(agent.events.recv()).await.expect("it says something");
        if let Some(found) = kind(event) {
            return found;
        }
    }
}

fn asks(event: AgentEvent) -> Option<holdstead_agents::Ask> {
    if let AgentEvent::Ask(ask) = event { Some(*ask) } else { None }
}

fn request() -> Value {
    json!({"method": "item/commandExecution/requestApproval", "id": 0, "params": {
        "kind": "command", "threadId": "th", "turnId": "t", "itemId": "c", "command": "ls", "cwd": "/"}})
}

#[tokio::test]
async fn asks_answers_and_words_go_by_the_daemons_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("app-server-control.sock");
    let runner = Arc::new(Runner::new(vec![Arc::new(CodexDriver) as Arc<dyn Driver>]));
    let listens = runner.listen_to_codex(socket.clone());
    // It is looked for once, and is not there yet.
    tokio::task::yield_now().await;
    let listener = UnixListener::bind(&socket).unwrap();
    passes(AGAIN).await;
    let turn = json!({"id": "t", "items": [], "status": "inProgress"});
    let mut daemon = Daemon::comes(&listener, json!([turn])).await;
    daemon.says(request()).await;
    let mut agent = taken(&runner, false).await;
    assert_eq!(agent.pid, std::process::id(), "the daemon's process");
    let ask = says(&mut agent, asks).await;
    let response = Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None };
    let resolution = Resolution::Settled { settlement: Settlement::Approved, response, input: ask.input };
    let tool_call_id = ask.tool_call_id.clone();
    agent.input.send(Outgoing::Resolve { tool_call_id, resolution }).await.unwrap();
    assert_eq!(daemon.next().await, json!({"id": 0, "result": {"decision": "accept"}}));
    let resolved = json!({"method": "serverRequest/resolved", "params": {"threadId": "th", "requestId": 0}});
    daemon.says(resolved).await;
    let counted = |event| matches!(event, AgentEvent::Acknowledged { .. }).then_some(());
    says(&mut agent, counted).await;
    let over = json!({"id": "t", "status": "completed"});
    daemon.says(json!({"method": "turn/completed", "params": {"threadId": "th", "turn": over}})).await;
    says(&mut agent, |event| matches!(event, AgentEvent::TurnDone { .. }).then_some(())).await;
    agent.input.send(Outgoing::Message { text: "go on".to_owned() }).await.unwrap();
    let words = daemon.called("turn/start").await;
    assert_eq!(words["params"]["threadId"], "th");
    assert_eq!(words["params"]["input"], json!([{"type": "text", "text": "go on"}]));
    listens.abort();
}

#[tokio::test]
async fn what_waits_is_over_when_the_daemon_goes_and_it_is_dialed_again() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("app-server-control.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let runner = Arc::new(Runner::new(vec![Arc::new(CodexDriver) as Arc<dyn Driver>]));
    let listens = runner.listen_to_codex(socket);
    let mut daemon = Daemon::comes(&listener, json!([])).await;
    daemon.says(request()).await;
    let mut agent = taken(&runner, false).await;
    says(&mut agent, asks).await;
    drop(daemon);
    let how = says(&mut agent, |event| {
        if let AgentEvent::AnsweredInTerminal { how, .. } = event { Some(how) } else { None }
    });
    let how = how.await;
    assert_eq!((how.answer, how.known_by), (TerminalAnswer::NotSaid, KnownBy::Closed));
    says(&mut agent, |event| matches!(event, AgentEvent::Exited(_)).then_some(())).await;
    let mut daemon = Daemon::comes(&listener, json!([])).await;
    daemon.says(request()).await;
    let mut agent = taken(&runner, true).await;
    says(&mut agent, |event| matches!(event, AgentEvent::TurnDone { .. }).then_some(())).await;
    says(&mut agent, asks).await;
    listens.abort();
}

#[tokio::test]
async fn an_ask_that_nobody_listens_to_any_more_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("app-server-control.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let runner = Arc::new(Runner::new(vec![Arc::new(CodexDriver) as Arc<dyn Driver>]));
    let listens = runner.listen_to_codex(socket);
    let turn = json!({"id": "t", "items": [], "status": "inProgress"});
    let mut daemon = Daemon::comes(&listener, json!([turn])).await;
    daemon.says(request()).await;
    let mut agent = taken(&runner, false).await;
    says(&mut agent, asks).await;
    // Whoever is gone at once is taken for nobody.
    passes(Duration::from_millis(150)).await;
    drop(agent);
    daemon.returns("thread/resume", json!({"thread": {"turns": [turn]}})).await;
    daemon.says(request()).await;
    runner.terminals().show_again();
    let mut agent = taken(&runner, true).await;
    says(&mut agent, asks).await;
    listens.abort();
}
