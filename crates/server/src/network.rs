//! Who reaches the gateway besides this machine: where it listens, and what a person opened while it runs.
//!
//! The gateway listens on loopback unless it is told otherwise. A person may open one address of a private network to it;
//! it stays open until the gateway ends.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdstead_protocol::api::Network;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::addresses::private_addresses;
use crate::listen::{self, ListenError};

/// The sockets that are opened while the server runs.
pub(crate) type Opened = mpsc::UnboundedReceiver<TcpListener>;

#[derive(Debug)]
pub(crate) struct Doors {
    /// Where the server listens from its start.
    listens: SocketAddr,
    opened: Mutex<BTreeSet<IpAddr>>,
    tell: mpsc::UnboundedSender<TcpListener>,
}

/// Why an address was not opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// It is not one of this machine's addresses in a private network.
    Unknown,
    Failed(ListenError),
}

impl Doors {
    pub(crate) fn new(listens: SocketAddr) -> (Self, Opened) {
        let (tell, opened) = mpsc::unbounded_channel();
        (Self { listens, opened: Mutex::default(), tell }, opened)
    }

    fn opened(&self) -> MutexGuard<'_, BTreeSet<IpAddr>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where other machines reach the gateway, and what could be opened to them.
    pub(crate) fn look(&self) -> Network {
        let opened = self.opened().clone();
        let (open, closed) =
            private_addresses().into_iter().partition(|ip| self.listens_on(*ip) || opened.contains(ip));
        Network { open: self.urls(open), closed: self.urls(closed) }
    }

    fn urls(&self, addresses: Vec<IpAddr>) -> Vec<String> {
        addresses.into_iter().map(|ip| url(SocketAddr::new(ip, self.listens.port()))).collect()
    }

    fn listens_on(&self, ip: IpAddr) -> bool {
        let listens = self.listens.ip();
        // All addresses of its kind; those of IPv6 include the others.
        (listens.is_unspecified() && (listens.is_ipv6() || ip.is_ipv4())) || listens == ip
    }

    /// Listens on this address, too, at the same port. Opening what is open changes nothing.
    pub(crate) fn open(&self, wanted: &str) -> Result<Network, NotOpened> {
        let now = self.look();
        if !now.open.iter().any(|url| url == wanted) {
            let address = private_addresses()
                .into_iter()
                .map(|ip| SocketAddr::new(ip, self.listens.port()))
                .find(|address| url(*address) == wanted)
                .ok_or(NotOpened::Unknown)?;
            let mut opened = self.opened();
            if opened.contains(&address.ip()) {
                return Ok(now);
            }
            let socket = listen::listen(address)
                .map_err(|source| NotOpened::Failed(ListenError::Failed { address, source }))?;
            opened.insert(address.ip());
            // Nobody takes it when the server is about to end: then it is closed again at once.
            let _ending = self.tell.send(socket);
        }
        Ok(self.look())
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}
