//! A database file is its owner's alone, wherever it lies.

#[cfg(unix)]
#[tokio::test]
async fn a_new_database_can_be_read_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::TempDir::new().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let url = format!("sqlite:{}", folder.path().join("journal.db").display());
    let journal = holdstead_store::open(&url).await.expect("a database");
    let claim = journal.claim().await.expect("nobody else hosts it");
    let modes: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("a file"))
        .map(|file| (file.file_name(), file.metadata().expect("its mode").permissions().mode() & 0o777))
        .collect();
    assert!(modes.len() >= 2, "{modes:?}");
    assert!(modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
    drop(claim);
    journal.close().await;
}
