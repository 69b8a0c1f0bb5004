//! The audit as a person in a terminal meets it.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::{Gateway, holdstead, text};

fn run(dir: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = holdstead(dir).arg("audit").args(args).output().expect("it runs");
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn an_export_is_verified_without_the_gateway_and_a_changed_one_is_not() {
    let gateway = Gateway::start();
    let dir = gateway.folder();
    gateway.ask("k1", json!({"kind": "approval", "input": {"command": "make release"}}));
    let (code, words) = run(&dir, &["checkpoint"]);
    assert_eq!(code, Some(0), "{words}");
    let (code, words) = run(&dir, &["verify"]);
    assert_eq!(code, Some(0), "{words}");
    assert!(words.contains("Every event is signed."), "{words}");

    let (_, key) = run(&dir, &["key"]);
    let (code, exported) = run(&dir, &["export"]);
    assert_eq!(code, Some(0), "{exported}");
    let file = dir.join("export.jsonl");
    // Somebody else, with nothing but the file and the key.
    let elsewhere = tempfile::TempDir::new().expect("a folder");
    let verify = |lines: &str| {
        std::fs::write(&file, lines).expect("written");
        run(elsewhere.path(), &["verify", "--key", key.trim(), "--file", &file.to_string_lossy()])
    };
    assert_eq!(verify(&exported).0, Some(0));
    let (code, words) = verify(&exported.replace("make release", "make nothing"));
    assert_eq!(code, Some(1), "{words}");
    let first: Value = serde_json::from_str(exported.lines().next().expect("a line")).expect("JSON");
    let session = first["session"].as_str().expect("a session");
    assert!(words.contains(&format!("✕ {session}: event 2 was changed")), "{words}");

    let (code, words) = run(&dir, &["erase", session]);
    assert_eq!(code, Some(1));
    assert!(words.contains("Nothing was erased: this session has not ended: end it first."), "{words}");
}

#[test]
fn no_timeout_that_a_program_sends_makes_the_audit_fail() {
    let gateway = Gateway::start();
    for after in [1_000_000_000_000_000, 1_u64 << 63, u64::MAX] {
        let ask = json!({"kind": "approval", "input": {}, "timeoutMs": after});
        let refused = gateway.asked(&format!("k{after}"), ask);
        assert_eq!(refused["code"], "invalid", "{refused}");
        assert!(refused.to_string().contains("31622400000 (366 days)"), "{refused}");
    }
    gateway.ask("longest", json!({"kind": "approval", "input": {}, "timeoutMs": 31_622_400_000_u64}));
    let (code, words) = run(&gateway.folder(), &["verify"]);
    assert_eq!(code, Some(0), "{words}");
}

#[cfg(unix)]
#[test]
fn the_key_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let gateway = Gateway::start();
    let key = gateway.folder().join("audit.key");
    assert_eq!(std::fs::metadata(&key).expect("a key").permissions().mode() & 0o777, 0o600);
    let (_, public) = run(&gateway.folder(), &["key"]);
    let secret = std::fs::read_to_string(&key).expect("a key");
    assert!(!secret.contains(public.trim()));
}
