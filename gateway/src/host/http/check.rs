//! Whether a request is granted, and to which addresses it may go.

use std::net::IpAddr;

use http::Uri;
use http::uri::PathAndQuery;
use moongate_core::config::{Credential, Grants, HttpGrant, HttpOrigin, NoTarget, Target, is_public};
use url::{Host, Position, Url};
use wasmtime_wasi_http::Error;

use super::super::uses::Lack;

/// The longest path with its query that is sent, in bytes: what usual servers take.
const LONGEST: usize = 16 << 10;

/// A request that is granted: where it goes, in the form that was compared with the grants.
#[derive(Debug)]
pub(super) struct Permit<'g> {
    pub(super) target: Target,
    pub(super) origin: HttpOrigin,
    /// What is asked for there: path and query of the form that was compared.
    pub(super) asked: PathAndQuery,
    /// Every grant that covers it.
    grants: Vec<&'g HttpGrant>,
}

/// Why a request isn't sent.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It can't be read, or nobody may send it.
    Never(Error),
    /// It isn't granted.
    Lacks(Lack),
}

/// Compares a request with the grants.
pub(super) fn check<'g>(grants: &'g Grants, method: &str, uri: &Uri) -> Result<Permit<'g>, Refusal> {
    let never = Refusal::Never;
    let url = Url::parse(&uri.to_string()).map_err(|_| never(Error::HttpRequestUriInvalid))?;
    let target = Target::new(method, url.as_str()).map_err(|why| {
        never(match why {
            NoTarget::Url | NoTarget::UserInfo => Error::HttpRequestUriInvalid,
        })
    })?;
    // The one means a tunnel; the other asks to see the request as it arrived, with what the gateway added to it.
    if ["CONNECT", "TRACE", "TRACK"].contains(&target.method()) {
        return Err(never(Error::HttpRequestMethodInvalid));
    }
    let asked = &url[Position::BeforePath..Position::AfterQuery];
    if asked.len() > LONGEST {
        return Err(never(Error::HttpRequestUriTooLong));
    }
    let asked = asked.parse::<PathAndQuery>().map_err(|_| never(Error::HttpRequestUriInvalid))?;
    let origin = target.origin();
    let covering: Vec<_> = grants.http.iter().filter(|grant| grant.covers(&target)).collect();
    if covering.is_empty() {
        return Err(Refusal::Lacks(not_granted(grants, &target, &origin)));
    }
    Ok(Permit { target, origin, asked, grants: covering })
}

/// What to grant. Where the origin is granted, but not this method or path, those are named too.
fn not_granted(grants: &Grants, target: &Target, origin: &HttpOrigin) -> Lack {
    let in_part = grants.http.iter().any(|grant| grant.covers_origin(origin));
    let wanted = if in_part { target.to_string() } else { format!("{} {origin}", target.method()) };
    let cure = match origin.host {
        Host::Ipv4(address) if !is_public(address.into()) => with_network(origin, address.into()),
        Host::Ipv6(address) if !is_public(address.into()) => with_network(origin, address.into()),
        Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => format!("http = [\"{origin}\"]"),
    };
    Lack { wanted, cure: Some(cure) }
}

fn with_network(origin: &HttpOrigin, address: IpAddr) -> String {
    let length = if address.is_ipv4() { 32 } else { 128 };
    format!("http = [{{ url = \"{origin}\", networks = [\"{address}/{length}\"] }}]")
}

impl<'g> Permit<'g> {
    /// The grant by which the request may go to this address, if there is one.
    pub(super) fn by(&self, address: IpAddr) -> Option<&'g HttpGrant> {
        let public = is_public(address);
        self.grants
            .iter()
            .find(|grant| public || grant.networks.iter().any(|network| network.contains(&address)))
            .copied()
    }

    /// What is to be granted where the host has only addresses that aren't public, such as this one.
    pub(super) fn not_public(&self, address: IpAddr) -> Lack {
        let wanted = format!("{} {} at {address}, which isn't public", self.target.method(), self.origin);
        Lack { wanted, cure: Some(with_network(&self.origin, address)) }
    }

    /// What is told where the host is the gateway itself.
    pub(super) fn own(&self) -> Lack {
        let wanted = format!("{} {}, where this gateway listens", self.target.method(), self.origin);
        Lack { wanted, cure: None }
    }

    /// What the gateway adds to this request. Only an origin of `https` has any.
    pub(super) fn credentials(&self, grants: &'g Grants) -> impl Iterator<Item = &'g Credential> {
        grants.credentials.iter().filter(|credential| credential.origin == self.origin)
    }
}
