//! Whether a whole session went: the rounds in the database against those in the file beside it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use holdstead_store::{Journal, Kept, PublicKey, Round, RoundsReport, read_log};
use tokio::time::sleep;

use crate::failure::Failure;

/// A running gateway writes a round to the database first, and to its file a moment later.
const MOMENT: Duration = Duration::from_secs(2);

/// How many rounds there are, and what is wrong with them.
pub(super) async fn verify(
    journal: &dyn Journal,
    keys: &[PublicKey],
    logs: &[PathBuf],
) -> Result<(usize, Vec<String>), Failure> {
    let RoundsReport { rounds, faults } = journal.audit_rounds(keys).await?;
    let mut found: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let there: BTreeMap<u64, [u8; 32]> = rounds.iter().copied().collect();
    let mut kept = kept_rounds(logs)?;
    if rounds.last().is_some_and(|(last, _)| !kept.contains_key(last)) {
        sleep(MOMENT).await;
        kept = kept_rounds(logs)?;
    }
    found.extend(lacking(&rounds, &kept));
    for (number, round) in &kept {
        let taken = match there.get(number) {
            Some(digest) => *digest != round.digest(),
            // Signed since the rounds were read, or taken away.
            None => journal.round(*number).await?.as_ref() != Some(round),
        };
        if taken && round.is_signed() && keys.contains(&round.key) {
            found.push(format!(
                "round {number} of checkpoints.log was taken from the database, or changed there"
            ));
        } else if taken {
            found.push(format!("round {number} of checkpoints.log was not signed by a key you trust"));
        }
    }
    Ok((rounds.len(), found))
}

/// What the database has and the file has not, in one sentence however much it is.
fn lacking(rounds: &[(u64, [u8; 32])], kept: &BTreeMap<u64, Round>) -> Option<String> {
    let lacking: Vec<u64> =
        rounds.iter().map(|(number, _)| *number).filter(|n| !kept.contains_key(n)).collect();
    let (first, last) = (lacking.first()?, lacking.last()?);
    Some(format!(
        "checkpoints.log lacks {} of the {} rounds that were signed (from {first} to {last}): it was shortened or \
         lost. If the gateway moved, bring the file along; if several gateways share the database, name the others' files \
         with --log",
        lacking.len(),
        rounds.len(),
    ))
}

fn kept_rounds(logs: &[PathBuf]) -> Result<BTreeMap<u64, Round>, Failure> {
    let mut rounds = BTreeMap::new();
    for log in logs {
        rounds.extend(read_log(log)?.filter_map(|(_, line)| match line {
            Ok(Kept::Round(round)) => Some((round.round, round)),
            // Checkpoints and lines that cannot be read are looked at elsewhere.
            Ok(Kept::Checkpoint(_)) | Err(_) => None,
        }));
    }
    Ok(rounds)
}
