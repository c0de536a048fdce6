//! From a host's name to its addresses.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// How many names are looked up at once. A lookup can't be called back, and each takes one of the threads that files
/// need too.
const AT_ONCE: usize = 32;

/// Answers a lookup.
pub(super) type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Knows the addresses of names. Asked once for each connection.
pub(super) trait Resolver: Send + Sync {
    /// All addresses of a name, in the order in which to try them.
    fn resolve<'a>(&'a self, name: &'a str) -> Lookup<'a>;
}

/// The machine's own resolver: its files and its name servers.
#[derive(Debug)]
pub(super) struct System(Arc<Semaphore>);

impl Default for System {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Resolver for System {
    fn resolve<'a>(&'a self, name: &'a str) -> Lookup<'a> {
        let (turn, name) = (Arc::clone(&self.0), name.to_owned());
        Box::pin(async move {
            let turn = turn.acquire_owned().await.map_err(io::Error::other)?;
            // Whoever waits may go; the turn is over when the lookup is.
            let found = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                (name.as_str(), 0).to_socket_addrs().map(|all| all.map(|address| address.ip()).collect())
            });
            found.await.map_err(io::Error::other)?
        })
    }
}
