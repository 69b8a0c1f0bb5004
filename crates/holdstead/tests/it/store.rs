//! Commands work with the gateway's own store, whatever the settings say, and make none.

use serde_json::json;
use tempfile::TempDir;

use crate::cli::{Gateway, approval, holdstead, text};

#[test]
fn commands_use_the_store_that_the_gateway_was_started_with() {
    // Named from the folder it was started in; the commands run in another.
    let mut gateway = Gateway::start_with(&["--store", "sqlite:elsewhere.db"]);
    let dir = gateway.folder();
    let asked = gateway.asked("k", approval());
    assert_eq!(asked["state"], "open", "the token is good for this gateway: {asked}");

    let verified = gateway.json(&["audit", "verify"]);
    assert!(verified["sessions"].as_u64().is_some_and(|sessions| sessions > 0), "{verified}");
    let store = format!("sqlite:{}", dir.join("elsewhere.db").display());
    assert_eq!(verified["store"], json!(store));
    let checks = gateway.json(&["doctor"]);
    let storage = checks[1]["words"].as_str().expect("words");
    assert!(storage.starts_with(&format!("{store}: chain verified")), "{checks}");
    assert!(!dir.join("holdstead.db").exists(), "the settings' own store was made by a command");

    gateway.kill();
    let after = gateway.run(&["audit", "verify"]);
    assert!(text(&after.stdout).contains(&store), "{}", text(&after.stdout));
    assert!(text(&after.stderr).contains("the settings name another store"), "{}", text(&after.stderr));
    assert!(!dir.join("holdstead.db").exists());
}

#[cfg(unix)]
#[test]
fn where_the_store_is_written_down_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let gateway = Gateway::start();
    let mode =
        std::fs::metadata(gateway.folder().join("gateway.json")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn no_command_makes_a_store() {
    let dir = TempDir::new().expect("a folder");
    for args in [
        vec!["token", "--role", "agent", "--name", "ci"],
        vec!["audit", "verify"],
        vec!["audit", "export"],
        vec!["audit", "checkpoint"],
        vec!["doctor"],
    ] {
        let output = holdstead(dir.path()).args(&args).output().expect("it runs");
        if args != ["doctor"] {
            assert_eq!(output.status.code(), Some(1), "{args:?}");
            let words = text(&output.stderr);
            assert!(words.contains("there is no journal at") && words.contains("holdstead serve"), "{words}");
        }
        let left: Vec<_> = std::fs::read_dir(dir.path()).expect("a folder").collect();
        assert!(left.is_empty(), "{args:?} left {left:?}");
    }
}
