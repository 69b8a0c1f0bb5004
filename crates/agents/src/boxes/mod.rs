//! Boxes: what keeps a hosted agent from the gateway's own files and memory.
//!
//! A box is a command that stands before the agent's own. [`crate::host::Host`] puts it there for every driver, so that
//! no agent is started without one by oversight; where there is none, the session says so and why.

mod bubblewrap;
mod mounts;

#[cfg(target_os = "linux")]
mod landlock;
#[cfg(not(target_os = "linux"))]
#[path = "no_landlock.rs"]
mod landlock;

use std::path::{Path, PathBuf};

use holdstead_protocol::AgentBox;
use serde::Deserialize;

use crate::StartError;
use crate::account::{Account, with_rights_of};
use crate::private::real;

#[cfg(target_os = "linux")]
pub(crate) use landlock::Scoped;
pub(crate) use landlock::run as run_in_landlock;

/// The word before what [`run_in_landlock`] is told.
pub(crate) const LANDLOCK: &str = "--landlock";

/// Which box a person wants agents to run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxSetting {
    /// Bubblewrap where the machine allows it, Landlock otherwise, and none where there is neither.
    Best,
    /// This one, or the agent is not started.
    Bubblewrap,
    Landlock,
    /// None, on purpose.
    None,
}

/// The box for agents on this machine, and the folders that it keeps them from.
#[derive(Debug, Clone)]
pub struct Boxes {
    /// With nothing in them that leads elsewhere.
    private: Vec<PathBuf>,
    found: Result<AgentBox, String>,
    /// Whom agents run as, if not as this process.
    account: Option<Account>,
}

/// What of the gateway's folders an agent needs all the same.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
}

impl Boxes {
    /// Tries what the machine allows. `private` are the files and folders that no agent may read or change.
    pub fn new(setting: BoxSetting, private: &[PathBuf]) -> Self {
        Self::of(Ok(None), setting, private)
    }

    /// The same for agents that run as this account; where that is an error, none is started.
    pub fn of(account: Result<Option<Account>, String>, setting: BoxSetting, private: &[PathBuf]) -> Self {
        let private: Vec<_> = private.iter().map(|path| real(path)).collect();
        let (account, found) = match account {
            Ok(account) => {
                let probe =
                    || bubblewrap::probe(&paths_to_hide(&private, account.as_ref()), account.as_ref());
                let found = choose(setting, probe, landlock::probe);
                (account, found)
            }
            Err(why) => (None, Err(why)),
        };
        Self { private, found, account }
    }

    /// Whom agents run as, if not as this process.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The box that agents are started in, or why they are not started.
    pub fn found(&self) -> Result<&AgentBox, &str> {
        self.found.as_ref().map_err(String::as_str)
    }

    pub(crate) fn private(&self) -> &[PathBuf] {
        &self.private
    }

    /// The command that runs the agent in its box. `host` is the command that leads to [`crate::host::run`].
    pub(crate) fn enclose(
        &self,
        host: &[String],
        agent: Vec<String>,
        cwd: &Path,
        needs: &Needs,
    ) -> Result<(Vec<String>, AgentBox), StartError> {
        let found = self.found.clone().map_err(|why| StartError::NoBox { why })?;
        let hidden = match &found {
            AgentBox::Bubblewrap | AgentBox::Landlock => paths_to_hide(&self.private, self.account()),
            AgentBox::None { .. } => Vec::new(),
        };
        let cwd = real(cwd);
        if hidden.iter().any(|path| cwd.starts_with(path)) {
            return Err(StartError::Inside { cwd });
        }
        let mut command = match &found {
            AgentBox::Bubblewrap => bubblewrap::command(&hidden, &cwd, needs, is_root(self.account())),
            AgentBox::Landlock => landlock::command(host, &hidden, needs),
            AgentBox::None { .. } => unboxed(host),
        };
        command.extend(agent);
        Ok((command, found))
    }
}

/// Only guarded: see [`crate::guard`].
#[cfg(target_os = "linux")]
fn unboxed(host: &[String]) -> Vec<String> {
    let guard = [crate::host::GUARD, "--"].map(str::to_owned);
    host.iter().cloned().chain(guard).collect()
}

#[cfg(not(target_os = "linux"))]
fn unboxed(_host: &[String]) -> Vec<String> {
    Vec::new()
}

