//! Passkeys: what a browser brings when a person confirmed something with one, checked as WebAuthn says (level 3, section 7).
//!
//! Only what our own page asks for is taken: signatures with P-256, by somebody whom the device knew (by a finger, a face
//! or a PIN), on that very page, for the very challenge.

use std::net::Ipv4Addr;

use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::base64url;

/// Why a passkey confirmed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPasskey {
    #[error("what the browser sent of the passkey cannot be read: try again, or use another browser")]
    Unreadable,
    #[error("the passkey answered something else than what it was asked: try again")]
    OtherChallenge,
    #[error("the passkey was used on another page: open Holdstead's own and try again")]
    OtherPage,
    #[error(
        "the passkey did not say that it was you: unlock it with your finger, face or PIN, or use one that can"
    )]
    NotVerified,
    #[error("this kind of passkey is not supported (ES256 is): use another one")]
    OtherKind,
    #[error("the signature is not this passkey's: nothing was confirmed")]
    BadSignature,
    #[error("this passkey was used somewhere else since, so it may be a copy: remove it and add it again")]
    Copied,
}

/// One question to a passkey.
#[derive(Debug, Clone, Copy)]
pub struct PasskeyQuestion<'a> {
    /// Random, for one purpose, once.
    pub challenge: &'a [u8],
    /// The page that asked, as `https://holdstead.example`.
    pub origin: &'a str,
}

/// The answer to it, as the browser hands it over.
#[derive(Debug, Clone, Copy)]
pub struct PasskeyAnswer<'a> {
    pub client_data: &'a [u8],
    pub authenticator_data: &'a [u8],
    pub signature: &'a [u8],
}

/// A passkey that was made just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadePasskey {
    pub credential: Vec<u8>,
    /// The point, as SEC 1 writes it without compression.
    pub public_key: Vec<u8>,
    pub count: u32,
}

/// The site that passkeys of a page belong to. `None`: browsers use none there. They do over https and on `localhost`, and
/// never for an address in digits.
pub fn passkey_site(origin: &str) -> Option<&str> {
    let (host, is_secure) = match origin.strip_prefix("https://") {
        Some(host) => (host, true),
        None => (origin.strip_prefix("http://")?, false),
    };
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
    let is_address = name.starts_with('[') || name.parse::<Ipv4Addr>().is_ok();
    (!name.is_empty() && !is_address && (is_secure || name == "localhost")).then_some(name)
}

/// Checks an answer with a known passkey. Returns how often the passkey says that it was used, which grows or stays 0.
pub fn check_passkey(
    question: PasskeyQuestion<'_>,
    public_key: &[u8],
    last_count: u32,
    answer: PasskeyAnswer<'_>,
) -> Result<u32, BadPasskey> {
    check_client(question, answer.client_data, "webauthn.get")?;
    let Authenticator { count, .. } = authenticator(question.origin, answer.authenticator_data)?;
    let key = VerifyingKey::from_sec1_bytes(public_key).map_err(|_| BadPasskey::OtherKind)?;
    let signature = Signature::from_der(answer.signature).map_err(|_| BadPasskey::BadSignature)?;
    let client_hash = Sha256::digest(answer.client_data);
    let signed = [answer.authenticator_data, client_hash.as_slice()].concat();
    key.verify(&signed, &signature).map_err(|_| BadPasskey::BadSignature)?;
    if (count, last_count) != (0, 0) && count <= last_count {
        return Err(BadPasskey::Copied);
    }
    Ok(count)
}

/// Checks what a browser brings of a passkey that it made. Who made it is not asked: whoever is logged in adds their own.
pub fn check_new_passkey(
    question: PasskeyQuestion<'_>,
    client_data: &[u8],
    authenticator_data: &[u8],
) -> Result<MadePasskey, BadPasskey> {
    check_client(question, client_data, "webauthn.create")?;
    let Authenticator { count, rest } = authenticator(question.origin, authenticator_data)?;
    // 16 bytes that name the make, then the id behind its length, then the key.
    let (length, rest) =
        rest.get(16..).and_then(|rest| rest.split_first_chunk::<2>()).ok_or(BadPasskey::Unreadable)?;
    let (credential, key) = rest
        .split_at_checked(usize::from(u16::from_be_bytes(*length)))
        .filter(|(credential, _)| !credential.is_empty() && credential.len() <= 1023)
        .ok_or(BadPasskey::Unreadable)?;
    let public_key = point(key).ok_or(BadPasskey::OtherKind)?;
    VerifyingKey::from_sec1_bytes(&public_key).map_err(|_| BadPasskey::OtherKind)?;
    Ok(MadePasskey { credential: credential.to_owned(), public_key, count })
}

