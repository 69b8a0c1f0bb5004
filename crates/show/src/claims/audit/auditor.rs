//! `holdstead audit`, as somebody at a terminal runs it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use holdstead_protocol::SessionId;
use tempfile::TempDir;
use tokio::process::Command;

use crate::{Result, ensure};

#[derive(Debug)]
pub(crate) struct Auditor {
    program: PathBuf,
    /// The gateway's, with the key and what was signed.
    folder: PathBuf,
    store: String,
    /// Of somebody who has neither.
    elsewhere: TempDir,
}

/// What verifying said.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) sound: bool,
    pub(crate) words: String,
}

impl Verdict {
    pub(crate) fn first_finding(&self) -> &str {
        let line = self.words.lines().find(|line| line.starts_with('✕')).unwrap_or_default();
        line.split_once(": ").map_or(line, |(_, words)| words)
    }

    /// The sessions that something was found in.
    pub(crate) fn sessions(&self) -> BTreeSet<SessionId> {
        let findings = self.words.lines().filter_map(|line| line.strip_prefix("✕ ")?.split(": ").next());
        findings.filter_map(|session| session.parse().ok()).collect()
    }
}

impl Auditor {
    pub(crate) fn new(folder: &Path, store: &str) -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("holdstead");
        Ok(Self { program, folder: folder.to_owned(), store: store.to_owned(), elsewhere: TempDir::new()? })
    }

    async fn call(&self, folder: &Path, args: &[&str]) -> Result<(Option<i32>, String, String)> {
        let mut command = Command::new(&self.program);
        command.arg("audit").args(args).arg("--dir").arg(folder).args(["--store", &self.store]);
        let output = command.stdin(Stdio::null()).output().await?;
        Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
    }

    /// What a command that must succeed prints.
    pub(crate) async fn run(&self, args: &[&str]) -> Result<String> {
        let (code, printed, said) = self.call(&self.folder, args).await?;
        ensure!(code == Some(0), "`holdstead audit {}` failed: {said}", args.join(" "));
        Ok(printed)
    }

    pub(crate) async fn verify(&self, session: Option<SessionId>) -> Result<Verdict> {
        let session = session.map(|session| session.to_string());
        let args: Vec<&str> = ["verify"].into_iter().chain(session.as_deref()).collect();
        verdict(self.call(&self.folder, &args).await?)
    }

    /// Everything, with these options.
    pub(crate) async fn verify_with(&self, named: &[(&str, PathBuf)]) -> Result<Verdict> {
        let named: Vec<_> = named.iter().map(|(option, file)| (*option, file.to_string_lossy())).collect();
        let options = named.iter().flat_map(|(option, file)| [*option, file]);
        verdict(self.call(&self.folder, &["verify"].into_iter().chain(options).collect::<Vec<_>>()).await?)
    }

    pub(crate) async fn verify_file(&self, text: &str) -> Result<Verdict> {
        let key = self.run(&["key"]).await?;
        let file = self.elsewhere.path().join("export.jsonl");
        std::fs::write(&file, text)?;
        let args = ["verify", "--key", key.trim(), "--file", &file.to_string_lossy()];
        verdict(self.call(self.elsewhere.path(), &args).await?)
    }
}

fn verdict((code, printed, said): (Option<i32>, String, String)) -> Result<Verdict> {
    match code {
        Some(0) => Ok(Verdict { sound: true, words: printed }),
        Some(1) if printed.contains('✕') => Ok(Verdict { sound: false, words: printed }),
        code => Err(format!("verifying ended with {code:?}: {printed}{said}").into()),
    }
}
