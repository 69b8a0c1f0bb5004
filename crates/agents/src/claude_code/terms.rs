//! What one life of the program was started with.

use std::path::PathBuf;

use holdstead_protocol::PermissionMode;

use super::preview::ReadFile;
use crate::ProjectFiles;
use crate::private::Private;

#[derive(Debug)]
pub(super) struct Terms {
    pub(super) mode: PermissionMode,
    /// Tools that need not ask, by their whole name.
    pub(super) allowed: Vec<String>,
    /// Our own tools, by the whole name under which the program knows them.
    pub(super) own_tools: Vec<String>,
    pub(super) project_files: ProjectFiles,
    pub(super) private: Private,
    /// Where the program keeps plans.
    pub(super) plans: Option<PathBuf>,
    pub(super) read: ReadFile,
}
