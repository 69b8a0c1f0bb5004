//! The scripted agent as a real process, spoken to as the gateway speaks to it.

mod asks;
#[cfg(target_os = "linux")]
mod boxes;
mod host;
#[cfg(target_os = "linux")]
mod leftovers;
mod lives;
mod talk;

use std::path::Path;
use std::time::Duration;

use holdstead_agents::host::Host;
use holdstead_agents::scripted::ScriptedDriver;
use holdstead_agents::{
    Agent, AgentEvent, AgentExit, Ask, BoxSetting, Boxes, Driver as _, Launch, Outgoing, Resolution,
    ResumeAt, ResumePoint,
};
use holdstead_protocol::{
    Incarnation, OwnerId, PermissionMode, Response, Scope, SessionId, Settlement, StopReason, ToolCallId,
};
use serde_json::Value;

/// Far longer than anything takes; only a test that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

fn call(id: &str) -> ToolCallId {
    ToolCallId::new(id).expect("a good id")
}

fn driver(folder: &Path) -> ScriptedDriver {
    let program = env!("CARGO_BIN_EXE_holdstead-scripted-agent").to_owned();
    let host = Host::new(vec![program.clone(), "agent-host".to_owned()], Boxes::new(BoxSetting::None, &[]));
    ScriptedDriver::new(host, vec![program], folder.join("state"))
}

/// The first of a conversation.
fn launch(cwd: &Path) -> Launch {
    let session = SessionId::generate(&OwnerId::new("local").expect("a name"));
    Launch {
        // The end of one life ends every process with its name, so each needs a name of its own.
        life: format!("{session}/1"),
        session,
        incarnation: Incarnation(1),
        cwd: cwd.to_owned(),
        permission_mode: PermissionMode::Default,
        model: None,
        system_prompt: None,
        max_turns: None,
        mcp_servers: Default::default(),
        tool_server: None,
        project_files: holdstead_agents::ProjectFiles::Closed,
        program: None,
        resume: None,
        terminal: None,
    }
}

/// One life of an agent's process.
struct Life {
    agent: Agent,
    agent_ref: String,
}

impl Life {
    async fn start(folder: &Path) -> Self {
        Self::launch(&driver(folder), folder, None).await
    }

    async fn launch(driver: &ScriptedDriver, folder: &Path, resume: Option<ResumePoint>) -> Self {
        let launch = Launch { resume, ..launch(folder) };
        let agent = driver.start(launch).await.expect("it starts");
        let mut life = Self { agent, agent_ref: String::new() };
        let AgentEvent::Ready { agent_ref } = life.next().await else { panic!("ready comes first") };
        life.agent_ref = agent_ref;
        life
    }

    /// The next life of the same conversation.
    async fn resume(&self, folder: &Path, at: ResumeAt) -> Self {
        let point = ResumePoint { agent_ref: self.agent_ref.clone(), at };
        let next = Self::launch(&driver(folder), folder, Some(point)).await;
        assert_eq!(next.agent_ref, self.agent_ref);
        next
    }

    async fn next(&mut self) -> AgentEvent {
        let event = tokio::time::timeout(PATIENCE, self.agent.events.recv()).await;
        event.expect("the agent says something in time").expect("the agent is there")
    }

    async fn send(&self, outgoing: Outgoing) {
        let sent = tokio::time::timeout(PATIENCE, self.agent.input.send(outgoing)).await;
        sent.expect("it reads in time").expect("it is there");
    }

    async fn message(&self, text: &str) {
        self.send(Outgoing::Message { text: text.to_owned() }).await;
    }

    async fn resolve(&self, id: &str, resolution: Resolution) {
        self.send(Outgoing::Resolve { tool_call_id: call(id), resolution }).await;
    }

    async fn settle(&self, ask: &Ask, settlement: Settlement, response: Response) {
        let resolution = Resolution::Settled { settlement, response, input: ask.input.clone() };
        self.send(Outgoing::Resolve { tool_call_id: ask.tool_call_id.clone(), resolution }).await;
    }

    async fn approve(&self, ask: &Ask) {
        self.settle(
            ask,
            Settlement::Approved,
            Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None },
        )
        .await;
    }

    /// The next ask, whatever is said before it.
    async fn ask(&mut self) -> Ask {
        loop {
            let event = self.next().await;
            if let AgentEvent::Ask(ask) = event {
                return *ask;
            }
            assert!(
                !matches!(event, AgentEvent::TurnDone { .. } | AgentEvent::Exited(_)),
                "no ask: {event:?}"
            );
        }
    }

    /// What it was told about this call, and whether that is an error: the next events must be the
    /// acknowledgement and the result.
    async fn told(&mut self, id: &str) -> (Value, bool) {
        assert_eq!(self.next().await, AgentEvent::Acknowledged { tool_call_id: call(id) });
        let event = self.next().await;
        let AgentEvent::ToolResult { tool_call_id, output, is_error } = event else { panic!("{event:?}") };
        assert_eq!(tool_call_id, call(id));
        (output, is_error)
    }

    /// All events up to the end of the turn, and why it ended.
    async fn done(&mut self) -> (Vec<AgentEvent>, StopReason) {
        let mut events = Vec::new();
        loop {
            let event = self.next().await;
            if let AgentEvent::TurnDone { reason, usage: None } = event {
                return (events, reason);
            }
            assert!(!matches!(event, AgentEvent::Exited(_)), "it went: {event:?}");
            events.push(event);
        }
    }

    /// What it says up to the end of a turn that completes.
    async fn rest(&mut self) -> String {
        let (events, reason) = self.done().await;
        assert_eq!(reason, StopReason::Completed);
        text(&events)
    }

    async fn exit(&mut self) -> AgentExit {
        loop {
            if let AgentEvent::Exited(exit) = self.next().await {
                return exit;
            }
        }
    }
}

/// The words of text events, a message per line.
fn text(events: &[AgentEvent]) -> String {
    let mut said = String::new();
    for event in events {
        if let AgentEvent::Text { text, .. } = event {
            said.push_str(text);
        } else if *event == AgentEvent::MessageEnd {
            said.push('\n');
        }
    }
    said
}
