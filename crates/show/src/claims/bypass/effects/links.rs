//! Where paths lead in the folder of `oracle/effects.py`.

use holdstead_core::policy::programs::Spelling;
use holdstead_core::policy::{Asked as Path, Place};

use crate::policy_lines::FOLDER;

/// Symbolic links of the folder.
const LINKS: [(&str, &str); 4] = [
    ("/project/out", "/outside"),
    ("/project/src/link", "/outside/secret"),
    ("/project/key", "/people/u/private/key"),
    ("/project/inner", "/project/src"),
];

pub(super) fn place(path: &Path) -> Place {
    match leads(&path.path).filter(|_| path.spelling == Spelling::Literal) {
        Some(inside) => Place::Inside(vec![inside]),
        None => Place::Outside,
    }
}

/// Where an absolute path leads in the folder.
pub(super) fn leads(path: &str) -> Option<String> {
    let mut at = String::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match name {
            ".." => at.truncate(at.rfind('/').unwrap_or(0)),
            _ => at = format!("{at}/{name}"),
        }
        if let Some((_, target)) = LINKS.iter().find(|(link, _)| *link == at) {
            (*target).clone_into(&mut at);
        }
    }
    let inside = at.strip_prefix(FOLDER)?;
    (inside.is_empty() || inside.starts_with('/')).then(|| inside.trim_start_matches('/').to_owned())
}
