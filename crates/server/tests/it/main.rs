//! The network face, over real sockets, with a real agent process.

mod answering;
mod asking;
mod connections;
mod devices;
mod document;
mod doors;
mod erasing;
mod found;
mod gate;
mod listening;
mod login;
mod mcp;
mod metrics;
mod page;
mod pairing;
mod passkeys;
mod past_calls;
mod presence;
mod ready;
mod revoking;
mod running;
mod short;
mod socket;
mod streams;
mod transports;
mod variables;
