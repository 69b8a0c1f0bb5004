//! Nothing of a folder's own files until a person trusts them, exactly as they are.

use holdstead_agents::{AgentEvent, ProjectFiles, Resolution};
use holdstead_gateway::{GatewayConfig, GatewayError};
use holdstead_protocol::api::{OpenSession, TrustFolder};
use holdstead_protocol::{AgentState, LeftOut};

use crate::actor::{Stage, approval};
use crate::world::{Talk, ada, opening, owner};

/// Starts the actor in this folder: what it gets of the folder, and what it was started without.
async fn started(stage: &mut Stage, folder: &std::path::Path) -> (ProjectFiles, Option<LeftOut>) {
    let cwd = Some(folder.display().to_string());
    let mut talk = Talk::open(&stage.gateway, OpenSession { cwd, ..opening("actor") }).await;
    talk.say("go").await;
    let actor = stage.life().await;
    let status = talk.status(AgentState::Idle).await;
    (actor.launch.project_files, status.left_out.map(|left_out| *left_out))
}

/// What it takes to trust this folder as it is now.
async fn as_shown(stage: &Stage, cwd: &str) -> TrustFolder {
    let shown = stage.gateway.folder_files(&owner("ada"), "actor", cwd, None).await.unwrap();
    let digest = shown.digest.expect("it can be trusted");
    TrustFolder { agent: "actor".to_owned(), folder: shown.folder, digest, runner: None }
}

#[tokio::test(start_paused = true)]
async fn files_are_trusted_as_they_were_shown_and_no_longer_when_they_change() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let folder = tempfile::tempdir().unwrap();
    let hooks = folder.path().join("hooks");
    assert_eq!(started(&mut stage, folder.path()).await, (ProjectFiles::Closed, None), "nothing is there");

    std::fs::write(&hooks, "one").unwrap();
    let (files, left_out) = started(&mut stage, folder.path()).await;
    let left_out = left_out.expect("it is told");
    assert_eq!((files, left_out.files.as_slice()), (ProjectFiles::Closed, &["hooks".to_owned()][..]));
    assert!(left_out.message.contains("without this folder's own files: hooks."), "{}", left_out.message);

    let wanted = TrustFolder {
        agent: "actor".to_owned(),
        folder: left_out.folder.clone(),
        digest: left_out.digest.expect("it can be trusted"),
        runner: None,
    };
    std::fs::write(&hooks, "two").unwrap();
    let refused = stage.gateway.trust(&ada(), wanted.clone()).await;
    assert!(matches!(refused, Err(GatewayError::FilesChanged { .. })), "{refused:?}");
    std::fs::write(&hooks, "one").unwrap();
    let trust = stage.gateway.trust(&ada(), wanted.clone()).await.unwrap();
    assert_eq!(stage.gateway.trust(&ada(), wanted).await.unwrap().trust_id, trust.trust_id, "once is enough");
    assert_eq!(started(&mut stage, folder.path()).await, (ProjectFiles::Trusted, None));

    std::fs::write(&hooks, "other").unwrap();
    assert_eq!(started(&mut stage, folder.path()).await.0, ProjectFiles::Closed, "it changed");
    std::fs::write(&hooks, "one").unwrap();
    assert_eq!(stage.gateway.trusts(&owner("ada")).await.unwrap().len(), 1);
    assert!(stage.gateway.trusts(&owner("bob")).await.unwrap().is_empty(), "each owner for themselves");
    stage.gateway.distrust(&ada(), trust.trust_id).await.unwrap();
    assert_eq!(started(&mut stage, folder.path()).await.0, ProjectFiles::Closed, "taken back");
    let again = stage.gateway.distrust(&ada(), trust.trust_id).await;
    assert!(again.is_err(), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_ends_the_agent_before_its_next_call_is_decided() {
    let mut stage = Stage::ruled("allow Bash(ls)").await;
    let folder = tempfile::tempdir().unwrap();
    let hooks = folder.path().join("hooks");
    std::fs::write(&hooks, "one").unwrap();
    let cwd = folder.path().display().to_string();
    let wanted = as_shown(&stage, &cwd).await;
    stage.gateway.trust(&ada(), wanted).await.unwrap();
    let mut talk =
        Talk::open(&stage.gateway, OpenSession { cwd: Some(cwd.clone()), ..opening("actor") }).await;
    talk.say("go").await;
    let mut actor = stage.life().await;
    actor.hears().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    assert!(matches!(actor.is_told("call_1").await, Resolution::Settled { .. }), "trusted, as it was");

    std::fs::write(&hooks, "other").unwrap();
    actor.says(AgentEvent::Ask(Box::new(approval("call_2", "ls")))).await;
    actor.side.kill.notified().await;
    assert!(actor.hears_nothing(), "the call was neither allowed nor denied");
    actor.exits(false).await;
    talk.status(AgentState::Idle).await;
    talk.say("again").await;
    let actor = stage.life().await;
    assert_eq!(actor.launch.project_files, ProjectFiles::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_runs_in_a_trusted_folder_is_written_by_no_rule() {
    let mut stage = Stage::ruled("allow Bash(touch:*)").await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hooks"), "one").unwrap();
    let cwd = folder.path().display().to_string();
    let wanted = as_shown(&stage, &cwd).await;
    for trusted in [false, true] {
        if trusted {
            stage.gateway.trust(&ada(), wanted.clone()).await.unwrap();
        }
        let mut talk =
            Talk::open(&stage.gateway, OpenSession { cwd: Some(cwd.clone()), ..opening("actor") }).await;
        talk.say("go").await;
        let mut actor = stage.life().await;
        actor.hears().await;
        actor.says(AgentEvent::Ask(Box::new(approval("call_1", "touch other")))).await;
        assert!(matches!(actor.is_told("call_1").await, Resolution::Settled { .. }));
        actor.says(AgentEvent::Ask(Box::new(approval("call_2", "touch hooks")))).await;
        if trusted {
            let ask = talk.ask().await;
            let verdict = serde_json::to_string(&ask.verdict).unwrap();
            assert!(verdict.contains("if it changes, the trust ends"), "{verdict}");
        } else {
            assert!(matches!(actor.is_told("call_2").await, Resolution::Settled { .. }));
        }
    }
}
