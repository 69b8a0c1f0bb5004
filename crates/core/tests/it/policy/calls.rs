//! Calls of any tool, and the facts that decide with the rules.

use holdstead_core::policy::programs::Spelling;
use holdstead_core::policy::rule::Effect;
use holdstead_core::policy::shell::Shell;
use holdstead_core::policy::{
    Asked, Call, Facts, Found, Lookup, Meaning, NO_VARIABLES, Place, Places, Subject, Trust, decide,
};
use holdstead_protocol::PermissionMode;
use serde_json::json;

use super::{FOLDER, decided, rules};

#[test]
fn files_addresses_and_servers() {
    let text = "allow Edit(src/**)\nallow Read\ndeny Read(**/*.pem)\nallow WebFetch(domain:docs.rs)\nask WebFetch(domain:private.docs.rs)\nallow mcp__github__*\ndeny mcp__github__delete\nallow WebSearch";
    let rules = rules(text);
    let edits = Subject::Edits { field: "file_path" };
    let reads = Subject::Reads { field: "path" };
    let fetches = Subject::Fetches { field: "url" };
    let cases = [
        ("Edit", edits, json!({"file_path": "/project/src/a.rs", "new_string": "x"}), Effect::Allow),
        ("Write", edits, json!({"file_path": "src/a.rs"}), Effect::Allow),
        ("Edit", edits, json!({"file_path": "/project/docs/a.md"}), Effect::Ask),
        ("Edit", edits, json!({"file_path": "/project/src/../docs/a.md"}), Effect::Ask),
        ("Edit", edits, json!({"file_path": "/project/src/.git/config"}), Effect::Ask),
        ("Edit", edits, json!({"file_path": "/etc/passwd"}), Effect::Ask),
        ("Edit", edits, json!({"file_path": "src/a\u{202e}.rs"}), Effect::Ask),
        ("Edit", edits, json!({"file_path": "src/a.rs", "as_root": true}), Effect::Ask),
        ("Edit", edits, json!({"new_string": "x"}), Effect::Ask),
        ("Edit", edits, json!({"file_path": ["src/a.rs"]}), Effect::Ask),
        ("Edit", edits, json!("src/a.rs"), Effect::Ask),
        ("Read", reads, json!({"path": "a"}), Effect::Allow),
        ("Grep", reads, json!({}), Effect::Allow),
        ("Read", reads, json!({"path": "key.PEM"}), Effect::Deny),
        ("Read", reads, json!({"path": "/etc/key.pem"}), Effect::Ask),
        ("WebFetch", fetches, json!({"url": "https://docs.rs/serde"}), Effect::Allow),
        ("fetch_page", fetches, json!({"url": "https://docs.rs/serde"}), Effect::Allow),
        ("WebFetch", fetches, json!({"url": "https://docs.rs.evil.org"}), Effect::Ask),
        ("WebFetch", fetches, json!({"url": "https://a.docs.rs"}), Effect::Ask),
        ("WebFetch", fetches, json!({"url": "https://docs.rs@evil.org"}), Effect::Ask),
        ("WebFetch", fetches, json!({"url": "https://x.private.docs.rs"}), Effect::Ask),
        ("mcp__github__get", Subject::Whole, json!({}), Effect::Allow),
        ("mcp__github__delete", Subject::Whole, json!({}), Effect::Deny),
        ("mcp__github__x__get", Subject::Whole, json!({}), Effect::Ask),
        ("mcp__githubx__get", Subject::Whole, json!({}), Effect::Ask),
        ("mcp__github__", Subject::Whole, json!({}), Effect::Ask),
        ("WebSearch", Subject::Whole, json!({"query": "x"}), Effect::Allow),
        ("SomethingNew", Subject::Whole, json!({}), Effect::Ask),
    ];
    for (tool, subject, input, expected) in cases {
        let call = Call { tool, input: &input, meaning: Meaning { subject, harmless: &["new_string"] } };
        let verdict = decided(&call, &rules, Trust::Trusted);
        assert_eq!(verdict.effect, expected, "{tool} {input}: {:?}", verdict.reason);
    }
}

