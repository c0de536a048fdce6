//! Checks of requests against the grants, and of their destination addresses.

use std::net::IpAddr;

use http::header::Entry;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Uri};
use moongate_config::{
    Credential, Grants, HttpGrant, HttpOrigin, InvalidTargetError, PluginConfig, RequestTarget,
    TraceContextGrant, is_public_address,
};
use moongate_model::call::GrantFix;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::{Host, Position, Url};
use wasmtime_wasi_http::Error;

use super::self_addresses::SelfAddresses;
use crate::wasi::grant_audit::{GrantAudit, MissingGrant};

/// The maximum length of a path with its query, in bytes, which common servers accept.
const MAX_PATH_BYTES: usize = 16 << 10;

/// Shorter settings, in bytes, are hardly secrets, and many paths contain them by chance.
const MIN_SECRET_BYTES: usize = 8;

/// A granted request, in the form that was compared with the grants.
#[derive(Debug)]
pub(super) struct GrantedRequest<'g> {
    pub(super) target: RequestTarget,
    pub(super) origin: HttpOrigin,
    pub(super) path_and_query: PathAndQuery,
    /// Every grant that covers it.
    grants: Vec<&'g HttpGrant>,
}

/// The reason that a request isn't sent.
#[derive(Debug)]
pub(super) enum RequestRefusal {
    /// The request is invalid, or no plugin is allowed to send it.
    Invalid(Error),
    /// The request isn't granted.
    NotGranted(MissingGrant),
    /// The request is granted, but its host has only non-public addresses.
    NotPublic(MissingGrant),
    /// The request would reach the gateway itself.
    Gateway(MissingGrant),
}

impl RequestRefusal {
    /// Reports the refusal to the operator, and returns the guest's error.
    pub(super) fn report(self, audit: &GrantAudit) -> Error {
        let (missing, error) = match self {
            Self::Invalid(error) => return error,
            Self::NotGranted(missing) => {
                audit.report_missing_to_caller(&missing);
                return Error::HttpRequestDenied;
            }
            Self::NotPublic(missing) => (missing, Error::DestinationIpProhibited),
            Self::Gateway(missing) => (missing, Error::LoopDetected),
        };
        audit.report_missing(&missing);
        error
    }
}

/// Checks a request against the grants.
pub(super) fn check<'g>(
    config: &'g PluginConfig,
    self_addresses: &SelfAddresses,
    method: &str,
    uri: &Uri,
) -> Result<GrantedRequest<'g>, RequestRefusal> {
    let invalid = RequestRefusal::Invalid;
    let url = Url::parse(&uri.to_string()).map_err(|_| invalid(Error::HttpRequestUriInvalid))?;
    let target = RequestTarget::new(method, url.as_str()).map_err(|why| {
        invalid(match why {
            InvalidTargetError::Url | InvalidTargetError::UserInfo => Error::HttpRequestUriInvalid,
        })
    })?;
    // CONNECT opens a tunnel. The others return the request as it arrived, with the credentials that the gateway added.
    if ["CONNECT", "TRACE", "TRACK"].contains(&target.method()) {
        return Err(invalid(Error::HttpRequestMethodInvalid));
    }
    let path_and_query = &url[Position::BeforePath..Position::AfterQuery];
    if path_and_query.len() > MAX_PATH_BYTES {
        return Err(invalid(Error::HttpRequestUriTooLong));
    }
    let path_and_query =
        path_and_query.parse::<PathAndQuery>().map_err(|_| invalid(Error::HttpRequestUriInvalid))?;
    let origin = target.origin();
    let grants: Vec<_> = config.allow.http.iter().filter(|grant| grant.covers(&target)).collect();
    if grants.is_empty() {
        return Err(refusal(config, self_addresses, &target, &origin));
    }
    Ok(GrantedRequest { target, origin, path_and_query, grants })
}

/// Checks the destination of a copy or a move (RFC 4918, 10.3), which changes as well. It is replaced by the whole URL
/// that was compared with the grants, because a path alone could be interpreted as a host.
pub(super) fn check_destination(
    config: &PluginConfig,
    granted: &GrantedRequest<'_>,
    headers: &mut HeaderMap,
) -> Result<(), RequestRefusal> {
    let method = granted.target.method();
    if !["COPY", "MOVE"].contains(&method) {
        return Ok(());
    }
    let Entry::Occupied(mut destinations) = headers.entry("destination") else { return Ok(()) };
    for value in destinations.iter_mut() {
        let invalid = || RequestRefusal::Invalid(Error::HttpRequestUriInvalid);
        // Servers disagree on the meaning of `//a`: a path or a host.
        let written = value.to_str().ok().filter(|written| !written.starts_with("//")).ok_or_else(invalid)?;
        let whole = if written.starts_with('/') {
            format!("{}{written}", granted.origin)
        } else {
            written.to_owned()
        };
        let destination = RequestTarget::new(method, &whole).map_err(|_| invalid())?;
        if !config.allow.http.iter().any(|grant| grant.covers(&destination)) {
            let wanted = target_without_secrets(config, &destination);
            return Err(not_granted(config, &destination, wanted));
        }
        let url = Url::parse(&whole).map_err(|_| invalid())?;
        let compared =
            format!("{}{}", destination.origin(), &url[Position::BeforePath..Position::AfterQuery]);
        *value = HeaderValue::try_from(compared).map_err(|_| invalid())?;
    }
    Ok(())
}

