//! Where the gateway itself listens: a plugin that reached it could call other plugins, or ask for a reload.

use std::net::{IpAddr, SocketAddr, UdpSocket};

/// The gateway's listeners.
#[derive(Debug)]
pub(super) struct Own(Vec<SocketAddr>);

impl Own {
    pub(super) fn new(listeners: Vec<SocketAddr>) -> Self {
        Self(listeners)
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
