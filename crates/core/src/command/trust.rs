//! A person trusts a folder's own files, as they are; or takes that back.

use holdstead_protocol::{EventBody, Trust, TrustAdded, TrustId, TrustRevoked};

use super::still_open;
use crate::{Head, Rejection};

pub(crate) fn decide(head: &Head, trust: &Trust) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    // Its id is made of what is trusted: saving it again is saving it once.
    if head.trusts.contains_key(&trust.trust_id) {
        return Ok(Vec::new());
    }
    Ok(vec![EventBody::TrustAdded(TrustAdded { trust: trust.clone() })])
}

pub(crate) fn revoke(head: &Head, trust_id: TrustId, name: &str) -> Result<Vec<EventBody>, Rejection> {
    if !head.trusts.contains_key(&trust_id) {
        return Err(Rejection::UnknownTrust);
    }
    Ok(vec![EventBody::TrustRevoked(TrustRevoked { trust_id, name: name.to_owned() })])
}
