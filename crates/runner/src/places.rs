//! Where paths lead on this machine, with every `..` and symbolic link followed.

use std::path::{Component, Path, PathBuf};

use holdstead_core::policy::programs::Spelling;
use holdstead_core::policy::{Asked, Place};

use crate::lookups::Entries;

/// So many links are followed one after the other.
const LINKS: usize = 16;
/// So many files may fit a pattern.
const MATCHES: usize = 1_000;

/// Where this leads. `None` where that cannot be told: then the call asks.
pub(crate) fn look_up(asked: &Asked, folder: &Path, left: &mut Entries) -> Option<Place> {
    match asked.spelling {
        Spelling::Literal => Some(place(&follow(Path::new(&asked.path), LINKS)?, folder)),
        Spelling::Pattern => {
            let mut inside = Vec::new();
            for path in expand(&asked.path, left)? {
                match place(&follow(&path, LINKS)?, folder) {
                    Place::Outside => return Some(Place::Outside),
                    Place::Inside(paths) => inside.extend(paths),
                }
            }
            Some(Place::Inside(inside))
        }
    }
}

fn place(path: &Path, folder: &Path) -> Place {
    match path.strip_prefix(folder).ok().and_then(Path::to_str) {
        Some(inside) => Place::Inside(vec![inside.to_owned()]),
        None => Place::Outside,
    }
}

/// As the kernel would: the rest of a path that is not there yet is where it would be made.
fn follow(path: &Path, links: usize) -> Option<PathBuf> {
    if let Ok(found) = path.canonicalize() {
        return Some(found);
    }
    let (parent, name) = (path.parent()?, path.file_name()?);
    let parent = follow(parent, links)?;
    let there = parent.join(name);
    match there.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(there),
        // A link to something that is not there: writing makes that.
        Ok(meta) if meta.is_symlink() => {
            let target = there.read_link().ok()?;
            follow(&parent.join(target), links.checked_sub(1)?)
        }
        Ok(_) | Err(_) => None,
    }
}

/// The paths that may fit a shell's pattern, rather too many than too few. One that nothing fits is itself a name.
fn expand(pattern: &str, left: &mut Entries) -> Option<Vec<PathBuf>> {
    let mut found = vec![PathBuf::from("/")];
    for component in Path::new(pattern).components() {
        let name = match component {
            Component::RootDir => continue,
            Component::Normal(name) => name.to_str()?,
            Component::CurDir => continue,
            Component::ParentDir | Component::Prefix(_) => return None,
        };
        if !name.contains(['*', '?', '[', '\\']) {
            found.iter_mut().for_each(|path| path.push(name));
            continue;
        }
        // In some shells `**` reaches any depth.
        if name.contains("**") {
            return None;
        }
        let mut next = Vec::new();
        for path in &found {
            for entry in std::fs::read_dir(path).into_iter().flatten() {
                let entry = entry.ok()?.file_name();
                left.take()?;
                if next.len() > MATCHES {
                    return None;
                }
                if may_fit(name, entry.to_str()?)? {
                    next.push(path.join(entry));
                }
            }
        }
        found = next;
    }
    let there: Vec<PathBuf> = found.into_iter().filter(|path| path.symlink_metadata().is_ok()).collect();
    Some(if there.is_empty() { vec![PathBuf::from(pattern)] } else { there })
}

/// Whether a name may fit: a set in brackets stands for any character here, and a dot for nothing special.
pub(crate) fn may_fit(pattern: &str, name: &str) -> Option<bool> {
    let name: Vec<char> = name.chars().collect();
    let mut pattern = pattern.chars();
    // Where in the name one can be after the pattern so far.
    let mut places = vec![false; name.len() + 1];
    places[0] = true;
    while let Some(c) = pattern.next() {
        let literal = match c {
            '*' => {
                let first = places.iter().position(|here| *here).unwrap_or(places.len());
                places[first..].fill(true);
                continue;
            }
            '?' => None,
            '[' => {
                // A bracket may also be meant as itself, so both ways must not matter.
                if !pattern.as_str().contains(']') {
                    return None;
                }
                pattern.by_ref().skip(1).find(|c| *c == ']');
                None
            }
            '\\' => Some(pattern.next()?),
            c => Some(c),
        };
        for at in (0..name.len()).rev() {
            let fits = literal.is_none_or(|literal| literal == name[at]);
            places[at + 1] = places[at] && fits;
        }
        places[0] = false;
    }
    Some(places[name.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: String, spelling: Spelling) -> Asked {
        Asked { path, spelling }
    }

    #[test]
    fn paths_lead_where_the_kernel_would_go() {
        let top = tempfile::tempdir().expect("a folder");
        let root = top.path().canonicalize().expect("a path");
        let folder = root.join("project");
        std::fs::create_dir_all(folder.join("src/deep")).expect("folders");
        std::fs::create_dir_all(root.join("elsewhere")).expect("folders");
        for name in ["src/a.rs", "src/b.rs", "src/.env", "src/c.txt"] {
            std::fs::write(folder.join(name), "").expect("a file");
        }
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, folder.join(name)).expect("a link");
        };
        link("../elsewhere", "out");
        link("src/deep", "in");
        link("../elsewhere/new", "dangling");
        link("round", "round");
        let inside =
            |paths: &[&str]| Some(Place::Inside(paths.iter().map(|path| (*path).to_owned()).collect()));
        let look = |path: &str, spelling| {
            let asked = asked(format!("{}/{path}", folder.display()), spelling);
            look_up(&asked, &folder, &mut Entries::default()).map(|place| match place {
                Place::Inside(mut paths) => {
                    paths.sort();
                    Place::Inside(paths)
                }
                Place::Outside => Place::Outside,
            })
        };
        let literal = [
            ("src/a.rs", inside(&["src/a.rs"])),
            ("src/new.rs", inside(&["src/new.rs"])),
            ("new/deep/x", inside(&["new/deep/x"])),
            ("src/../src/a.rs", inside(&["src/a.rs"])),
            // `in` is src/deep, whose parent is src and not the folder.
            ("in/../a.rs", inside(&["src/a.rs"])),
            ("in/x", inside(&["src/deep/x"])),
            ("out/x", Some(Place::Outside)),
            ("out/../project/src/a.rs", inside(&["src/a.rs"])),
            ("dangling", Some(Place::Outside)),
            ("..", Some(Place::Outside)),
            ("", inside(&[""])),
            // Nobody can tell.
            ("nowhere/../src/a.rs", None),
            ("round", None),
            ("src/a.rs/x", None),
        ];
        for (path, expected) in literal {
            assert_eq!(look(path, Spelling::Literal), expected, "{path}");
        }
        let patterns = [
            ("src/*.rs", inside(&["src/a.rs", "src/b.rs"])),
            ("src/[a]*", inside(&["src/.env", "src/a.rs", "src/b.rs", "src/c.txt", "src/deep"])),
            ("*/a.rs", inside(&["src/a.rs"])),
            ("ou*/x", inside(&["ou*/x"])),
            ("ou?", Some(Place::Outside)),
            ("src/*.none", inside(&["src/*.none"])),
            ("src/**", None),
        ];
        for (path, expected) in patterns {
            assert_eq!(look(path, Spelling::Pattern), expected, "{path}");
        }
    }
}
