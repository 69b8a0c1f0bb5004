//! Reaches a gateway over the network: the HTTP and the WebSocket transport.
//!
//! Both do what [`holdstead_protocol::transport::Transport`] says, and nothing of the gateway is needed to use them.

#[cfg(feature = "browser")]
mod browser;
mod http;
mod mcp;
mod runner;
mod socket;
mod sse;
mod way;

#[cfg(feature = "browser")]
pub use browser::Browser;
pub use http::{FrameStream, Http, WholeInbox};
pub use mcp::{McpAnswer, McpClient, McpError};
pub use runner::dial_runner;
pub use socket::Socket;
pub use sse::Frame;
pub use way::{is_encrypted, is_loopback, requests_to};
