//! Whether a request is granted, and to which addresses it may go.

use std::net::IpAddr;

use http::header::Entry;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Uri};
use moongate_core::call::Cure;
use moongate_core::config::{
    Credential, Grants, HttpGrant, HttpOrigin, NoTarget, PluginConfig, Target, is_public,
};
use url::{Host, Position, Url};
use wasmtime_wasi_http::Error;

use crate::host::wasi::grant_audit::{Lack, Uses};
use crate::host::wasi::http::secret_in_path::tells;
use crate::host::wasi::http::self_addresses::Own;

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
    /// It isn't granted. `shown`: the line that grants it, where it tells nothing of other grants.
    Lacks { lack: Lack, shown: Option<String> },
    /// It is, but not to the addresses that its host has.
    NotPublic(Lack),
    /// It would come back to the gateway.
    Own(Lack),
}

impl Refusal {
    /// Tells the operator, and says what the guest is told.
    pub(super) fn told(self, uses: &Uses) -> Error {
        let (lack, error) = match self {
            Self::Never(error) => return error,
            Self::Lacks { lack, shown } => {
                uses.lacked_openly(lack, shown.as_deref());
                return Error::HttpRequestDenied;
            }
            Self::NotPublic(lack) => (lack, Error::DestinationIpProhibited),
            Self::Own(lack) => (lack, Error::LoopDetected),
        };
        uses.lacked(lack);
        error
    }
}

/// Compares a request with the grants.
pub(super) fn check<'g>(
    config: &'g PluginConfig,
    own: &Own,
    method: &str,
    uri: &Uri,
) -> Result<Permit<'g>, Refusal> {
    let (grants, never) = (&config.allow, Refusal::Never);
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
        return Err(not_granted(config, own, &target, &origin));
    }
    Ok(Permit { target, origin, asked, grants: covering })
}

/// Compares where a request wants something copied or moved to (RFC 4918, 10.3): that is changed as well. What is sent
/// is what was compared, and whole: a path that is said alone could be read as a host.
pub(super) fn check_destination(
    config: &PluginConfig,
    permit: &Permit<'_>,
    headers: &mut HeaderMap,
) -> Result<(), Refusal> {
    let method = permit.target.method();
    if !["COPY", "MOVE"].contains(&method) {
        return Ok(());
    }
    let Entry::Occupied(mut destinations) = headers.entry("destination") else { return Ok(()) };
    for value in destinations.iter_mut() {
        let invalid = || Refusal::Never(Error::HttpRequestUriInvalid);
        // Whether `//a` is a path or a host depends on who reads it.
        let written = value.to_str().ok().filter(|written| !written.starts_with("//")).ok_or_else(invalid)?;
        let whole =
            if written.starts_with('/') { format!("{}{written}", permit.origin) } else { written.to_owned() };
        let to = Target::new(method, &whole).map_err(|_| invalid())?;
        if !config.allow.http.iter().any(|grant| grant.covers(&to)) {
            return Err(lacks(config, &to, in_part(config, &to)));
        }
        let url = Url::parse(&whole).map_err(|_| invalid())?;
        let compared = format!("{}{}", to.origin(), &url[Position::BeforePath..Position::AfterQuery]);
        *value = HeaderValue::try_from(compared).map_err(|_| invalid())?;
    }
    Ok(())
}

/// What to grant, if anything. Where the origin is granted, but not this method or path, those are named too.
fn not_granted(config: &PluginConfig, own: &Own, target: &Target, origin: &HttpOrigin) -> Refusal {
    if own.is_named(origin) {
        return Refusal::Own(of_the_gateway(target, origin));
    }
    let is_in_part = config.allow.http.iter().any(|grant| grant.covers_origin(origin));
    let mut wanted =
        if is_in_part { in_part(config, target) } else { format!("{} {origin}", target.method()) };
    let is_inner = match origin.host {
        Host::Ipv4(address) => !is_public(address.into()),
        Host::Ipv6(address) => !is_public(address.into()),
        Host::Domain(_) => false,
    };
    if is_inner {
        wanted.push_str(", an address that isn't public");
    }
    lacks(config, target, wanted)
}

/// What is wanted of an origin that is granted in part: with its path, unless that tells what is the operator's.
fn in_part(config: &PluginConfig, target: &Target) -> String {
    if tells(target.path(), config) {
        format!("{} {}", target.method(), target.origin())
    } else {
        target.to_string()
    }
}

/// Stands in a cure for a path that isn't told.
const UNTOLD: &str = "/untold";

/// The line that grants it; with `…` for a path that isn't told.
fn cure(config: &PluginConfig, target: &Target) -> String {
    let grants = &config.allow;
    let is_whole = !grants.http.iter().any(|grant| grant.covers_origin(&target.origin()));
    if is_whole || !tells(target.path(), config) {
        return grants.cure(target);
    }
    let untold = format!("{}{UNTOLD}", target.origin());
    let cure = Target::new(target.method(), &untold).map(|untold| grants.cure(&untold));
    cure.unwrap_or_default().replace(&format!("{untold}\""), &format!("{}/…\"", target.origin()))
}

fn lacks(config: &PluginConfig, target: &Target, wanted: String) -> Refusal {
    let (grants, cure) = (&config.allow, cure(config, target));
    let origin = target.origin();
    // The line has the networks that are granted for the origin already, which are the operator's.
    let tells_networks =
        grants.http.iter().any(|grant| grant.covers_origin(&origin) && !grant.networks.is_empty());
    let shown = (!tells_networks).then(|| cure.clone());
    Refusal::Lacks { shown, lack: Lack { wanted, cure: Some(Cure::Line(cure)) } }
}

fn of_the_gateway(target: &Target, origin: &HttpOrigin) -> Lack {
    let wanted = format!("{} {origin}, this gateway's own listener", target.method());
    Lack { wanted, cure: None }
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
    pub(super) fn not_public(&self, address: IpAddr) -> Refusal {
        let wanted = format!("{} {} at {address}, which isn't public", self.target.method(), self.origin);
        let cure = self.grants.first().map(|grant| grant.cure(&self.origin, address));
        Refusal::NotPublic(Lack { wanted, cure: cure.map(Cure::Line) })
    }

    /// What is told where the host is the gateway itself.
    pub(super) fn own(&self) -> Refusal {
        Refusal::Own(of_the_gateway(&self.target, &self.origin))
    }

    /// What the gateway adds to this request. Only an origin of `https` has any.
    pub(super) fn credentials(&self, grants: &'g Grants) -> impl Iterator<Item = &'g Credential> {
        grants.credentials.iter().filter(|credential| credential.origin == self.origin)
    }
}
