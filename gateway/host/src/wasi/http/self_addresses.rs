//! The gateway's own listeners. A plugin that could reach one could call other plugins, or request a reload.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use moongate_config::{HttpOrigin, is_localhost_name};
use url::Host;

/// The addresses that the gateway listens on.
#[derive(Debug)]
pub(super) struct SelfAddresses(Vec<SocketAddr>);

impl SelfAddresses {
    pub(super) fn new(listeners: Vec<SocketAddr>) -> Self {
        Self(listeners)
    }

    /// True if the origin is the gateway, judging without resolving a name.
    pub(super) fn contain_origin(&self, origin: &HttpOrigin) -> bool {
        let contain = |ip: IpAddr| self.contain(SocketAddr::new(ip, origin.port));
        match &origin.host {
            Host::Ipv4(address) => contain((*address).into()),
            Host::Ipv6(address) => contain((*address).into()),
            Host::Domain(name) if is_localhost_name(name) => {
                contain(Ipv4Addr::LOCALHOST.into()) || contain(Ipv6Addr::LOCALHOST.into())
            }
            Host::Domain(_) => false,
        }
    }

    /// True if a connection to this address would reach the gateway.
    pub(super) fn contain(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        self.0.iter().filter(|own| own.port() == address.port()).any(|own| {
            let own = own.ip().to_canonical();
            // Connecting to the unspecified address connects to this machine.
            own == ip || ip.is_unspecified() || own.is_unspecified() && is_of_this_machine(ip)
        })
    }
}

/// Only addresses of this machine's interfaces can be bound.
fn is_of_this_machine(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}
