//! Who has a connection, what for, and who gives way.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

use super::ConnectionBounds;

#[derive(Debug)]
pub(crate) struct Seats {
    bounds: ConnectionBounds,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    taken: usize,
    /// Counts up: the lowest has waited longest.
    next: u64,
    unheard: BTreeMap<u64, CancellationToken>,
    idle: BTreeMap<u64, CancellationToken>,
    /// Requests under way, by the hash of their token.
    by_token: HashMap<[u8; 32], usize>,
}

impl Inner {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn release(&mut self, token: Option<[u8; 32]>) {
        let Some(token) = token else { return };
        if let Some(count) = self.by_token.get_mut(&token) {
            *count -= 1;
            if *count == 0 {
                self.by_token.remove(&token);
            }
        }
    }
}

impl Seats {
    pub(crate) fn new(bounds: ConnectionBounds) -> Arc<Self> {
        Arc::new(Self { bounds, inner: Mutex::default() })
    }

    pub(crate) const fn bounds(&self) -> ConnectionBounds {
        self.bounds
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the next one takes somebody else's place.
    pub(crate) fn is_short(&self) -> bool {
        let inner = self.lock();
        inner.unheard.len() >= self.bounds.unheard || inner.taken >= self.bounds.total
    }

    /// A place for a new connection, somebody else's if need be. `None`: all have a request under way.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Arc<Seat>> {
        let mut inner = self.lock();
        if inner.unheard.len() >= self.bounds.unheard {
            let (_, gives_way) = inner.unheard.pop_first()?;
            gives_way.cancel();
        } else if inner.taken >= self.bounds.total {
            let (_, gives_way) = inner.idle.pop_first().or_else(|| inner.unheard.pop_first())?;
            gives_way.cancel();
        }
        inner.taken += 1;
        let number = inner.number();
        let gives_way = CancellationToken::new();
        inner.unheard.insert(number, gives_way.clone());
        let place = Mutex::new(Place::Unheard(number));
        Some(Arc::new(Seat { seats: Arc::clone(self), gives_way, place }))
    }
}

/// One connection's place; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    gives_way: CancellationToken,
    place: Mutex<Place>,
}

#[derive(Debug)]
enum Place {
    /// It has sent no request yet.
    Unheard(u64),
    /// It has a request under way, with this token.
    Occupied { token: Option<[u8; 32]> },
    /// It became a socket: in use until it closes.
    Socket { token: Option<[u8; 32]> },
    /// Its last request was answered.
    Idle(u64),
}

impl Seat {
    /// Cancelled when somebody else needs the place.
    pub(crate) fn gives_way(&self) -> CancellationToken {
        self.gives_way.clone()
    }

    /// Changes the place, and what the others know of it, as one.
    fn change<T>(&self, change: impl FnOnce(&mut Inner, &mut Place) -> T) -> T {
        let mut inner = self.seats.lock();
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut inner, &mut place)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.change(|inner, place| {
            inner.taken -= 1;
            match place {
                Place::Unheard(number) => drop(inner.unheard.remove(number)),
                Place::Idle(number) => drop(inner.idle.remove(number)),
                Place::Occupied { token } | Place::Socket { token } => inner.release(token.take()),
            }
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
        seat.change(|inner, place| {
            match place {
                Place::Unheard(number) => drop(inner.unheard.remove(number)),
                Place::Idle(number) => drop(inner.idle.remove(number)),
                Place::Occupied { .. } | Place::Socket { .. } => {}
            }
            *place = Place::Occupied { token: None };
        });
        Self(Arc::new(UntilDropped(seat)))
    }

    /// Counts this request among its token's. `false`: there are too many of them already.
    pub(crate) fn count(&self, hash: [u8; 32]) -> bool {
        let seat = &self.0.0;
        let most = seat.seats.bounds.per_token;
        seat.change(|inner, place| match place {
            Place::Occupied { token: token @ None } => {
                let count = inner.by_token.entry(hash).or_default();
                if *count >= most {
                    return false;
                }
                *count += 1;
                *token = Some(hash);
                true
            }
            // It was counted when its token was looked at first.
            Place::Occupied { token: Some(_) }
            | Place::Socket { .. }
            | Place::Unheard(_)
            | Place::Idle(_) => true,
        })
    }

    /// The connection became a socket.
    pub(super) fn for_good(&self) {
        self.0.0.change(|_, place| {
            if let Place::Occupied { token } = place {
                *place = Place::Socket { token: token.take() };
            }
        });
    }
}

impl Drop for UntilDropped {
    fn drop(&mut self) {
        let seat = &self.0;
        seat.change(|inner, place| {
            if let Place::Occupied { token } = place {
                inner.release(token.take());
                let number = inner.number();
                inner.idle.insert(number, seat.gives_way());
                *place = Place::Idle(number);
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
        let _request = Occupied::new(Arc::clone(&busy));
        let taken: Vec<_> = (0..4).map(|_| seats.take().unwrap()).collect();
        let gone: Vec<_> = taken.iter().map(|seat| seat.gives_way().is_cancelled()).collect();
        assert_eq!(gone, [true, true, false, false]);
        assert!(!busy.gives_way().is_cancelled(), "it has a request under way");
    }

    #[test]
    fn when_all_places_are_taken_an_idle_one_goes_and_then_nobody() {
        let seats = seats(2, 2, 10);
        let (first, second) = (seats.take().unwrap(), seats.take().unwrap());
        let under_way = Occupied::new(Arc::clone(&first));
        drop(Occupied::new(Arc::clone(&second)));
        let third = seats.take().unwrap();
        assert!(second.gives_way().is_cancelled());
        drop(second);
        let socket = Occupied::new(Arc::clone(&third));
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
