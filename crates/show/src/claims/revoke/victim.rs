//! The browser that is revoked: it signs its requests, and its socket has a ticket, as those of the web UI.

use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use holdstead_client::{Browser, requests_to};
use holdstead_protocol::api::{DevicePage, LoginLink, Respond, Ticket};
use holdstead_protocol::socket::{ClientFrame, InteractionOffer};
use holdstead_protocol::{InteractionId, Seq, SessionId};
use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::{Result, ensure};

/// How long the end of a connection is waited for, to say how late it was.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Victim {
    browser: Browser,
    url: String,
}

/// A connection that is open: when it ended, and all that it carried until then.
pub(super) struct Open {
    what: &'static str,
    reading: JoinHandle<(Instant, String)>,
}

impl Open {
    pub(super) async fn ended(self) -> Result<(Instant, String)> {
        let ended = timeout(PATIENCE, self.reading).await;
        Ok(ended.map_err(|_| format!("the {} is still open", self.what))??)
    }
}

impl Victim {
    pub(super) async fn log_in(url: &str, link: &LoginLink) -> Result<Self> {
        let victim = Self { browser: Browser::new(url), url: url.to_owned() };
        let answer =
            victim.browser.send(Method::POST, "/v1/login", Some(&json!({ "code": link.code }))).await?;
        ensure!(answer.status() == 200, "a browser was not logged in: {}", answer.text().await?);
        Ok(victim)
    }

    pub(super) async fn device(&self) -> Result<String> {
        let page: DevicePage =
            self.browser.send(Method::GET, "/v1/devices", None).await?.error_for_status()?.json().await?;
        let device = page.devices.iter().find(|device| device.current).ok_or("it is on no list")?;
        Ok(device.device_id.to_string())
    }

    pub(super) async fn stream(&self, session: SessionId) -> Result<Open> {
        let path = format!("/v1/sessions/{session}/events?after={}", Seq::START);
        let mut request = self.browser.request(Method::GET, &path, None)?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = requests_to(&self.url).build()?.execute(request).await?.error_for_status()?;
        Ok(read("stream", response))
    }

    pub(super) async fn poll(&self, ask: InteractionId) -> Result<Open> {
        let request = self.browser.request(Method::GET, &format!("/v1/interactions/{ask}?wait=60s"), None)?;
        let http = requests_to(&self.url).build()?;
        let reading = tokio::spawn(async move {
            let polled = match http.execute(request).await {
                Ok(response) => response.text().await.unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            (Instant::now(), polled)
        });
        Ok(Open { what: "long poll", reading })
    }

    pub(super) async fn socket(&self, session: SessionId) -> Result<Open> {
        let answer = self.browser.send(Method::POST, "/v1/tickets", Some(&json!({}))).await?;
        let Ticket { ticket, .. } = answer.error_for_status()?.json().await?;
        let url = format!("{}/v1/ws?ticket={ticket}", self.url.replacen("http", "ws", 1));
        let (mut socket, _) = connect_async(url).await?;
        let hello =
            ClientFrame::Hello { interaction: Some(InteractionOffer { supported: true, enabled: true }) };
        for frame in [hello, ClientFrame::Subscribe { id: 1, session, after: Seq::START }] {
            socket.send(Message::text(serde_json::to_string(&frame)?)).await?;
        }
        let reading = tokio::spawn(async move {
            let mut seen = String::new();
            while let Some(Ok(message)) = socket.next().await {
                seen.push_str(&message.to_string());
            }
            (Instant::now(), seen)
        });
        Ok(Open { what: "socket", reading })
    }

    /// The status of its answer.
    pub(super) async fn respond(&self, path: &str, answer: &Respond) -> Result<u16> {
        let body: Value = serde_json::to_value(answer)?;
        Ok(self.browser.send(Method::POST, path, Some(&body)).await?.status().as_u16())
    }
}

fn read(what: &'static str, response: Response) -> Open {
    let reading = tokio::spawn(async move {
        let (mut seen, mut bytes) = (Vec::new(), response.bytes_stream());
        while let Some(Ok(chunk)) = bytes.next().await {
            seen.extend_from_slice(&chunk);
        }
        (Instant::now(), String::from_utf8_lossy(&seen).into_owned())
    });
    Open { what, reading }
}
