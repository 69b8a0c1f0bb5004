//! Connections that have not said everything yet: first the secret, then one line. They are read in the order in which they
//! came, and none waits for another one.

use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::Instant;

use super::places::Place;
use super::secret::Secret;

/// The longest line. A hook is told whole files.
const LONGEST: usize = 16 * 1024 * 1024;
/// How long a connection may take to show the secret, and to say the rest.
const SHOWING: Duration = Duration::from_secs(1);
const SAYING: Duration = Duration::from_secs(30);
/// So many may be about to show the secret, of one process and of all. One more, and the oldest has to go.
const MOST_UNSHOWN_OF_ONE: usize = 16;
const MOST_UNSHOWN: usize = 128;
/// So much is read at once.
const PIECE: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Newcomer {
    stream: UnixStream,
    place: Place,
    text: Vec<u8>,
    state: State,
    until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has not shown the secret.
    Unshown,
    Saying,
}

/// One that has said its line.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) line: Vec<u8>,
    pub(super) stream: UnixStream,
    pub(super) place: Place,
}

/// What became of one that was read.
enum Read {
    More,
    Whole,
    /// It is gone, too slow, or not one of ours.
    Over,
}

#[derive(Debug, Default)]
pub(super) struct Newcomers(VecDeque<Newcomer>);

impl Newcomers {
    pub(super) fn add(&mut self, stream: UnixStream, place: Place) {
        let unshown = |newcomer: &Newcomer| newcomer.state == State::Unshown;
        let of_it = |newcomer: &Newcomer| unshown(newcomer) && newcomer.place.process() == place.process();
        if self.0.iter().filter(|newcomer| of_it(newcomer)).count() >= MOST_UNSHOWN_OF_ONE {
            self.let_go(of_it);
        } else if self.0.iter().filter(|newcomer| unshown(newcomer)).count() >= MOST_UNSHOWN {
            self.let_go(unshown);
        }
        let until = Instant::now() + SHOWING;
        self.0.push_back(Newcomer { stream, place, text: Vec::new(), state: State::Unshown, until });
    }

    /// The first of these has to go.
    fn let_go(&mut self, of: impl Fn(&Newcomer) -> bool) {
        if let Some(oldest) = self.0.iter().position(of) {
            self.0.remove(oldest);
        }
    }

    /// When the first of them has taken too long.
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.iter().map(|newcomer| newcomer.until).min()
    }

    /// Ready when one of them has said more.
    pub(super) fn poll_more(&self, context: &mut Context<'_>) -> Poll<()> {
        // All of them are looked at: each wakes by itself.
        let ready =
            self.0.iter().filter(|newcomer| newcomer.stream.poll_read_ready(context).is_ready()).count();
        if ready > 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Reads what is there, without waiting. A program goes on when its hook has written everything, so whoever has said a
    /// whole line came before all that its program says later.
    pub(super) fn read(&mut self, secret: &Secret) -> Vec<Said> {
        let now = Instant::now();
        let mut said = Vec::new();
        let mut stay = VecDeque::with_capacity(self.0.len());
        for mut newcomer in std::mem::take(&mut self.0) {
            match newcomer.read(secret, now) {
                Read::More => stay.push_back(newcomer),
                Read::Whole => {
                    let Newcomer { stream, place, text: line, .. } = newcomer;
                    said.push(Said { line, stream, place });
                }
                Read::Over => {}
            }
        }
        self.0 = stay;
        said
    }
}

impl Newcomer {
    fn read(&mut self, secret: &Secret, now: Instant) -> Read {
        loop {
            // Before the secret was shown, no more than that is read.
            let most = match self.state {
                State::Unshown => Secret::LINE - self.text.len(),
                State::Saying => PIECE.min(LONGEST + 1 - self.text.len()),
            };
            let mut piece = vec![0; most];
            match read_now(&self.stream, &mut piece) {
                Ok(0) => return Read::Over,
                Ok(count) => self.text.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return if now < self.until { Read::More } else { Read::Over };
                }
                Err(_) => return Read::Over,
            }
            match self.state {
                State::Unshown if self.text.len() < Secret::LINE => {}
                State::Unshown => {
                    if !secret.is_shown_by(&self.text) {
                        return Read::Over;
                    }
                    self.text.clear();
                    (self.state, self.until) = (State::Saying, now + SAYING);
                }
                State::Saying if self.text.ends_with(b"\n") => return Read::Whole,
                State::Saying if self.text.len() > LONGEST => return Read::Over,
                State::Saying => {}
            }
        }
    }
}

/// What was sent before now, also if the runtime was not told of it yet.
fn read_now(stream: &UnixStream, piece: &mut [u8]) -> io::Result<usize> {
    let mut read = || -> io::Result<usize> { Ok(rustix::io::read(stream, &mut *piece)?) };
    match read() {
        // If the runtime was told of something before, it learns that there is nothing more.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.try_io(Interest::READABLE, read),
        read => read,
    }
}
