//! Which implementation and version a program's name stands for. Nothing is started that an agent could have written: a
//! program is asked for its version only if an administrator alone can change it, and of others their packages' metadata is
//! read.

use std::path::{Component, Path, PathBuf};

use holdstead_agents::{find_program, is_protected};
use holdstead_core::policy::Tool;
use holdstead_core::policy::programs::{Installed, KeptBy, base_name, is_listed};

use crate::packages::{self, Package};
use crate::versions;

/// So many links are followed one after the other.
const LINKS: usize = 16;

/// Where the session's agent works, whose files count as the agent's own.
struct OfAgents<'a> {
    folder: &'a Path,
    home: Option<&'a Path>,
}

pub(crate) fn look_up(tool: &Tool, folder: &Path, home: Option<&Path>) -> Installed {
    let agents = OfAgents { folder, home };
    match tool {
        Tool::Program(name) if !is_listed(base_name(name)) => match find_program(name) {
            Some(_) => Installed::Unknown,
            None => Installed::Missing,
        },
        Tool::Program(name) => program(name, &agents),
        Tool::Module { python, name } => module(python, name, &agents),
        Tool::Package { name, folder } => package(name, Path::new(folder), &agents),
    }
}

fn program(name: &str, agents: &OfAgents<'_>) -> Installed {
    // GNU's `egrep` is a script that calls the `grep` beside it.
    let grep = match base_name(name) {
        "egrep" | "fgrep" => Some(format!("{}grep", &name[..name.len() - "egrep".len()])),
        _ => None,
    };
    let name = grep.as_deref().unwrap_or(name);
    let Some(found) = find_program(name) else { return Installed::Missing };
    let (Some(real), true) = (found.canonicalize().ok(), found.is_absolute()) else {
        return Installed::Unknown;
    };
    let kept_by = agents.kept_by(&found).max(agents.kept_by(&real));
    // A script is not started: its interpreter may run files of the user's.
    if kept_by == KeptBy::Administrator && is_itself(base_name(name), &real) && versions::is_binary(&real) {
        return versions::ask(base_name(name), &real);
    }
    let package = packages::of_node(&real)
        .or_else(|| packages::of_python(&found, base_name(name)))
        .or_else(|| packages::of_python(&real, base_name(name)))
        .or_else(|| packages::of_rust(&found, &real, agents.folder, agents.home));
    package.map_or(Installed::Unknown, |package| agents.known(package, kept_by))
}

/// Whether a file is the program that it is called by, and none that runs another one for it, as rustup and snap do with what
/// lies in the user's home.
fn is_itself(name: &str, real: &Path) -> bool {
    const IMPLEMENTATIONS: [&str; 5] = ["coreutils", "mawk", "gawk", "original-awk", "fdfind"];
    let rustup = real.with_file_name("rustup");
    let file = real.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    (file == name || IMPLEMENTATIONS.contains(&file)) && !(name == "cargo" && rustup.exists())
}

/// A module of the Python that has this name.
fn module(python: &str, name: &str, agents: &OfAgents<'_>) -> Installed {
    let Some(found) = find_program(python) else { return Installed::Missing };
    // What lies in a folder that is not read (of pyenv, or of the user) is not known.
    let Some(package) = packages::of_python(&found, name) else { return Installed::Unknown };
    agents.known(package, agents.kept_by(&found))
}

/// A package in the nearest `node_modules` that has it. Without one `npx` downloads any version.
fn package(name: &str, folder: &Path, agents: &OfAgents<'_>) -> Installed {
    let found = folder.ancestors().map(|above| above.join("node_modules/.bin").join(name));
    match found.into_iter().find(|path| path.exists()) {
        Some(path) => path.to_str().map_or(Installed::Unknown, |path| program(path, agents)),
        None => Installed::Unknown,
    }
}

