//! Signatures of requests: made by a key that a browser keeps and never shows.

use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};

/// An uncompressed point, as SEC 1 writes it.
pub type PublicKeyBytes = [u8; 65];

/// The signature is not this key's, or there is no such key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not fit")]
pub struct BadSignature;

/// Checks a signature of ECDSA with P-256 and SHA-256: `r` and `s`, 32 bytes each.
pub fn check_signature(key: &PublicKeyBytes, text: &str, signature: &[u8; 64]) -> Result<(), BadSignature> {
    let key = VerifyingKey::from_sec1_bytes(key).map_err(|_| BadSignature)?;
    let signature = Signature::from_slice(signature).map_err(|_| BadSignature)?;
    key.verify(text.as_bytes(), &signature).map_err(|_| BadSignature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use p256::ecdsa::SigningKey;
    use p256::ecdsa::signature::Signer as _;

    fn signed(text: &str) -> (PublicKeyBytes, [u8; 64]) {
        let key = SigningKey::from_slice(&[7; 32]).unwrap();
        let signature: Signature = key.sign(text.as_bytes());
        let point = key.verifying_key().to_sec1_point(false);
        (point.as_bytes().try_into().unwrap(), signature.to_bytes().into())
    }

    #[test]
    fn only_this_text_by_this_key_fits() {
        let (key, signature) = signed("text");
        assert_eq!(check_signature(&key, "text", &signature), Ok(()));
        assert_eq!(check_signature(&key, "text ", &signature), Err(BadSignature));
        for byte in 0..65 {
            let mut other = key;
            other[byte] ^= 1;
            assert_eq!(
                check_signature(&other, "text", &signature),
                Err(BadSignature),
                "byte {byte} of the key"
            );
        }
        for byte in 0..64 {
            let mut other = signature;
            other[byte] ^= 1;
            assert_eq!(check_signature(&key, "text", &other), Err(BadSignature), "byte {byte}");
        }
    }

    #[test]
    fn numbers_that_fit_everything_fit_nothing() {
        let (key, signature) = signed("text");
        for (r, s) in [(true, false), (false, true), (true, true)] {
            let mut zeros = signature;
            if r {
                zeros[..32].fill(0);
            }
            if s {
                zeros[32..].fill(0);
            }
            assert_eq!(check_signature(&key, "text", &zeros), Err(BadSignature));
        }
        assert_eq!(check_signature(&key, "text", &[0xff; 64]), Err(BadSignature));
        let (mut infinity, mut compressed) = ([0; 65], key);
        assert_eq!(check_signature(&infinity, "text", &signature), Err(BadSignature));
        infinity[0] = 4;
        assert_eq!(check_signature(&infinity, "text", &signature), Err(BadSignature));
        compressed[0] = 2;
        assert_eq!(check_signature(&compressed, "text", &signature), Err(BadSignature));
    }

    /// WebCrypto makes either of the two values of `s` that fit.
    #[test]
    fn a_high_s_fits() {
        let (key, signature) = signed("text");
        let signature = Signature::from_slice(&signature).unwrap();
        let (r, s) = signature.split_scalars();
        let high = Signature::from_scalars(r.to_bytes(), (-*s).to_bytes()).unwrap();
        assert_ne!(high, signature);
        assert_eq!(check_signature(&key, "text", &high.to_bytes().into()), Ok(()));
    }
}
