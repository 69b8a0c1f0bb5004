//! The account that agents run as, where the gateway runs as root.

use std::io;
use std::path::PathBuf;

use tokio::process::Command;

/// An account of this machine that is not the gateway's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    name: String,
    uid: u32,
    gid: u32,
    home: PathBuf,
    shell: PathBuf,
}

impl Account {
    /// The account that agents run as. `named` is what the settings say; nothing, if they say nothing. `Ok(None)` is the
    /// account of this process. The error says what to do.
    pub fn choose(named: &str) -> Result<Option<Self>, String> {
        let own = rustix::process::geteuid().as_raw();
        if named.is_empty() {
            return match own {
                0 => Err(UNNAMED.to_owned()),
                _ => Ok(None),
            };
        }
        let account = Self::find(named)?;
        match (account.uid == own, own) {
            (true, _) => Ok(None),
            (false, 0) => Ok(Some(account)),
            (false, _) => Err(format!(
                "the settings name the account `{named}` for agents (`agents.user`), and only root can start them as another \
                 account than its own: leave that setting out"
            )),
        }
    }

    #[cfg(target_os = "linux")]
    fn find(name: &str) -> Result<Self, String> {
        let unknown = |why: &str| {
            format!("the settings name the account `{name}` for agents (`agents.user`), and {why}")
        };
        let found = nix::unistd::User::from_name(name).map_err(|error| unknown(&error.to_string()))?;
        let found = found.ok_or_else(|| {
            unknown("this machine has no such account: make it with `useradd --create-home`")
        })?;
        Ok(Self {
            name: found.name,
            uid: found.uid.as_raw(),
            gid: found.gid.as_raw(),
            home: found.dir,
            shell: found.shell,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn find(name: &str) -> Result<Self, String> {
        let why = "this works on Linux only: start the gateway as that account";
        match name {
            "root" if rustix::process::geteuid().is_root() => Ok(Self {
                name: name.to_owned(),
                uid: 0,
                gid: 0,
                home: PathBuf::new(),
                shell: PathBuf::new(),
            }),
            _ => Err(format!("the settings name the account `{name}` for agents (`agents.user`), and {why}")),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn home(&self) -> &PathBuf {
        &self.home
    }

    pub(crate) const fn uid(&self) -> u32 {
        self.uid
    }

    pub(crate) const fn gid(&self) -> u32 {
        self.gid
    }

    pub(crate) fn shell(&self) -> &PathBuf {
        &self.shell
    }

    /// This command runs as the account, in its home, and in no group but its own.
    pub(crate) fn of(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
        command.env("HOME", &self.home).env("SHELL", &self.shell);
        command.env("USER", &self.name).env("LOGNAME", &self.name);
    }

    /// Does this with the account's rights to files, and with none of root's. What it opens was open to the account.
    #[cfg(target_os = "linux")]
    pub(crate) fn with_its_rights<T: Send>(&self, does: impl FnOnce() -> T + Send) -> io::Result<T> {
        use rustix::process::{Gid, Uid};
        use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                set_thread_groups(&[])?;
                set_thread_res_gid(None, gid, None)?;
                // Its real number stays root's, so that the account cannot send this thread a signal.
                set_thread_res_uid(None, uid, None)?;
                Ok(does())
            });
            thread.join().unwrap_or_else(|_| Err(io::Error::other("it was given up")))
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn with_its_rights<T: Send>(&self, _does: impl FnOnce() -> T + Send) -> io::Result<T> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The same with the rights of this process, where agents run as it does.
pub(crate) fn with_rights_of<T: Send>(
    account: Option<&Account>,
    does: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    match account {
        Some(account) => account.with_its_rights(does),
        None => Ok(does()),
    }
}

const UNNAMED: &str = "the gateway runs as root, and its agents would too. Name an account for them in the settings \
                       (`agents.user = \"NAME\"`), or start the gateway as an account of its own. `agents.user = \"root\"` \
                       starts them as root all the same";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_agent_is_never_root_by_oversight() {
        let own = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().unwrap();
        assert_eq!(Account::choose(&own.name), Ok(None), "the account of this process, by its name");
        let unknown = Account::choose("no-such-account").unwrap_err();
        assert!(unknown.contains("no-such-account") && unknown.contains("agents.user"), "{unknown}");
        if own.uid.is_root() {
            assert!(Account::choose("").unwrap_err().contains("agents.user"));
            let other = Account::choose("nobody").unwrap().unwrap();
            assert_ne!(other.uid, 0);
            // Root's rights do not count, and are back.
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("file"), "words").unwrap();
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
            let read = || std::fs::read_to_string(folder.path().join("file"));
            assert!(other.with_its_rights(read).unwrap().is_err());
            assert_eq!(read().unwrap(), "words");
        } else {
            assert_eq!(Account::choose(""), Ok(None));
            assert!(Account::choose("root").unwrap_err().contains("only root"));
        }
    }
}
