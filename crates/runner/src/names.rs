//! Whether a file that a rule names lies below a folder: what a search would read there.

use std::path::Path;

use holdstead_core::policy::{NameBelow, Presence};

use crate::lookups::Entries;
use crate::places::may_fit;

/// `None` where it cannot be told: for too many files, a folder that cannot be read, or a link that leads out of it.
pub(crate) fn look_up(asked: &NameBelow, left: &mut Entries) -> Option<Presence> {
    let asked_for = Path::new(&asked.folder);
    // Of what is not there now it is not known what it will be.
    let top = asked_for.canonicalize().ok()?;
    // A file or a folder that has the name itself; behind a link also those above it.
    let above = if top == asked_for { 1 } else { usize::MAX };
    for path in top.ancestors().take(above) {
        if fits(asked, path)? {
            return Some(Presence::Present);
        }
    }
    let mut folders = if top.is_dir() { vec![top.clone()] } else { Vec::new() };
    while let Some(folder) = folders.pop() {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            // A build removed it meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(_) => return None,
        };
        for entry in entries {
            let entry = entry.ok()?;
            left.take()?;
            let (path, kind) = (entry.path(), entry.file_type().ok()?);
            if fits(asked, &path)? {
                return Some(Presence::Present);
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() && leads_to(asked, &top, &path)? {
                return Some(Presence::Present);
            }
        }
    }
    Some(Presence::Absent)
}

fn fits(asked: &NameBelow, path: &Path) -> Option<bool> {
    path.file_name().map_or(Some(false), |name| may_fit(&asked.name, &name.to_str()?.to_lowercase()))
}

/// Whether a link leads to such a file. What lies in a folder below the same top is looked at there.
fn leads_to(asked: &NameBelow, top: &Path, link: &Path) -> Option<bool> {
    match link.canonicalize() {
        Ok(target) if target.is_dir() && !target.starts_with(top) => None,
        Ok(target) => target.ancestors().try_fold(false, |found, path| Some(found || fits(asked, path)?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_name_below_a_folder() {
        let top = tempfile::tempdir().expect("a folder");
        let real = top.path().canonicalize().expect("a path");
        let at = |path: &str| real.join(path);
        for folder in ["src/deep", "lib", "keys/a", "linked", "out", "round/x"] {
            std::fs::create_dir_all(at(folder)).expect("a folder");
        }
        for file in ["src/deep/a.rs", "lib/.ENV", "keys/a/b", "elsewhere.pem"] {
            std::fs::write(at(file), "").expect("a file");
        }
        symlink("../elsewhere.pem", at("linked/harmless")).expect("a link");
        symlink("../keys", at("out/folder")).expect("a link");
        symlink(".", at("round/x/again")).expect("a link");
        symlink("keys/a", at("data")).expect("a link");
        let look = |folder: &str, name: &str| {
            let asked = NameBelow { folder: at(folder).display().to_string(), name: name.to_owned() };
            look_up(&asked, &mut Entries::default())
        };
        for (folder, name, expected) in [
            ("src", ".env", Some(Presence::Absent)),
            ("src", "a.rs", Some(Presence::Present)),
            ("src", "*.rs", Some(Presence::Present)),
            ("lib", ".env", Some(Presence::Present)),
            ("keys/a", "keys", Some(Presence::Absent)),
            ("keys", "keys", Some(Presence::Present)),
            ("data", "keys", Some(Presence::Present)),
            ("linked", "*.pem", Some(Presence::Present)),
            ("linked", ".env", Some(Presence::Absent)),
            ("out", ".env", None),
            ("round", ".env", Some(Presence::Absent)),
            ("nowhere", ".env", None),
            ("src/deep/a.rs", "a.rs", Some(Presence::Present)),
            ("src/deep/a.rs", ".env", Some(Presence::Absent)),
        ] {
            assert_eq!(look(folder, name), expected, "{name} below {folder}");
        }
    }
}
