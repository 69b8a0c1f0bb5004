//! A person takes a remembered approval back: the next match asks.

use holdstead_protocol::{EventBody, GrantId, GrantRevoked, RevokedWhy};

use crate::{Head, Rejection};

pub(crate) fn decide(head: &Head, grant_id: GrantId, name: &str) -> Result<Vec<EventBody>, Rejection> {
    if !head.grants.contains_key(&grant_id) {
        return Err(Rejection::UnknownGrant);
    }
    Ok(vec![EventBody::GrantRevoked(GrantRevoked {
        grant_id,
        why: RevokedWhy::Revoked { name: name.to_owned() },
    })])
}
