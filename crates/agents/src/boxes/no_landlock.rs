//! Where there is no Landlock.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Needs;
use crate::host::fail;

pub(super) fn probe() -> Result<(), String> {
    Err("Landlock is a part of Linux".to_owned())
}

pub(super) fn command(_host: &[String], _hidden: &[PathBuf], _needs: &Needs) -> Vec<String> {
    Vec::new()
}

pub(crate) fn run(_args: impl IntoIterator<Item = String>) -> ExitCode {
    fail("Landlock is a part of Linux")
}
