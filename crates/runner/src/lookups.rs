//! What calls depend on and only this machine knows.

use std::path::Path;

use holdstead_core::policy::{Found, Lookup};

use crate::{names, places, programs};

/// So many entries of folders are looked at for one question about a call.
const ENTRIES: usize = 50_000;

/// The entries of folders that may still be looked at.
#[derive(Debug)]
pub(crate) struct Entries(usize);

impl Default for Entries {
    fn default() -> Self {
        Self(ENTRIES)
    }
}

impl Entries {
    /// Nothing if there were too many.
    pub(crate) fn take(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

/// The answer to each of these. `None` where it cannot be told: then the call asks.
pub(crate) fn look_up(lookups: &[Lookup], folder: &str, home: Option<&str>) -> Vec<Option<Found>> {
    let folder = Path::new(folder);
    let mut left = Entries::default();
    let mut one = |lookup: &Lookup| match lookup {
        Lookup::Path(asked) => places::look_up(asked, folder, &mut left).map(Found::Path),
        Lookup::Below(name) => names::look_up(name, &mut left).map(Found::Below),
        Lookup::Program(tool) => Some(Found::Program(programs::look_up(tool, folder, home.map(Path::new)))),
    };
    lookups.iter().map(&mut one).collect()
}

#[cfg(test)]
mod tests {
    use holdstead_core::policy::programs::Spelling;
    use holdstead_core::policy::{Asked, NameBelow};

    use super::*;

    #[test]
    fn all_lookups_of_a_call_together_look_at_so_many_entries() {
        let top = tempfile::tempdir().expect("a folder");
        let folder = top.path().canonicalize().expect("a path");
        for at in 0..100 {
            std::fs::write(folder.join(format!("{at}.rs")), "").expect("a file");
        }
        let path = format!("{}/9*.rs", folder.display());
        let pattern = Lookup::Path(Asked { path, spelling: Spelling::Pattern });
        let name = NameBelow { folder: folder.display().to_string(), name: ".env".to_owned() };
        let lookups: Vec<_> = [pattern, Lookup::Below(name)].into_iter().cycle().take(600).collect();
        let found = look_up(&lookups, folder.to_str().expect("text"), None);
        assert!(found[..500].iter().all(Option::is_some) && found[500..].iter().all(Option::is_none));
    }
}
