//! A person stops the turn.

use holdstead_protocol::api::Interrupted;
use holdstead_protocol::{AskState, Closing};
use holdstead_scripted_model::{Script, call};
use serde_json::json;

use super::{Outcome, error, text};
use crate::claude::Stage;
use crate::client::Answered;
use crate::responses::APPROVE;
use crate::{Result, ensure};

/// The program's own words for what a person stopped.
const STOPPED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was \
                       a file edit, the new_string was NOT written to the file). STOP what you are doing and wait \
                       for the user to tell you how to proceed.";

pub(super) async fn interrupted(stage: &Stage) -> Result<Outcome> {
    let command = json!({"command": "touch ran.txt", "description": "Leaves a mark"});
    let scene = stage.play("interrupted", "default", Script::new().reply([call("Bash", command)])).await?;
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    let path = format!("/v1/sessions/{}/interrupt", scene.session);
    let stopped: Interrupted = stage.person.post(&path, &json!({})).await?;
    ensure!(stopped.cancelled == [ask.request.interaction_id], "cancelled: {:?}", stopped.cancelled);
    stage.person.done(&scene.session).await?;
    let refused = match stage.person.respond(&ask, APPROVE).await? {
        Answered::Won(_) => return Err("an answer to a cancelled ask was taken".into()),
        Answered::Refused(problem) => problem,
    };
    ensure!(refused.status == 410, "the late answer was refused with {}", refused.status);
    let now = stage.now(&ask).await?;
    ensure!(now.state == (AskState::Closed { closing: Closing::Cancelled }), "the ask is {:?}", now.state);
    // No other script: the model goes on in the same conversation.
    stage.person.say(&scene.session, "Something else, please.").await?;
    stage.person.turns(&scene.session, 2).await?;
    stage.end(&scene).await?;
    ensure!(!scene.folder.join("ran.txt").exists(), "the command ran");
    Ok(Outcome {
        told: stage.told("interrupted"),
        expected: vec![
            error(STOPPED),
            text("[Request interrupted by user for tool use]\n"),
            text("Something else, please."),
        ],
    })
}
