//! When a gateway in the background ends by itself.

use std::time::Duration;

use holdstead_gateway::{Answering, GatewayConfig, Watch};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::advance;

use crate::actor::{MINUTE, Stage};
use crate::world::{ada, answer, owner};

/// What an hour is to a gateway in the background.
const LONG: Duration = Duration::from_secs(3 * 60);

fn waits(stage: &Stage) -> JoinHandle<()> {
    let gateway = stage.gateway.clone();
    tokio::spawn(async move { gateway.until_quiet(&owner("ada"), LONG).await })
}

/// Lets minutes pass, each with enough turns for the database to have been asked.
async fn goes_within(quiet: &JoinHandle<()>, stage: &Stage, minutes: u32) -> bool {
    for _ in 0..minutes {
        advance(MINUTE).await;
        for _ in 0..10 {
            if quiet.is_finished() {
                return true;
            }
            stage.gateway.journal().ready().await.unwrap();
        }
    }
    false
}

#[tokio::test(start_paused = true)]
async fn it_goes_a_while_after_the_last_thing_was_open() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let gateway = stage.gateway.clone();
    let quiet = waits(&stage);
    assert!(!goes_within(&quiet, &stage, 2).await, "it has not been long");

    let (mut talk, mut actor) = stage.talk().await;
    assert!(!goes_within(&quiet, &stage, 5).await, "an agent is at work");
    actor.asks("call_1").await;
    let ask = talk.ask().await;
    assert!(!goes_within(&quiet, &stage, 4).await, "somebody is asked");
    talk.respond(&ask, answer(json!({ "store": "SQLite" }))).await;
    actor.is_told("call_1").await;
    actor.ends_turn().await;
    talk.completed().await;
    assert!(!goes_within(&quiet, &stage, 2).await, "something was said just now");

    let watching = gateway.watching(&ada(), "browser", Answering::On, Watch::Inbox);
    assert!(!goes_within(&quiet, &stage, 5).await, "somebody watches");
    drop(watching);
    assert!(!goes_within(&quiet, &stage, 2).await);
    assert!(goes_within(&quiet, &stage, 3).await, "nothing was open for so long");
}

#[tokio::test(start_paused = true)]
async fn it_stays_while_a_parked_agent_waits_for_an_answer() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let quiet = waits(&stage);
    let (mut talk, mut actor) = stage.talk().await;
    actor.asks("call_1").await;
    talk.ask().await;
    assert!(!goes_within(&quiet, &stage, 11).await);
    actor.hears().await;
    actor.exits(true).await;
    assert!(!goes_within(&quiet, &stage, 6).await, "its ask is open");
}
