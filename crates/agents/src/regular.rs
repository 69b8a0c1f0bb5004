//! The one way in which a file is opened that an agent could have put there: once, without waiting for it, and only if it
//! is a regular file in a place where it may be. What is opened is what is read: nothing is looked up by its path a second
//! time, because an agent can change where a path leads at any moment.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// What becomes of a path that is itself a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    Follow,
    Refuse,
}

#[derive(Debug, thiserror::Error)]
pub enum NotRead {
    #[error("it is not there")]
    Missing,
    /// A folder, a pipe, a socket, a device, or a link where none is followed.
    #[error("it is no file, or a link to one")]
    NotRegular,
    #[error("it leads to a file that is not read for an agent")]
    Elsewhere,
    #[error("it is longer than {most} bytes")]
    TooLong { most: u64 },
    #[error("it cannot be read: {0}")]
    Failed(io::Error),
}

/// A regular file as it was when it was opened.
#[derive(Debug)]
pub struct Regular {
    file: File,
    length: u64,
}

impl Regular {
    /// `may_be` is given the file's real path, behind all links, and says whether that file may be read.
    pub fn open(path: &Path, links: Links, may_be: impl Fn(&Path) -> bool) -> Result<Self, NotRead> {
        // A pipe without a writer would keep its reader waiting, and a terminal would become ours.
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if links == Links::Refuse {
            flags |= OFlags::NOFOLLOW;
        }
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
        let file = opened.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::NOTDIR) => NotRead::Missing,
            // What `open` says of a socket, and of a link that is not followed.
            Some(Errno::NXIO | Errno::LOOP) => NotRead::NotRegular,
            Some(_) | None => NotRead::Failed(error),
        })?;
        let is = file.metadata().map_err(NotRead::Failed)?;
        if !is.is_file() {
            return Err(NotRead::NotRegular);
        }
        if !may_be(&path_of(&file, path).map_err(NotRead::Failed)?) {
            return Err(NotRead::Elsewhere);
        }
        Ok(Self { file, length: is.len() })
    }

    pub const fn length(&self) -> u64 {
        self.length
    }

    /// So many bytes at most from there on, and none behind its end as it was when it was opened. So a file that grows is
    /// read once, and the kernel's own files, which claim to be empty and tell about the process that reads them, stay so.
    pub fn read(mut self, from: u64, most: u64) -> Result<Vec<u8>, NotRead> {
        let most = most.min(self.length.saturating_sub(from));
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(from)).map_err(NotRead::Failed)?;
        self.file.take(most).read_to_end(&mut bytes).map_err(NotRead::Failed)?;
        Ok(bytes)
    }
}

/// Where what was opened really is.
pub(crate) fn path_of(opened: impl AsFd, opened_as: &Path) -> io::Result<PathBuf> {
    let by_number = format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd());
    // A kernel without `/proc` is asked by the path, which may lead elsewhere by now.
    std::fs::read_link(by_number).or_else(|_| opened_as.canonicalize())
}

