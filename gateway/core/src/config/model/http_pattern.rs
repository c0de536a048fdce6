//! The text of a grant such as `https://*.example.org:8443/api`: read strictly, with the bytes that are wrong and a cure.
//!
//! Browsers' rules for URLs (WHATWG URL, through the `url` crate) decide what a host is; they forgive much, though, and a
//! grant should mean what it seems to. So what they would silently change into something else (`0x7f.1`, `/a/../b`,
//! `\`, a name before `@`) is refused here, and what is merely written in another way (capitals, other letters than
//! ASCII's, one dot at the end) is taken in their form.

use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;

use url::Host;

use crate::config::model::http_grant::{HostPattern, HttpScheme};
use crate::config::model::diagnostic::{quoted, visible};
use crate::names::is_hidden;

mod path;

pub(in crate::config) use path::is_plain;

/// What the text of a grant says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Pattern {
    pub(in crate::config) scheme: HttpScheme,
    pub(in crate::config) host: HostPattern,
    pub(in crate::config) port: u16,
    /// Without a `/` at its end; empty: anything.
    pub(in crate::config) path: String,
    pub(in crate::config) parts: Parts,
}

/// Where in the text its parts stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Parts {
    pub(in crate::config) scheme: Range<usize>,
    /// Without the port.
    pub(in crate::config) host: Range<usize>,
    /// From the first `/` to the end.
    pub(in crate::config) path: Range<usize>,
}

/// A part of the text that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Fault {
    /// Which bytes of it.
    pub(in crate::config) part: Range<usize>,
    pub(in crate::config) message: String,
    pub(in crate::config) hint: String,
    /// What stands there may be a secret, and isn't shown.
    pub(in crate::config) is_secret: bool,
}

impl Fault {
    pub(in crate::config) fn new(part: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { part, message: message.into(), hint: hint.into(), is_secret: false }
    }
}

/// No host is longer (RFC 1035), and no path that anybody writes by hand.
const LONGEST: usize = 2_048;

/// Reads a pattern.
pub(in crate::config) fn parse(text: &str) -> Result<Pattern, Fault> {
    characters(text)?;
    let start = text.find("://").map(|at| at + 3);
    let end = start.unwrap_or(0);
    let end = text[end..].find(['/', '?', '#']).map_or(text.len(), |found| end + found);
    if let Some(at) = text[..end].rfind('@') {
        let from = start.filter(|start| *start <= at).unwrap_or(0);
        let fault = Fault::new(
            from..at + 1,
            "a name or password can't stand in a grant",
            "leave it away; secrets for a server stand in `credentials`",
        );
        return Err(Fault { is_secret: true, ..fault });
    }
    let Some(start) = start else { return Err(no_scheme(text)) };
    let scheme_part = 0..start - 3;
    let scheme = scheme(&text[scheme_part.clone()], &text[start..])?;
    let (host_end, port) = port(text, start..end, scheme)?;
    let host = host(text, start..host_end)?;
    let path = path::read(text, end)?;
    let parts = Parts { scheme: scheme_part, host: start..host_end, path: end..text.len() };
    Ok(Pattern { scheme, host, port, path, parts })
}

/// What stands nowhere in a pattern.
fn characters(text: &str) -> Result<(), Fault> {
    if text.is_empty() {
        return Err(Fault::new(0..0, "a grant can't be empty", FORM));
    }
    if text.len() > LONGEST {
        let message = format!("a grant can't have more than {LONGEST} bytes");
        return Err(Fault::new(0..text.len(), message, "grant what its path begins with"));
    }
    let wrong = text.char_indices().find(|(_, c)| c.is_whitespace() || is_hidden(*c) || *c == '\\');
    let Some((at, c)) = wrong else { return Ok(()) };
    let part = at..at + c.len_utf8();
    Err(match c {
        '\\' => Fault::new(part, "a `\\` can't stand in a grant", "write `/`"),
        _ if c.is_whitespace() => Fault::new(
            part,
            "white space can't stand in a grant",
            "leave it away; each grant is a text of its own",
        ),
        _ => {
            let message = format!("the character {} can't stand in a grant", quoted(&c.to_string()));
            Fault::new(part, message, "leave it away: nobody sees it")
        }
    })
}

