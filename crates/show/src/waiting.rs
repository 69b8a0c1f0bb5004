//! Waiting until something is so.

use std::time::Duration;

use tokio::time::sleep;

use crate::Result;

const PAUSE: Duration = Duration::from_millis(25);
/// How often it looks before it gives up: a minute.
const LOOKS: u32 = 2_400;

/// Looks again and again until there is what is looked for.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    for _ in 0..LOOKS {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        sleep(PAUSE).await;
    }
    Err(format!("waited in vain: {what}").into())
}