/// What the browser says of the question it was asked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
}

fn check_client(question: PasskeyQuestion<'_>, client_data: &[u8], kind: &str) -> Result<(), BadPasskey> {
    let said: ClientData = serde_json::from_slice(client_data).map_err(|_| BadPasskey::Unreadable)?;
    if said.kind != kind || said.challenge != base64url(question.challenge) {
        return Err(BadPasskey::OtherChallenge);
    }
    if said.origin != question.origin || said.cross_origin {
        return Err(BadPasskey::OtherPage);
    }
    Ok(())
}

struct Authenticator<'a> {
    count: u32,
    rest: &'a [u8],
}

/// What the passkey's device says: for which site, that somebody was there, and that it knew them.
fn authenticator<'a>(origin: &str, data: &'a [u8]) -> Result<Authenticator<'a>, BadPasskey> {
    const PRESENT: u8 = 0x01;
    const VERIFIED: u8 = 0x04;
    let (site, data) = data.split_first_chunk::<32>().ok_or(BadPasskey::Unreadable)?;
    let ([flags], data) = data.split_first_chunk::<1>().ok_or(BadPasskey::Unreadable)?;
    let (count, rest) = data.split_first_chunk::<4>().ok_or(BadPasskey::Unreadable)?;
    let own = passkey_site(origin).ok_or(BadPasskey::OtherPage)?;
    if site.as_slice() != Sha256::digest(own.as_bytes()).as_slice() {
        return Err(BadPasskey::OtherPage);
    }
    if flags & PRESENT == 0 || flags & VERIFIED == 0 {
        return Err(BadPasskey::NotVerified);
    }
    Ok(Authenticator { count: u32::from_be_bytes(*count), rest })
}

/// The point of a COSE key for ES256. Devices write it in one way only (CTAP2's canonical CBOR), so it is compared and not
/// parsed.
fn point(key: &[u8]) -> Option<Vec<u8>> {
    const BEFORE_X: [u8; 10] = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
    const BEFORE_Y: [u8; 3] = [0x22, 0x58, 0x20];
    let (x, rest) = key.strip_prefix(&BEFORE_X)?.split_first_chunk::<32>()?;
    let (y, _extensions) = rest.strip_prefix(&BEFORE_Y)?.split_first_chunk::<32>()?;
    Some([&[0x04], x.as_slice(), y.as_slice()].concat())
}

#[cfg(test)]
mod tests {
    use p256::ecdsa::SigningKey;
    use p256::ecdsa::signature::Signer as _;
    use serde_json::json;

    use super::*;

    const CHALLENGE: [u8; 32] = [9; 32];
    const ORIGIN: &str = "http://localhost:4780";
    const QUESTION: PasskeyQuestion<'_> = PasskeyQuestion { challenge: &CHALLENGE, origin: ORIGIN };

    fn client(kind: &str, challenge: &[u8], origin: &str) -> Vec<u8> {
        let said =
            json!({"type": kind, "challenge": base64url(challenge), "origin": origin, "crossOrigin": false});
        said.to_string().into_bytes()
    }

    fn device(site: &str, flags: u8, count: u32) -> Vec<u8> {
        [Sha256::digest(site.as_bytes()).as_slice(), &[flags], &count.to_be_bytes()].concat()
    }

    fn signing() -> SigningKey {
        SigningKey::from_slice(&[7; 32]).unwrap()
    }

    fn public() -> Vec<u8> {
        signing().verifying_key().to_sec1_point(false).as_bytes().to_vec()
    }

    fn answered(client_data: &[u8], device: &[u8], last_count: u32) -> Result<u32, BadPasskey> {
        let signed = [device, Sha256::digest(client_data).as_slice()].concat();
        let signature: Signature = signing().sign(&signed);
        let signature = signature.to_der();
        let answer =
            PasskeyAnswer { client_data, authenticator_data: device, signature: signature.as_bytes() };
        check_passkey(QUESTION, &public(), last_count, answer)
    }

