//! Races for the gateway's files through the preview of an edit (N1).

use super::Attempts;
use crate::Result;

pub(super) async fn play(_attempts: &mut Attempts) -> Result<()> {
    Ok(())
}
