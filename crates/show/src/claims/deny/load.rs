//! What works against a Deny: hooks that allow, and a gateway that is kept busy.

use holdstead_client::requests_to;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::Result;
use crate::claude::Stage;
use crate::gateway_process::TokenFor;

/// So many at once post bodies of this size, which the gateway reads and refuses.
const POSTING: usize = 16;
const BODY: usize = 900_000;

/// The user's own hooks, one of each kind, for what the program asks by itself.
pub(super) async fn allow_everything(stage: &Stage, background: &mut JoinSet<()>) -> Result<()> {
    let decision = json!({ "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" } });
    let allow = json!({ "hookSpecificOutput": decision }).to_string();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let hooks = [
        json!({ "type": "command", "command": format!("echo '{allow}'") }),
        json!({ "type": "http", "url": url }),
    ];
    let hooks = json!({ "PermissionRequest": [{ "matcher": "*", "hooks": hooks }] });
    let settings = json!({ "hooks": hooks, "allowedHttpHookUrls": [format!("{url}*")] });
    let folder = stage.home().join(".claude");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("settings.json"), settings.to_string())?;
    background.spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{allow}", allow.len());
            tokio::spawn(async move {
                let mut request = vec![0; 64 * 1024];
                // A program that hangs up wants no answer.
                drop(connection.read(&mut request).await);
                drop(connection.write_all(answer.as_bytes()).await);
                drop(connection.shutdown().await);
                drop(connection.read(&mut request).await);
            });
        }
    });
    Ok(())
}

/// What a command of the agent's can do with the agent's token.
pub(super) async fn keep_busy(stage: &Stage, background: &mut JoinSet<()>) -> Result<()> {
    let session = stage.person.open_session().await?.session_id.to_string();
    let token = stage.gateway.token("busy", TokenFor::Agent(&session)).await?;
    let http =
        requests_to(&stage.gateway.url).build()?.post(format!("{}/v1/interactions", stage.gateway.url));
    let post = http.bearer_auth(token).json(&json!({ "key": "x".repeat(BODY) }));
    for _ in 0..POSTING {
        let post = post.try_clone().ok_or("this cannot be sent twice")?;
        background.spawn(async move {
            while let Some(post) = post.try_clone() {
                // Whether it is refused or turned away makes no difference.
                drop(post.send().await);
            }
        });
    }
    Ok(())
}
