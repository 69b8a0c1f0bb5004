//! A loop that writes the same bytes to many sockets, and does nothing else.

use std::io::{ErrorKind, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use rustix::event::epoll;

use crate::Result;

#[derive(Debug)]
pub(super) struct Bare {
    address: SocketAddr,
    work: mpsc::Sender<Vec<Vec<u8>>>,
}

impl Bare {
    /// Takes so many connections, and then what there is to write.
    pub(super) fn start(count: usize) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (work, works) = mpsc::channel();
        std::thread::spawn(move || {
            if let Err(error) = serve(&listener, count, &works) {
                println!("the bare loop failed: {error}");
            }
        });
        Ok(Self { address, work })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn write(&self, chunk: &[u8], times: usize) -> Result<()> {
        Ok(self.work.send(vec![chunk.to_vec(); times])?)
    }
}

/// A socket, and how much of what there is it has.
struct Taker {
    stream: TcpStream,
    has: usize,
}

fn serve(listener: &TcpListener, count: usize, works: &mpsc::Receiver<Vec<Vec<u8>>>) -> Result<()> {
    let mut takers = Vec::with_capacity(count);
    for _ in 0..count {
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        takers.push(Taker { stream, has: 0 });
    }
    let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (at, taker) in takers.iter().enumerate() {
        let flags = epoll::EventFlags::OUT | epoll::EventFlags::ET;
        epoll::add(&ready, &taker.stream, epoll::EventData::new_u64(at as u64), flags)?;
    }
    while let Ok(chunks) = works.recv() {
        let all = chunks.concat();
        let mut end = 0;
        for chunk in &chunks {
            let begin = end;
            end += chunk.len();
            for taker in takers.iter_mut().filter(|taker| taker.has == begin) {
                taker.has += written(&taker.stream, &all[begin..end])?;
            }
        }
        // Whoever could not take something gets the rest as soon as it can.
        let mut events = Vec::with_capacity(count);
        while takers.iter().any(|taker| taker.has < all.len()) {
            for taker in &mut takers {
                taker.has += written(&taker.stream, &all[taker.has..])?;
            }
            if takers.iter().any(|taker| taker.has < all.len()) {
                events.clear();
                epoll::wait(&ready, rustix::buffer::spare_capacity(&mut events), None)?;
            }
        }
        takers.iter_mut().for_each(|taker| taker.has = 0);
    }
    Ok(())
}

/// How much of it could be written now.
fn written(mut stream: &TcpStream, bytes: &[u8]) -> Result<usize> {
    if bytes.is_empty() {
        return Ok(0);
    }
    match stream.write(bytes) {
        Ok(count) => Ok(count),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(error.into()),
    }
}
