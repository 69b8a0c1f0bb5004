//! What we add to the Model Context Protocol, between our bridge and our server.

/// Where a client sends an id of its own for a call: made again, it is the same call.
pub const CALL_ID: &str = "holdstead/callId";

/// The request by which a client that named its call itself says that it has given it up. A cancellation names the request
/// only, and two clients may have the same names for their requests.
pub const GIVE_UP: &str = "holdstead/giveUp";
