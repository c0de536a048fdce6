//! The caller that a request counts for.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::names::{LocalUser, Principal, TokenFacts, TokenSubject};

/// The prefix of an IPv6 address that identifies one peer. A peer usually has all addresses of such a network.
const PEER_PREFIX: u128 = !0 << 64;

/// The caller that a request counts for: the name or subject of its token, the name in its client certificate, the
/// user at the other end of a Unix socket or, without these, its address.
///
/// Rights belong to a [`Principal`], shares of budgets to a caller: all anonymous callers have the same rights, but one
/// address must not use up what the others need.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caller {
    /// The process that started the gateway over stdio.
    Local,
    /// The holder of the bearer token with this name.
    Named(Arc<str>),
    /// A subject of an OAuth issuer.
    Subject(Arc<TokenSubject>),
    /// The holder of a client certificate with this name.
    Certificate(Arc<str>),
    /// A user of this machine, connected to the Unix socket.
    User(LocalUser),
    /// Someone who tries tools on the status page, at this address.
    Operator(IpAddr),
    /// An anonymous peer at this address. Different loopback addresses are one peer, because a client that connects to
    /// `localhost` may use either family.
    Address(IpAddr),
}

impl Caller {
    /// An anonymous peer on this machine.
    pub const LOOPBACK: Self = Self::Address(IpAddr::V4(Ipv4Addr::LOCALHOST));

    /// The caller with this principal at this address.
    #[must_use]
    pub fn new(principal: &Principal, address: IpAddr) -> Self {
        match principal {
            Principal::Local => Self::Local,
            Principal::Named(name) => Self::Named(Arc::clone(name)),
            Principal::Subject(subject) => Self::Subject(Arc::clone(subject)),
            Principal::Certificate(name) => Self::Certificate(Arc::clone(name)),
            Principal::User(user) => Self::User(user.clone()),
            Principal::Operator => Self::Operator(address),
            Principal::Anonymous => Self::from_address(address),
        }
    }

    /// The caller's rights.
    #[must_use]
    pub fn principal(&self) -> Principal {
        match self {
            Self::Local => Principal::Local,
            Self::Named(name) => Principal::Named(Arc::clone(name)),
            Self::Subject(subject) => Principal::Subject(Arc::clone(subject)),
            Self::Certificate(name) => Principal::Certificate(Arc::clone(name)),
            Self::User(user) => Principal::User(user.clone()),
            Self::Operator(_) => Principal::Operator,
            Self::Address(_) => Principal::Anonymous,
        }
    }

    /// The anonymous peer at this address.
    #[must_use]
    pub fn from_address(address: IpAddr) -> Self {
        let address = address.to_canonical();
        if address.is_loopback() {
            return Self::LOOPBACK;
        }
        Self::Address(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & PEER_PREFIX)),
        })
    }
}

impl Caller {
    /// The same caller without the scopes and claims of its token, to be kept for a long time.
    #[must_use]
    pub fn without_facts(&self) -> Self {
        match self {
            Self::Subject(subject) => {
                Self::Subject(Arc::new(TokenSubject::clone(subject).with_facts(TokenFacts::default())))
            }
            Self::Local
            | Self::Named(_)
            | Self::Certificate(_)
            | Self::User(_)
            | Self::Operator(_)
            | Self::Address(_) => self.clone(),
        }
    }
}

/// For people: the name of a token, of its subject or in a certificate, or the address. The name of a subject is chosen
/// by its issuer.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Operator(_) => f.write_str("operator"),
            Self::Named(name) | Self::Certificate(name) => f.write_str(name),
            Self::Subject(subject) => f.write_str(subject.name()),
            Self::User(user) => f.write_str(user.name()),
            Self::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_peer_are_one_caller() {
        for [first, second] in
            [["127.0.0.1", "::1"], ["10.0.0.7", "::ffff:10.0.0.7"], ["2001:db8::1", "2001:db8::ffff:1"]]
        {
            let caller = |address: &str| Caller::from_address(address.parse().unwrap());
            assert_eq!(caller(first), caller(second), "{first} and {second}");
        }
        assert_ne!(
            Caller::from_address("10.0.0.7".parse().unwrap()),
            Caller::from_address("10.0.0.8".parse().unwrap())
        );
    }
}
