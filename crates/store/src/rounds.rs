//! Signs rounds, and checks them.

use std::sync::Arc;

use crate::db::{Db, Param, Row, Snapshot};
use crate::notary::{Kept, Notary, read_log};
use crate::round::{Round, list};
use crate::{PublicKey, RoundFault, RoundsReport, StoreError, decode, sql};

/// How many checkpoints a round lists at most.
const MOST: i64 = 1_000;
/// How many rounds are read at a time.
const PAGE: i64 = 500;

/// Lists every checkpoint that no round lists yet. What was signed before is in the notary's file by now, so that of all
/// rounds only the last can be missing there.
pub(crate) async fn sign(db: &dyn Db, notary: &Arc<Notary>) -> Result<(), StoreError> {
    while !db.query(sql::IN_NO_ROUND, vec![Param::Int(1)]).await?.is_empty() {
        let now = db.now().await?;
        let mut transaction = db.begin(None).await?;
        // First: another node may sign a round at any moment, and then either its number is taken or it has what it listed.
        let last = last(&mut *transaction).await?;
        let rows = transaction.query(sql::IN_NO_ROUND, vec![Param::Int(MOST)]).await?;
        if rows.is_empty() {
            return Ok(());
        }
        let checkpoints = rows.iter().map(decode::checkpoint).collect::<Result<Vec<_>, _>>()?;
        let round = Round::sign(&notary.key, &checkpoints, last.as_ref(), now);
        if !add(&mut *transaction, &round).await? {
            // Another node has this number; it may have listed these.
            continue;
        }
        for checkpoint in &checkpoints {
            let place = vec![
                Param::Id(checkpoint.session.uuid()),
                Param::Int(decode::count(checkpoint.number)),
                Param::Int(decode::count(round.round)),
            ];
            transaction.query(sql::SET_ROUND, place).await?;
        }
        transaction.commit().await?;
        notary.log(vec![Kept::Round(round)]).await?;
    }
    Ok(())
}

/// A gateway that was killed may have signed a round and not written it to its file yet. Nothing else is ever written
/// there afterwards: that somebody shortened the file must be found out.
pub(crate) async fn complete_log(db: &dyn Db, notary: &Arc<Notary>) -> Result<(), StoreError> {
    let (path, key) = (notary.path().to_owned(), notary.key.public());
    // Other nodes have keys and files of their own.
    let logged = tokio::task::spawn_blocking(move || {
        let rounds = read_log(&path)?.filter_map(|(_, line)| match line {
            Ok(Kept::Round(round)) => (round.key == key).then_some(round.round),
            Ok(Kept::Checkpoint(_)) | Err(_) => None,
        });
        Ok::<_, StoreError>(rounds.max().unwrap_or_default())
    });
    let logged = logged.await.map_err(|error| StoreError::corrupt(error.to_string()))??;
    let after = vec![Param::Bytes(key.0.to_vec()), Param::Int(decode::count(logged))];
    match db.query(sql::TWO_ROUNDS_OF_KEY, after).await?.as_slice() {
        [] => Ok(()),
        [last] => notary.log(vec![Kept::Round(round(last)?)]).await,
        [..] => {
            tracing::error!(
                logged,
                "checkpoints.log lacks rounds that were signed. Run `holdstead audit verify`"
            );
            Ok(())
        }
    }
}

async fn last(snapshot: &mut dyn Snapshot) -> Result<Option<Round>, StoreError> {
    snapshot.query(sql::LAST_ROUND, Vec::new()).await?.first().map(round).transpose()
}

/// `false` if another node has taken its place meanwhile.
async fn add(transaction: &mut dyn Snapshot, round: &Round) -> Result<bool, StoreError> {
    let params = vec![
        Param::Int(decode::count(round.round)),
        Param::Int(round.at.micros()),
        Param::Int(decode::count(round.count)),
        Param::Bytes(round.list.to_vec()),
        Param::Bytes(round.previous.to_vec()),
        Param::Bytes(round.key.0.to_vec()),
        Param::Bytes(round.signature.to_vec()),
    ];
    Ok(!transaction.query(sql::ADD_ROUND, params).await?.is_empty())
}

/// The round of this number.
pub(crate) async fn find(db: &dyn Db, number: u64) -> Result<Option<Round>, StoreError> {
    let rows = db.query(sql::ROUNDS, vec![Param::Int(decode::count(number) - 1), Param::Int(1)]).await?;
    let found = rows.first().map(round).transpose()?;
    Ok(found.filter(|round| round.round == number))
}

/// Every round against the one before it, its signature and its checkpoints.
pub(crate) async fn verify(
    snapshot: &mut dyn Snapshot,
    keys: &[PublicKey],
) -> Result<RoundsReport, StoreError> {
    let mut report = RoundsReport::default();
    let mut previous = crate::chain::START;
    let mut after = 0;
    loop {
        let rows = snapshot.query(sql::ROUNDS, vec![Param::Int(after), Param::Int(PAGE)]).await?;
        let Some(last) = rows.last() else { return Ok(report) };
        after = last.int("number")?;
        for row in &rows {
            let round = round(row)?;
            let number = report.rounds.last().map_or(0, |(number, _)| *number) + 1;
            if round.round != number {
                report.faults.push(RoundFault::Missing { number });
            } else if !round.is_signed() || round.previous != previous {
                report.faults.push(RoundFault::Changed { number });
            } else if !keys.contains(&round.key) {
                report.faults.push(RoundFault::UnknownKey { number, key: round.key });
            }
            report.faults.extend(checkpoints(snapshot, &round).await?);
            previous = round.digest();
            report.rounds.push((round.round, previous));
        }
    }
}

/// Whether the checkpoints that a round lists are there, as they were.
async fn checkpoints(snapshot: &mut dyn Snapshot, round: &Round) -> Result<Option<RoundFault>, StoreError> {
    let number = round.round;
    // One more than there may be says enough.
    let most = Param::Int(decode::count(round.count).clamp(0, MOST) + 1);
    let rows = snapshot.query(sql::IN_ROUND, vec![Param::Int(decode::count(number)), most]).await?;
    let found = rows.len() as u64;
    let checkpoints = rows.iter().map(decode::checkpoint).collect::<Result<Vec<_>, _>>();
    let same = checkpoints.is_ok_and(|checkpoints| list(&checkpoints) == round.list);
    Ok((!same).then_some(RoundFault::Checkpoints { number, signed: round.count, found }))
}

fn round(row: &Row) -> Result<Round, StoreError> {
    let count = |column| row.int(column).map(|count| u64::try_from(count).unwrap_or_default());
    Ok(Round {
        round: count("number")?,
        at: decode::moment(row, "at")?,
        count: count("count")?,
        list: decode::hash(row, "list")?,
        previous: decode::hash(row, "previous")?,
        key: PublicKey(decode::hash(row, "key")?),
        // A wrong length fails verification later, so it needs no check here.
        signature: row.bytes("signature")?.try_into().unwrap_or([0; 64]),
    })
}