impl OfAgents<'_> {
    fn known(&self, package: Package, program: KeptBy) -> Installed {
        let kept_by = program.max(self.kept_by(&package.said_in));
        Installed::Known { implementation: package.name, version: package.version, kept_by }
    }

    /// Also by the links on the way: each could be laid anew.
    fn kept_by(&self, path: &Path) -> KeptBy {
        let mut path = path.to_owned();
        for _ in 0..LINKS {
            let own = |folder: &Path| path.starts_with(folder);
            // Where agents run as root, what is root's in these folders is theirs.
            if own(self.folder) || self.home.is_some_and(own) || !path.parent().is_some_and(is_protected) {
                return KeptBy::User;
            }
            match path.read_link() {
                Ok(target) => path = plain(&path.with_file_name("").join(target)),
                Err(_) if is_protected(&path) => return KeptBy::Administrator,
                Err(_) => return KeptBy::User,
            }
        }
        KeptBy::User
    }
}

/// Without `.` and `..`. The folders on the way are an administrator's, or the result does not count.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(component),
        }
    }
    plain
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn named(path: &Path) -> Tool {
        Tool::Program(path.to_str().expect("a name").to_owned())
    }

    #[test]
    fn what_an_agent_could_have_written_is_not_started() {
        let top = tempfile::tempdir().expect("a folder");
        let (fake, ran) = (top.path().join("grep"), top.path().join("ran"));
        std::fs::write(&fake, format!("#!/bin/sh\n> {}\necho 'grep (GNU grep) 3.8'\n", ran.display()))
            .expect("written");
        std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("executable");
        assert_eq!(look_up(&named(&fake), Path::new("/project"), None), Installed::Unknown);
        assert!(!ran.exists());
        assert_eq!(look_up(&named(&top.path().join("ls")), Path::new("/project"), None), Installed::Missing);
    }

    #[test]
    fn an_administrators_program_says_its_version_unless_it_lies_where_agents_work() {
        let find = Tool::Program("find".to_owned());
        let found = look_up(&find, Path::new("/project"), Some(Path::new("/people/u")));
        match &found {
            Installed::Known { kept_by: KeptBy::Administrator, version, .. } => assert!(!version.is_empty()),
            // The machine has another `find` than Linux has mostly, or one that others than root can change.
            Installed::Bsd | Installed::Unknown | Installed::Missing => return,
            Installed::Known { kept_by: KeptBy::User, .. } => {}
        }
        for (folder, home) in [("/", None), ("/project", Some(Path::new("/")))] {
            assert_eq!(look_up(&find, Path::new(folder), home), Installed::Unknown);
        }
    }

    #[test]
    fn metadata_that_an_agent_could_have_written_is_the_users() {
        let top = tempfile::tempdir().expect("a folder");
        let folder = top.path().canonicalize().expect("a path");
        let package = folder.join("node_modules/eslint");
        std::fs::create_dir_all(package.join("bin")).expect("a folder");
        std::fs::create_dir_all(folder.join("node_modules/.bin")).expect("a folder");
        std::fs::write(package.join("package.json"), r#"{"name":"eslint","version":"9.1.0"}"#)
            .expect("a file");
        std::fs::write(package.join("bin/eslint.js"), "#!/usr/bin/env node").expect("a file");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(package.join("bin/eslint.js"), executable).expect("executable");
        std::os::unix::fs::symlink("../eslint/bin/eslint.js", folder.join("node_modules/.bin/eslint"))
            .expect("a link");
        let within = folder.join("web/src").display().to_string();
        let eslint = |name: &str| Tool::Package { name: name.to_owned(), folder: within.clone() };
        let known = Installed::Known {
            implementation: "eslint".to_owned(),
            version: "9.1.0".to_owned(),
            kept_by: KeptBy::User,
        };
        assert_eq!(look_up(&eslint("eslint"), &folder, None), known);
        assert_eq!(look_up(&eslint("jest"), &folder, None), Installed::Unknown, "npx downloads it");
    }
}
