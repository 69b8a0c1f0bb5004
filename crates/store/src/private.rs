//! Files that are their owner's alone.

use std::fs::OpenOptions;

/// To write, with a mode that lets nobody else read.
pub fn owners_alone() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
