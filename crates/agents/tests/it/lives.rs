//! Parking, dying and coming back.

use holdstead_agents::{AgentEvent, AgentExit, Driver as _, Launch, Outgoing, ResumeAt, ResumePoint};
use serde_json::json;

use crate::{Life, call, driver, launch};

const SCRIPT: &str = "say Before.\napprove Bash {\"command\":\"npm run build\"}\nsay After.";

fn park(id: &str) -> Outgoing {
    Outgoing::Park { tool_call_id: call(id) }
}

fn parked() -> AgentExit {
    AgentExit { parked: true, code: Some(0), stderr: String::new() }
}

#[tokio::test]
async fn a_parked_agent_comes_back_to_the_same_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Life::start(folder.path()).await;
    first.message(SCRIPT).await;
    let ask = first.ask().await;
    assert!(ask.can_park);
    first.send(park("call_1_2")).await;
    assert_eq!(first.next().await, AgentEvent::Exited(parked()));

    let mut second = first.resume(folder.path(), ResumeAt::OpenAsks).await;
    // The very same ask, and nothing before it that was said already.
    assert_eq!(second.next().await, AgentEvent::Ask(Box::new(ask.clone())));
    second.approve(&ask).await;
    assert_eq!(second.told("call_1_2").await.0["effect"], r#"ran: {"command":"npm run build"}"#);
    assert_eq!(second.rest().await, "Bash was approved.\nAfter.\n");
    second.message("tool Read {}").await;
    let (events, _) = second.done().await;
    assert!(
        matches!(&events[0], AgentEvent::ToolCallStart { tool_call_id, .. } if *tool_call_id == call("call_2_1"))
    );
}

#[tokio::test]
async fn it_stays_where_it_cannot_park() {
    let folder = tempfile::tempdir().unwrap();
    let stays = driver(folder.path()).refusing_parking();
    assert!(!stays.capabilities().parks && driver(folder.path()).capabilities().parks);
    let mut life = Life::launch(&stays, folder.path(), None).await;
    life.message(SCRIPT).await;
    let ask = life.ask().await;
    assert!(!ask.can_park);
    let cannot = |id: &str, why: &str| AgentEvent::CannotPark { tool_call_id: call(id), why: why.into() };
    life.send(park("call_1_2")).await;
    assert_eq!(life.next().await, cannot("call_1_2", "it stays at this ask"));
    life.approve(&ask).await;
    life.told("call_1_2").await;
    life.rest().await;

    let mut life = Life::start(folder.path()).await;
    life.message("approve [nopark] Bash {}\ntogether\napprove Bash {}\napprove Bash {}\nend").await;
    let ask = life.ask().await;
    assert!(!ask.can_park);
    life.send(park("call_1_1")).await;
    assert_eq!(life.next().await, cannot("call_1_1", "it stays at this ask"));
    life.approve(&ask).await;
    let asks = [life.ask().await, life.ask().await];
    life.send(park("call_1_2_1")).await;
    assert_eq!(life.next().await, cannot("call_1_2_1", "other asks are open too"));
    life.send(park("call_1_1")).await;
    assert_eq!(life.next().await, cannot("call_1_1", "no such ask is open"));

    // The last one left can be parked, and only that one is asked again.
    life.approve(&asks[0]).await;
    life.told("call_1_2_1").await;
    life.send(park("call_1_2_2")).await;
    assert_eq!(life.exit().await, parked());
    let mut next = life.resume(folder.path(), ResumeAt::OpenAsks).await;
    assert_eq!(next.next().await, AgentEvent::Ask(Box::new(asks[1].clone())));
    next.approve(&asks[1]).await;
    next.told("call_1_2_2").await;
    assert_eq!(next.rest().await, "Bash was approved.\n");
}

#[tokio::test]
async fn a_killed_agent_comes_back_to_its_open_asks() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message(
        "together\napprove Bash {\"n\":1}\nask Store: Where?\napprove Bash {\"n\":3}\nend\nsay After.",
    )
    .await;
    let asks = [life.ask().await, life.ask().await, life.ask().await];
    life.approve(&asks[0]).await;
    life.told("call_1_1_1").await;
    life.agent.input.kill();
    assert_eq!(life.exit().await, AgentExit { parked: false, code: None, stderr: String::new() });

    let mut life = life.resume(folder.path(), ResumeAt::OpenAsks).await;
    assert_eq!(life.next().await, AgentEvent::Ask(Box::new(asks[1].clone())));
    assert_eq!(life.next().await, AgentEvent::Ask(Box::new(asks[2].clone())));
    life.approve(&asks[0]).await;
    assert!(matches!(life.next().await, AgentEvent::Error { .. }), "what it has resolved stays resolved");

    let mut life = life.resume(folder.path(), ResumeAt::NextMessage).await;
    life.message("approve Bash {}").await;
    assert_eq!(life.ask().await.tool_call_id, call("call_2_1"), "no id is used twice");
}

#[tokio::test]
async fn its_own_deaths_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message("say Hm.\nfail The disk is full").await;
    let failed = AgentExit { parked: false, code: Some(1), stderr: "The disk is full".into() };
    assert_eq!(life.exit().await, failed);

    let mut life = Life::start(folder.path()).await;
    life.message("say Last words.\ncrash").await;
    assert_eq!(life.next().await, AgentEvent::Text { text: "Last ".into(), parents: vec![] });
    assert_eq!(life.exit().await, AgentExit { parked: false, code: None, stderr: String::new() });
}

#[tokio::test]
async fn a_conversation_that_is_gone_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let resume = Some(ResumePoint { agent_ref: "conv_gone".into(), at: ResumeAt::OpenAsks });
    let launch = Launch { resume, ..launch(folder.path()) };
    let agent = driver(folder.path()).start(launch).await.unwrap();
    let mut life = Life { agent, agent_ref: String::new() };
    let AgentEvent::Exited(exit) = life.next().await else { panic!("it goes at once") };
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.contains("could not be opened"), "{}", exit.stderr);
}

#[tokio::test]
async fn the_end_of_its_input_is_no_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::start(folder.path()).await;
    life.message(SCRIPT).await;
    let ask = life.ask().await;
    let agent_ref = life.agent_ref.clone();
    // The gateway dies: nobody holds its stdin any more.
    let holdstead_agents::Agent { mut events, input, .. } = life.agent;
    drop(input);
    let last = tokio::time::timeout(crate::PATIENCE, events.recv()).await.unwrap();
    let killed = AgentExit { parked: false, code: None, stderr: String::new() };
    assert_eq!(last, Some(AgentEvent::Exited(killed)), "it is killed before it can say a word");
    let point = ResumePoint { agent_ref, at: ResumeAt::OpenAsks };
    let mut life = Life::launch(&driver(folder.path()), folder.path(), Some(point)).await;
    assert_eq!(life.ask().await, ask);
    assert_eq!(ask.input, json!({"command": "npm run build"}));
}
