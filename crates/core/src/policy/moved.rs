//! What earlier commands of a line put into place. Places were looked up before the line runs, so that what is known of a
//! path ends where an earlier command may have put a link, or another folder, into it.

use super::paths;
use super::programs::{Judged, base_name, core_places};
use super::shell::{Redirect, Simple};

/// Subcommands of git that change files of the folder.
const CHANGE_FILES: [&str; 11] = [
    "stash",
    "checkout",
    "switch",
    "pull",
    "merge",
    "rebase",
    "restore",
    "reset",
    "apply",
    "am",
    "cherry-pick",
];
/// Words with which they change none: a new branch begins at what is there.
const CHANGE_NONE: [&str; 5] = ["list", "show", "-b", "-c", "--create"];

#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Paths from the top that were moved or copied, or moved or copied to.
    moved: Vec<String>,
    /// Paths that were written.
    written: Vec<String>,
    /// Any path may be another one now.
    everything: bool,
}

impl Moved {
    /// After a command that runs in one of these folders.
    pub(super) fn after(&mut self, command: &Simple, judged: &Judged, folders: &[String]) {
        let program = base_name(command.program());
        self.everything |= program == "git" && changes_files(command);
        let redirected = command.redirects.iter().filter_map(|redirect| match redirect {
            Redirect::Write { path, .. } => Some(path.as_str()),
            Redirect::Read { .. } | Redirect::Duplicate => None,
        });
        let written = judged.edits.iter().map(|path| path.text.as_str()).chain(redirected);
        self.written.extend(from_each(folders, written));
        // Whatever is moved may be a link, or a folder that has one. Without options `cp` copies what a link leads to.
        let has_option = || command.argv.iter().any(|word| word.text().starts_with('-'));
        if !judged.edits.is_empty() && (program != "cp" || has_option()) {
            let named = judged.paths.iter().map(|path| path.text.as_str());
            self.moved.extend(from_each(folders, named));
        }
    }

    /// Why it is not known where this path leads by now.
    pub(super) fn hides(&self, base: &str, path: &str) -> Option<String> {
        let full = paths::normal(&paths::join(base, path));
        let below = |top: &String| full.as_ref().is_none_or(|full| full == top || is_in(full, top));
        let hidden = self.everything || self.moved.iter().any(below);
        hidden.then(|| format!("an earlier command may have put something else at `{path}`"))
    }

    /// Why a program must not run what is in this folder, or at this path: an earlier command wrote it.
    pub(super) fn wrote(&self, base: &str, path: &str) -> Option<String> {
        let full = paths::normal(&paths::join(base, path))?;
        let meets = |written: &String| written == &full || is_in(written, &full) || is_in(&full, written);
        self.written
            .iter()
            .any(meets)
            .then(|| format!("an earlier command writes into `{path}`, and this runs it"))
    }
}

fn changes_files(command: &Simple) -> bool {
    let mut words = core_places(&command.argv).into_iter().skip(1).map(|place| command.argv[place].text());
    words.next().is_some_and(|subcommand| CHANGE_FILES.contains(&subcommand))
        && !words.any(|word| CHANGE_NONE.contains(&word))
}

/// These paths from the top, from each of the folders. One that leads above the top names nothing.
fn from_each<'a>(
    folders: &'a [String],
    named: impl Iterator<Item = &'a str> + Clone,
) -> impl Iterator<Item = String> {
    folders.iter().flat_map(move |folder| {
        named.clone().filter_map(move |path| paths::normal(&paths::join(folder, path)))
    })
}

fn is_in(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') || folder == "/")
}
