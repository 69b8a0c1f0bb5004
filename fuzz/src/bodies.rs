//! Every body of the API and every frame of the socket: read strictly, written, and read again as the same.

use holdstead_protocol::api::{
    AskCall, OpenSession, Respond, SendMessage, SetInteractionMode, ShortAnswers, ShortDenial, UseLoginLink,
};
use holdstead_protocol::json;
use holdstead_protocol::socket::ClientFrame;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub fn run(bytes: &[u8]) {
    let Some((kind, body)) = bytes.split_first() else { return };
    let Ok(value) = json::read(body) else { return };
    match kind % 9 {
        0 => both_ways::<OpenSession>(value),
        1 => both_ways::<SendMessage>(value),
        2 => both_ways::<AskCall>(value),
        3 => both_ways::<Respond>(value),
        4 => both_ways::<ShortDenial>(value),
        5 => both_ways::<ShortAnswers>(value),
        6 => both_ways::<SetInteractionMode>(value),
        7 => both_ways::<UseLoginLink>(value),
        _ => both_ways::<ClientFrame>(value),
    }
}

fn both_ways<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(value: Value) {
    let Ok(body) = serde_json::from_value::<T>(value) else { return };
    let written = serde_json::to_value(&body).expect("a body can be written");
    let again: T = serde_json::from_value(written).expect("what was written can be read");
    assert_eq!(body, again);
}
