//! From a host's name to its addresses.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::pin::Pin;

use tokio::sync::OwnedSemaphorePermit;

/// How many names are looked up at once for one plugin. A lookup can't be called back, and each takes one of the threads
/// that files need too.
pub(super) const AT_ONCE: usize = 8;

/// Answers a lookup.
pub(super) type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Knows the addresses of names. Asked once for each connection.
pub(super) trait Resolver: Send + Sync {
    /// All addresses of a name, in the order in which to try them. The plugin's turn is over when the lookup is, even
    /// where nobody waits for it any more.
    fn resolve<'a>(&'a self, name: &'a str, turn: OwnedSemaphorePermit) -> Lookup<'a>;
}

/// The machine's own resolver: its files and its name servers.
#[derive(Debug)]
pub(super) struct System;

impl Resolver for System {
    fn resolve<'a>(&'a self, name: &'a str, turn: OwnedSemaphorePermit) -> Lookup<'a> {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                (name.as_str(), 0).to_socket_addrs().map(|all| all.map(|address| address.ip()).collect())
            });
            found.await.map_err(io::Error::other)?
        })
    }
}
