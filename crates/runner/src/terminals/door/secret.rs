//! What a hook shows to be let in. It lies in a file of the gateway's own folder, which no agent in a box can read; a box
//! need not keep its agent from a socket.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

#[derive(Clone)]
pub(super) struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Secret {
    /// How long the line is that shows it.
    pub(super) const LINE: usize = 65;

    /// A new one, in its file beside this socket. Only its owner can read the file, from its first moment on.
    pub(super) fn write(socket: &Path) -> io::Result<Self> {
        let secret = Self(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()));
        let path = secret_file(socket);
        let new = path.with_extension("secret.new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(secret.0.as_bytes())?;
        file.write_all(b"\n")?;
        // A hook reads the old one or the new one, and never a part.
        fs::rename(new, path)?;
        Ok(secret)
    }

    /// Takes as long wherever the first difference is.
    pub(super) fn is_shown_by(&self, line: &[u8]) -> bool {
        let expected = self.0.as_bytes().iter().chain(b"\n");
        let differs = line.iter().zip(expected).fold(0, |differs, (is, should)| differs | (is ^ should));
        line.len() == Self::LINE && std::hint::black_box(differs) == 0
    }
}

/// Where hooks find the secret of a socket.
pub fn secret_file(socket: &Path) -> PathBuf {
    socket.with_extension("secret")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_secret_is_new_each_time_and_no_other_account_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("hooks.sock");
        let first = Secret::write(&socket).unwrap();
        let line = fs::read(secret_file(&socket)).unwrap();
        assert_eq!(fs::metadata(secret_file(&socket)).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(first.is_shown_by(&line) && line.len() == Secret::LINE);
        for wrong in [&line[..64], &[&line[..], b"x"].concat(), &[b'0'; Secret::LINE], b""] {
            assert!(!first.is_shown_by(wrong));
        }
        let second = Secret::write(&socket).unwrap();
        assert!(!second.is_shown_by(&line));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(!format!("{second:?}").contains(char::is_numeric));
    }
}
