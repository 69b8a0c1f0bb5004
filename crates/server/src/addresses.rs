//! The addresses under which other machines of a local network reach this one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// Networks inside this machine: of containers and of virtual machines. No phone is in them.
const INSIDE: [&str; 12] =
    ["docker", "br-", "veth", "virbr", "vmnet", "vboxnet", "cni", "flannel", "cali", "podman", "lxc", "lxd"];

/// One address of one interface.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    interface: String,
    ip: IpAddr,
}

/// Addresses of this machine in private networks, the likeliest first. Public ones are left out: without TLS, nobody should
/// be let in there.
pub fn private_addresses() -> Vec<IpAddr> {
    usable(found(), default_route())
}

fn found() -> Vec<Found> {
    let Ok(interfaces) = getifaddrs() else { return Vec::new() };
    let up = interfaces.filter(|one| one.flags.contains(InterfaceFlags::IFF_UP));
    let with_ip = up.filter_map(|one| {
        let address = one.address?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        let ip = v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))?;
        Some(Found { interface: one.interface_name, ip })
    });
    with_ip.collect()
}

/// Where this machine would speak from to another network. Nothing is sent: connecting UDP only looks at the routes.
fn default_route() -> Option<IpAddr> {
    const ELSEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)), 9);
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(ELSEWHERE).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn usable(found: Vec<Found>, default_route: Option<IpAddr>) -> Vec<IpAddr> {
    let inside = |name: &str| INSIDE.iter().any(|start| name.starts_with(start));
    let outside = found.into_iter().filter(|one| !inside(&one.interface)).map(|one| one.ip);
    let mut addresses: Vec<IpAddr> = outside.filter(|ip| is_private(*ip)).collect();
    // Stable: among equals, the order of the interfaces is kept.
    addresses.sort_by_key(|ip| (Some(*ip) != default_route, ip.is_ipv6()));
    addresses.dedup();
    addresses
}

/// Reached from a local or a private network only.
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private() || is_shared(ip),
        IpAddr::V6(ip) => ip.is_unique_local() && ip != Ipv6Addr::LOCALHOST,
    }
}

/// 100.64.0.0/10: between a provider and its customers, and what private networks over the internet take.
const fn is_shared(ip: Ipv4Addr) -> bool {
    matches!(ip.octets(), [100, second, ..] if second & 0b1100_0000 == 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(found: &[(&str, &str)], default_route: Option<&str>) -> Vec<String> {
        let found = found
            .iter()
            .map(|(interface, ip)| Found { interface: (*interface).to_owned(), ip: ip.parse().unwrap() });
        let default_route = default_route.map(|ip| ip.parse().unwrap());
        usable(found.collect(), default_route).iter().map(IpAddr::to_string).collect()
    }

    #[test]
    fn only_addresses_that_a_phone_can_reach_are_chosen() {
        let found = [
            ("lo", "127.0.0.1"),
            ("lo", "::1"),
            ("docker0", "172.17.0.1"),
            ("br-4f2a", "172.18.0.1"),
            ("wlan0", "192.168.1.20"),
            ("wlan0", "fe80::1"),
            ("eth1", "169.254.3.4"),
            ("eth0", "203.0.113.9"),
            ("eth0", "2001:db8::9"),
        ];
        assert_eq!(chosen(&found, Some("203.0.113.9")), ["192.168.1.20"]);
        assert!(chosen(&found[..4], None).is_empty());
    }

    #[test]
    fn the_way_out_comes_first_and_ipv6_last() {
        let found =
            [("eth0", "fd00::2"), ("eth0", "10.0.0.2"), ("wlan0", "192.168.1.20"), ("tun0", "100.101.1.1")];
        assert_eq!(
            chosen(&found, Some("192.168.1.20")),
            ["192.168.1.20", "10.0.0.2", "100.101.1.1", "fd00::2"]
        );
        assert_eq!(chosen(&found, None), ["10.0.0.2", "192.168.1.20", "100.101.1.1", "fd00::2"]);
    }

    #[test]
    fn shared_addresses_end_where_they_should() {
        for (ip, shared) in [
            ("100.63.255.255", false),
            ("100.64.0.0", true),
            ("100.127.255.255", true),
            ("100.128.0.0", false),
        ] {
            assert_eq!(is_private(ip.parse().unwrap()), shared, "{ip}");
        }
    }
}
