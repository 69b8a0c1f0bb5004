//! A file is copied while it is written to, whole or not at all.

use std::path::Path;

use holdstead_store::{BackupError, Journal, SqliteJournal, backup};
use tempfile::TempDir;

use crate::commands::{ask, message, open, question};

fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_has_all_that_was_written_before_it_and_can_be_gone_on_with() {
    let folder = TempDir::new().expect("a folder");
    let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let journal = SqliteJournal::open(&url(&from)).await.expect("a journal");
    let session = open(&journal, "one").await;
    let request = question(session, "one");
    journal.append(session, ask(&request)).await.expect("asked");
    let bytes = backup(&url(&from), &to).await.expect("a copy");
    let found = std::fs::metadata(&to).expect("the copy");
    assert_eq!(found.len(), bytes);
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777, 0o600);
    let copy = SqliteJournal::open(&url(&to)).await.expect("the copy opens");
    assert_eq!(copy.ask(request.interaction_id).await.expect("a look").expect("the ask").request, request);
    for one in [&journal, &copy] {
        one.append(session, message("go on")).await.expect("written");
        assert_eq!(one.verify(session).await.expect("a report").fault, None);
        one.close().await;
    }
}

#[tokio::test]
async fn a_copy_overwrites_nothing() {
    let folder = TempDir::new().expect("a folder");
    let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let journal = SqliteJournal::open(&url(&from)).await.expect("a journal");
    for (there, name) in [("b.db", "b.db"), ("c.db.partial", "c.db"), ("a.db", "a.db")] {
        let there = folder.path().join(there);
        if !there.exists() {
            std::fs::write(&there, "precious").expect("written");
        }
        let before = std::fs::read(&there).expect("it is there");
        let refused = backup(&url(&from), &folder.path().join(name)).await.expect_err("it is refused");
        assert!(matches!(refused, BackupError::Exists { .. } | BackupError::Unfinished { .. }), "{refused}");
        assert!(std::fs::read(&there).expect("it is there") == before, "{}", there.display());
    }
    journal.close().await;
    let gone = backup(&url(&folder.path().join("gone.db")), &to).await.expect_err("there is none");
    assert!(matches!(gone, BackupError::Store(_)), "{gone}");
    assert!(!folder.path().join("gone.db").exists(), "nothing was made");
    let postgres = backup("postgres://nobody@nowhere/none", &to).await.expect_err("it is no file");
    assert!(matches!(postgres, BackupError::NotAFile), "{postgres}");
}

#[tokio::test]
async fn what_cannot_be_read_leaves_no_copy() {
    let folder = TempDir::new().expect("a folder");
    let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
    std::fs::write(&from, [7; 4096]).expect("written");
    backup(&url(&from), &to).await.expect_err("this is no database");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}