const FORM: &str = "write a scheme and a host, such as \"https://*.example.org\"";

fn no_scheme(text: &str) -> Fault {
    let lower = text.to_ascii_lowercase();
    let named = ["https:", "http:"].into_iter().find(|scheme| lower.starts_with(scheme));
    if let Some(scheme) = named {
        let slashes = text[scheme.len()..].bytes().take_while(|byte| *byte == b'/').count();
        let hint = format!("write `{scheme}//`");
        return Fault::new(0..scheme.len() + slashes, "two `/` follow the scheme", hint);
    }
    let cure = format!("https://{}", text.trim_start_matches('/'));
    let hint = if parse(&cure).is_ok() { format!("write \"{}\"", visible(&cure)) } else { FORM.to_owned() };
    Fault::new(0..text.len(), format!("{} has no scheme", quoted(text)), hint)
}

/// `rest`: what stands behind the scheme.
fn scheme(text: &str, rest: &str) -> Result<HttpScheme, Fault> {
    match text.to_ascii_lowercase().as_str() {
        "http" => Ok(HttpScheme::Http),
        "https" => Ok(HttpScheme::Https),
        "*" => Err(Fault::new(
            0..1,
            "a grant is for one scheme",
            "write `https`; a grant for `http` stands beside it",
        )),
        other => {
            let message = format!("requests are sent by `http` or `https`, not by {}", quoted(other));
            let cure = format!("https://{rest}");
            let cure =
                if parse(&cure).is_ok() { visible(&cure).into_owned() } else { "https://…".to_owned() };
            Err(Fault::new(0..text.len(), message, format!("write \"{cure}\"")))
        }
    }
}

/// Where the host ends, and which port follows it.
fn port(text: &str, authority: Range<usize>, scheme: HttpScheme) -> Result<(usize, u16), Fault> {
    let Range { start, end } = authority;
    let written = &text[start..end];
    let after_host = match written.strip_prefix('[') {
        Some(inside) => match inside.find(']') {
            Some(at) => start + at + 2,
            None => {
                let hint = "write it such as \"http://[fd00::1]:8080\"";
                return Err(Fault::new(start..end, "the `]` of an IPv6 address is missing", hint));
            }
        },
        None if written.matches(':').count() > 1 => {
            // Which of them the port's is can't be known, but the whole may well be an address.
            let hint = match written.parse::<Ipv6Addr>() {
                Ok(address) => format!("write `[{address}]`"),
                Err(_) => "write it such as \"http://[fd00::1]:8080\"".to_owned(),
            };
            return Err(Fault::new(start..end, "an IPv6 address stands in brackets", hint));
        }
        None => written.find(':').map_or(end, |at| start + at),
    };
    let rest = &text[after_host..end];
    let Some(digits) = rest.strip_prefix(':') else {
        if rest.is_empty() {
            return Ok((after_host, scheme.default_port()));
        }
        return Err(Fault::new(
            after_host..end,
            "only a port can follow the `]`",
            "write it such as `:8080`",
        ));
    };
    let part = after_host + 1..end;
    let usual = scheme.default_port();
    let hint = format!("write a number from 1 to 65535, or leave the `:` away for {usual}");
    match digits.parse::<u16>() {
        _ if digits.is_empty() => Err(Fault::new(after_host..end, "the port after `:` is missing", hint)),
        _ if digits == "*" => Err(Fault::new(part, "a grant is for one port", hint)),
        Ok(0) => Err(Fault::new(part, "no request can go to port 0", hint)),
        Ok(port) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Ok((after_host, port)),
        Ok(_) | Err(_) => Err(Fault::new(part, format!("{} is no port", quoted(digits)), hint)),
    }
}

