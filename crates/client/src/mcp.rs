//! Sends messages of the Model Context Protocol to a gateway, and brings back what it says.

use std::collections::VecDeque;
use std::path::Path;
use std::pin::Pin;

use futures_util::{Stream, StreamExt as _};
use serde_json::Value;

use crate::sse::Frames;
use crate::way::{By, client_of};

const SESSION_ID: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// One client of a gateway's `/mcp`.
#[derive(Debug, Clone)]
pub struct McpClient {
    http: reqwest::Client,
    url: String,
    token: String,
}

/// Why a message was not answered.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("no gateway answers: start one with `holdstead serve` ({0})")]
    Unreachable(String),
    #[error("the gateway refused: {status} {words}")]
    Refused { status: u16, words: String },
}

impl McpError {
    /// Whether trying again may help.
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
        }
    }
}

impl From<reqwest::Error> for McpError {
    fn from(error: reqwest::Error) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl McpClient {
    pub fn new(url: String, token: String) -> Self {
        Self { http: client_of(&url, By::Address), url, token }
    }

    /// Of the gateway that listens on this socket.
    pub fn at_socket(socket: &Path, url: String, token: String) -> Self {
        Self { http: client_of(&url, By::Socket(socket)), url, token }
    }

    /// `id` and `version` are what the gateway said when the client introduced itself.
    pub async fn send(
        &self,
        message: &Value,
        id: Option<&str>,
        version: Option<&str>,
    ) -> Result<McpAnswer, McpError> {
        let mut request = self.http.post(&self.url).bearer_auth(&self.token).json(message);
        request = request.header("accept", "application/json, text/event-stream");
        let named = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        let headers = [
            (SESSION_ID, id),
            (VERSION, named.and_then(Value::as_str).or(version)),
            (METHOD, message["method"].as_str()),
            (NAME, message.pointer("/params/name").and_then(Value::as_str)),
        ];
        for (name, value) in headers {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let response = request.send().await?;
        let status = response.status();
        if !status.is_success() {
            return Err(McpError::Refused { status: status.as_u16(), words: response.text().await? });
        }
        let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let session_id = header(SESSION_ID);
        if header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let bytes = response.bytes_stream().map(|chunk| Ok(chunk?.to_vec()));
            let rest = Rest::Stream { bytes: Box::pin(bytes), frames: Frames::default() };
            return Ok(McpAnswer { session_id, ready: VecDeque::new(), rest });
        }
        let text = response.text().await?;
        let ready = Some(text).filter(|text| !text.trim().is_empty()).into_iter().collect();
        Ok(McpAnswer { session_id, ready, rest: Rest::Nothing })
    }
}

/// What came back for one message, one JSON text after the other.
pub struct McpAnswer {
    session_id: Option<String>,
    ready: VecDeque<String>,
    rest: Rest,
}

enum Rest {
    Nothing,
    Stream { bytes: Pin<Box<dyn Stream<Item = Result<Vec<u8>, McpError>> + Send>>, frames: Frames },
}

impl std::fmt::Debug for McpAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("McpAnswer").field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl McpAnswer {
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    pub async fn next(&mut self) -> Result<Option<String>, McpError> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            let Rest::Stream { bytes, frames } = &mut self.rest else { return Ok(None) };
            let Some(chunk) = bytes.next().await else { return Ok(None) };
            self.ready.extend(frames.take(&chunk?).into_iter().map(|frame| frame.data));
        }
    }
}
