//! The host of an address, read as strictly as a browser is lenient.

/// The host in lower case; `None` if the address could be read in two ways.
pub(super) fn host(address: &str) -> Option<String> {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        address
            .get(..scheme.len())
            .filter(|start| start.eq_ignore_ascii_case(scheme))
            .map(|_| &address[scheme.len()..])
    })?;
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
    plain.then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::host;

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
            assert_eq!(host(address).as_deref(), expected, "{address}");
        }
    }
}
