//! Where the server listens: on both loopback addresses, or not at all.

use std::net::{Ipv6Addr, SocketAddr};

use holdstead_server::{ListenError, Listener};

fn any(ip: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().expect("an address"), 0)
}

/// Without IPv6 nobody can hold its loopback address.
fn has_ipv6() -> bool {
    std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

#[tokio::test]
async fn both_loopbacks_are_ours_however_one_is_named() {
    for ip in ["127.0.0.1", "::1", "0.0.0.0", "::"] {
        if ip.contains(':') && !has_ipv6() {
            continue;
        }
        let listener = Listener::bind(any(ip)).expect("a port");
        let port = listener.address().port();
        for loopback in ["127.0.0.1", "::1"] {
            if loopback == "::1" && !has_ipv6() {
                continue;
            }
            let address = SocketAddr::new(loopback.parse().expect("an address"), port);
            assert!(std::net::TcpStream::connect(address).is_ok(), "{ip}: {address} does not answer");
            assert!(std::net::TcpListener::bind(address).is_err(), "{ip}: somebody else can have {address}");
        }
    }
}

#[tokio::test]
async fn it_does_not_start_where_somebody_else_has_the_other_loopback() {
    if !has_ipv6() {
        return;
    }
    for (held, wanted) in [("::1", "127.0.0.1"), ("127.0.0.1", "::1"), ("::1", "0.0.0.0")] {
        let somebody = std::net::TcpListener::bind(any(held)).expect("a port");
        let port = somebody.local_addr().expect("an address").port();
        let refused = Listener::bind(SocketAddr::new(wanted.parse().expect("an address"), port));
        let Err(ListenError::OtherLoopback { other, .. }) = &refused else { panic!("{wanted}: {refused:?}") };
        assert_eq!(*other, SocketAddr::new(held.parse().expect("an address"), port));
    }
    // All addresses of both kinds are one socket: it fails as a whole.
    let somebody = std::net::TcpListener::bind(any("127.0.0.1")).expect("a port");
    let port = somebody.local_addr().expect("an address").port();
    assert!(Listener::bind(SocketAddr::new("::".parse().expect("an address"), port)).is_err());
}
