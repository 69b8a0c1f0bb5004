//! Who has a connection, what for, and who gives way.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

use super::ConnectionBounds;
use crate::limit::{Limits, RateLimit};

#[derive(Debug)]
pub(crate) struct Seats {
    bounds: ConnectionBounds,
    /// What all unknown callers together may have us read.
    strangers: Arc<Limits>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    taken: usize,
    /// Counts up: the lowest has waited longest.
    next: u64,
    strangers: Line,
    unheard: Line,
    idle: Line,
    /// Requests under way, by the hash of their token.
    by_token: HashMap<[u8; 32], usize>,
}

/// Connections that give way when places run out, the oldest first.
type Line = BTreeMap<u64, CancellationToken>;

/// Why a connection gives way when places run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Yields {
    /// It sent a request, and has not shown a good token yet.
    Stranger,
    /// It has sent no request yet.
    Unheard,
    /// It showed a good token before. Its last request was answered, or the token of its next one was not looked at yet.
    Idle,
}

impl Inner {
    fn line(&mut self, yields: Yields) -> &mut Line {
        match yields {
            Yields::Stranger => &mut self.strangers,
            Yields::Unheard => &mut self.unheard,
            Yields::Idle => &mut self.idle,
        }
    }

    /// At the end of a line.
    fn enter(&mut self, yields: Yields, gives_way: CancellationToken) -> Place {
        self.next += 1;
        let number = self.next;
        self.line(yields).insert(number, gives_way);
        Place::Yields(yields, number)
    }

    fn leave(&mut self, place: &Place) {
        match place {
            Place::Yields(yields, number) => drop(self.line(*yields).remove(number)),
            Place::Busy { token } | Place::Socket { token } => self.release(token),
        }
    }

    fn release(&mut self, token: &[u8; 32]) {
        if let Some(count) = self.by_token.get_mut(token) {
            *count -= 1;
            if *count == 0 {
                self.by_token.remove(token);
            }
        }
    }
}

impl Seats {
    pub(crate) fn new(bounds: ConnectionBounds) -> Arc<Self> {
        let strangers = Arc::new(Limits::new(RateLimit::STRANGERS));
        Arc::new(Self { bounds, strangers, inner: Mutex::default() })
    }

    pub(crate) const fn bounds(&self) -> ConnectionBounds {
        self.bounds
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the next one takes the place of one that may have sent its request already.
    pub(crate) fn takes_unheard(&self) -> bool {
        let inner = self.lock();
        let is_full = inner.taken >= self.bounds.total;
        inner.unheard.len() >= self.bounds.unheard
            || is_full && inner.strangers.is_empty() && inner.idle.is_empty()
    }

    /// A place for a new connection, another one's if need be. `None`: all have a good token and a request under way.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Arc<Seat>> {
        let mut inner = self.lock();
        if inner.unheard.len() >= self.bounds.unheard {
            let (_, gives_way) = inner.unheard.pop_first()?;
            gives_way.cancel();
        } else if inner.taken >= self.bounds.total {
            // An idle one loses nothing. One that is unheard may have sent its request already.
            let order = [Yields::Stranger, Yields::Idle, Yields::Unheard];
            let (_, gives_way) = order.into_iter().find_map(|yields| inner.line(yields).pop_first())?;
            gives_way.cancel();
        }
        inner.taken += 1;
        let gives_way = CancellationToken::new();
        let standing =
            Standing { place: inner.enter(Yields::Unheard, gives_way.clone()), known: Known::NotYet };
        Some(Arc::new(Seat { seats: Arc::clone(self), gives_way, standing: Mutex::new(standing) }))
    }
}

/// One connection's place; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    gives_way: CancellationToken,
    standing: Mutex<Standing>,
}

#[derive(Debug)]
struct Standing {
    place: Place,
    known: Known,
}

/// Whether a request of this connection had a good token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    NotYet,
    ByToken,
}

#[derive(Debug)]
enum Place {
    /// It is in this line, under this number.
    Yields(Yields, u64),
    /// It has a request under way, with this token.
    Busy { token: [u8; 32] },
    /// It became a socket: in use until it closes.
    Socket { token: [u8; 32] },
}

impl Seat {
    /// Cancelled when another connection needs the place.
    pub(crate) fn gives_way(&self) -> CancellationToken {
        self.gives_way.clone()
    }

    /// Who pays for requests of unknown callers.
    pub(super) fn strangers(&self) -> Arc<Limits> {
        Arc::clone(&self.seats.strangers)
    }

    /// Changes the place, and what the others know of it, as one.
    fn change<T>(&self, change: impl FnOnce(&mut Inner, &mut Standing) -> T) -> T {
        let mut inner = self.seats.lock();
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut inner, &mut standing)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.change(|inner, standing| {
            inner.taken -= 1;
            inner.leave(&standing.place);
        });
    }
}

/// A request under way. The place is idle again when the last of these is dropped: request and answer both have one.
#[derive(Debug, Clone)]
pub(crate) struct Occupied(Arc<UntilDropped>);

#[derive(Debug)]
struct UntilDropped(Arc<Seat>);

impl Occupied {
    pub(super) fn new(seat: Arc<Seat>) -> Self {
        seat.change(|inner, Standing { place, known }| match (&place, known) {
            (Place::Yields(Yields::Stranger, _) | Place::Busy { .. } | Place::Socket { .. }, _) => {}
            (Place::Yields(Yields::Unheard | Yields::Idle, _), known) => {
                inner.leave(place);
                let yields = match known {
                    Known::NotYet => Yields::Stranger,
                    Known::ByToken => Yields::Idle,
                };
                *place = inner.enter(yields, seat.gives_way());
            }
        });
        Self(Arc::new(UntilDropped(seat)))
    }

