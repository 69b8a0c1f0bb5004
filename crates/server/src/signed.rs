//! Requests that a browser signed.
//!
//! A browser has a key that its page can use and cannot read. It signs the method, the address, the body and a nonce of ours,
//! so a copy of the request is worth nothing for another request, under another address, or when this process is gone.
//!
//! Here everything is checked that needs no database, the cheapest first. The signature is checked as soon as the device is
//! known. The reader of the body is told at its end if it is another one than was signed.

use axum::BoxError;
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use futures_util::StreamExt as _;
use holdstead_core::{PublicKeyBytes, check_signature, from_base64url};
use holdstead_gateway::{Gateway, NonceAge};
use holdstead_protocol::signature::{RequestToSign, SCHEME, SignatureHeader};
use holdstead_store::key_hash;
use sha2::{Digest as _, Sha256};

use crate::guard;
use crate::problem::ApiError;

/// In the extensions of a request that has a signature.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    key: PublicKeyBytes,
    /// As its device has it.
    pub(crate) hash: [u8; 32],
    /// What was signed, over http and over https: a proxy in front of us may speak the one or the other.
    texts: [String; 2],
    signature: [u8; 64],
}

impl Signed {
    /// Whether the holder of the key sent this request.
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        let fits = |text: &String| check_signature(&self.key, text, &self.signature).is_ok();
        if self.texts.iter().any(fits) { Ok(()) } else { Err(ApiError::BadSignature) }
    }
}

/// Reads the signature of a request that has one, and binds its body. `None`: it has none.
pub(crate) fn read(gateway: &Gateway, request: Request) -> Result<(Request, Option<NonceAge>), ApiError> {
    let Some(header) = header(request.headers())? else { return Ok((request, None)) };
    let header = SignatureHeader::parse(header).ok_or(ApiError::BadSignature)?;
    let (key, digest): (PublicKeyBytes, [u8; 32]) = (bytes(header.key)?, bytes(header.digest)?);
    let signature = bytes(header.signature)?;
    let Some(age) = gateway.check_nonce(header.nonce) else {
        // A node that stops, or that cannot see the other nodes, cannot tell which nonces count. The browser is still logged in.
        gateway.serves()?;
        return Err(ApiError::NonceRefused);
    };
    let host = guard::host(request.headers(), request.uri()).unwrap_or_default();
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let texts = ["http", "https"].map(|scheme| {
        let (method, origin) = (request.method().as_str(), &format!("{scheme}://{host}"));
        RequestToSign { method, origin, path, digest: header.digest, nonce: header.nonce }.text()
    });
    let signed = Signed { hash: key_hash(&key), key, texts, signature };
    let mut request = request.map(|body| checked(body, digest));
    request.extensions_mut().insert(signed);
    Ok((request, Some(age)))
}

fn header(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let all: Vec<_> = headers.get_all(AUTHORIZATION).iter().collect();
    if !all.iter().any(|value| value.as_bytes().starts_with(SCHEME.as_bytes())) {
        return Ok(None);
    }
    match all.as_slice() {
        [one] => one.to_str().map(Some).map_err(|_| ApiError::BadSignature),
        // A proxy and we might take different ones.
        _ => Err(ApiError::BadSignature),
    }
}

fn bytes<const N: usize>(text: &str) -> Result<[u8; N], ApiError> {
    from_base64url(text).and_then(|bytes| bytes.try_into().ok()).ok_or(ApiError::BadSignature)
}

/// The body is another one than was signed.
#[derive(Debug, thiserror::Error)]
#[error("the body is not the one that was signed")]
pub(crate) struct OtherBody;

/// The same body, which ends with an error if it is not the one with this digest: a route that acts on a whole body acts on what was
/// signed.
fn checked(body: Body, digest: [u8; 32]) -> Body {
    let begin = Some((body.into_data_stream(), Sha256::new()));
    let parts = futures_util::stream::unfold(begin, move |state| async move {
        let (mut rest, mut hash) = state?;
        match rest.next().await {
            Some(Ok(part)) => {
                hash.update(&part);
                Some((Ok(part), Some((rest, hash))))
            }
            Some(Err(error)) => Some((Err(error.into_inner()), None)),
            None if hash.finalize()[..] == digest => None,
            None => Some((Err(BoxError::from(OtherBody)), None)),
        }
    });
    Body::from_stream(parts)
}
