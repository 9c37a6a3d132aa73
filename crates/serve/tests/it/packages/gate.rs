//! A way to a server that can be cut, blocked, and opened again.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What becomes of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// They go on to the server.
    Open,
    /// They are accepted, and nobody ever answers.
    Hanging,
    /// They end at once.
    Cut,
}

/// A port that leads to another one.
pub(super) struct Gate {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    to: SocketAddr,
    way: Mutex<Way>,
    /// Those that are open, to be ended when the way changes.
    held: Mutex<Vec<TcpStream>>,
}

impl Gate {
    pub(super) fn new(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared { to, way: Mutex::new(Way::Open), held: Mutex::default() });
        let accepting = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                accepting.take(stream);
            }
        });
        Self { address, shared }
    }

    /// Changes the way; connections that are there end.
    pub(super) fn set(&self, way: Way) {
        *self.shared.way.lock().unwrap_or_else(PoisonError::into_inner) = way;
        for stream in self.shared.held.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// How many hang now.
    pub(super) fn hanging(&self) -> usize {
        self.shared.held.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Shared {
    fn take(&self, stream: TcpStream) {
        // Held while it is decided, so that none slips past a change.
        let way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match *way {
            Way::Cut => drop(stream),
            Way::Hanging => held.push(stream),
            Way::Open => {
                let Ok(server) = TcpStream::connect(self.to) else { return };
                let both = [(&stream, &server), (&server, &stream)];
                for (from, to) in both {
                    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
                held.retain(|one| one.take_error().is_ok() && one.peer_addr().is_ok());
                held.push(stream);
            }
        }
    }
}
