//! What `holdstead --version` says: the version, and the commit with its day where one is known. Paths are those of this
//! folder, where cargo runs it.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let said = packaged().or_else(of_the_repository).map(|commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=HOLDSTEAD_VERSION={}", said.as_deref().unwrap_or(version));
}

/// A package has no repository, so the recipe that makes it leaves the commit in this file.
fn packaged() -> Option<String> {
    let commit = std::fs::read_to_string("commit").ok()?;
    println!("cargo:rerun-if-changed=commit");
    Some(commit.trim().to_owned())
}

fn of_the_repository() -> Option<String> {
    // Else this is a copy in somebody else's repository.
    Path::new("../../.git").exists().then_some(())?;
    // Git appends to it whenever HEAD comes to name another commit.
    let moves = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&moves).exists() {
        println!("cargo:rerun-if-changed={moves}");
    }
    git(&["log", "-1", "--format=%h %cs"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let printed = output.status.success().then(|| String::from_utf8(output.stdout).ok())??;
    Some(printed.trim().to_owned())
}
