//! Bubblewrap: namespaces of its own, in which the gateway's folders are empty.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Needs, is_root, kernel_files};
use crate::account::Account;
use crate::find_program;

const PROGRAM: &str = "bwrap";
/// What root keeps in a box: to work on others' files and to install things. Not what reaches into the kernel, other
/// processes, raw disks or the network's packets.
const ROOT_KEEPS: [&str; 7] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_NET_BIND_SERVICE",
    "CAP_SETGID",
    "CAP_SETUID",
];

/// What root could change of the kernel below `/proc`.
const KERNEL_IN_PROC: [&str; 8] = ["acpi", "bus", "driver", "fs", "irq", "scsi", "sys", "sysrq-trigger"];

/// Whether it works here, tried with what it will have to do.
pub(super) fn probe(hidden: &[PathBuf], account: Option<&Account>) -> Result<(), String> {
    if find_program(PROGRAM).is_none() {
        return Err("bubblewrap is not installed (`apt-get install bubblewrap`)".to_owned());
    }
    let words = command(hidden, Path::new("/"), &Needs::default(), is_root(account));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("true").current_dir("/").stdin(Stdio::null());
    if let Some(account) = account {
        command.uid(account.uid()).gid(account.gid());
    }
    let tried = command.output();
    let why = match tried {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("bubblewrap does not work here ({})", why.trim()))
}

/// Everything as it is, but the processes of others and what is hidden.
pub(super) fn command(hidden: &[PathBuf], cwd: &Path, needs: &Needs, root: bool) -> Vec<String> {
    let mut words = vec![PROGRAM.to_owned()];
    let mut say = |said: &[&str]| words.extend(said.iter().map(|word| (*word).to_owned()));
    say(&["--die-with-parent", "--unshare-pid", "--cap-drop", "ALL"]);
    if root {
        // Root can read raw disks, where the gateway's files are, too.
        say(&["--bind", "/", "/", "--dev", "/dev"]);
        ROOT_KEEPS.iter().for_each(|capability| say(&["--cap-add", capability]));
    } else {
        say(&["--unshare-user", "--dev-bind", "/", "/"]);
    }
    say(&["--proc", "/proc"]);
    if root {
        for place in kernel_files().iter().filter(|place| *place != Path::new("/proc")) {
            say(&["--ro-bind", &place.to_string_lossy(), &place.to_string_lossy()]);
        }
        // The rest of it is about the processes of the namespace, and theirs.
        for name in KERNEL_IN_PROC {
            let place = format!("/proc/{name}");
            say(&["--ro-bind-try", &place, &place]);
        }
    }
    let (folders, files): (Vec<_>, Vec<_>) = hidden.iter().partition(|path| path.is_dir());
    for folder in &folders {
        say(&["--tmpfs", &folder.to_string_lossy()]);
    }
    for file in files {
        // A device on a mount that takes none: it cannot be opened.
        say(&["--ro-bind", "/dev/null", &file.to_string_lossy()]);
    }
    for (option, paths) in [("--ro-bind", &needs.read), ("--bind", &needs.write)] {
        for path in paths {
            say(&[option, &path.to_string_lossy(), &path.to_string_lossy()]);
        }
    }
    for folder in folders {
        // What is written there would be lost without a word.
        say(&["--remount-ro", &folder.to_string_lossy()]);
    }
    say(&["--chdir", &cwd.to_string_lossy(), "--"]);
    words
}
