//! Programs in people's own terminals, as far as their hooks and their record show them.

use holdstead_core::Rejection;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdstead_agents::claude_code::ClaudeCodeDriver;
use holdstead_agents::{BoxSetting, Boxes};
use holdstead_gateway::{
    Dialled, Door, Envelope, Gateway, GatewayConfig, GatewayError, ReplyLine, Runner, Stopped,
};
use holdstead_protocol::api::{Decision, DecisionBy, Messages, Outcome, SendMessage};
use holdstead_protocol::{
    AgentState, AskChange, AskState, Delivery, EventBody, InTerminal, InteractionRequest, InteractionUpdate,
    KnownBy, Origin, PersonId, ResponseDraft, RunnerId, Scope, Seq, SessionId, Settlement, Surface,
    TerminalAnswer,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::runners::wires;
use crate::world::{PATIENCE, Talk, ada, approve, config, deny, owner};

const CONVERSATION: &str = "aaaaaaaa-1111-2222-3333-444444444444";

/// A machine on which somebody runs Claude Code.
struct Machine {
    folder: TempDir,
    runner: Arc<Runner>,
    door: Option<Door>,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runner = runner(folder.path());
        let door = Some(runner.open_door(&folder.path().join("hooks.sock")).unwrap());
        Self { folder, runner, door }
    }

    fn record(&self) -> PathBuf {
        self.folder.path().join(format!("{CONVERSATION}.jsonl"))
    }

    /// A step of the program, with what only this step has.
    fn step(&self, name: &str, more: Value) -> String {
        let mut said = json!({ "session_id": CONVERSATION, "cwd": self.folder.path(), "hook_event_name": name,
            "transcript_path": self.record() });
        for (key, value) in more.as_object().unwrap() {
            said[key] = value.clone();
        }
        said.to_string()
    }

    async fn tells(&self, name: &str, more: Value) {
        self.comes(self.step(name, more), false).await;
    }

    async fn comes(&self, said: String, waits: bool) -> BufReader<UnixStream> {
        let envelope = Envelope { agent: "claude".to_owned(), pid: None, waits, brief: false, said };
        let mut stream = UnixStream::connect(self.folder.path().join("hooks.sock")).await.unwrap();
        let secret = std::fs::read_to_string(self.folder.path().join("hooks.secret")).unwrap();
        let line = format!("{secret}{}\n", serde_json::to_string(&envelope).unwrap());
        stream.write_all(line.as_bytes()).await.unwrap();
        BufReader::new(stream)
    }

    /// It asks whether it may run this, and a hook waits for the answer.
    async fn asks(&self, call: &str, command: &str) -> Hook {
        let input = json!({ "command": command });
        let before = json!({ "tool_use_id": call, "tool_name": "Bash", "tool_input": input });
        self.tells("PreToolUse", before).await;
        self.asks_again(command).await
    }

    async fn asks_again(&self, command: &str) -> Hook {
        let asked = json!({ "tool_name": "Bash", "tool_input": { "command": command } });
        let mut stream = self.comes(self.step("PermissionRequest", asked), true).await;
        Hook(tokio::spawn(async move {
            let mut line = String::new();
            drop(stream.read_line(&mut line).await);
            serde_json::from_str(&line).ok()
        }))
    }

    /// It writes down who decided about a call.
    fn records(&self, call: &str, decision: &str, source: &str) {
        let line = json!({ "type": "user", "message": { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": call, "content": "done", "is_error": decision == "reject" },
            ] }, "permissionDecision": { "decision": decision, "source": source } });
        self.writes(&line);
    }

    /// It writes down that it makes this call.
    fn records_call(&self, call: &str, command: &str) {
        self.writes(&json!({ "type": "assistant", "message": { "id": "msg_1", "content": [
            { "type": "tool_use", "id": call, "name": "Bash", "input": { "command": command } },
        ] } }));
    }

    fn writes(&self, line: &Value) {
        let before = std::fs::read_to_string(self.record()).unwrap_or_default();
        std::fs::write(self.record(), format!("{before}{line}\n")).unwrap();
    }
}

