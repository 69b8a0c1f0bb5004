//! How a browser signs a request: what it signs, and the header that carries the signature.

/// What `Authorization` begins with.
pub const SCHEME: &str = "Signature ";

/// The header of an answer that carries the nonce to sign next.
pub const NONCE_HEADER: &str = "holdstead-nonce";

/// The longest header that is read. One of a browser has about 400 bytes.
const LONGEST: usize = 1024;

/// The parts of an `Authorization: Signature …` header. Each is base64url without padding, or empty where it was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SignatureHeader<'a> {
    /// The public key: an uncompressed point on P-256.
    pub key: &'a str,
    pub nonce: &'a str,
    /// The SHA-256 of the body.
    pub digest: &'a str,
    /// `r` and `s`, 32 bytes each.
    pub signature: &'a str,
}

impl<'a> SignatureHeader<'a> {
    /// Reads the header. `None`: a part is there twice, is not known, or is not written as it should be.
    pub fn parse(header: &'a str) -> Option<Self> {
        let parts = header.strip_prefix(SCHEME).filter(|_| header.len() <= LONGEST)?;
        let mut read = Self::default();
        let mut seen = [false; 4];
        for part in parts.split(',') {
            let (name, value) = part.trim_matches(' ').split_once('=')?;
            let value = value.strip_prefix('"')?.strip_suffix('"')?;
            if !value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
                return None;
            }
            let (place, slot) = match name {
                "key" => (0, &mut read.key),
                "nonce" => (1, &mut read.nonce),
                "digest" => (2, &mut read.digest),
                "signature" => (3, &mut read.signature),
                _ => return None,
            };
            if std::mem::replace(&mut seen[place], true) {
                return None;
            }
            *slot = value;
        }
        Some(read)
    }

    /// The header that carries these parts.
    pub fn to_text(self) -> String {
        let Self { key, nonce, digest, signature } = self;
        format!(r#"{SCHEME}key="{key}", nonce="{nonce}", digest="{digest}", signature="{signature}""#)
    }
}

/// A request, as far as a browser signs it.
#[derive(Debug, Clone, Copy)]
pub struct RequestToSign<'a> {
    pub method: &'a str,
    /// Of the page, as `https://holdstead.example`.
    pub origin: &'a str,
    /// With the query, exactly as it is sent.
    pub path: &'a str,
    pub digest: &'a str,
    pub nonce: &'a str,
}

impl RequestToSign<'_> {
    /// The signed text. No part can hold a line break: a URI and a header allow none.
    pub fn text(self) -> String {
        let Self { method, origin, path, digest, nonce } = self;
        ["holdstead request 1", method, origin, path, digest, nonce].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_is_written_and_in_no_other_form() {
        let header = SignatureHeader { key: "a-_9", nonce: "b", digest: "c", signature: "d" };
        let text = header.to_text();
        assert_eq!(SignatureHeader::parse(&text), Some(header));
        let without = r#"Signature signature="d",key="a""#;
        let read = SignatureHeader::parse(without).map(|header| (header.key, header.nonce));
        assert_eq!(read, Some(("a", "")));
        for wrong in [
            "",
            "Signature ",
            "Bearer hs_1",
            r#"signature key="a""#,
            r#"Signature key="a", key="a""#,
            r#"Signature key="", key="a""#,
            r#"Signature key="a", other="b""#,
            r#"Signature key=a"#,
            r#"Signature key="a"#,
            r#"Signature key=""#,
            r#"Signature key="a="#,
            r#"Signature key="a+b""#,
            r#"Signature key="a" nonce="b""#,
            r#"Signature key="a","#,
            r#"Signature KEY="a""#,
            "Signature key=\"a\u{e9}\"",
        ] {
            assert_eq!(SignatureHeader::parse(wrong), None, "{wrong}");
        }
        let long = format!(r#"Signature key="{}""#, "a".repeat(LONGEST));
        assert_eq!(SignatureHeader::parse(&long), None);
    }
}
