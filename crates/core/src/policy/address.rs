//! The host and the port of an address, read as strictly as a browser is lenient.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// In lower case.
    pub(super) host: String,
    pub(super) port: Port,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Port {
    /// The one of the scheme.
    Usual,
    Other,
}

/// `None` if the address could be read in two ways.
pub(super) fn read(address: &str) -> Option<Address> {
    let (scheme, usual) = [("https://", 443), ("http://", 80)].into_iter().find(|(scheme, _)| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })?;
    let rest = &address[scheme.len()..];
    if address.chars().any(|c| c.is_control() || c == '\\' || c == ' ') {
        return None;
    }
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let plain = host.split('.').all(is_label) && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_usual = port.is_empty() || port.parse() == Ok(usual);
    let port = if is_usual { Port::Usual } else { Port::Other };
    plain.then(|| Address { host: host.to_ascii_lowercase(), port })
}

/// What may be hosts in a text that is no plain address, in lower case. For asking and denying only.
pub(super) fn hosts(text: &str) -> impl Iterator<Item = String> {
    let between = |c: char| c.is_control() || c.is_whitespace() || "/\\@:?#".contains(c);
    text.split(between).map(|piece| piece.trim_matches('.').to_lowercase()).filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Port, read};

    #[test]
    fn hosts() {
        for (address, expected) in [
            ("https://docs.rs/a?b#c", Some("docs.rs")),
            ("HTTP://Docs.RS:8080", Some("docs.rs")),
            ("https://a.b", Some("a.b")),
            ("https://docs.rs@evil.org/", None),
            ("https://docs.rs\\@evil.org/", None),
            ("https://docs.rs./", None),
            ("https://d\u{3bf}cs.rs/", None),
            ("https://docs.rs%2eevil.org", None),
            ("https:/docs.rs", None),
            ("//docs.rs", None),
            ("ftp://docs.rs", None),
            ("https://", None),
            ("https://[::1]/", None),
            ("https://docs.rs\t/", None),
            ("javascript:alert(1)", None),
        ] {
            assert_eq!(read(address).map(|read| read.host).as_deref(), expected, "{address}");
        }
        let port = |address: &str| read(address).map(|read| read.port);
        assert_eq!(port("http://a.b:80/"), Some(Port::Usual));
        assert_eq!(port("http://a.b:443/"), Some(Port::Other));
        assert_eq!(port("https://a.b:65979/"), Some(Port::Other));
    }
}
