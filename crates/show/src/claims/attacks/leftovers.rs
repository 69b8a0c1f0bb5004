//! Processes that an agent leaves behind, to act when its gateway is gone.

use super::Attempts;
use crate::Result;

pub(super) async fn play(_attempts: &mut Attempts) -> Result<()> {
    Ok(())
}
