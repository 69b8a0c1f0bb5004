//! The socket over which a runner reaches its gateway: texts in both directions.

use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_protocol::transport::TransportError;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use crate::socket::dial;

/// How many texts wait to be taken in.
const QUEUE: usize = 64;

/// Dials a gateway with a runner's token. Both channels end with the connection.
pub async fn dial_runner(
    url: &str,
    token: &str,
) -> Result<(mpsc::UnboundedSender<String>, mpsc::Receiver<String>), TransportError> {
    let stream = dial(url, "/v1/runner", token).await?;
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