/// What one that waits is told.
async fn reply(waiter: &mut BufReader<UnixStream>) -> ReplyLine {
    let mut line = String::new();
    tokio::time::timeout(PATIENCE, waiter.read_line(&mut line)).await.expect("it is told").unwrap();
    serde_json::from_str(&line).unwrap()
}

struct Hook(JoinHandle<Option<ReplyLine>>);

impl Hook {
    /// What it tells its program; nothing, if its runner went away.
    async fn hears(self) -> Option<Option<Value>> {
        let line = tokio::time::timeout(PATIENCE, self.0).await.expect("it hears something").unwrap();
        line.map(|line| match line {
            ReplyLine::Answer(answer) => answer,
            ReplyLine::Say(words) => panic!("it was told {words}"),
        })
    }
}

fn runner(folder: &Path) -> Arc<Runner> {
    let host = holdstead_agents::host::Host::new(Vec::new(), Boxes::new(BoxSetting::None, &[]));
    let driver =
        ClaudeCodeDriver::new(host, "claude".to_owned(), folder.join("launches"), folder.join("kept"));
    Arc::new(Runner::new(vec![Arc::new(driver)]))
}

async fn gateway_on(machine: &Machine) -> Gateway {
    let url = format!("sqlite:{}", machine.folder.path().join("journal.db").display());
    let journal = holdstead_store::open(&url).await.unwrap();
    let runner = Arc::clone(&machine.runner);
    let gateway = Gateway::start_with(journal, runner, config(GatewayConfig::DEFAULT_HOLD)).await.unwrap();
    let taking_up = gateway.clone();
    tokio::spawn(async move { taking_up.take_up_terminals(&owner("ada")).await });
    gateway
}

