//! The gateway's own listeners. A plugin that could reach one could call other plugins, or request a reload.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use moongate_config::{HttpOrigin, is_localhost_name, reached_addresses};
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

    /// True if a connection to this address could reach the gateway.
    pub(super) fn contain(&self, address: SocketAddr) -> bool {
        let reached = reached_addresses(address.ip());
        let is_own = |own: IpAddr| {
            // Connecting to the unspecified address connects to this machine.
            let is_own = |ip: &IpAddr| {
                own == *ip || ip.is_unspecified() || own.is_unspecified() && is_of_this_machine(*ip)
            };
            reached.iter().any(is_own)
        };
        self.0.iter().any(|own| own.port() == address.port() && is_own(own.ip().to_canonical()))
    }
}

/// Only addresses of this machine's interfaces can be bound.
fn is_of_this_machine(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}