    #[test]
    fn only_the_right_answer_on_the_right_page_by_its_person_is_taken() {
        let get = client("webauthn.get", &CHALLENGE, ORIGIN);
        let good = device("localhost", 0x05, 3);
        assert_eq!(answered(&get, &good, 2), Ok(3));
        assert_eq!(answered(&get, &device("localhost", 0x05, 0), 0), Ok(0), "many passkeys do not count");
        for (client_data, device, why) in [
            (client("webauthn.create", &CHALLENGE, ORIGIN), good.clone(), BadPasskey::OtherChallenge),
            (client("webauthn.get", &[8; 32], ORIGIN), good.clone(), BadPasskey::OtherChallenge),
            (
                client("webauthn.get", &CHALLENGE, "http://localhost:4781"),
                good.clone(),
                BadPasskey::OtherPage,
            ),
            (b"{}".to_vec(), good.clone(), BadPasskey::Unreadable),
            (get.clone(), device("evil.example", 0x05, 3), BadPasskey::OtherPage),
            (get.clone(), device("localhost", 0x01, 3), BadPasskey::NotVerified),
            (get.clone(), device("localhost", 0x04, 3), BadPasskey::NotVerified),
            (get.clone(), good[..36].to_vec(), BadPasskey::Unreadable),
            (get.clone(), Vec::new(), BadPasskey::Unreadable),
            (get.clone(), device("localhost", 0x05, 2), BadPasskey::Copied),
        ] {
            assert_eq!(answered(&client_data, &device, 2), Err(why));
        }
        let framed = String::from_utf8(get.clone()).unwrap().replace("false", "true").into_bytes();
        assert_eq!(answered(&framed, &good, 2), Err(BadPasskey::OtherPage));
    }

    #[test]
    fn a_signature_of_anything_else_confirms_nothing() {
        let (get, device) = (client("webauthn.get", &CHALLENGE, ORIGIN), device("localhost", 0x05, 0));
        let signature: Signature = signing().sign(b"something else");
        for signature in [signature.to_der().as_bytes(), b"", b"\x30\x00"] {
            let answer = PasskeyAnswer { client_data: &get, authenticator_data: &device, signature };
            assert_eq!(check_passkey(QUESTION, &public(), 0, answer), Err(BadPasskey::BadSignature));
        }
    }

    #[test]
    fn a_new_passkey_brings_its_key() {
        let create = client("webauthn.create", &CHALLENGE, ORIGIN);
        let public = public();
        let cose = [
            &[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20],
            &public[1..33],
            &[0x22, 0x58, 0x20],
            &public[33..],
        ]
        .concat();
        let made = |key: &[u8]| {
            let data = [&device("localhost", 0x45, 0)[..], &[0; 16], &[0, 3], b"abc", key].concat();
            check_new_passkey(QUESTION, &create, &data)
        };
        let good = MadePasskey { credential: b"abc".to_vec(), public_key: public, count: 0 };
        assert_eq!(made(&cose), Ok(good));
        assert_eq!(made(&cose[..70]), Err(BadPasskey::OtherKind));
        assert_eq!(
            made(&[&cose[..10], &[0; 32], &cose[42..]].concat()),
            Err(BadPasskey::OtherKind),
            "no point"
        );
        let short = device("localhost", 0x45, 0);
        assert_eq!(check_new_passkey(QUESTION, &create, &short), Err(BadPasskey::Unreadable));
    }

    #[test]
    fn passkeys_belong_to_names_that_browsers_take_for_secure() {
        for (origin, site) in [
            ("http://localhost:4780", Some("localhost")),
            ("http://localhost", Some("localhost")),
            ("https://holdstead.example", Some("holdstead.example")),
            ("https://holdstead.example:8443", Some("holdstead.example")),
            ("http://holdstead.example", None),
            ("http://127.0.0.1:4780", None),
            ("https://192.168.1.20", None),
            ("https://[::1]:4780", None),
            ("https://[::1]", None),
            ("https://", None),
            ("null", None),
        ] {
            assert_eq!(passkey_site(origin), site, "{origin}");
        }
    }
}
