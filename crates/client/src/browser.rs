//! Requests as a browser sends them: signed with a key, and with the nonce of the last answer.
//!
//! For tests and shows. Programs have tokens.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use holdstead_protocol::signature::{NONCE_HEADER, RequestToSign, SignatureHeader};
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, Method, Request, Response};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::requests_to;

/// One browser: a key, and a page of one origin.
#[derive(Debug, Clone)]
pub struct Browser {
    key: SigningKey,
    origin: String,
    http: Client,
    nonce: Arc<Mutex<String>>,
}

impl Browser {
    /// A browser with a new key, at this address.
    pub fn new(origin: &str) -> Self {
        let key = loop {
            // Nearly every number is a key.
            if let Ok(key) = SigningKey::from_slice(&rand::random::<[u8; 32]>()) {
                break key;
            }
        };
        let http = requests_to(origin).build().expect("nothing is set that could be wrong");
        Self { key, origin: origin.to_owned(), http, nonce: Arc::default() }
    }

    /// The same key on a page of another origin, whose requests go there.
    pub fn at(&self, origin: &str) -> Self {
        Self { origin: origin.to_owned(), nonce: Arc::default(), ..self.clone() }
    }

    pub fn public_key(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.key.verifying_key().to_sec1_point(false).as_bytes())
    }

    /// The nonce that it signs next.
    pub fn nonce(&self) -> String {
        self.nonce.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps the nonce of an answer that has one.
    pub fn keep_nonce(&self, answer: &Response) {
        if let Some(nonce) = answer.headers().get(NONCE_HEADER).and_then(|nonce| nonce.to_str().ok()) {
            nonce.clone_into(&mut self.nonce.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// What `Authorization` has for this request.
    pub fn sign(&self, method: &str, path: &str, body: &[u8]) -> String {
        let (digest, nonce) = (BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(body)), self.nonce());
        let request = RequestToSign { method, origin: &self.origin, path, digest: &digest, nonce: &nonce };
        let signature: Signature = self.key.sign(request.text().as_bytes());
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.to_bytes());
        SignatureHeader { key: &self.public_key(), nonce: &nonce, digest: &digest, signature: &signature }
            .to_text()
    }

    /// A signed request that is not sent yet.
    pub fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Request, reqwest::Error> {
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let signature = self.sign(method.as_str(), path, bytes.as_bytes());
        let request = self.http.request(method, format!("{}{path}", self.origin));
        let request = request.header(AUTHORIZATION, signature);
        if bytes.is_empty() {
            return request.build();
        }
        request.header(CONTENT_TYPE, "application/json").body(bytes).build()
    }

    /// Sends a signed request, and once more if its nonce counted no longer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response, reqwest::Error> {
        let before = self.nonce();
        let answer = self.http.execute(self.request(method.clone(), path, body)?).await?;
        self.keep_nonce(&answer);
        if answer.status() != 401 || self.nonce() == before {
            return Ok(answer);
        }
        let answer = self.http.execute(self.request(method, path, body)?).await?;
        self.keep_nonce(&answer);
        Ok(answer)
    }
}
