//! Plans: a person reads the whole plan, or nobody is asked.

use holdstead_scripted_model::{PLAN_FILE, Script, call, say};
use serde_json::json;

use super::{Outcome, refused, result};
use crate::claude::{Stage, asks};
use crate::responses::APPROVE;
use crate::{Result, ensure};

const PLAN: &str = "# Plan\n\n1. Read the orders.\n2. Write the report.\n\nNothing is deleted.\n";

pub(super) async fn approved(stage: &Stage) -> Result<Outcome> {
    let script = Script::new()
        .reply([say("I plan."), call("Write", json!({"file_path": PLAN_FILE, "content": PLAN}))])
        .reply([call("ExitPlanMode", json!({}))]);
    let scene = stage.play("plan", "plan", script).await?;
    let ask = stage.decide(&scene, APPROVE).await?;
    ensure!(ask.request.input["plan"] == PLAN, "the ask shows {}", ask.request.input);
    stage.finish(&scene).await?;
    let file = ask.request.input["planFilePath"].as_str().unwrap_or_default();
    let written = format!(
        "File created successfully at: {file} (file state is current in your context — no need to Read it back)"
    );
    let approved = format!(
        "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\n\
         Your plan has been saved to: {file}\nYou can refer back to it if needed during implementation.\n\n\
         ## Approved Plan:\n{PLAN}"
    );
    Ok(Outcome { told: stage.told("plan"), expected: vec![result(&written), result(&approved)] })
}

pub(super) async fn never_written(stage: &Stage) -> Result<Outcome> {
    let script = Script::new().reply([call("ExitPlanMode", json!({}))]);
    let scene = stage.play("no-plan", "plan", script).await?;
    let asked = asks(&stage.finish(&scene).await?);
    ensure!(asked == 0, "{asked} asks were opened for a plan that is not there");
    let told = "No plan was written, so there is nothing to approve. Write the plan to its file, then call ExitPlanMode \
                again.";
    Ok(Outcome { told: stage.told("no-plan"), expected: vec![refused("ExitPlanMode", told)] })
}
