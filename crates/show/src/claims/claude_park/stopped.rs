//! `holdstead stop` while two agents wait: one is parked and goes on at its call, the other is named and told in words.

use holdstead_protocol::EventBody;
use holdstead_scripted_model::{Script, call, say};

use crate::claude::{Stage, mark};
use crate::responses::APPROVE;
use crate::{Result, ensure};

const TWO: &str = "two calls at once";

pub(super) async fn parks() -> Result<String> {
    let mut stage = Stage::new("1h").await?;
    let script = Script::new().reply([say("I need a person."), call("Bash", mark("one"))]);
    let one = stage.play("one call", "default", script.reply([say("Done.")])).await?;
    let script = Script::new().reply([call("Bash", mark("first")), call("Bash", mark("second"))]);
    let two = stage.play(TWO, "default", script.reply([say("I see.")])).await?;
    let ask = stage.person.open_ask(&one.session, "approval").await?;
    let lost = stage.person.open_ask(&two.session, "approval").await?;
    ensure!(stage.agents()? > 0, "no process waits");
    let said = stage.gateway.holdstead(&["stop"]).await?;
    let said = String::from_utf8(said.stdout)?;
    println!("{}", said.trim());
    ensure!(said.contains("1 agent is parked") && said.contains(TWO), "stop did not name them");
    // It has ended; its process is waited for.
    stage.gateway.stop_for_now().await?;
    stage.gateway.serve_again().await?;
    stage.person.ready().await?;
    ensure!(stage.is_parked(&one).await?, "it is not parked");
    stage.person.win(&ask, APPROVE).await?;
    let events = stage.finish(&one).await?;
    ensure!(one.marks() == "one\n", "it ran {:?}", one.marks());
    let asked = events.iter().filter(|event| matches!(event.body, EventBody::InteractionRequest(_))).count();
    ensure!(asked == 1, "people were asked {asked} times");
    stage.person.win(&lost, APPROVE).await?;
    let told = |told: &[_]| {
        told.iter().any(|told: &holdstead_scripted_model::Told| told.words().contains("approved"))
    };
    ensure!(told(&stage.model.told_when(TWO, told).await), "its model was told nothing");
    ensure!(two.marks().is_empty(), "{:?} ran without its call", two.marks());
    stage.stop().await?;
    Ok("stop parked the agent that could be, and it ran once when it was answered; it named the other, which was told in words"
        .to_owned())
}
