//! The gateway, through its public face: with real agents' processes, and with agents that the tests play.

mod actor;
mod answers;
mod callers;
mod clock;
mod grants;
mod holds;
mod inbox;
mod lives;
mod messages;
mod owners;
mod stop;
mod streams;
mod tools;
mod world;
