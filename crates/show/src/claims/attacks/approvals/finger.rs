//! A person's device that knows their finger: an authenticator in software, and the page it is used on.

use holdstead_client::requests_to;
use holdstead_core::base64url;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::gateway_process::GatewayProcess;
use crate::{Result, ensure};

const CREDENTIAL: &[u8] = b"a credential";

pub(super) struct Finger {
    http: reqwest::Client,
    url: String,
    token: String,
    key: SigningKey,
    origin: String,
}

impl Finger {
    /// The passkey of this gateway's own person, who requires one from now on.
    pub(super) async fn required_of(gateway: &GatewayProcess) -> Result<Self> {
        let (_, port) = gateway.url.rsplit_once(':').ok_or("the address has no port")?;
        let finger = Self {
            http: requests_to(&gateway.url).build()?,
            url: gateway.url.clone(),
            token: gateway.own_token()?,
            key: SigningKey::from_slice(&[7; 32])?,
            origin: format!("http://localhost:{port}"),
        };
        let made = finger.made().await?;
        let (status, page) = finger.send(Method::POST, "/v1/passkeys", &made).await?;
        ensure!(status == 201, "the passkey was not added: {status} {page}");
        let required = json!({"required": true});
        let (status, problem) = finger.send(Method::PUT, "/v1/passkeys/requirement", &required).await?;
        ensure!(status == 204, "passkeys are not required: {status} {problem}");
        Ok(finger)
    }

    /// As a holder of the person's token.
    pub(super) async fn send(&self, method: Method, path: &str, body: &Value) -> Result<(u16, Value)> {
        let host = self.origin.trim_start_matches("http://");
        let request = self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
        let answer = request.header("origin", &self.origin).header("host", host).json(body).send().await?;
        Ok((answer.status().as_u16(), answer.json().await.unwrap_or_default()))
    }

    /// Whether the gateway asked for this act and took the answer.
    pub(super) async fn confirm(&self, purpose: &Value) -> Result<bool> {
        let (status, asked) = self.send(Method::POST, "/v1/passkeys/challenges", purpose).await?;
        if status != 201 {
            return Ok(false);
        }
        let (client_data, device) = (self.client_data("webauthn.get", &asked["challenge"]), device(0));
        let signed = [device.as_slice(), Sha256::digest(&client_data).as_slice()].concat();
        let signature: Signature = self.key.sign(&signed);
        let answer = json!({
            "challenge": asked["challenge"],
            "credentialId": base64url(CREDENTIAL),
            "clientData": base64url(&client_data),
            "authenticatorData": base64url(&device),
            "signature": base64url(signature.to_der().as_bytes()),
        });
        let (status, problem) = self.send(Method::POST, "/v1/passkeys/confirmations", &answer).await?;
        ensure!(status == 204, "the passkey's answer was not taken: {status} {problem}");
        Ok(true)
    }

    async fn made(&self) -> Result<Value> {
        let register = json!({"purpose": "register"});
        let (status, asked) = self.send(Method::POST, "/v1/passkeys/challenges", &register).await?;
        ensure!(status == 201, "no passkey was asked for: {status} {asked}");
        let point = self.key.verifying_key().to_sec1_point(false);
        let (x, y) = point.as_bytes()[1..].split_at(32);
        let length = u16::try_from(CREDENTIAL.len())?.to_be_bytes();
        let key = [&[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20], x, &[0x22, 0x58, 0x20], y]
            .concat();
        let data = [&device(0x40)[..], &[0; 16], &length, CREDENTIAL, &key].concat();
        Ok(json!({
            "challenge": asked["challenge"],
            "name": "laptop",
            "clientData": base64url(&self.client_data("webauthn.create", &asked["challenge"])),
            "authenticatorData": base64url(&data),
        }))
    }

    fn client_data(&self, kind: &str, challenge: &Value) -> Vec<u8> {
        json!({"type": kind, "challenge": challenge, "origin": self.origin}).to_string().into_bytes()
    }
}

/// A person was there, and the device verified them.
fn device(extra: u8) -> Vec<u8> {
    [Sha256::digest(b"localhost").as_slice(), &[0x05 | extra], &[0; 4]].concat()
}
