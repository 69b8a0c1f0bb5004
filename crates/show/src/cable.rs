//! A way from one process to another, which can be cut and laid anew. With several ends it spreads connections over them, as
//! a load balancer does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::Result;

/// How long the other end may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Cable {
    pub(crate) address: SocketAddr,
    ends: Arc<watch::Sender<Vec<SocketAddr>>>,
}

impl Cable {
    /// Leads nowhere.
    pub(crate) async fn new() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let ends = Arc::new(watch::Sender::new(Vec::new()));
        let all = Arc::clone(&ends);
        tokio::spawn(async move {
            let next = Arc::new(AtomicUsize::new(0));
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, all.subscribe(), next.fetch_add(1, Ordering::Relaxed)));
            }
        });
        Ok(Self { address, ends })
    }

    pub(crate) fn cut(&self) {
        self.lead_to(&[]);
    }

    /// Connections to another end than these are cut.
    pub(crate) fn lead_to(&self, ends: &[SocketAddr]) {
        self.ends.send_replace(ends.to_vec());
    }
}

/// To the end whose turn it is, or the next one that is there.
async fn carry(mut near: TcpStream, mut ends: watch::Receiver<Vec<SocketAddr>>, turn: usize) {
    let mut all = ends.borrow_and_update().clone();
    let count = all.len().max(1);
    all.rotate_left(turn % count);
    for end in all {
        let Ok(Ok(mut far)) = timeout(PATIENCE, TcpStream::connect(end)).await else { continue };
        // What is small is not kept back.
        if near.set_nodelay(true).and_then(|()| far.set_nodelay(true)).is_err() {
            return;
        }
        tokio::select! {
            // Either side may end it.
            _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
            _ = ends.wait_for(|ends| !ends.contains(&end)) => {}
        }
        return;
    }
}
