//! Base64url without padding: how browsers and WebAuthn write bytes.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

pub fn base64url(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// `None` for what is not base64url. No two texts are the same bytes.
pub fn from_base64url(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_text() {
        assert_eq!(from_base64url(&base64url(&[0xfb, 0xff])), Some(vec![0xfb, 0xff]));
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
        for wrong in ["-_9", "-_8=", "+/8", "-_8 ", "a"] {
            assert_eq!(from_base64url(wrong), None, "{wrong}");
        }
    }
}
