//! Landlock: the kernel refuses a process, and whatever it starts, what its rules do not allow.
//!
//! Rules only allow. So everything beside the hidden paths is allowed, one by one: what lies in a folder on the way to a
//! hidden one, and is made there after the start, is refused as well.

use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::{LANDLOCK, Needs, is_root, kernel_files};
use crate::guard::{HostOfGuard, guard};
use crate::host::fail;

/// The first that keeps files from being emptied: that of Linux 6.2.
const NEEDED: ABI = ABI::V3;
/// As in [`super::bubblewrap`].
const ROOT_KEEPS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// To list folders and to run programs takes nothing from the gateway; to forbid it on the way to its folders would
/// take `ls` in one's own home.
fn refused() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEEDED) & !(AccessFs::ReadDir | AccessFs::Execute)
}

fn rules() -> Result<Ruleset, RulesetError> {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(refused())
}

pub(super) fn probe() -> Result<(), String> {
    let tried = rules().and_then(Ruleset::create);
    tried.map(drop).map_err(|_| "the kernel has no Landlock of Linux 6.2 or newer".to_owned())
}

pub(super) fn command(host: &[String], hidden: &[PathBuf], needs: &Needs) -> Vec<String> {
    let mut words = host.to_vec();
    words.push(LANDLOCK.to_owned());
    for (option, paths) in [(HIDE, hidden), (READ, &needs.read), (WRITE, &needs.write)] {
        words.extend(paths.iter().flat_map(|path| [option.to_owned(), path.to_string_lossy().into_owned()]));
    }
    words.push("--".to_owned());
    words
}

const HIDE: &str = "--hide";
const READ: &str = "--read";
const WRITE: &str = "--write";

/// Shuts this process in and guards the agent. `args` are `--hide PATH… --read PATH… --write PATH… -- PROGRAM ARGS…`.
pub(crate) fn run(args: impl IntoIterator<Item = String>) -> ExitCode {
    let (mut hidden, mut needs) = (Vec::new(), Needs::default());
    let mut words = args.into_iter().peekable();
    while let Some(option) = words.next_if(|word| word != "--") {
        let paths = match option.as_str() {
            HIDE => &mut hidden,
            READ => &mut needs.read,
            WRITE => &mut needs.write,
            other => return fail(&format!("`{other}` is not known")),
        };
        paths.extend(words.next().map(PathBuf::from));
    }
    let shut_in = HostOfGuard::find().and_then(|host| Ok((shut_in(hidden, &needs, &host)?, host)));
    match shut_in {
        Ok((scoped, host)) => guard(host, scoped, words),
        Err(why) => fail(&format!("the agent was not started, because its box could not be made: {why}")),
    }
}

/// Proof that the kernel keeps the signals of this process in its sandbox.
#[derive(Debug, Clone)]
pub(crate) struct Scoped(());

impl Scoped {
    /// Kills all in this sandbox at once but this process. A process cannot leave its sandbox.
    pub(crate) fn kill_all(&self) {
        // To group 1 means to all that may be reached: that is why it takes a proof.
        let _none_may_be_left = kill_process_group(Pid::INIT, Signal::KILL);
    }

    /// A sandbox within that of this process, for this thread and what it starts: signals from there do not reach here.
    pub(crate) fn enter_inner(&self) -> Result<(), String> {
        let signals = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal);
        let applied = signals.and_then(Ruleset::create).and_then(|rules| rules.restrict_self());
        applied.map_err(|error| error.to_string())?;
        keep(ROOT_KEEPS)
    }
}

fn shut_in(mut hidden: Vec<PathBuf>, needs: &Needs, host: &HostOfGuard) -> Result<Option<Scoped>, String> {
    if is_root(None) {
        // Root can read raw disks, where the gateway's files are, too.
        hidden.extend(raw_disks());
    }
    let whole = refused() & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    // What is read there is the kernel's, and so is what is written.
    let kernel = kernel_files();
    let mut open = Vec::new();
    beside(Path::new("/"), &[hidden, kernel.clone()].concat(), &mut open);
    let apply = || {
        rules()?
            // Of Linux 6.12. Without it the agent can end the gateway, which harms nobody's secrets.
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::Signal)?
            .create()?
            .add_rules(path_beneath_rules(open, whole))?
            .add_rules(path_beneath_rules(kernel, AccessFs::ReadFile))?
            .add_rules(path_beneath_rules(&needs.write, whole))?
            .add_rules(path_beneath_rules(&needs.read, AccessFs::ReadFile))?
            .restrict_self()
    };
    let reached = test_kill_process(host.pid);
    let applied = apply().map_err(|error| error.to_string())?;
    let refused = test_kill_process(host.pid);
    // All was asked for by its own name, so all of it includes the scope. The host shows that it is in force: it could be
    // reached before, it cannot now, and it is still there.
    let scoped = applied.ruleset == RulesetStatus::FullyEnforced
        && reached == Ok(())
        && refused == Err(Errno::PERM)
        && host.is_alive();
    if applied.ruleset == RulesetStatus::NotEnforced {
        return Err("the kernel does not enforce Landlock".to_owned());
    }
    // The guard may end what the agent runs as other accounts. The agent has its own sandbox only where this is in force.
    keep(if scoped { ROOT_KEEPS.union(CapabilitySet::KILL) } else { ROOT_KEEPS })?;
    Ok(scoped.then_some(Scoped(())))
}

/// A restricted process cannot gain any of the others again.
fn keep(kept: CapabilitySet) -> Result<(), String> {
    let had = capabilities(None).map_err(|error| error.to_string())?;
    let kept = CapabilitySets {
        effective: had.effective & kept,
        permitted: had.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept).map_err(|error| error.to_string())
}

/// What lies beside the hidden paths, in `folder` and on the way to them.
fn beside(folder: &Path, hidden: &[PathBuf], open: &mut Vec<PathBuf>) {
    // A folder that cannot be listed may still lead somewhere.
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let leading = hidden.iter().filter_map(|path| path.strip_prefix(folder).ok()?.iter().next());
    let mut names: Vec<OsString> = listed.chain(leading.map(OsString::from)).collect();
    names.sort();
    names.dedup();
    for path in names.into_iter().map(|name| folder.join(name)) {
        if hidden.contains(&path) || path.is_symlink() {
            // Where a link leads has a rule of its own, or none.
            continue;
        }
        if hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            beside(&path, hidden, open);
        } else {
            open.push(path);
        }
    }
}

fn raw_disks() -> impl Iterator<Item = PathBuf> {
    let devices = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let disks = devices.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_block_device()));
    disks.map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_what_is_hidden_and_the_folders_on_the_way() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for folder in ["home/ada/.config/holdstead/deep", "home/ada/.config/other", "home/ada/project", "etc"]
        {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("home/ada/notes"), "").unwrap();
        std::os::unix::fs::symlink(root.join("home/ada/.config/holdstead"), root.join("link")).unwrap();
        let hidden = ["home/ada/.config/holdstead", "home/bob/nowhere"].map(|path| root.join(path));
        let mut open = Vec::new();
        beside(root, &hidden, &mut open);
        let expected = ["etc", "home/ada/.config/other", "home/ada/notes", "home/ada/project"];
        assert_eq!(open, expected.map(|path| root.join(path)));
    }
}
