//! A person trusts a folder's own files, as they are; or takes that back.

use holdstead_protocol::{EventBody, Trust, TrustAdded, TrustId, TrustRevoked};

use super::still_open;
use crate::{Rejection, Session};

pub(crate) fn decide(session: &Session, trust: &Trust) -> Result<Vec<EventBody>, Rejection> {
    still_open(session)?;
    // Its id is made of what is trusted: saving it again is saving it once.
    if session.trusts.contains_key(&trust.trust_id) {
        return Ok(Vec::new());
    }
    Ok(vec![EventBody::TrustAdded(TrustAdded { trust: trust.clone() })])
}

pub(crate) fn revoke(session: &Session, trust_id: TrustId, name: &str) -> Result<Vec<EventBody>, Rejection> {
    if !session.trusts.contains_key(&trust_id) {
        return Err(Rejection::UnknownTrust);
    }
    Ok(vec![EventBody::TrustRevoked(TrustRevoked { trust_id, name: name.to_owned() })])
}
