//! The socket over which a runner reaches its gateway: texts in both directions.

use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_protocol::Problem;
use holdstead_protocol::transport::TransportError;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};

/// How many texts wait to be taken in.
const QUEUE: usize = 64;

/// Where it was refused, what it was told.
fn words(error: &Error) -> String {
    if let Error::Http(response) = error
        && let Some(body) = response.body()
        && let Ok(problem) = serde_json::from_slice::<Problem>(body)
    {
        return problem.refusal.detail;
    }
    error.to_string()
}

/// Dials a gateway with a runner's token. Both channels end with the connection.
pub async fn dial_runner(
    url: &str,
    token: &str,
) -> Result<(mpsc::UnboundedSender<String>, mpsc::Receiver<String>), TransportError> {
    let url = format!("{}/v1/runner", url.trim_end_matches('/').replacen("http", "ws", 1));
    let unreachable = |error: Error| TransportError::Unreachable(words(&error));
    let mut request = url.into_client_request().map_err(unreachable)?;
    let bearer = format!("Bearer {token}").parse().map_err(|_| {
        TransportError::Unreachable("the token has characters that a header cannot carry".to_owned())
    })?;
    request.headers_mut().insert("authorization", bearer);
    let (stream, _) = tokio_tungstenite::connect_async(request).await.map_err(unreachable)?;
    let (mut sink, mut incoming) = stream.split();
    let (send, mut to_send) = mpsc::unbounded_channel::<String>();
    let (taken, receive) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        while let Some(text) = to_send.recv().await {
            if sink.send(Message::text(text)).await.is_err() {
                return;
            }
        }
        // The other side may be gone already.
        drop(sink.close().await);
    });
    tokio::spawn(async move {
        while let Some(Ok(message)) = incoming.next().await {
            let text = match message {
                Message::Text(text) => text.as_str().to_owned(),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
                Message::Binary(_) | Message::Close(_) => return,
            };
            if taken.send(text).await.is_err() {
                return;
            }
        }
    });
    Ok((send, receive))
}
