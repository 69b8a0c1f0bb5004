//! Files below a folder that agents can write to. No symbolic link on the way is followed, so a link that an agent put
//! there leads to nothing that is read, and nothing elsewhere is overwritten.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchown, fstat, mkdirat, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;
use uuid::Uuid;

use crate::account::Account;
use crate::regular::path_of;

/// So many entries of a folder are looked at.
const ENTRIES: usize = 100_000;

/// An opened folder.
#[derive(Debug)]
pub(crate) struct Beneath(OwnedFd, Option<Owner>);

/// Another account than this process's. All that is opened belongs to it, and so does all that is made.
#[derive(Debug, Clone, Copy)]
struct Owner {
    uid: Uid,
    gid: Gid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entry {
    File,
    Folder,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const PRIVATE_FOLDER: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

impl Beneath {
    /// The folder itself may be a link: people keep their dotfiles elsewhere.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Self::open_of(folder, None)
    }

    /// The same, of this account. With root's rights a link of the account's would lead where only root may write.
    pub(crate) fn open_of(folder: &Path, account: Option<&Account>) -> io::Result<Self> {
        let owner = account
            .map(|account| Owner { uid: Uid::from_raw(account.uid()), gid: Gid::from_raw(account.gid()) });
        Self::owned(rustix::fs::open(folder, FOLDER, Mode::empty())?, owner)
    }

    fn owned(opened: OwnedFd, owner: Option<Owner>) -> io::Result<Self> {
        belongs_to(&opened, owner)?;
        Ok(Self(opened, owner))
    }

    /// Where it really is, however `opened_as` led there.
    pub(crate) fn path(&self, opened_as: &Path) -> io::Result<PathBuf> {
        path_of(&self.0, opened_as)
    }

    /// A folder in this one; nothing, if there is none.
    pub(crate) fn folder(&self, name: &OsStr) -> io::Result<Option<Self>> {
        match openat(&self.0, single(name)?, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(opened) => Ok(Some(Self::owned(opened, self.1)?)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The same, made if it is not there. A file or a link that is in its way gets another name.
    pub(crate) fn make_folder(&self, name: &OsStr) -> io::Result<Self> {
        if let Ok(Some(folder)) = self.folder(name) {
            return Ok(folder);
        }
        self.move_aside(name)?;
        mkdirat(&self.0, single(name)?, PRIVATE_FOLDER)?;
        if let Some(Owner { uid, gid }) = self.1 {
            chownat(&self.0, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        self.folder(name)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Gives what has this name another one.
    fn move_aside(&self, name: &OsStr) -> io::Result<()> {
        let aside = format!(".{}.aside", Uuid::new_v4());
        match renameat(&self.0, single(name)?, &self.0, aside) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A regular file in this folder; nothing, if there is none.
    pub(crate) fn file(&self, name: &OsStr) -> io::Result<Option<File>> {
        // A pipe without a writer would keep its reader waiting, and a terminal would become ours.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = match openat(&self.0, single(name)?, flags, Mode::empty()) {
            Ok(opened) => File::from(opened),
            // What `open` says of a link and of a socket.
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        belongs_to(&opened, self.1)?;
        Ok(opened.metadata()?.is_file().then_some(opened))
    }

    /// Its regular files and folders.
    pub(crate) fn entries(&self) -> io::Result<Vec<(OsString, Entry)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() >= ENTRIES {
                return Err(io::Error::other(format!("a folder has more than {ENTRIES} entries")));
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems do not say.
                let found = statat(&self.0, &name, AtFlags::SYMLINK_NOFOLLOW)?;
                kind = FileType::from_raw_mode(found.st_mode);
            }
            if kind == FileType::RegularFile {
                entries.push((name, Entry::File));
            } else if kind == FileType::Directory {
                entries.push((name, Entry::Folder));
            }
        }
        Ok(entries)
    }

    /// These bytes at the end of a file that is there.
    pub(crate) fn append(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.0, single(name)?, flags, Mode::empty())?);
        belongs_to(&file, self.1)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// A file of this name with these bytes, in place of what has the name now: the whole of it or nothing.
    pub(crate) fn replace(&self, name: &OsStr, mut with: impl Read) -> io::Result<()> {
        let name = single(name)?;
        let next = format!(".{}.next", Uuid::new_v4());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.0, &next, flags, PRIVATE_FILE)?);
        if let Some(Owner { uid, gid }) = self.1 {
            fchown(&file, Some(uid), Some(gid))?;
        }
        let replaced = io::copy(&mut with, &mut file).and_then(|_| file.sync_all()).and_then(|()| {
            match renameat(&self.0, &next, &self.0, name) {
                // A folder is in its way.
                Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                    self.move_aside(name)?;
                    Ok(renameat(&self.0, &next, &self.0, name)?)
                }
                renamed => Ok(renamed?),
            }
        });
        if replaced.is_err() {
            // What cannot be removed has a name that nothing reads.
            let _left = unlinkat(&self.0, &next, AtFlags::empty());
        }
        replaced
    }
}

/// What is opened may be another's: a hard link, or what a link on the way led to.
fn belongs_to(opened: impl AsFd, owner: Option<Owner>) -> io::Result<()> {
    match owner {
        Some(owner) if fstat(opened)?.st_uid != owner.uid.as_raw() => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it belongs to another account than the agent's",
        )),
        Some(_) | None => Ok(()),
    }
}

