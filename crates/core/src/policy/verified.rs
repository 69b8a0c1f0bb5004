//! Options mean what the tables say to the programs and versions that the tables were verified with. With another one, a
//! call with an option that no rule names asks.

use super::decide::Decision;
use super::folders::Folders;
use super::lookup::{Lookup, Tool};
use super::programs::{Installed, Judged, KeptBy, base_name, bsd, form_of, is_verified};
use super::rules::Trust;
use super::shell::Simple;
use super::verdict::Requirement;

/// A shell runs these itself and no program on the PATH.
const OF_THE_SHELL: [&str; 4] = ["cd", "exit", "pwd", "type"];

impl Decision<'_> {
    pub(super) fn check_version(
        &mut self,
        command: &Simple,
        judged: &Judged,
        folders: &Folders,
    ) -> Result<(), String> {
        if judged.options.is_empty() || OF_THE_SHELL.contains(&command.program()) {
            return Ok(());
        }
        let mut checked = Ok(());
        for folder in folders.possible().unwrap_or_default() {
            checked = checked.and(self.check_tool(tool(command, folder), judged));
        }
        checked
    }

    fn check_tool(&mut self, tool: Tool, judged: &Judged) -> Result<(), String> {
        let name = tool.program();
        let Some(installed) = self.facts.places.program(&tool).cloned() else {
            let why = format!("the runner has not said which program `{name}` is");
            self.unresolved.insert(Lookup::Program(tool));
            return Err(why);
        };
        match installed {
            // A function of the agent's shell, or of another PATH than the runner's.
            Installed::Missing => Ok(()),
            Installed::Bsd if judged.options.iter().all(|option| bsd::reads(name, option)) => Ok(()),
            Installed::Bsd | Installed::Unknown => {
                Err(format!("the version of `{name}` is not known, so its options may take something else"))
            }
            Installed::Known { implementation, version, kept_by } => {
                if !is_verified(name, &implementation, &version) {
                    return Err(format!(
                        "the options of `{name}` were not verified with {implementation} {version}"
                    ));
                }
                match kept_by {
                    KeptBy::Administrator => Ok(()),
                    KeptBy::User => self.check_kept(name),
                }
            }
        }
    }

    /// An agent may have written what says the version.
    fn check_kept(&mut self, name: &str) -> Result<(), String> {
        self.requirements.insert(Requirement::FolderTrust);
        match self.facts.trust {
            Trust::Trusted => Ok(()),
            Trust::Untrusted => {
                Err(format!("an agent can replace `{name}`, and no person trusts this folder yet"))
            }
        }
    }
}

impl Tool {
    /// The name that the tables know it by.
    fn program(&self) -> &str {
        match self {
            Self::Program(name) => base_name(name),
            Self::Module { name, .. } | Self::Package { name, .. } => name,
        }
    }
}

/// The program whose options a command gives.
fn tool(command: &Simple, folder: &str) -> Tool {
    let name = command.program();
    let head = form_of(&command.argv).map_or(&[][..], |form| &form.head);
    match *head {
        [_, "-m", module, ..] => Tool::Module { python: path(name, folder), name: module.to_owned() },
        ["npx", package, ..] => Tool::Package { name: package.to_owned(), folder: folder.to_owned() },
        ["cargo", "nextest", ..] => Tool::Program("cargo-nextest".to_owned()),
        _ => Tool::Program(path(name, folder)),
    }
}

fn path(name: &str, folder: &str) -> String {
    if name.contains('/') { super::paths::join(folder, name) } else { name.to_owned() }
}
