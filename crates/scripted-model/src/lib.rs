//! A model that plays scripts: real agents are tested with it, offline. It speaks the Anthropic Messages API,
//! Gemini's, chat completions and OpenAI's Responses API on loopback and keeps what it was told, so that a test can
//! assert what reached the *model*.
//!
//! ```no_run
//! # async fn run() -> std::io::Result<()> {
//! use holdstead_scripted_model::{Model, Script, call, say};
//! use serde_json::json;
//!
//! let model = Model::start().await?;
//! model.script("list", Script::new().reply([say("Let me look."), call("Bash", json!({"command": "ls"}))]));
//! // Start the agent with ANTHROPIC_BASE_URL = model.base_url() and the prompt "please go\nscript: list".
//! let told = model.told_when("list", |told| !told.is_empty()).await;
//! # Ok(()) }
//! ```
//!
//! A prompt picks its script with a line `script: NAME`, or carries it: `script: {"name": NAME, "replies": [[PART]]}`.
//! The last such line counts. The position in the script is the number of assistant messages after that line, so the
//! model remembers nothing between two requests, and an agent may be killed and resumed at any point. When the script
//! has ended, the model says `told: ` and, as a JSON array, everything that it was told since the script began. A
//! subagent's first message is the prompt in its tool call, so it carries a script of its own in the same way.

mod chat;
mod gemini;
mod messages;
mod model;
mod responses;
mod script;
mod server;
mod stream;

pub use messages::Told;
pub use model::Model;
pub use script::{Call, INTERACTION_ID, PLAN_FILE, Part, Script, call, say, think};
