//! A file of rules: the organisation's, which stands beside the settings.

use std::path::Path;

use holdstead_core::policy::rule::RuleFile;

use crate::failure::Failure;

/// No file, no rules. While one of its lines is wrong, nothing starts with it.
pub(crate) fn load(path: &Path) -> Result<RuleFile, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(RuleFile::default()),
        Err(source) => return Err(Failure::Io { what: format!("read {}", path.display()), source }),
    };
    RuleFile::parse(&text).map_err(|mistakes| {
        let told: Vec<String> = mistakes.iter().map(|wrong| format!("\n  {wrong}")).collect();
        Failure::Config(format!("in {}:{}", path.display(), told.concat()))
    })
}
