//! End-to-end claims: what a user does, and what an attacker tries, with the real programs.

pub(crate) mod attacks;
pub(crate) mod audit;
pub(crate) mod boxes;
pub(crate) mod bypass;
pub(crate) mod claude_asks;
pub(crate) mod claude_park;
pub(crate) mod closed;
pub(crate) mod connect;
pub(crate) mod demo;
pub(crate) mod deny;
pub(crate) mod doors;
pub(crate) mod first_answer;
pub(crate) mod marks;
pub(crate) mod mcp;
pub(crate) mod parked;
pub(crate) mod reconnect;
pub(crate) mod retention;
pub(crate) mod revoke;
pub(crate) mod routes;
pub(crate) mod rules;
pub(crate) mod starve;
pub(crate) mod stop;
pub(crate) mod tables;
pub(crate) mod terminal;
pub(crate) mod traces;