/// The session of the conversation, once it is there.
async fn session(gateway: &Gateway, machine: &str) -> Talk {
    let id = SessionId::derive(&owner("ada"), &format!("terminal/{machine}/claude/{CONVERSATION}"));
    for _ in 0..1_000 {
        if gateway.session(&owner("ada"), id).await.is_ok() {
            return Talk::watch(gateway, id, Seq(0)).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("its session did not appear");
}

/// A person wrote, and the program asks whether it may run something.
async fn asked(machine: &Machine, talk: &mut Option<Talk>, gateway: &Gateway) -> (Hook, InteractionRequest) {
    machine.tells("UserPromptSubmit", json!({ "prompt": "Please tidy up." })).await;
    let hook = machine.asks("toolu_1", "rm old.txt").await;
    let mut watching = session(gateway, "gateway").await;
    let ask = watching.ask().await;
    *talk = Some(watching);
    (hook, ask)
}

async fn newest_decision(gateway: &Gateway) -> Decision {
    gateway.decisions(&owner("ada"), None, 1).await.unwrap().decisions.remove(0)
}

async fn ended_as(talk: &mut Talk, ask: &InteractionRequest) -> Delivery {
    for _ in 0..1_000 {
        if let Some(delivery) = talk.delivery(ask).await.filter(Delivery::is_final) {
            return delivery;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("nothing came of it: {:#?}", talk.journal().await);
}

#[tokio::test]
async fn what_is_asked_in_a_terminal_is_asked_here_and_counts_if_its_record_says_so() {
    let machine = Machine::new();
    let gateway = gateway_on(&machine).await;
    let mut talk = None;
    let (hook, ask) = asked(&machine, &mut talk, &gateway).await;
    let mut talk = talk.unwrap();
    assert_eq!((ask.origin, ask.input["command"].as_str()), (Origin::Attached, Some("rm old.txt")));
    let view = gateway.session(&owner("ada"), talk.session).await.unwrap();
    assert_eq!((view.title.as_deref(), view.in_terminal), (Some("Please tidy up."), true));
    talk.respond(&ask, approve()).await;
    let told = hook.hears().await.flatten().expect("an answer");
    let decision = &told["hookSpecificOutput"]["decision"];
    assert_eq!(decision["behavior"], "allow");
    assert_eq!(decision["updatedInput"], ask.input, "what was shown is what runs");
    assert!(!talk.delivery(&ask).await.unwrap().is_final(), "a reply is no delivery");
    machine.records("toolu_1", "accept", "hook");
    assert_eq!(ended_as(&mut talk, &ask).await, Delivery::Acknowledged);
    machine.tells("Stop", json!({ "last_assistant_message": "Done." })).await;
    talk.completed().await;
    gateway.stop().await;
}

#[tokio::test]
async fn the_terminal_was_faster() {
    let machine = Machine::new();
    let gateway = gateway_on(&machine).await;
    let mut talk = None;
    let (hook, first) = asked(&machine, &mut talk, &gateway).await;
    let mut talk = talk.unwrap();
    machine.records("toolu_1", "accept", "user_temporary");
    let closed = talk.closed().await;
    let how = InTerminal { answer: TerminalAnswer::Allowed, known_by: KnownBy::Record };
    assert_eq!(closed.in_terminal, Some(how));
    assert_eq!(hook.hears().await, Some(None), "nothing is decided by us");
    let decided = newest_decision(&gateway).await;
    assert_eq!((decided.outcome, decided.in_terminal), (Outcome::AllowedInTerminal, Some(how)));
    assert_eq!(
        (decided.by, decided.surface),
        (Some(DecisionBy::PersonInTerminal {}), Some(Surface::AgentTerminal))
    );
    let late = crate::world::respond(&gateway, &first, deny("no")).await;
    let lost = Rejection::AnsweredInTerminal { how };
    assert!(matches!(&late, Err(GatewayError::Rejected(rejection)) if *rejection == lost), "{late:?}");
    // A no closes the hook, and nothing else tells it.
    let hook = machine.asks("toolu_2", "rm more.txt").await;
    talk.ask().await;
    hook.0.abort();
    let how = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Withdrawn };
    assert_eq!(talk.closed().await.in_terminal, Some(how));
    assert_eq!(newest_decision(&gateway).await.outcome, Outcome::NotKnown);
    // Its record says more later.
    machine.records("toolu_2", "reject", "user_reject");
    let known = talk.until(|body| match body {
        EventBody::InteractionUpdate(InteractionUpdate { change: AskChange::InTerminal { how }, .. }) => {
            Some(*how)
        }
        _ => None,
    });
    let how = InTerminal { answer: TerminalAnswer::Refused, known_by: KnownBy::Record };
    assert_eq!(known.await, how);
    assert_eq!(newest_decision(&gateway).await.outcome, Outcome::DeniedInTerminal);
    gateway.stop().await;
}

#[tokio::test]
async fn the_model_is_told_that_a_person_changed_what_it_wrote() {
    let machine = Machine::new();
    let gateway = gateway_on(&machine).await;
    let mut talk = None;
    let (hook, ask) = asked(&machine, &mut talk, &gateway).await;
    let input = json!({ "command": "rm older.txt" });
    let edited = ResponseDraft::Approve {
        scope: Some(Scope::Once),
        lines: Vec::new(),
        edited_input: Some(input.clone()),
    };
    talk.unwrap().respond(&ask, edited).await;
    hook.hears().await.flatten().expect("an answer");
    let after = async |input: &Value| {
        let ran = json!({ "tool_use_id": "toolu_1", "tool_name": "Bash", "tool_input": input });
        let mut waiter = machine.comes(machine.step("PostToolUse", ran), true).await;
        reply(&mut waiter).await
    };
    let ReplyLine::Answer(Some(told)) = after(&input).await else { panic!("its model is told nothing") };
    let words = told["hookSpecificOutput"]["additionalContext"].as_str().expect("words");
    assert!(words.ends_with(r#"{"command":"rm older.txt"}"#), "{words}");
    let ReplyLine::Answer(None) = after(&json!({ "command": "rm old.txt" })).await else {
        panic!("it ran as the model wrote it")
    };
    gateway.stop().await;
}

#[tokio::test]
async fn a_deny_that_comes_too_late_is_told_the_truth() {
    let machine = Machine::new();
    let gateway = gateway_on(&machine).await;
    let mut talk = None;
    let (hook, ask) = asked(&machine, &mut talk, &gateway).await;
    let mut talk = talk.unwrap();
    talk.respond(&ask, deny("no")).await;
    let told = hook.hears().await.flatten().expect("an answer");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "deny");
    machine.records("toolu_1", "accept", "user_temporary");
    let how = InTerminal { answer: TerminalAnswer::Allowed, known_by: KnownBy::Record };
    let too_late = Delivery::Undeliverable { moved_to: None, in_terminal: Some(how) };
    assert_eq!(ended_as(&mut talk, &ask).await, too_late);
    let decided = newest_decision(&gateway).await;
    assert_eq!(
        (decided.outcome, decided.by),
        (Outcome::AllowedInTerminal, Some(DecisionBy::PersonInTerminal {}))
    );
    let too_late = decided.too_late.expect("the answer that lost");
    assert_eq!(too_late.settlement, Settlement::Denied);
    assert!(matches!(too_late.by, Some(DecisionBy::Person { .. })), "{:?}", too_late.by);
    gateway.stop().await;
}

#[tokio::test]
async fn a_hook_that_comes_back_to_another_gateway_finds_its_ask() {
    let mut machine = Machine::new();
    let gateway = gateway_on(&machine).await;
    let mut talk = None;
    let (hook, ask) = asked(&machine, &mut talk, &gateway).await;
    let session = talk.unwrap().session;
    machine.records_call("toolu_1", "rm old.txt");
    machine.door = None;
    assert_eq!(gateway.stop().await, Stopped::default(), "its program goes on in its terminal");
    gateway.journal().close().await;
    assert_eq!(hook.hears().await, None, "it is told nothing: it comes again");
    machine.runner = runner(machine.folder.path());
    machine.door = Some(machine.runner.open_door(&machine.folder.path().join("hooks.sock")).unwrap());
    let gateway = gateway_on(&machine).await;
    let answered = crate::world::respond(&gateway, &ask, approve()).await.unwrap();
    assert!(matches!(answered.state, AskState::Settled { .. }));
    let hook = machine.asks_again("rm old.txt").await;
    let told = hook.hears().await.flatten().expect("the answer that waited");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "allow");
    machine.records("toolu_1", "accept", "hook");
    let mut talk = Talk::watch(&gateway, session, Seq(0)).await;
    assert_eq!(ended_as(&mut talk, &ask).await, Delivery::Acknowledged);
    let asks = talk
        .journal()
        .await
        .into_iter()
        .filter(|event| matches!(event.body, EventBody::InteractionRequest(_)));
    assert_eq!(asks.count(), 1, "it is the same ask");
    gateway.stop().await;
}

#[tokio::test]
async fn a_message_for_claude_code_is_refused_and_its_closed_terminal_shows() {
    let machine = Machine::new();
    let gateway = gateway_on(&machine).await;
    machine.tells("SessionStart", json!({ "source": "startup" })).await;
    let mut talk = session(&gateway, "gateway").await;
    talk.until(
        |body| if let EventBody::SessionStatus(status) = body { status.agent_ref.clone() } else { None },
    )
    .await;
    let mut first = machine.comes(machine.step("Waiter", json!({})), true).await;
    let _second = machine.comes(machine.step("Waiter", json!({})), true).await;
    let let_go = reply(&mut first).await;
    assert!(matches!(let_go, ReplyLine::Answer(None)), "one waits at a time: {let_go:?}");
    let messages = async || gateway.session(&owner("ada"), talk.session).await.unwrap().messages;
    assert_eq!(messages().await, Messages::TypedInTerminal);
    let said = gateway.message(&ada(), talk.session, SendMessage::new("And the tests?")).await;
    assert!(matches!(said, Err(GatewayError::Rejected(Rejection::TypedThere))), "{said:?}");
    // Nobody can stop it from here.
    machine.tells("UserPromptSubmit", json!({ "prompt": "go on" })).await;
    talk.status(AgentState::Running).await;
    let stopped = gateway.interrupt(&ada(), talk.session).await;
    assert!(matches!(stopped, Err(GatewayError::Rejected(Rejection::InTerminal))), "{stopped:?}");
    machine.tells("SessionEnd", json!({ "reason": "prompt_input_exit" })).await;
    talk.done().await;
    let closed = |body: &EventBody| match body {
        EventBody::SessionStatus(status) if status.pid.is_none() => status.message.clone(),
        _ => None,
    };
    assert!(talk.until(closed).await.contains("closed"));
    assert_eq!(gateway.session(&owner("ada"), talk.session).await.unwrap().messages, Messages::TerminalAway);
    let said = gateway.message(&ada(), talk.session, SendMessage::new("are you there?")).await;
    assert!(matches!(said, Err(GatewayError::Rejected(Rejection::TerminalAway))), "{said:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_conversation_whose_session_a_person_ended_goes_on_in_another_session() {
    let machine = Machine::new();
    let gateway = gateway_on(&machine).await;
    let mut talk = None;
    let (hook, _) = asked(&machine, &mut talk, &gateway).await;
    let ended = talk.unwrap().session;
    gateway.end(&ada(), ended).await.unwrap();
    drop(hook);
    let id = SessionId::derive(&owner("ada"), &format!("terminal 1/gateway/claude/{CONVERSATION}"));
    // It shows itself at most once a second.
    for _ in 0..100 {
        machine.tells("UserPromptSubmit", json!({ "prompt": "And then?" })).await;
        if gateway.session(&owner("ada"), id).await.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let mut next = Talk::watch(&gateway, id, Seq(0)).await;
    let hook = machine.asks("toolu_2", "rm more.txt").await;
    assert_ne!(next.session, ended);
    let ask = next.ask().await;
    next.respond(&ask, approve()).await;
    let told = hook.hears().await.flatten().expect("an answer");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "allow");
    gateway.stop().await;
}

#[tokio::test]
async fn a_terminal_on_another_machine_is_a_session_of_that_machine() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let gateway = gateway_on(&home).await;
    let id: RunnerId = PersonId::from_uuid(Uuid::from_u128(9)).into();
    let dialled = Dialled { id, name: "laptop".to_owned(), owner: owner("ada") };
    let (ours, theirs) = wires();
    let (hosting, runner) = (gateway.clone(), Arc::clone(&laptop.runner));
    tokio::spawn(async move { hosting.host_runner(dialled, theirs).await });
    tokio::spawn(async move { runner.attend(Uuid::now_v7(), "http://gateway", ours, |_| {}).await });
    laptop.tells("UserPromptSubmit", json!({ "prompt": "On the laptop." })).await;
    let hook = laptop.asks("toolu_9", "make").await;
    let mut talk = session(&gateway, &id.to_string()).await;
    let ask = talk.ask().await;
    talk.respond(&ask, approve()).await;
    let told = hook.hears().await.flatten().expect("an answer");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "allow");
    laptop.records("toolu_9", "accept", "hook");
    assert_eq!(ended_as(&mut talk, &ask).await, Delivery::Acknowledged);
    gateway.stop().await;
}

#[tokio::test]
async fn odd_words_at_the_door_come_to_nothing() {
    let machine = Machine::new();
    let gateway = gateway_on(&machine).await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for said in [String::new(), "{}".to_owned(), "null".to_owned(), deep, machine.step("Unheard", json!({}))]
    {
        let mut stream = machine.comes(said, true).await;
        let mut line = String::new();
        // Either nobody is there for it, or it is told that nothing is decided here.
        let read =
            tokio::time::timeout(PATIENCE, stream.read_line(&mut line)).await.expect("it does not wait");
        assert!(read.is_err() || line.is_empty() || line == "{\"answer\":null}\n", "{line}");
    }
    let mut stream = UnixStream::connect(machine.folder.path().join("hooks.sock")).await.unwrap();
    stream.write_all(b"\xff\xfe not JSON\n").await.unwrap();
    drop(stream);
    let hook = machine.asks("toolu_1", "ls").await;
    let mut talk = session(&gateway, "gateway").await;
    talk.ask().await;
    drop(hook);
    gateway.stop().await;
}

#[tokio::test]
async fn whoever_came_first_is_heard_first() {
    let machine = Machine::new();
    let gateway = gateway_on(&machine).await;
    let turns = 40;
    for turn in 0..turns {
        machine.tells("UserPromptSubmit", json!({ "prompt": format!("turn {turn}") })).await;
        machine.tells("Stop", json!({ "last_assistant_message": null })).await;
    }
    let mut talk = session(&gateway, "gateway").await;
    for turn in 0..turns {
        let said =
            talk.until(
                |body| if let EventBody::UserMessage(said) = body { Some(said.text.clone()) } else { None },
            );
        assert_eq!(said.await, format!("turn {turn}"));
        talk.completed().await;
    }
    gateway.stop().await;
}
