//! One call to paste, made up from what is served. Used by `serve` only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use moongate_protocol::catalog::{Catalog, ToolEntry};
use serde_json::Value;

use crate::cli::print;
use crate::transport::http::PATH;

/// A command line that calls one of the tools of the gateway that listens here: one that changes nothing, and needs as few arguments as there are, whose
/// schema names values.
pub(super) fn example(catalog: &Catalog, program: &str, address: SocketAddr) -> Option<String> {
    let harmless = catalog.tools().iter().filter(|tool| tool.tool().hints.read_only == Some(true));
    let calls = harmless.filter_map(|tool| Some((tool, arguments(tool)?)));
    let (tool, arguments) = calls.min_by_key(|(_, arguments)| arguments.len())?;
    let url = format!("http://{}{PATH}", reachable(address));
    let mut words = vec![print::word(program), "call".to_owned(), "--url".to_owned(), print::word(&url)];
    words.push(tool.public().to_string());
    words.extend(arguments.iter().map(|argument| print::word(argument)));
    Some(words.join(" "))
}

/// Where somebody on this machine reaches what listens there.
fn reachable(address: SocketAddr) -> SocketAddr {
    let here: IpAddr = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(here, address.port())
}

/// Values for all that the tool can't do without; none if there is no telling what it takes.
fn arguments(tool: &ToolEntry) -> Option<Vec<String>> {
    let schema = tool.tool().input_schema.to_value().ok()?;
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let argument = |name: &Value| {
        let name = name.as_str()?;
        let value = sample(&schema["properties"][name])?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{name}={text}"))
    };
    required.iter().map(argument).collect()
}

/// A value that the schema names, or its description: `such as 'Asia/Tokyo'`.
fn sample(schema: &Value) -> Option<Value> {
    let named = [&schema["examples"][0], &schema["default"], &schema["const"], &schema["enum"][0]];
    if let Some(value) = named.into_iter().find(|value| !value.is_null()) {
        return Some(value.clone());
    }
    match schema["type"].as_str()? {
        "string" => {
            let (_, said) = schema["description"].as_str()?.split_once("such as ")?;
            let mark = said.chars().next().filter(|c| "'\"`".contains(*c))?;
            said[1..].split_once(mark).map(|(value, _)| Value::from(value))
        }
        "integer" | "number" => Some(schema.get("minimum").cloned().unwrap_or(Value::from(1))),
        "boolean" => Some(Value::from(true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