fn choose(
    setting: BoxSetting,
    bubblewrap: impl FnOnce() -> Result<(), String>,
    landlock: impl FnOnce() -> Result<(), String>,
) -> Result<AgentBox, String> {
    let wanted = |name: &str, why: String| {
        format!("the settings want agents in a box of {name} (`agents.box`), and {why}")
    };
    match setting {
        BoxSetting::Best => Ok(match bubblewrap() {
            Ok(()) => AgentBox::Bubblewrap,
            Err(no_bubblewrap) => match landlock() {
                Ok(()) => AgentBox::Landlock,
                Err(no_landlock) => AgentBox::None { why: format!("{no_bubblewrap}; {no_landlock}") },
            },
        }),
        BoxSetting::Bubblewrap => {
            bubblewrap().map(|()| AgentBox::Bubblewrap).map_err(|why| wanted("bubblewrap", why))
        }
        BoxSetting::Landlock => {
            landlock().map(|()| AgentBox::Landlock).map_err(|why| wanted("Landlock", why))
        }
        BoxSetting::None => {
            Ok(AgentBox::None { why: "switched off in the settings (`agents.box`)".to_owned() })
        }
    }
}

/// What is there now for this account, under every name that it has. A folder hides what is in it.
fn paths_to_hide(private: &[PathBuf], account: Option<&Account>) -> Vec<PathBuf> {
    // What it has no way to needs no hiding, and it could not be hidden by that account either.
    with_rights_of(account, || paths_that_are_there(private)).unwrap_or_else(|_| private.to_vec())
}

fn paths_that_are_there(private: &[PathBuf]) -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut hidden: Vec<PathBuf> = Vec::new();
    for path in private.iter().filter(|path| path.exists()) {
        hidden.push(path.clone());
        hidden.extend(mounts::other_names(path, &mounts).into_iter().filter(|name| is_same(name, path)));
    }
    hidden.sort();
    hidden.dedup_by(|inner, outer| inner.starts_with(outer));
    hidden
}

/// Where the kernel shows itself as files: who writes there as root has a say in what the kernel does to everybody.
fn kernel_files() -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts::of_the_kernel(&mounts)
}

/// Whether agents run as root.
fn is_root(account: Option<&Account>) -> bool {
    account.is_none() && rustix::process::geteuid().is_root()
}

fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let name = |path: &Path| path.metadata().map(|file| (file.dev(), file.ino())).ok();
    name(one).is_some_and(|one| name(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_there_is_and_never_another_than_the_one_wanted() {
        let (works, not) = (|| Ok(()), |why: &'static str| move || Err(why.to_owned()));
        let why = "no bwrap; no landlock".to_owned();
        assert_eq!(choose(BoxSetting::Best, works, works), Ok(AgentBox::Bubblewrap));
        assert_eq!(choose(BoxSetting::Best, not("no bwrap"), works), Ok(AgentBox::Landlock));
        assert_eq!(choose(BoxSetting::Best, not("no bwrap"), not("no landlock")), Ok(AgentBox::None { why }));
        let refused = choose(BoxSetting::Bubblewrap, not("no bwrap"), works).unwrap_err();
        assert!(refused.contains("bubblewrap") && refused.ends_with("no bwrap"), "{refused}");
        let refused = choose(BoxSetting::Landlock, works, not("no landlock")).unwrap_err();
        assert!(refused.contains("Landlock") && refused.ends_with("no landlock"), "{refused}");
        assert!(matches!(choose(BoxSetting::None, works, works), Ok(AgentBox::None { .. })));
    }

    #[test]
    fn a_session_in_the_gateways_own_folder_is_refused_in_words() {
        let root = tempfile::tempdir().unwrap();
        let ours = root.path().join("ours");
        std::fs::create_dir_all(ours.join("project")).unwrap();
        let boxes = Boxes { private: vec![real(&ours)], found: Ok(AgentBox::Bubblewrap), account: None };
        let enclose = |cwd: &Path| boxes.enclose(&[], vec!["agent".to_owned()], cwd, &Needs::default());
        let refused = enclose(&ours.join("project")).unwrap_err().to_string();
        assert!(refused.contains("gateway's own"), "{refused}");
        assert!(enclose(root.path()).is_ok());
    }

    #[test]
    fn what_is_hidden_is_there_and_named_once() {
        let root = tempfile::tempdir().unwrap();
        let root = real(root.path());
        std::fs::create_dir(root.join("data")).unwrap();
        std::fs::write(root.join("data/token"), "").unwrap();
        std::fs::write(root.join("elsewhere.db"), "").unwrap();
        let private = ["data/token", "data", "elsewhere.db", "elsewhere.db-wal"].map(|name| root.join(name));
        assert_eq!(paths_to_hide(&private, None), [root.join("data"), root.join("elsewhere.db")]);
    }
}
