//! A TCP connection to a store that can be slow.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The shortest and the longest delay in each direction, in milliseconds.
const DELAYS: std::ops::RangeInclusive<u64> = 50..=200;

/// A port in front of a store. Dropping it closes the port.
#[derive(Debug)]
pub struct StoreNetwork {
    address: SocketAddr,
    state: Arc<NetworkState>,
}

#[derive(Debug, Default)]
struct NetworkState {
    is_slow: AtomicBool,
    has_ended: AtomicBool,
    /// The number of delays so far.
    delays: AtomicU64,
}

impl StoreNetwork {
    /// A port in front of the store that listens at `socket`.
    ///
    /// # Panics
    /// If no port is free.
    pub(crate) fn new(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the port is bound");
        let state = Arc::<NetworkState>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.has_ended.load(Ordering::SeqCst) {
                    return;
                }
                // Without a store, the connection is closed.
                let _ = connect(stream, &socket, &shared);
            }
        });
        Self { address, state }
    }

    /// The value of `url` in `[store]`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Delays everything by 50 to 200 ms in each direction, or nothing.
    pub fn set_slow(&self, is_slow: bool) {
        self.state.is_slow.store(is_slow, Ordering::SeqCst);
    }
}

impl Drop for StoreNetwork {
    fn drop(&mut self) {
        self.state.has_ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address); // so that the thread notices
    }
}

impl NetworkState {
    fn delay(&self) -> Duration {
        if !self.is_slow.load(Ordering::SeqCst) {
            return Duration::ZERO;
        }
        let number = self.delays.fetch_add(1, Ordering::Relaxed);
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Duration::from_millis(DELAYS.start() + mixed % (DELAYS.end() - DELAYS.start() + 1))
    }
}

fn connect(client: TcpStream, socket: &Path, state: &Arc<NetworkState>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let store = UnixStream::connect(socket)?;
    let (from_client, from_store) = (client.try_clone()?, store.try_clone()?);
    let end = |stream: &UnixStream| drop(stream.shutdown(Shutdown::Both));
    carry(from_client, store, end, Arc::clone(state));
    carry(from_store, client, |stream| drop(stream.shutdown(Shutdown::Both)), Arc::clone(state));
    Ok(())
}

/// Copies everything in order, each part after its delay. At the end, `close` closes the other side.
fn carry<W: Write + Send + 'static>(
    mut from: impl Read + Send + 'static,
    mut to: W,
    close: impl Fn(&W) + Send + 'static,
    state: Arc<NetworkState>,
) {
    let (parts, arriving) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut part = [0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut part) {
            let due = Instant::now() + state.delay();
            if parts.send((due, part[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (due, part) in arriving {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&part).is_err() {
                break;
            }
        }
        close(&to);
    });
}
