//! Addresses to listen on that are written in parts, or with more than belongs to one.

use std::net::{IpAddr, SocketAddr};

use toml::de::DeValue;

use crate::config::read::habits::{Habit, Stray};
use crate::config::read::interpolate::is_variable_name;

const HOSTS: [&str; 11] = [
    "host",
    "hostname",
    "address",
    "addr",
    "bind",
    "ip",
    "interface",
    "bind_address",
    "listen_address",
    "listen_addr",
    "endpoint",
];
const PORTS: [&str; 4] = ["port", "listen_port", "http_port", "bind_port"];

/// How tokens are given that an address needs which others can reach.
pub(in crate::config) const TOKENS: &str =
    "`tokens = [{ name = \"ci\", token = { env = \"MOONGATE_TOKEN\" } }]` to `[http.auth]`";

/// What a text that is no address asks for.
pub(in crate::config) enum Asked {
    /// This address, ready to be written.
    Address(String),
    /// There is no such port.
    NoPort,
}

/// What was probably meant by a text that is no address; `usual`: the port where none is named.
pub(in crate::config) fn asked_for(text: &str, usual: &str) -> Asked {
    let text = text.trim();
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let text = text.split(['/', '?', '#']).next().unwrap_or_default();
    if let Ok(address) = text.parse::<IpAddr>() {
        return Asked::Address(SocketAddr::new(address, 0).to_string().replace(":0", &format!(":{usual}")));
    }
    let is_port = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port),
        None if is_port(text) || text.starts_with('$') => ("", text),
        None => (text, ""),
    };
    let host = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.to_string(),
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        Err(_) if host == "*" => "0.0.0.0".to_owned(),
        Err(_) => "127.0.0.1".to_owned(),
    };
    let name = port.trim_start_matches('$').trim_matches(['{', '}']);
    if port.starts_with('$') && is_variable_name(name) {
        return Asked::Address(format!("{host}:${{{name}}}"));
    }
    match port.parse::<u16>() {
        Ok(port) => Asked::Address(format!("{host}:{port}")),
        Err(_) if is_port(port) => Asked::NoPort,
        Err(_) => Asked::Address(format!("{host}:{usual}")),
    }
}

/// Says how parts of an address become one.
pub(in crate::config) fn habit(stray: &Stray<'_, '_>) -> Option<Habit> {
    let is_host = |name: &str| HOSTS.iter().any(|word| name.eq_ignore_ascii_case(word));
    let is_port = |name: &str| PORTS.iter().any(|word| name.eq_ignore_ascii_case(word));
    let is_here = stray.is_where(&["listen"]);
    let is_above = stray.is_where(&["plugins"]) || stray.is_where(&["sealing_key"]);
    if !(is_here || is_above) || !(is_host(stray.name) || is_port(stray.name)) {
        return None;
    }
    let entries = stray.table.entries();
    let part = |is_such: &dyn Fn(&str) -> bool| entries.iter().find(|(name, _)| is_such(name));
    let (host, port) = (part(&is_host), part(&is_port));
    if !stray.is_first(|name| is_host(name) || is_port(name)) {
        return Some(Habit { hint: None, explains: &[] });
    }
    let is_admin = stray.table.path == "admin";
    let usual = if is_admin { "8932" } else { "8931" };
    let written = stray.table.get("listen").and_then(|listen| listen.inner.as_str());
    let host_text = host.and_then(|(_, value)| value.inner.as_str()).or(written);
    let port_text = port.and_then(|(_, value)| number_or_text(value.inner)).unwrap_or_default();
    let whole = match (host_text.unwrap_or_default(), port_text.as_str()) {
        (host, "") => host.to_owned(),
        (host, port) => format!("{}:{port}", without_port(host)),
    };
    let Asked::Address(mut listen) = asked_for(&whole, usual) else {
        let key = port.map_or(stray.name, |(name, _)| name);
        return Some(Habit::new(format!(
            "a port is at most 65535: write another in `listen`, and remove `{key}`"
        )));
    };
    let is_open = listen.parse::<SocketAddr>().is_ok_and(|listen| !listen.ip().to_canonical().is_loopback());
    if is_admin && is_open {
        listen = listen.rsplit_once(':').map_or(listen.clone(), |(_, port)| format!("127.0.0.1:{port}"));
    }
    let mut hint = format!("write `listen = \"{listen}\"`");
    if is_above {
        hint += " in `[http]`";
    }
    if let (Some((host, _)), Some((port, _))) = (host, port) {
        hint += &format!(" instead of `{host}` and `{port}`");
    } else if written.is_some() {
        hint += &format!(", and remove `{}`", stray.name);
    }
    if is_open && !is_admin && !stray.table.has("auth") {
        hint += &format!("; and, because others can reach that address, add {TOKENS}");
    }
    Some(Habit::new(hint))
}

fn number_or_text(value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str().or_else(|| Some(value.as_integer()?.as_str()))?;
    Some(text.trim().replace('_', ""))
}

/// A host without the port that stands behind it.
fn without_port(host: &str) -> String {
    let host = host.split_once("://").map_or(host, |(_, rest)| rest).split('/').next().unwrap_or_default();
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        Ok(IpAddr::V4(_)) => host.to_owned(),
        Err(_) => host.rsplit_once(':').map_or(host, |(host, _)| host).to_owned(),
    }
}
