//! The way to a gateway: encrypted where its address says https, and by no proxy where it does not.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::Connector;

/// Requests to this address.
///
/// Whoever reads a token can use it: one that goes unencrypted goes to the gateway itself, whatever proxy the environment names.
pub fn requests_to(url: &str) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder().tls_backend_preconfigured(trusting(url));
    if is_encrypted(url) { builder } else { builder.no_proxy() }
}

/// The way that requests take.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By<'a> {
    /// To the host that the address names.
    Address,
    /// To a socket of this machine. The host of the address is only sent as a header.
    Socket(&'a Path),
}

/// The same, for a client that needs nothing special.
pub(crate) fn client_of(url: &str, by: By<'_>) -> reqwest::Client {
    let builder = match by {
        By::Address => requests_to(url),
        By::Socket(path) => requests_to(url).unix_socket(path),
    };
    builder.build().expect("nothing is set that could be wrong")
}

pub(crate) fn sockets_to(url: &str) -> Connector {
    if is_encrypted(url) { Connector::Rustls(Arc::new(trusting(url))) } else { Connector::Plain }
}

pub fn is_encrypted(url: &str) -> bool {
    url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

/// Whether this address is one of this machine alone.
pub fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    ip.map_or(host == "localhost", |ip| ip.is_loopback())
}

/// Trusts whom the machine trusts, or whom `SSL_CERT_FILE` names. Its file is read only where somebody has to be trusted.
fn trusting(url: &str) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    if is_encrypted(url) {
        // Without any the connection fails, and says so.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// What went wrong, in words, with what to do where the other side is not trusted.
pub(crate) fn in_words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    if words.contains("UnknownIssuer") {
        words.push_str(
            ". Nobody whom this machine trusts vouches for its certificate. If it is your own, name the file of its authority in \
             SSL_CERT_FILE",
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_this_machine_is_loopback() {
        for url in [
            "http://127.0.0.1:4780",
            "http://127.8.8.8",
            "http://localhost:1/x",
            "http://[::1]:4780",
            "HTTP://LOCALHOST",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://192.0.2.1:4780",
            "http://localhost.example",
            "http://127.example:4780",
            // What stands before the `@` is a name and a password.
            "http://localhost:4780@evil.example",
            "http://127.0.0.1@evil.example/",
            "localhost:4780",
            "",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