fn host(text: &str, part: Range<usize>) -> Result<HostPattern, Fault> {
    let Range { start, end } = part;
    let written = &text[part.clone()];
    if written.is_empty() {
        return Err(Fault::new(
            0..end,
            "the host is missing",
            "name one after `://`; `*` stands for every name",
        ));
    }
    if written == "*" {
        return Ok(HostPattern::AnyName);
    }
    let (below, name) = match written.strip_prefix("*.") {
        Some(name) => (true, name),
        None => (false, written),
    };
    let start = start + usize::from(below) * 2;
    if let Some(at) = name.find('*') {
        let hint = "it stands for whole labels at the beginning, as in \"https://*.example.org\", or alone for every name";
        return Err(Fault::new(start + at..start + at + 1, "a `*` can't stand here", hint));
    }
    labels(name, start)?;
    match (below, Host::parse(name)) {
        (_, Err(error)) => {
            let message = format!("{} is no host: {error}", quoted(name));
            Err(Fault::new(start..end, message, "name a host as a URL has it, such as `example.com`"))
        }
        (true, Ok(Host::Ipv4(_) | Host::Ipv6(_))) => {
            let hint = "grant the address alone, with its network in `networks`";
            Err(Fault::new(start..end, "an address has no names below it", hint))
        }
        (below, Ok(Host::Domain(name))) => {
            let name = name.strip_suffix('.').unwrap_or(&name).to_owned();
            resolvable(&name).map_err(|(message, hint)| Fault::new(start..end, message, hint))?;
            Ok(if below { HostPattern::Below(name) } else { HostPattern::Exactly(Host::Domain(name)) })
        }
        (false, Ok(Host::Ipv4(address))) => {
            if name != address.to_string() {
                let message = format!("{} is another way to write an address", quoted(name));
                return Err(Fault::new(start..end, message, format!("write `{address}`")));
            }
            Ok(HostPattern::Exactly(Host::Ipv4(address)))
        }
        (false, Ok(Host::Ipv6(address))) => match IpAddr::V6(address).to_canonical() {
            IpAddr::V4(mapped) => {
                let message = format!("`{name}` is another way to write an IPv4 address");
                Err(Fault::new(start..end, message, format!("write `{mapped}`")))
            }
            IpAddr::V6(address) => Ok(HostPattern::Exactly(Host::Ipv6(address))),
        },
    }
}

/// What browsers forgive in a name, or take for something else.
fn labels(name: &str, start: usize) -> Result<(), Fault> {
    if name.starts_with('[') {
        let zone = name.find('%').map(|at| start + at..start + name.len() - 1);
        return zone.map_or(Ok(()), |zone| {
            Err(Fault::new(zone, "the zone of an address means nothing in a grant", "leave it away"))
        });
    }
    if let Some(below) = name.strip_prefix('.') {
        let hint = format!("write `*.{}` for every name below it", visible(below));
        return Err(Fault::new(start..start + 1, "a name can't begin with a dot", hint));
    }
    if let Some(at) = name.find("..") {
        return Err(Fault::new(
            start + at..start + at + 2,
            "a name can't have two dots in a row",
            "write one",
        ));
    }
    let is_odd = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !"-_.".contains(c);
    match name.char_indices().find(|(_, c)| is_odd(*c)) {
        Some((at, c)) => {
            let message = format!("a `{c}` can't stand in a host");
            Err(Fault::new(start + at..start + at + 1, message, "write letters, digits, `-` and `.`"))
        }
        None => Ok(()),
    }
}

/// Judges a name in the form that browsers give it (RFC 1035, 2.3.4).
fn resolvable(name: &str) -> Result<(), (String, &'static str)> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    if name.len() > 253 {
        return Err(("no host has a name of more than 253 bytes".to_owned(), "name a host that there is"));
    }
    match name.split('.').find(|label| !is_label(label)) {
        Some("") => Err((format!("{} has an empty label", quoted(name)), "write one dot between two labels")),
        Some(label) if label.len() > 63 => {
            Err((format!("the label {} has more than 63 bytes", quoted(label)), "name a host that there is"))
        }
        Some(label) => Err((
            format!("{} can't be a label of a host", quoted(label)),
            "write letters, digits, `-` and `.`",
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
