//! The scripted model as a program: prints its address, serves until it is ended. What a conversation was told is at
//! `GET /told?conversation=NAME`; `POST /release?gate=NAME` opens a gate.
//!
//!     holdstead-scripted-model [PORT]

#![expect(clippy::print_stdout, reason = "it prints its address")]

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use holdstead_scripted_model::Model;

#[tokio::main]
async fn main() -> io::Result<()> {
    let port = match std::env::args().nth(1) {
        Some(port) => port.parse().map_err(|_| io::Error::other("usage: holdstead-scripted-model [PORT]"))?,
        None => 0,
    };
    let model = Model::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    println!("{}", model.base_url());
    tokio::signal::ctrl_c().await
}
