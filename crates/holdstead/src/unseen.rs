//! Reads a line that the terminal does not show.

use std::io::Result;

/// The next line, typed unseen where that is possible.
#[cfg(unix)]
pub(crate) fn line(lines: &mut dyn Iterator<Item = Result<String>>) -> Option<Result<String>> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    // Without a terminal there is nobody to see it.
    let Ok(before) = tcgetattr(std::io::stdin()) else { return lines.next() };
    let mut unseen = before.clone();
    unseen.local_modes.remove(LocalModes::ECHO);
    unseen.local_modes.insert(LocalModes::ECHONL);
    if let Err(error) = tcsetattr(std::io::stdin(), OptionalActions::Now, &unseen) {
        return Some(Err(error.into()));
    }
    let line = lines.next();
    match tcsetattr(std::io::stdin(), OptionalActions::Now, &before) {
        Ok(()) => line,
        Err(error) => Some(Err(error.into())),
    }
}

#[cfg(not(unix))]
pub(crate) fn line(lines: &mut dyn Iterator<Item = Result<String>>) -> Option<Result<String>> {
    lines.next()
}