/// A name in a folder, and not a path that leads out of it.
fn single(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(std::path::Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no name of a file")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_and_paths_lead_nowhere() {
        let top = tempfile::tempdir().unwrap();
        let (inside, outside) = (top.path().join("inside"), top.path().join("outside"));
        for folder in [&inside, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("words"), "words").unwrap();
        }
        symlink("../outside", inside.join("folder link")).unwrap();
        symlink("../outside/words", inside.join("file link")).unwrap();
        symlink("inside", top.path().join("dotfiles")).unwrap();
        let beneath = Beneath::open(&top.path().join("dotfiles")).unwrap();
        let named = OsStr::new;
        let read = |name: &str| {
            let mut text = String::new();
            beneath.file(named(name)).unwrap().map(|mut file| file.read_to_string(&mut text).map(|_| text))
        };
        assert_eq!(read("words").unwrap().unwrap(), "words");
        assert!(read("file link").is_none());
        assert!(read("nothing").is_none());
        assert!(beneath.folder(named("folder link")).is_err());
        assert_eq!(beneath.path(&inside).unwrap(), inside.canonicalize().unwrap());
        for path in ["../outside/words", "..", ".", "", "/etc/passwd", "words/", "a/b"] {
            assert!(beneath.file(named(path)).is_err(), "{path}");
            assert!(beneath.replace(named(path), &b""[..]).is_err(), "{path}");
        }
        let mut entries = beneath.entries().unwrap();
        entries.sort();
        assert_eq!(entries, [(OsString::from("words"), Entry::File)]);
        // The link is replaced, and not what it leads to.
        beneath.replace(named("file link"), &b"new"[..]).unwrap();
        assert_eq!(read("file link").unwrap().unwrap(), "new");
        assert_eq!(std::fs::read_to_string(outside.join("words")).unwrap(), "words");
        beneath.make_folder(named("deep")).unwrap().replace(named("words"), &b"below"[..]).unwrap();
        assert_eq!(std::fs::read_to_string(inside.join("deep/words")).unwrap(), "below");
        assert_eq!(std::fs::read_dir(&inside).unwrap().count(), 4, "nothing else is left behind");
        // What is in the way gets another name.
        beneath.make_folder(named("folder link")).unwrap().replace(named("words"), &b"inside"[..]).unwrap();
        assert_eq!(std::fs::read_to_string(inside.join("folder link/words")).unwrap(), "inside");
        assert_eq!(std::fs::read_to_string(outside.join("words")).unwrap(), "words");
        beneath.replace(named("deep"), &b"a file now"[..]).unwrap();
        assert_eq!(std::fs::read_to_string(inside.join("deep")).unwrap(), "a file now");
    }
}
