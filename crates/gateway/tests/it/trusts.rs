//! Nothing of a folder's own files until a person trusts them, exactly as they are.

use holdstead_agents::ProjectFiles;
use holdstead_gateway::{GatewayConfig, GatewayError};
use holdstead_protocol::api::{OpenSession, TrustFolder};
use holdstead_protocol::{AgentState, LeftOut};

use crate::actor::Stage;
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
