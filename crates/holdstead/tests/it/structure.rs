//! The shape of the repository: which crate may use which, that the docs name real files, and what no file may
//! contain. Each rule is a pure function with one test over the repository and one that proves it can fail.

use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up: a crate may depend only on those before it.
const ROOMS: [&str; 11] = [
    "holdstead-protocol",
    "holdstead-client",
    "holdstead-core",
    "holdstead-store",
    "holdstead-agents",
    "holdstead-runner",
    "holdstead-gateway",
    "holdstead-server",
    "holdstead",
    // Above every part of the product: none of them is built with it.
    "holdstead-scripted-model",
    "holdstead-show",
];

/// Names that say nothing about what lives there.
const EMPTY_NAMES: [&str; 5] = ["utils", "common", "helpers", "services", "manager"];

fn upward_dependencies(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let name = manifest["package"]["name"].as_str().expect("a package has a name");
    let Some(room) = ROOMS.iter().position(|room| *room == name) else {
        return vec![format!("{name} has no place in ROOMS")];
    };
    // Those that only translate know the words and nothing else.
    let allowed = match name {
        "holdstead-agents" | "holdstead-client" => &ROOMS[..1],
        _ => &ROOMS[..room],
    };
    let Some(dependencies) = manifest.get("dependencies").and_then(toml::Value::as_table) else {
        return Vec::new();
    };
    dependencies
        .iter()
        .map(|(key, value)| value.get("package").and_then(toml::Value::as_str).unwrap_or(key))
        .filter(|used| used.starts_with("holdstead") && !allowed.contains(used))
        .map(|used| format!("{name} depends on {used}"))
        .collect()
}

/// The paths of this repository that a Markdown text names in backticks, outside fenced blocks.
fn named_paths(markdown: &str) -> Vec<&str> {
    const TOPS: [&str; 8] = ["crates/", "web/", "docs/", "scripts/", ".ci/", ".github/", "sdk/", "packages/"];
    let mut fenced = false;
    let mut paths = Vec::new();
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // `scripts/postgres with COMMAND` names its first word.
            let words = line.split('`').skip(1).step_by(2).filter_map(|code| code.split_whitespace().next());
            paths.extend(words.filter(|word| {
                let at_root = !word.contains('/') && (word.ends_with(".md") || word.ends_with(".toml"));
                let is_pattern = word.contains(['*', '<', '{', '…', '$']);
                (at_root || TOPS.iter().any(|top| word.starts_with(top))) && !is_pattern
            }));
        }
    }
    paths
}

/// Absolute paths that exist only on somebody's machine.
fn machine_paths(text: &str) -> Vec<&str> {
    // In pieces, so that this file does not break its own rule.
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")]
        .iter()
        .flat_map(|top| text.match_indices(top))
        .filter(|(at, top)| {
            let before = text[..*at].chars().next_back();
            let after = text[at + top.len()..].chars().next();
            let begins = !before.is_some_and(|c| c.is_alphanumeric() || "._-".contains(c));
            begins && (after.is_some_and(char::is_alphanumeric) || !top.starts_with("/home"))
        })
        .map(|(at, _)| text[at..].split(|c: char| c.is_whitespace() || "\"'`),".contains(c)).next())
        .map(Option::unwrap_or_default)
        .collect()
}

fn has_empty_name(path: &Path) -> bool {
    path.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        EMPTY_NAMES.contains(&part.split('.').next().unwrap_or_default())
    })
}

