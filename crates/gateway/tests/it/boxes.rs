//! Which box an agent runs in is said where people look.

use holdstead_gateway::GatewayConfig;
use holdstead_protocol::{AgentBox, AgentState};

use crate::actor::Stage;
use crate::world::{Talk, opening, owner};

#[tokio::test(start_paused = true)]
async fn the_journal_and_the_session_say_which_box_the_agent_has() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let mut talk = Talk::open(&stage.gateway, opening("actor")).await;
    let said = async |talk: &Talk| talk.gateway.session(&owner("ada"), talk.session).await.unwrap().boxed;
    assert_eq!(said(&talk).await, None, "nothing was started yet");
    talk.say("go").await;
    let actor = stage.life().await;
    let none = Some(AgentBox::None { why: "it has no process of its own".to_owned() });
    assert_eq!(talk.status(AgentState::Idle).await.boxed, none);
    assert_eq!(said(&talk).await, none);
    drop(actor);
    talk.status(AgentState::Detached).await;
    assert_eq!(said(&talk).await, none, "the last one is still known");
}
