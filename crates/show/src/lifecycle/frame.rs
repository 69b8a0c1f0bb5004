//! The frame of other chat servers that answers a question by its call.

use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_scripted_model::{Script, call};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::claude::Stage;
use crate::gateway_process::TokenFor;
use crate::{Result, ensure};

pub(super) async fn answers(stage: &Stage) -> Result<String> {
    let question = json!({"questions": [{"question": "Which store?", "header": "Store", "multiSelect": false,
        "options": [{"label": "SQLite", "description": "A file"}, {"label": "PostgreSQL", "description": "A server"}]}]});
    let script = Script::new().reply([call("AskUserQuestion", question)]);
    let scene = stage.play("frame", "default", script).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    let token = stage.gateway.token("screen", TokenFor::Person).await?;
    let mut request = format!("{}/v1/ws", stage.gateway.url.replace("http", "ws")).into_client_request()?;
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse()?);
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await?;
    let frame = json!({"type": "ask_user_response", "conversation_id": scene.session,
        "tool_call_id": ask.request.tool_call_id, "answers": {"Which store?": "SQLite"}});
    socket.send(Message::text(json!({"type": "hello"}).to_string())).await?;
    socket.send(Message::text(frame.to_string())).await?;
    let settled = loop {
        let message = socket.next().await.ok_or("the socket closed")??;
        let Message::Text(text) = message else { continue };
        let frame: Value = serde_json::from_str(&text)?;
        match frame["type"].as_str() {
            Some("reply") => break frame["result"]["settlement"].clone(),
            Some("refused") => return Err(format!("it was refused: {frame}").into()),
            _ => {}
        }
    };
    ensure!(settled == "answered", "it settled as {settled}");
    stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    let told = stage.told("frame");
    ensure!(told.iter().any(|told| told.words().contains("SQLite")), "the model was told {told:?}");
    Ok(format!("the model read: {}", told.first().map_or("", |told| told.words())))
}