/// All of a file that is not longer than this.
pub fn read(
    path: &Path,
    links: Links,
    most: u64,
    may_be: impl Fn(&Path) -> bool,
) -> Result<Vec<u8>, NotRead> {
    let file = Regular::open(path, links, may_be)?;
    if file.length() > most { Err(NotRead::TooLong { most }) } else { file.read(0, most) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    fn anywhere(_: &Path) -> bool {
        true
    }

    #[test]
    fn only_a_regular_file_is_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "words").unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for name in ["file", "pipe", "socket", "folder", "nowhere", "round"] {
            let target = if name == "round" { "link to round" } else { name };
            symlink(target, at(&format!("link to {name}"))).unwrap();
        }
        for links in [Links::Follow, Links::Refuse] {
            let look = |path: &Path| read(path, links, 100, anywhere);
            assert_eq!(look(&at("file")).unwrap(), b"words");
            let devices = ["/dev/null", "/dev/zero", "/dev/tty"].map(PathBuf::from);
            for path in ["pipe", "socket", "folder"].map(at).into_iter().chain(devices) {
                let refused = look(&path);
                assert!(matches!(refused, Err(NotRead::NotRegular)), "{}: {refused:?}", path.display());
            }
            assert!(matches!(look(&at("nowhere")), Err(NotRead::Missing)));
            assert!(matches!(look(&at("file/below")), Err(NotRead::Missing)));
            for name in ["pipe", "socket", "folder", "round"] {
                let refused = look(&at(&format!("link to {name}")));
                assert!(matches!(refused, Err(NotRead::NotRegular)), "link to {name}: {refused:?}");
            }
        }
        assert_eq!(read(&at("link to file"), Links::Follow, 100, anywhere).unwrap(), b"words");
        assert!(matches!(read(&at("link to file"), Links::Refuse, 100, anywhere), Err(NotRead::NotRegular)));
        assert!(matches!(read(&at("link to nowhere"), Links::Follow, 100, anywhere), Err(NotRead::Missing)));
    }

    #[test]
    fn a_huge_file_is_not_read_and_one_that_grows_ends_where_it_ended_when_it_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut writer = File::create(&path).unwrap();
        writer.write_all(b"one\n").unwrap();
        assert_eq!(read(&path, Links::Follow, 4, anywhere).unwrap(), b"one\n");
        assert!(matches!(read(&path, Links::Follow, 3, anywhere), Err(NotRead::TooLong { most: 3 })));
        let opened = Regular::open(&path, Links::Follow, anywhere).unwrap();
        writer.write_all(b"two\n").unwrap();
        assert_eq!(opened.read(0, u64::MAX).unwrap(), b"one\n");
        let opened = || Regular::open(&path, Links::Follow, anywhere).unwrap();
        assert_eq!(opened().read(4, 2).unwrap(), b"tw");
        assert_eq!(opened().read(u64::MAX, 2).unwrap_or_default(), b"", "behind its end");
        writer.set_len(1 << 40).unwrap();
        assert!(matches!(read(&path, Links::Follow, 1 << 20, anywhere), Err(NotRead::TooLong { .. })));
        assert_eq!(opened().read(0, 8).unwrap(), b"one\ntwo\n");
        assert_eq!(read(Path::new("/proc/self/environ"), Links::Follow, 1 << 20, anywhere).unwrap(), b"");
    }

    #[test]
    fn where_a_file_really_is_decides_however_its_path_led_there() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["project", "private"] {
            std::fs::create_dir(top.join(name)).unwrap();
            std::fs::write(top.join(name).join("file"), name).unwrap();
        }
        symlink(top.join("private"), top.join("project/folder")).unwrap();
        symlink(top.join("private/file"), top.join("project/link")).unwrap();
        symlink(top.join("project"), top.join("dotfiles")).unwrap();
        let open = |name: &str| {
            let outside = |real: &Path| !real.starts_with(top.join("private"));
            read(&top.join(name), Links::Follow, 100, outside).map(|bytes| String::from_utf8(bytes).unwrap())
        };
        for name in ["private/file", "project/link", "project/folder/file", "project/../private/file"] {
            assert!(matches!(open(name), Err(NotRead::Elsewhere)), "{name}");
        }
        for name in ["project/file", "dotfiles/file", "private/../project/file"] {
            assert_eq!(open(name).unwrap(), "project", "{name}");
        }
    }

    #[test]
    fn a_link_that_is_swapped_all_the_time_never_leads_to_what_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let [ours, theirs, link, next] = ["private", "project", "link", "next"].map(|name| top.join(name));
        std::fs::write(&ours, "a token").unwrap();
        std::fs::write(&theirs, "words").unwrap();
        symlink(&theirs, &link).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
        let (mut words, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for target in [&ours, &theirs].into_iter().cycle().take_while(|_| !stopped()) {
                    symlink(target, &next).unwrap();
                    std::fs::rename(&next, &link).unwrap();
                }
            });
            while words < 200 || refused < 200 {
                match read(&link, Links::Follow, 100, |real| real != ours) {
                    Ok(read) => {
                        assert_eq!(read, b"words");
                        words += 1;
                    }
                    Err(NotRead::Elsewhere) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
