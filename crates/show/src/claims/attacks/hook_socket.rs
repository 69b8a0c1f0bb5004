//! Attacks on the socket where hooks of terminals report (N2, N2b).

use super::Attempts;
use crate::Result;

pub(super) async fn play(_attempts: &mut Attempts) -> Result<()> {
    Ok(())
}
