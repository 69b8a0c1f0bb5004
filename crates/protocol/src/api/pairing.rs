//! A phone's way in: where other machines reach the gateway, and a link that a camera reads.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Timestamp;

/// Where other machines reach the gateway, and where they could. All addresses are in private networks; the likeliest
/// come first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// The gateway listens there.
    pub open: Vec<String>,
    /// Addresses of the gateway's machine at which it does not listen.
    pub closed: Vec<String>,
}

/// Let a private network reach the gateway until it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenNetwork {
    /// One of those that are closed.
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewPairing {
    /// Where the phone reaches the gateway: one of those that are open, or a name of `allowed_hosts`, as
    /// `https://holdstead.example`.
    pub url: String,
}

/// A link that logs one browser of yours in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pairing {
    /// The whole address. Its secret is behind the `#`, which browsers send to nobody.
    pub link: String,
    pub expires_at: Timestamp,
    /// The same as a QR code: one string for each row, `1` where it is dark. The margin of 4 light ones around it is left
    /// to whoever draws it.
    pub qr: Vec<String>,
}
