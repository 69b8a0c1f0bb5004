//! Programs that take the gateway's port and wait for the terminal's token (N12).

use super::Attempts;
use crate::Result;

pub(super) async fn play(_attempts: &mut Attempts) -> Result<()> {
    Ok(())
}
