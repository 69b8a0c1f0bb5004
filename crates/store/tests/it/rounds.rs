//! What was signed about all journals together: none of them can go with everything that speaks of it.

use std::sync::Arc;
use std::time::Duration;

use holdstead_store::{AuditKey, Heads, Kept, RoundFault};

use crate::audit::journal_of_seven;
use crate::checkpoints::{Office, sign};
use crate::commands::{message, open};
use crate::fixture::Fixture;

async fn faults(fixture: &Fixture, office: &Office) -> Vec<RoundFault> {
    fixture.journal().audit_rounds(&office.keys()).await.expect("a report").faults
}

fn logged(office: &Office) -> Vec<u64> {
    let round = |line: &Kept| match line {
        Kept::Round(round) => Some(round.round),
        Kept::Checkpoint(_) => None,
    };
    office.lines().iter().filter_map(round).collect()
}

pub(crate) async fn a_session_cannot_go_with_its_checkpoints(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    journal_of_seven(fixture).await;
    sign(journal).await;
    journal_of_seven(fixture).await;
    sign(journal).await;
    sign(journal).await;
    let report = journal.audit_rounds(&office.keys()).await.expect("a report");
    assert_eq!((report.rounds.len(), report.faults), (2, Vec::new()), "nothing new is no round");
    assert_eq!(logged(&office), [1, 2]);

    let second = "SELECT session_id FROM checkpoints WHERE round = 2";
    for table in ["events", "asks"] {
        let sql = format!("DELETE FROM {table} WHERE session_id IN ({second})");
        fixture.run(&sql, &sql).await;
    }
    let sql = format!("DELETE FROM sessions WHERE id IN ({second})");
    fixture.run(&sql, &sql).await;
    let sql = "DELETE FROM checkpoints WHERE round = 2";
    fixture.run(sql, sql).await;
    let gone = RoundFault::Checkpoints { number: 2, signed: 1, found: 0 };
    assert_eq!(faults(fixture, &office).await, [gone]);
    let sql = "UPDATE checkpoints SET round = 2";
    fixture.run(sql, sql).await;
    assert_eq!(faults(fixture, &office).await.len(), 2, "another one in its place is found, too");
}

pub(crate) async fn a_tampered_round_is_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    for _ in 0..3 {
        journal_of_seven(fixture).await;
        sign(journal).await;
    }
    let stranger = AuditKey::generate().public();
    let unknown = journal.audit_rounds(&[stranger]).await.expect("a report").faults;
    let key = office.keys()[0];
    assert_eq!(unknown, [1, 2, 3].map(|number| RoundFault::UnknownKey { number, key }));
    let sql = "UPDATE rounds SET count = 2 WHERE number = 3";
    fixture.run(sql, sql).await;
    assert!(faults(fixture, &office).await.contains(&RoundFault::Changed { number: 3 }));
    let sql = "UPDATE rounds SET count = 1";
    fixture.run(sql, sql).await;
    assert_eq!(faults(fixture, &office).await, []);
    let sql = "DELETE FROM rounds WHERE number = 2";
    fixture.run(sql, sql).await;
    assert_eq!(faults(fixture, &office).await, [RoundFault::Missing { number: 2 }]);
}

pub(crate) async fn a_killed_notary_completes_its_file_by_one_round(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    for _ in 0..3 {
        journal_of_seven(fixture).await;
        sign(journal).await;
    }
    let whole = std::fs::read_to_string(office.log()).expect("the file");
    let cut = |lines: usize| {
        let count = whole.lines().count();
        whole.lines().take(count - lines).map(|line| format!("{line}\n")).collect::<String>()
    };
    std::fs::write(office.log(), cut(1)).expect("written");
    journal.checkpoint(Heads::All).await.expect("looked at");
    assert_eq!(logged(&office), [1, 2, 3], "it may have been killed before it could write it");
    std::fs::write(office.log(), cut(3)).expect("written");
    journal.checkpoint(Heads::All).await.expect("looked at");
    assert_eq!(logged(&office), [1], "no kill loses more than one: somebody else did");
}