#[test]
fn a_field_that_nobody_knows_asks() {
    let rules = rules("allow Bash(ls:*)\ndeny Bash(rm:*)");
    let meaning = Meaning {
        subject: Subject::Shell { field: "command", shell: Shell::Bash },
        harmless: &["description", "timeout"],
    };
    for (input, expected) in [
        (json!({"command": "ls", "timeout": 5}), Effect::Allow),
        (json!({"command": "ls", "dangerouslyDisableSandbox": true}), Effect::Ask),
        (json!({"command": "rm x", "dangerouslyDisableSandbox": true}), Effect::Deny),
        (json!({"command": 5}), Effect::Ask),
        (json!({}), Effect::Ask),
        (json!([]), Effect::Ask),
    ] {
        let call = Call { tool: "Bash", input: &input, meaning };
        assert_eq!(decided(&call, &rules, Trust::Trusted).effect, expected, "{input}");
    }
    let input = json!({"command": "ls"});
    let other = Meaning { subject: Subject::Shell { field: "command", shell: Shell::Other }, harmless: &[] };
    assert_eq!(
        decided(&Call { tool: "fish", input: &input, meaning: other }, &rules, Trust::Trusted).effect,
        Effect::Ask
    );
}

#[test]
fn conditions_hold_for_the_session() {
    let input = json!({});
    let call = Call { tool: "T", input: &input, meaning: Meaning { subject: Subject::Whole, harmless: &[] } };
    let places = Places::default();
    let base = Facts {
        agent: "claude-code",
        mode: PermissionMode::Plan,
        depth: Some(1),
        folder: "/people/u/code/shop",
        cwd: None,
        home: Some("/people/u"),
        trust: Trust::Untrusted,
        runs: &[],
        places: &places,
        variables: &NO_VARIABLES,
    };
    let holds = |when: &str, facts: &Facts<'_>| {
        let allowed = decide(&call, &rules(&format!("allow T when {when}")), facts).effect == Effect::Allow;
        let denied = decide(&call, &rules(&format!("deny T when {when}")), facts).effect == Effect::Deny;
        (allowed, denied)
    };
    for (when, expected) in [
        ("agent claude-code", true),
        ("agent not claude-code", false),
        ("mode plan", true),
        ("mode not plan", false),
        ("mode plan and agent other", false),
        ("depth 1", true),
        ("depth >= 1 and depth <= 1", true),
        ("depth >= 2", false),
        ("folder ~/code/shop", true),
        ("folder ~/code", true),
        ("folder ~/code/*", true),
        ("folder ~/other", false),
        ("folder /people/**", true),
        ("folder not ~/code", false),
    ] {
        assert_eq!(holds(when, &base), (expected, expected), "{when}");
    }
    let unknown = Facts { depth: None, home: None, ..base };
    for when in ["depth 1", "depth >= 2", "folder ~/code", "folder not ~/code"] {
        assert_eq!(holds(when, &unknown), (false, true), "{when}: what is not known never allows");
    }
}
#[test]
fn places_decide_not_spellings() {
    let rules = rules("allow Bash(cat:*)\nallow Bash(cd:*)\nallow Bash(touch:*)\nallow Edit(src/**)");
    let input = |line: &str| json!({"command": line});
    let meaning = Meaning { subject: Subject::Shell { field: "command", shell: Shell::Bash }, harmless: &[] };
    let asked = |path: &str| Lookup::Path(Asked { path: path.to_owned(), spelling: Spelling::Literal });
    let with = |line: &str, places: &Places| {
        let input = input(line);
        let facts = Facts {
            agent: "a",
            mode: PermissionMode::Default,
            depth: Some(0),
            folder: FOLDER,
            cwd: Some(FOLDER),
            home: None,
            trust: Trust::Trusted,
            runs: &[],
            places,
            variables: &NO_VARIABLES,
        };
        decide(&Call { tool: "Bash", input: &input, meaning }, &rules, &facts)
    };
    let nothing = Places::default();
    let unknown = with("cd link && cat ../x", &nothing);
    assert_eq!(unknown.effect, Effect::Ask);
    // As the shell goes there, and as the program would open it from there.
    assert_eq!(
        unknown.unresolved.into_iter().collect::<Vec<_>>(),
        [asked("/project/link"), asked("/project/link/../x")]
    );
    let mut places = Places::default();
    places.insert(asked("/project/a"), Found::Path(Place::Outside));
    places.insert(asked("/project/b"), Found::Path(Place::Inside(vec![".git/config".into()])));
    assert_eq!(with("cat a", &places).effect, Effect::Ask);
    assert_eq!(with("cat b", &places).effect, Effect::Allow);
    assert_eq!(with("touch b", &places).effect, Effect::Ask);
}
