//! What is checked before anything else: that the request was meant for us and came from our own page.
//!
//! A name that resolves to this machine is not enough (DNS rebinding), and a form on another site must not be able
//! to post here: bodies must be declared as JSON, which a form cannot do without asking first.
//!
//! The very address that a connection was made to is ours whatever it is: no name has to resolve for it, so nobody else's
//! page can stand behind it.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method, Uri};

use crate::App;
use crate::connections::Reached;
use crate::listen::is_localhost;
use crate::problem::ApiError;

/// The names under which the server is reached.
#[derive(Debug)]
pub(crate) struct AllowedHosts(BTreeSet<String>);

impl AllowedHosts {
    pub(crate) fn new(address: SocketAddr, more: &[String]) -> Self {
        let port = address.port();
        let mut hosts: BTreeSet<String> = more.iter().map(|host| host.to_ascii_lowercase()).collect();
        hosts.insert(address.to_string());
        // Where we do not listen on loopback, somebody else may: a page of theirs is not ours.
        if is_localhost(address.ip()) {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(|local| format!("{local}:{port}")));
        }
        Self(hosts)
    }

    fn has(&self, host: &str) -> bool {
        self.0.contains(&host.to_ascii_lowercase())
    }

    /// Whether a page of this origin is ours.
    pub(crate) fn allows_origin(&self, origin: &str) -> bool {
        host_of(origin).is_some_and(|host| self.has(host))
    }
}

fn host_of(origin: &str) -> Option<&str> {
    origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
}

impl Reached {
    /// Whether this host, as a client sends it, leads nowhere but here.
    fn is(self, host: &str) -> bool {
        let address = match self {
            Self::Address(address) => address,
            // No name of another site resolves to a file, and no page can open one.
            Self::OwnSocket => return true,
        };
        // A socket for both kinds of addresses shows IPv4 ones inside IPv6.
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        host.parse() == Ok(address) || (address.port() == 80 && host == without_port(address))
    }
}

fn without_port(address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// The host that a request was sent to, by its own word.
pub(crate) fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    // HTTP/2 puts the host into the request line.
    header(headers, &HOST).or_else(|| uri.authority().map(|host| host.as_str()))
}

/// Whether browsers have cryptography on a page of this host, also without https.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let (name, _) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((rest, "")),
        None => host.split_once(':').unwrap_or((host, "")),
    };
    let (address, name) = (name.parse::<IpAddr>(), name.to_ascii_lowercase());
    name == "localhost" || name.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

pub(crate) fn check(app: &App, request: &Request) -> Result<(), ApiError> {
    let host = host(request.headers(), request.uri());
    let reached = request.extensions().get::<Reached>().copied();
    let ours = |host: &str| app.hosts.has(host) || reached.is_some_and(|reached| reached.is(host));
    if !host.is_some_and(ours) {
        return Err(ApiError::ForeignHost);
    }
    let origin = header(request.headers(), &ORIGIN);
    if origin.is_some_and(|origin| !host_of(origin).is_some_and(ours)) {
        return Err(ApiError::ForeignOrigin);
    }
    let has_body = matches!(*request.method(), Method::POST | Method::PUT);
    if has_body && !is_json(request.headers()) {
        return Err(ApiError::NotJson);
    }
    Ok(())
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or(""))
}

fn is_json(headers: &HeaderMap) -> bool {
    let declared = header(headers, &CONTENT_TYPE).unwrap_or("");
    let essence = declared.split(';').next().unwrap_or("").trim();
    essence.eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_was_reached_is_ours_and_no_other() {
        for (reached, host, ours) in [
            ("192.168.1.20:4780", "192.168.1.20:4780", true),
            ("192.168.1.20:4780", "192.168.1.21:4780", false),
            ("192.168.1.20:4780", "192.168.1.20:4781", false),
            ("192.168.1.20:4780", "192.168.1.20", false),
            ("192.168.1.20:4780", "192.168.1.20.nip.example:4780", false),
            ("192.168.1.20:80", "192.168.1.20", true),
            ("[::ffff:192.168.1.20]:4780", "192.168.1.20:4780", true),
            ("[fd00::2]:4780", "[fd00::2]:4780", true),
            ("[fd00::2]:80", "[fd00::2]", true),
            ("[fd00::2]:4780", "", false),
        ] {
            assert!(Reached::OwnSocket.is(host));
            assert_eq!(Reached::Address(reached.parse().unwrap()).is(host), ours, "{reached} {host}");
        }
    }

    #[test]
    fn a_page_of_this_machine_has_cryptography() {
        for host in
            ["localhost:4780", "LOCALHOST", "shop.localhost:1", "127.0.0.1:4780", "127.0.0.1", "[::1]:4780"]
        {
            assert!(is_this_machine(host), "{host}");
        }
        for host in
            ["192.168.1.20:4780", "[fd00::2]:4780", "localhost.example", "127.0.0.1.example", "", "[", ":"]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn localhost_is_ours_only_where_it_leads_to_us() {
        for (listen, ours) in [
            ("127.0.0.1:80", true),
            ("[::1]:80", true),
            ("0.0.0.0:80", true),
            ("[::]:80", true),
            ("192.0.2.7:80", false),
            ("127.0.0.2:80", false),
        ] {
            let hosts = AllowedHosts::new(listen.parse().unwrap(), &["Holdstead.example".to_owned()]);
            assert!(hosts.has(listen) && hosts.allows_origin("https://holdstead.example"), "{listen}");
            assert!(!hosts.has("localhost:81"), "{listen}");
            for local in ["localhost:80", "[::1]:80", "LOCALHOST:80"] {
                assert_eq!(
                    hosts.allows_origin(&format!("http://{local}")),
                    ours || local == listen,
                    "{listen}"
                );
            }
        }
    }
}
