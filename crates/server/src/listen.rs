//! Where the server listens, and that nobody else can pass for it there.
//!
//! A browser keeps a page's secrets by name and port, and takes `localhost` for both loopback addresses: whichever answers
//! is our page to it. Whoever held the other one at our port would be given what the browser keeps for us. So we hold
//! both, or do not start.

use std::fs::Permissions;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use tokio::net::{TcpListener, TcpSocket, UnixListener};

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen on {address}: {source}")]
    Failed { address: SocketAddr, source: io::Error },
    #[error("cannot listen on {}: {source}. A path of more than 107 bytes is too long: choose another folder with --dir", path.display())]
    Local { path: PathBuf, source: io::Error },
    #[error(
        "{other} is held by another program ({source}), and a browser that opens http://localhost:{port} could reach \
         it in place of Holdstead. Stop that program, or choose another port with --listen",
        port = other.port()
    )]
    OtherLoopback { other: SocketAddr, source: io::Error },
}

/// The sockets that the server listens on.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    pub(crate) sockets: Vec<TcpListener>,
    /// For programs of this account alone.
    pub(crate) local: Option<UnixListener>,
}

/// How often a free port is looked for that both loopback addresses have.
const TRIES: u32 = 32;
const BACKLOG: u32 = 1024;
/// How much the system may hold for a client that does not read. Its own default goes to megabytes for each of them,
/// and every byte of that is read from the journal and written as JSON for nobody.
const SEND_BUFFER: usize = 64 * 1024;

impl Listener {
    /// Listens there, and on the other loopback address where `localhost` would lead here. Port 0 takes a free one.
    pub fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let mut tries = if address.port() == 0 { TRIES } else { 1 };
        loop {
            tries -= 1;
            match Self::bind_once(address) {
                Err(ListenError::OtherLoopback { .. }) if tries > 0 => {}
                bound => return bound,
            }
        }
    }

    fn bind_once(wanted: SocketAddr) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Failed { address: wanted, source };
        let first = listen(wanted).map_err(failed)?;
        let address = first.local_addr().map_err(failed)?;
        let mut sockets = vec![first];
        if let Some(ip) = other_loopback(address.ip()) {
            let other = SocketAddr::new(ip, address.port());
            match listen(other) {
                Ok(socket) => sockets.push(socket),
                // This machine has no such address, so nobody else has it either.
                Err(error) if is_absent(&error) => {}
                Err(source) => return Err(ListenError::OtherLoopback { other, source }),
            }
        }
        Ok(Self { address, sockets, local: None })
    }

    /// Listens on this path as well, which must be in a folder of its account alone. What an earlier process left there goes.
    pub fn and_at(self, path: &Path) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Local { path: path.to_owned(), source };
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let local = UnixListener::bind(path).map_err(failed)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(Self { local: Some(local), ..self })
    }

    /// The address that was asked for, with its port.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Whether somebody who opens `localhost` reaches a server that listens there.
pub(crate) fn is_localhost(ip: IpAddr) -> bool {
    ip.is_unspecified() || ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST
}

fn other_loopback(ip: IpAddr) -> Option<IpAddr> {
    match ip {
        // It takes connections to 127.0.0.1, too: see `listen`.
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => None,
        ip if !is_localhost(ip) => None,
        IpAddr::V4(_) => Some(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V6(_) => Some(Ipv4Addr::LOCALHOST.into()),
    }
}

pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address.ip() {
        IpAddr::V4(_) => TcpSocket::new_v4()?,
        IpAddr::V6(ip) => {
            let socket = TcpSocket::new_v6()?;
            // Said, because it is a setting of the machine otherwise: `[::]` is all addresses of both kinds.
            rustix::net::sockopt::set_ipv6_v6only(&socket, !ip.is_unspecified())?;
            socket
        }
    };
    socket.set_reuseaddr(true)?;
    // Connections have it from their listener.
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT))
}
