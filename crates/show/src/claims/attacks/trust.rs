//! Files that run in a trusted folder without being a part of what was trusted (N5, N6).

use super::Attempts;
use crate::Result;

pub(super) async fn play(_attempts: &mut Attempts) -> Result<()> {
    Ok(())
}