/// The refusal of a request that no grant covers. If its origin is granted in part, the text contains the method and
/// the path.
fn refusal(
    config: &PluginConfig,
    self_addresses: &SelfAddresses,
    target: &RequestTarget,
    origin: &HttpOrigin,
) -> RequestRefusal {
    if self_addresses.contain_origin(origin) {
        return RequestRefusal::Gateway(gateway_listener(target, origin));
    }
    let is_granted_in_part = config.allow.http.iter().any(|grant| grant.covers_origin(origin));
    let mut wanted = if is_granted_in_part {
        target_without_secrets(config, target)
    } else {
        format!("{} {origin}", target.method())
    };
    let is_not_public = match origin.host {
        Host::Ipv4(address) => !is_public_address(address.into()),
        Host::Ipv6(address) => !is_public_address(address.into()),
        Host::Domain(_) => false,
    };
    if is_not_public {
        wanted.push_str(" (non-public address)");
    }
    not_granted(config, target, wanted)
}

/// Method and URL without the query, and without the path if that contains a secret.
fn target_without_secrets(config: &PluginConfig, target: &RequestTarget) -> String {
    if contains_setting(target.path(), config) {
        format!("{} {}", target.method(), target.origin())
    } else {
        target.to_string()
    }
}

/// True if a path contains one of the plugin's settings or variables, percent-encoded or not. These can be tokens, and
/// some servers require tokens in paths. The reader of a refusal isn't always the operator.
fn contains_setting(path: &str, config: &PluginConfig) -> bool {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let contains = |setting: &str| {
        let setting = setting.trim();
        // A setting can be percent-encoded itself, and the path in another way.
        let plain = percent_decode_str(setting).decode_utf8_lossy();
        setting.len() >= MIN_SECRET_BYTES
            && (path.contains(setting) || decoded.contains(setting) || decoded.contains(&*plain))
    };
    let settings = config.settings.values().map(|setting| setting.expose());
    settings.chain(config.allow.env.iter().map(|(_, value)| value.as_str())).any(|setting| {
        contains(setting) || serde_json::from_str(setting).is_ok_and(|value| any_string(&value, &contains))
    })
}

/// True if any string in a list or table fulfils the condition. The parser limits the depth.
fn any_string(value: &Value, condition: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => condition(text),
        Value::Array(items) => items.iter().any(|item| any_string(item, condition)),
        Value::Object(members) => members.values().any(|member| any_string(member, condition)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A placeholder for a path with a secret while the fix is created.
const HIDDEN_PATH: &str = "/hidden";

/// The line that grants the request, with `…` for a path that contains a secret.
fn fix(config: &PluginConfig, target: &RequestTarget) -> String {
    let grants = &config.allow;
    let grants_whole_origin = !grants.http.iter().any(|grant| grant.covers_origin(&target.origin()));
    if grants_whole_origin || !contains_setting(target.path(), config) {
        return grants.suggest_http_grant(target);
    }
    let hidden = format!("{}{HIDDEN_PATH}", target.origin());
    let fix = RequestTarget::new(target.method(), &hidden).map(|hidden| grants.suggest_http_grant(&hidden));
    fix.unwrap_or_default().replace(&format!("{hidden}\""), &format!("{}/…\"", target.origin()))
}

fn not_granted(config: &PluginConfig, target: &RequestTarget, wanted: String) -> RequestRefusal {
    RequestRefusal::NotGranted(MissingGrant { wanted, fix: Some(GrantFix::Line(fix(config, target))) })
}

fn gateway_listener(target: &RequestTarget, origin: &HttpOrigin) -> MissingGrant {
    let wanted = format!("{} {origin}, this gateway's own listener", target.method());
    MissingGrant { wanted, fix: None }
}

impl<'g> GrantedRequest<'g> {
    /// The grant that allows the request to connect to this address.
    pub(super) fn grant_for(&self, address: IpAddr) -> Option<&'g HttpGrant> {
        self.grants.iter().find(|grant| grant.allows_address(address)).copied()
    }

    /// Reports whether a grant of the request lets the server learn its trace.
    pub(super) fn sends_trace_context(&self) -> bool {
        self.grants.iter().any(|grant| grant.trace_context == TraceContextGrant::Sent)
    }

    /// The refusal if the host has only non-public addresses, such as this one.
    pub(super) fn not_public(&self, address: IpAddr) -> RequestRefusal {
        let wanted = format!("{} {} (non-public address {address})", self.target.method(), self.origin);
        let fix = self.grants.first().map(|grant| grant.suggest_for_address(&self.origin, address));
        RequestRefusal::NotPublic(MissingGrant { wanted, fix: fix.map(GrantFix::Line) })
    }

    /// The refusal if the host is the gateway itself.
    pub(super) fn gateway(&self) -> RequestRefusal {
        RequestRefusal::Gateway(gateway_listener(&self.target, &self.origin))
    }

    /// The credentials that the gateway adds to this request. Only `https` origins have any.
    pub(super) fn credentials(&self, grants: &'g Grants) -> impl Iterator<Item = &'g Credential> {
        grants.credentials.iter().filter(|credential| credential.origin == self.origin)
    }
}

#[cfg(test)]
mod tests;
