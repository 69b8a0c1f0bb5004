//! What an agent of root reaches of the kernel (N16).

use super::Attempts;
use crate::Result;

pub(super) async fn play(_attempts: &mut Attempts) -> Result<()> {
    Ok(())
}
