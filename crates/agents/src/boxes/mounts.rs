//! The other names of a file: the same folder can be mounted at several places.

use std::path::{Path, PathBuf};

/// Where else `path` can be reached, by the lines of `/proc/self/mountinfo`. What is mounted over is not known here.
pub(super) fn other_names(path: &Path, mountinfo: &str) -> Vec<PathBuf> {
    let mounts: Vec<_> = mountinfo.lines().filter_map(Mount::read).collect();
    // The last of the longest: later ones cover earlier ones.
    let here = mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.at))
        .max_by_key(|mount| mount.at.as_os_str().len());
    let Some(here) = here else { return Vec::new() };
    let Ok(below) = path.strip_prefix(&here.at) else { return Vec::new() };
    let within = here.root.join(below);
    let same_device = mounts.iter().filter(|mount| mount.device == here.device);
    let names = same_device.filter_map(|mount| Some(join(&mount.at, within.strip_prefix(&mount.root).ok()?)));
    names.filter(|name| name != path).collect()
}

/// File systems that are the kernel's own settings and state.
const KERNELS: [&str; 12] = [
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "efivarfs",
    "proc",
    "pstore",
    "securityfs",
    "sysfs",
    "tracefs",
];

/// Where these are mounted. What is mounted in another one of them is left out.
pub(super) fn of_the_kernel(mountinfo: &str) -> Vec<PathBuf> {
    let mounts = mountinfo.lines().filter_map(Mount::read).filter(|mount| KERNELS.contains(&mount.kind));
    let mut places: Vec<_> =
        mounts.map(|mount| mount.at).chain(["/proc", "/sys"].map(PathBuf::from)).collect();
    places.sort();
    places.dedup_by(|inner, outer| inner.starts_with(outer));
    places
}

struct Mount<'a> {
    device: &'a str,
    /// What of the device is mounted.
    root: PathBuf,
    at: PathBuf,
    /// Of which file system it is.
    kind: &'a str,
}

impl<'a> Mount<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut words = line.split(' ').skip(2);
        let (device, root, at) = (words.next()?, words.next()?, words.next()?);
        let kind = words.skip_while(|word| *word != "-").nth(1)?;
        Some(Self { device, root: unescape(root), at: unescape(at), kind })
    }
}

/// Without a slash at the end where there is nothing below.
fn join(folder: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { folder.to_owned() } else { folder.join(below) }
}

/// Spaces and the like are written as three octal digits.
fn unescape(word: &str) -> PathBuf {
    let mut plain = word.to_owned();
    for (escaped, character) in [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")] {
        plain = plain.replace(escaped, character);
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
21 1 254:0 / / rw - ext4 /dev/vda rw
22 21 0:20 / /proc rw - proc proc rw
23 21 254:1 / /people rw - ext4 /dev/vdb rw
24 21 254:1 /ada /mnt/ada\\040too rw - ext4 /dev/vdb rw
25 21 254:1 /ada/.local/share/holdstead /srv/data rw - ext4 /dev/vdb rw
26 21 254:1 /bob /mnt/bob rw - ext4 /dev/vdb rw";

    #[test]
    fn every_place_where_the_same_folder_is_mounted() {
        let names = |path: &str| other_names(Path::new(path), MOUNTS);
        let at = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let ours = "/people/ada/.local/share/holdstead";
        assert_eq!(names(ours), at(&["/mnt/ada too/.local/share/holdstead", "/srv/data"]));
        assert_eq!(names("/srv/data"), at(&[ours, "/mnt/ada too/.local/share/holdstead"]));
        assert_eq!(names("/people/bob/x"), at(&["/mnt/bob/x"]));
        assert_eq!(names("/etc/holdstead"), at(&[]));
        assert_eq!(other_names(Path::new("/x"), ""), at(&[]));
    }

    #[test]
    fn the_kernels_own_files_wherever_they_are_mounted() {
        let more = "\n27 21 0:21 / /sys rw - sysfs sysfs rw\n28 27 0:22 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n\
                    29 21 0:20 / /srv/chroot/proc rw - proc proc rw";
        let places = of_the_kernel(&format!("{MOUNTS}{more}"));
        assert_eq!(places, ["/proc", "/srv/chroot/proc", "/sys"].map(PathBuf::from));
        assert_eq!(of_the_kernel(""), ["/proc", "/sys"].map(PathBuf::from));
    }
}
