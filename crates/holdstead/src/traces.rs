//! Traces go to a collector: OTLP over HTTP, as JSON. Off unless the settings name one.

use std::time::Duration;

use holdstead_gateway::{Gateway, Span};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::failure::Failure;

/// Spans that wait to be sent; more are dropped.
const MOST: usize = 8_192;
/// How many are sent at once, and how often at most.
const AT_ONCE: usize = 1_024;
const EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(5);

/// Where they are sent to. `None`: nowhere.
pub(crate) fn endpoint(setting: &str) -> Result<Option<String>, Failure> {
    let setting = setting.trim_end_matches('/');
    match setting.strip_prefix("http://") {
        _ if setting.is_empty() => Ok(None),
        // A name and a password in it would be in every log.
        Some(host) if !host.is_empty() && !host.contains(['@', '?', '#', ' ']) => {
            Ok(Some(format!("{setting}/v1/traces")))
        }
        Some(_) | None => Err(Failure::Config(
            "`otlp_endpoint` is the address of an OpenTelemetry collector nearby, like http://127.0.0.1:4318. It has no https of \
             its own: let a collector on this machine pass traces on"
                .to_owned(),
        )),
    }
}

/// Sends spans until the gateway stops, and what is left then. What cannot be sent is dropped: the journal has it all.
pub(crate) async fn send(gateway: Gateway, endpoint: String, node: String) {
    let (sender, mut spans) = mpsc::channel(MOST);
    gateway.trace_to(sender);
    let stopped = gateway.shutdown_token();
    let Ok(http) = holdstead_client::requests_to(&endpoint).timeout(PATIENCE).build() else { return };
    let mut told = false;
    loop {
        let mut some = Vec::new();
        tokio::select! {
            _ = spans.recv_many(&mut some, AT_ONCE) => {}
            () = stopped.cancelled() => {
                while let Ok(span) = spans.try_recv() {
                    some.push(span);
                }
            }
        }
        if !some.is_empty() {
            let sent = http.post(&endpoint).json(&body(&node, &some)).send().await;
            let sent = sent.and_then(reqwest::Response::error_for_status);
            // Once, until it goes well again: it is tried every second.
            match (&sent, told) {
                (Err(error), false) => {
                    tracing::warn!(%error, "traces cannot be sent; they are dropped until they can")
                }
                (Ok(_), _) | (Err(_), true) => {}
            }
            told = sent.is_err();
        }
        if stopped.is_cancelled() {
            return;
        }
        tokio::select! {
            () = sleep(EVERY) => {}
            () = stopped.cancelled() => {}
        }
    }
}

fn body(node: &str, spans: &[Span]) -> Value {
    let spans: Vec<_> = spans.iter().map(span).collect();
    let resource = [
        word("service.name", "holdstead"),
        word("service.version", env!("CARGO_PKG_VERSION")),
        word("service.instance.id", node),
    ];
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": { "name": "holdstead" }, "spans": spans }],
    }] })
}

fn span(span: &Span) -> Value {
    const INTERNAL: u8 = 1;
    let nanos = |at: holdstead_protocol::Timestamp| (i128::from(at.micros()) * 1_000).to_string();
    let attributes: Vec<_> = span.attributes.iter().map(|(key, value)| word(key, value)).collect();
    json!({
        "traceId": hex(&span.trace),
        "spanId": hex(&span.id),
        "parentSpanId": span.parent.map(|parent| hex(&parent)).unwrap_or_default(),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanos(span.from),
        "endTimeUnixNano": nanos(span.to),
        "attributes": attributes,
    })
}

fn word(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_address_is_one() {
        assert_eq!(endpoint("").unwrap(), None);
        let found = endpoint("http://127.0.0.1:4318/").unwrap();
        assert_eq!(found.as_deref(), Some("http://127.0.0.1:4318/v1/traces"));
        for bad in ["https://collector", "127.0.0.1:4318", "http://", "http://user:secret@host", "http://a b"]
        {
            let words = endpoint(bad).unwrap_err().to_string();
            assert!(!words.contains("secret"), "{words}");
        }
    }
}