#[tokio::test]
async fn rounds_of_another_node_are_in_its_own_file() {
    let fixture = Fixture::postgres().await;
    let (journal, other) = (&**fixture.journal(), fixture.second().await);
    let (here, there) = (Office::new(journal), Office::new(&*other));
    for signer in [journal, &*other, &*other, journal] {
        let (session, _) = journal_of_seven(&fixture).await;
        signer.append(session, message("more")).await.expect("said");
        signer.checkpoint(Heads::All).await.expect("signed");
    }
    assert_eq!((logged(&here), logged(&there)), (vec![1, 4], vec![2, 3]));
    let whole = std::fs::read_to_string(here.log()).expect("the file");
    let (cut, _) = whole.trim_end().rsplit_once('\n').expect("several lines");
    std::fs::write(here.log(), format!("{cut}\n")).expect("written");
    journal.checkpoint(Heads::All).await.expect("looked at");
    other.checkpoint(Heads::All).await.expect("looked at");
    assert_eq!((logged(&here), logged(&there)), (vec![1, 4], vec![2, 3]), "each completes its own");
    let keys = [here.keys(), there.keys()].concat();
    assert_eq!(journal.audit_rounds(&keys).await.expect("a report").faults, []);
    other.close().await;
    fixture.end().await;
}

pub(crate) async fn nodes_that_sign_at_once_list_each_checkpoint_once(fixture: &Fixture) {
    let (journal, other) = (fixture.journal(), fixture.second().await);
    let office = Office::new(&**journal);
    let folder = tempfile::TempDir::new().expect("a folder");
    office.signs_elsewhere_for(&*other, folder.path());
    let mut sessions = Vec::new();
    for name in ["a", "b", "c", "d"] {
        sessions.push(open(&**journal, name).await);
    }
    for round in 0..100 {
        for session in &sessions {
            journal.append(*session, message(&round.to_string())).await.expect("said");
        }
        // The second begins anywhere in what the first does.
        let late = Duration::from_micros(round % 25 * 400);
        let signing = [(journal, Duration::ZERO), (&other, late)].map(|(journal, late)| {
            let journal = Arc::clone(journal);
            tokio::spawn(async move {
                tokio::time::sleep(late).await;
                journal.checkpoint(Heads::Changed).await
            })
        });
        for signed in signing {
            signed.await.expect("it ends").expect("signed");
        }
    }
    assert_eq!(faults(fixture, &office).await, []);
}

pub(crate) async fn many_checkpoints_are_several_rounds(fixture: &Fixture) {
    let journal = &**fixture.journal();
    // Signed before there were rounds, by whoever signed then.
    let office = Office::new(journal);
    let (session, _) = journal_of_seven(fixture).await;
    sign(journal).await;
    for sql in ["DELETE FROM rounds", "UPDATE checkpoints SET round = NULL"] {
        fixture.run(sql, sql).await;
    }
    let copy = |ids: &str| {
        format!(
            "INSERT INTO checkpoints (session_id, number, seq, hash, at, previous, key, signature) \
             SELECT session_id, n, seq, hash, at, previous, key, signature FROM checkpoints, ({ids}) AS numbers"
        )
    };
    let sqlite = copy(
        "WITH RECURSIVE c(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM c WHERE n < 1500) SELECT n FROM c",
    );
    fixture.run(&sqlite, &copy("SELECT generate_series(2, 1500) AS n")).await;
    journal.checkpoint(Heads::All).await.expect("signed");
    let report = journal.audit_rounds(&office.keys()).await.expect("a report");
    assert_eq!((report.rounds.len(), report.faults), (2, Vec::new()));
    // They were no more than a crowd: none of them holds.
    assert!(!office.audit(fixture, session).await.is_sound());
}
