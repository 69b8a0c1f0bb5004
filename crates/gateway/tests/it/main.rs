//! The gateway, through its public face: with real agents' processes, and with agents that the tests play.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that meets what it does not expect fails, and looks for one event among many"
)]

mod actor;
mod answers;
mod batch;
mod boxes;
mod callers;
mod clock;
mod copies;
mod deployment;
mod durable;
mod faults;
mod hints;
mod holds;
mod hosted_tools;
mod inbox;
mod large;
mod late;
mod lifecycle;
mod lives;
mod long_polls;
mod loss;
mod masks;
mod messages;
mod nodes;
mod owners;
mod quiet;
mod ran;
mod recovery;
mod reprompts;
mod rules;
mod runners;
mod saving;
mod secrets;
mod stop;
mod streams;
mod terminals;
mod tools;
mod trusts;
mod world;
