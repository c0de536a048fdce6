//! Where the gateway itself listens: a plugin that reached it could call other plugins, or ask for a reload.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use moongate_core::config::{HttpOrigin, is_this_machine};
use url::Host;

/// The gateway's listeners.
#[derive(Debug)]
pub(super) struct Own(Vec<SocketAddr>);

impl Own {
    pub(super) fn new(listeners: Vec<SocketAddr>) -> Self {
        Self(listeners)
    }

    /// Is it one of them, as far as can be known without asking for the addresses of a name?
    pub(super) fn is_named(&self, origin: &HttpOrigin) -> bool {
        let is = |ip: IpAddr| self.is(SocketAddr::new(ip, origin.port));
        match &origin.host {
            Host::Ipv4(address) => is((*address).into()),
            Host::Ipv6(address) => is((*address).into()),
            Host::Domain(name) if is_this_machine(name) => {
                is(Ipv4Addr::LOCALHOST.into()) || is(Ipv6Addr::LOCALHOST.into())
            }
            Host::Domain(_) => false,
        }
    }

    /// Would a connection to this address come back to the gateway?
    pub(super) fn is(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        self.0.iter().filter(|own| own.port() == address.port()).any(|own| {
            let own = own.ip().to_canonical();
            // To connect to "no address" is to connect to this machine.
            own == ip || ip.is_unspecified() || own.is_unspecified() && is_of_this_machine(ip)
        })
    }
}

/// Only addresses of this machine's interfaces can be bound.
fn is_of_this_machine(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}