fn has_module_with_empty_name(text: &str) -> bool {
    EMPTY_NAMES.iter().any(|name| text.contains(&format!("mod {name} {{")))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// Every file below `folder`, relative to the root, without what tools generate.
fn files(folder: &str) -> Vec<PathBuf> {
    const SKIPPED: [&str; 5] = [".git", "target", "node_modules", "dist", "generated"];
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be read") {
            let entry = entry.expect("a folder can be read");
            let path = entry.path();
            if SKIPPED.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(&root).expect("it is below the root").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Nothing for a file that is not text, or that has gone since it was listed.
fn read(path: &Path) -> Option<String> {
    fs::read_to_string(root().join(path)).ok()
}

#[test]
fn no_crate_depends_upward() {
    let manifests: Vec<_> = files("crates").into_iter().filter(|path| path.ends_with("Cargo.toml")).collect();
    assert!(manifests.len() >= 7, "{manifests:?}");
    let upward: Vec<_> =
        manifests.iter().filter_map(|path| read(path)).flat_map(|text| upward_dependencies(&text)).collect();
    assert!(upward.is_empty(), "{upward:#?}");
}

#[test]
fn an_upward_dependency_is_found() {
    let manifest = |name: &str, used: &str| {
        let text = format!("[package]\nname = \"{name}\"\n[dependencies]\nserde = \"1\"\n{used}");
        upward_dependencies(&text)
    };
    let upward = ["holdstead-core depends on holdstead-store"];
    assert_eq!(manifest("holdstead-core", "holdstead-store.workspace = true"), upward);
    assert_eq!(
        manifest("holdstead-core", "s = { package = \"holdstead-store\", path = \"../store\" }"),
        upward
    );
    assert_eq!(
        manifest("holdstead-agents", "holdstead-core.workspace = true"),
        ["holdstead-agents depends on holdstead-core"]
    );
    assert_eq!(manifest("holdstead-new", ""), ["holdstead-new has no place in ROOMS"]);

    assert!(manifest("holdstead-store", "holdstead-core.workspace = true").is_empty());
    let upward_in_tests_only = "[dev-dependencies]\nholdstead-store.workspace = true";
    assert!(manifest("holdstead-core", upward_in_tests_only).is_empty());
}

#[test]
fn every_path_named_in_the_docs_exists() {
    let root = root();
    let mut docs = files("docs");
    docs.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(PathBuf::from));
    let mut checked = 0;
    let mut missing = Vec::new();
    for doc in docs.iter().filter(|doc| doc.extension().is_some_and(|ending| ending == "md")) {
        let text = read(doc).unwrap_or_default();
        for path in named_paths(&text) {
            checked += 1;
            if !root.join(path).exists() {
                missing.push(format!("{}: {path}", doc.display()));
            }
        }
    }
    assert!(checked > 0);
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_path_named_in_the_docs_is_found() {
    let text = "See `crates/gone/src/lib.rs`, `scripts/gone with COMMAND` and `GONE.md`; not `a/b`, `x.md/y`,\n\
        `crates/*/src`, plain docs/gone.md.\n```\n`docs/in-a-block.md`\n```\nThen `.ci/gone`.";
    assert_eq!(named_paths(text), ["crates/gone/src/lib.rs", "scripts/gone", "GONE.md", ".ci/gone"]);
}

#[test]
fn no_file_names_a_machine_path() {
    let mut found = Vec::new();
    for file in files("") {
        let text = read(&file).unwrap_or_default();
        found.extend(machine_paths(&text).into_iter().map(|path| format!("{}: {path}", file.display())));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_machine_path_is_found() {
    for top in ["work", "root", "home"] {
        assert_eq!(machine_paths(&format!("cd \"/{top}/ada/x\" && ls")), [format!("/{top}/ada/x")]);
        assert!(machine_paths(&format!("https://example.org/{top}/ada and src/{top}/ada")).is_empty());
    }
    assert_eq!(machine_paths(&format!("/{}/.cache", "root")).len(), 1);
    assert!(machine_paths("/home/<name>").is_empty());
}

#[test]
fn nothing_has_an_empty_name() {
    let found: Vec<_> = files("")
        .into_iter()
        .filter(|file| {
            has_empty_name(file) || read(file).is_some_and(|text| has_module_with_empty_name(&text))
        })
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn an_empty_name_is_found() {
    for name in EMPTY_NAMES {
        assert!(has_empty_name(Path::new(&format!("crates/core/src/{name}.rs"))), "{name}");
        assert!(has_empty_name(Path::new(&format!("web/src/{name}/index.ts"))), "{name}");
        assert!(has_module_with_empty_name(&format!("pub(crate) mod {name} {{}}")), "{name}");
    }
    assert!(!has_empty_name(Path::new("crates/core/src/common_prefix.rs")));
}

/// One table says what each program lets us do in terminals; people read it in the guide.
#[test]
fn the_guide_to_terminals_has_the_table_of_the_code() {
    let guide = read(&root().join("docs/guides/terminals.md")).unwrap();
    let (_, table) = guide.split_once("in_terminals.rs` -->\n").unwrap();
    let (table, _) = table.split_once("<!-- end -->").unwrap();
    assert_eq!(table, holdstead_agents::terminal_table(), "copy the table from the right into the guide");
}

/// Whoever has two of our packages has the same program, or the same words for it.
#[test]
fn every_package_has_the_version_of_the_workspace() {
    let parsed = |path: &str| read(Path::new(path)).unwrap().parse::<toml::Table>().unwrap();
    let (workspace, python) = (parsed("Cargo.toml"), parsed("sdk/python/pyproject.toml"));
    let version = &workspace["workspace"]["package"]["version"];
    assert_eq!(&python["project"]["version"], version);
    let crates = workspace["workspace"]["dependencies"].as_table().unwrap();
    let ours: Vec<_> = crates.iter().filter(|(name, _)| name.starts_with("holdstead")).collect();
    assert!(ours.len() > 7, "{ours:?}");
    for (name, crate_) in ours {
        assert!(crate_.get("version").is_none_or(|named| named == version), "{name}: {crate_}");
    }
}
