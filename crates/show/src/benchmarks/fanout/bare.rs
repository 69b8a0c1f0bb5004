//! A loop that writes the same bytes to many sockets, and does nothing else.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use crate::Result;

#[derive(Debug)]
pub(super) struct Bare {
    pub(super) address: SocketAddr,
    work: mpsc::Sender<(Vec<u8>, usize)>,
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

    /// Writes the chunk so many times to each of them.
    pub(super) fn write(&self, chunk: &[u8], times: usize) -> Result<()> {
        Ok(self.work.send((chunk.to_vec(), times))?)
    }
}

fn serve(listener: &TcpListener, count: usize, works: &mpsc::Receiver<(Vec<u8>, usize)>) -> Result<()> {
    let mut streams: Vec<TcpStream> = Vec::with_capacity(count);
    for _ in 0..count {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    while let Ok((chunk, times)) = works.recv() {
        for _ in 0..times {
            for stream in &mut streams {
                // A burst fits into the socket's buffer, so no reader holds up the others.
                stream.write_all(&chunk)?;
            }
        }
    }
    Ok(())
}
