//! The header of a signed request: what is read is written back as the same parts.

use holdstead_protocol::signature::SignatureHeader;

use super::text;

pub fn run(bytes: &[u8]) {
    let Some(header) = SignatureHeader::parse(text(bytes)) else { return };
    let written = header.to_text();
    assert_eq!(SignatureHeader::parse(&written), Some(header), "{written}");
}
