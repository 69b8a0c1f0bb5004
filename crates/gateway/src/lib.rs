//! Acts: hosts agents, wakes whoever waits, keeps time, and tells screens.
//!
//! The journal is the truth and [`holdstead_core`] decides; this crate holds the channels, timers and processes.
//! A channel here only wakes somebody up to read again: none of them carries a decision.

mod access;
mod age_out;
mod agent_token;
mod aside;
mod ask;
mod carrier;
mod changes;
mod choosing;
mod copies;
pub mod cursor;
mod deadlines;
mod decisions;
mod direct;
mod erase;
mod error;
mod explain;
mod follow;
mod found;
mod gateway;
mod hints;
mod hub;
mod inbox;
mod later;
mod mask;
mod metrics;
mod nats;
mod needles;
mod new_terminals;
mod node;
mod nonce;
mod owner_journal;
mod passkeys;
mod past;
mod patience;
mod policy;
mod presence;
mod publish;
mod quiet;
mod refusal;
mod registry;
mod remove_runner;
mod respond;
mod rules;
mod runners;
mod saving;
mod seal;
mod secrets;
mod session;
mod simulate;
mod stopped;
mod stream;
mod summary;
mod terminals;
mod told;
mod tools;
mod traces;
mod trusts;
mod view;
mod watchers;

pub use access::{Admitted, BROWSER_LIFETIME, Lease};
pub use age_out::AgeOut;
pub use ask::{CallerAsk, callers_session};
pub use carrier::HintsBy;
pub use choosing::hosted;
pub use direct::{Direct, interaction_off};
pub use error::GatewayError;
pub use gateway::{Gateway, GatewayConfig, Person};
pub use holdstead_core::{Manages, Quota};
pub use holdstead_runner::{Door, Ended, Envelope, ReplyLine, Runner, Wire, secret_file};
pub use inbox::{InboxFrame, InboxStream};
pub use mask::Masks;
pub use metrics::{Metric, Observed, Value, Values};
pub use nats::{BadNatsUrl, NatsUrl};
pub use nonce::NonceAge;
pub use policy::PolicyConfig;
pub use presence::{Answering, Watch, Watching};
pub use runners::{Dialled, OWN};
pub use seal::{SecretsKey, SecretsKeyError};
pub use stopped::{NotParked, Stopped, StoppedAgent};
pub use stream::EventStream;
pub use told::Told;
pub use tools::{
    Approvals, Called, Effect, Interaction, InteractionError, Reprompt, ResponseHandler, Tool, ToolCall,
    ToolContext, ToolFailure, ToolOutcome, ToolResponse, WhenNobody, keyed_call,
};
pub use traces::Span;