    /// Counts this request among those of its token, which is good. `false`: there are too many of them already.
    pub(crate) fn count(&self, hash: [u8; 32]) -> bool {
        let seat = &self.0.0;
        let most = seat.seats.bounds.per_token;
        seat.change(|inner, standing| match standing.place {
            Place::Yields(Yields::Stranger | Yields::Idle, _) => {
                let count = inner.by_token.entry(hash).or_default();
                if *count >= most {
                    return false;
                }
                *count += 1;
                inner.leave(&standing.place);
                *standing = Standing { place: Place::Busy { token: hash }, known: Known::ByToken };
                true
            }
            // It was counted when its token was looked at first.
            Place::Busy { .. } | Place::Socket { .. } | Place::Yields(Yields::Unheard, _) => true,
        })
    }

    /// The connection became a socket.
    pub(super) fn for_good(&self) {
        self.0.0.change(|_, standing| {
            if let Place::Busy { token } = standing.place {
                standing.place = Place::Socket { token };
            }
        });
    }
}

impl Drop for UntilDropped {
    fn drop(&mut self) {
        let seat = &self.0;
        // A stranger keeps its number: it has waited since its first request.
        seat.change(|inner, standing| {
            if let Place::Busy { .. } = standing.place {
                inner.leave(&standing.place);
                standing.place = inner.enter(Yields::Idle, seat.gives_way());
            }
        });
    }
}

/// The body of an answer: while it is being sent, the request is under way.
pub(super) fn until_sent(body: Body, occupied: Occupied) -> Body {
    Body::new(UntilSent { body, _occupied: occupied })
}

struct UntilSent {
    body: Body,
    _occupied: Occupied,
}

impl hyper::body::Body for UntilSent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(total: usize, unheard: usize, per_token: usize) -> Arc<Seats> {
        Seats::new(ConnectionBounds { total, unheard, per_token, ..ConnectionBounds::default() })
    }

    #[test]
    fn of_those_that_sent_nothing_the_oldest_gives_way() {
        let seats = seats(10, 2, 10);
        let busy = seats.take().unwrap();
        let request = Occupied::new(Arc::clone(&busy));
        assert!(request.count([1; 32]));
        let taken: Vec<_> = (0..4).map(|_| seats.take().unwrap()).collect();
        let gone: Vec<_> = taken.iter().map(|seat| seat.gives_way().is_cancelled()).collect();
        assert_eq!(gone, [true, true, false, false]);
        assert!(!busy.gives_way().is_cancelled(), "it has a request under way");
    }

    /// A request with a good token.
    fn known(seat: &Arc<Seat>) -> Occupied {
        let request = Occupied::new(Arc::clone(seat));
        assert!(request.count([1; 32]));
        request
    }

    #[test]
    fn a_connection_without_a_good_token_gives_way_also_with_a_request_under_way() {
        let seats = seats(3, 3, 10);
        let [stranger, other, good] = [0; 3].map(|_| seats.take().unwrap());
        let _theirs = Occupied::new(Arc::clone(&stranger));
        drop(known(&good));
        drop(Occupied::new(Arc::clone(&other)));
        let _next = known(&good);
        let fourth = seats.take().unwrap();
        assert!(stranger.gives_way().is_cancelled() && !other.gives_way().is_cancelled());
        drop(stranger);
        let fifth = seats.take().unwrap();
        assert!(other.gives_way().is_cancelled());
        drop(other);
        let (_fourth, _fifth) = (known(&fourth), known(&fifth));
        assert!(seats.take().is_none(), "all have a good token and a request under way");
        assert!(!good.gives_way().is_cancelled());
    }

    #[test]
    fn a_good_token_of_an_earlier_request_keeps_no_place() {
        let seats = seats(2, 2, 1);
        let [first, second] = [0; 2].map(|_| seats.take().unwrap());
        drop(known(&first));
        drop(known(&second));
        let requests = [&first, &second].map(|seat| Occupied::new(Arc::clone(seat)));
        let third = seats.take().expect("neither has shown its token again");
        assert!(first.gives_way().is_cancelled());
        assert!(requests[1].count([1; 32]));
        assert!(!requests[0].count([1; 32]), "its token has all that it may have");
        drop(third);
    }

    #[test]
    fn when_all_places_are_taken_an_idle_one_goes_and_then_nobody() {
        let seats = seats(2, 2, 10);
        let (first, second) = (seats.take().unwrap(), seats.take().unwrap());
        let under_way = known(&first);
        drop(known(&second));
        let third = seats.take().unwrap();
        assert!(second.gives_way().is_cancelled());
        drop(second);
        let socket = known(&third);
        socket.for_good();
        drop(socket);
        assert!(seats.take().is_none(), "a request and a socket stay");
        drop(under_way);
        assert!(seats.take().is_some());
        drop((first, third));
        assert_eq!(seats.lock().taken, 0);
    }

    #[test]
    fn one_token_cannot_have_all_places() {
        let seats = seats(10, 10, 2);
        let requests: Vec<_> = (0..3).map(|_| Occupied::new(seats.take().unwrap())).collect();
        let counted: Vec<_> = requests.iter().map(|request| request.count([1; 32])).collect();
        assert_eq!(counted, [true, true, false]);
        assert!(requests[0].count([1; 32]), "one request counts once");
        assert!(requests[2].count([2; 32]), "another token");
        drop(requests);
        assert!(seats.lock().by_token.is_empty());
    }
}
