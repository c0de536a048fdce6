//! An example call of a served tool, for the banner.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use moongate_config::{ClientCertificatePolicy, HttpConfig};
use moongate_model::names::Principal;
use moongate_protocol::catalog::{Catalog, ToolEntry};
use serde_json::Value;

use crate::cli::mcp_client::TOKEN_VARIABLE;
use crate::cli::print;
use crate::transport::http::MCP_PATH;

/// A command line that calls a read-only tool of the gateway at an address, as a caller that sees it.
pub(super) fn example(
    catalog: &Arc<Catalog>,
    http: &HttpConfig,
    program: &str,
    address: SocketAddr,
) -> Option<String> {
    let mut calls = callers(http).into_iter().filter_map(|caller| {
        let call = example_call(&catalog.visible_to(&caller))?;
        Some((caller, call))
    });
    let (caller, call) = calls.next()?;
    let url = format!("{}://{}{MCP_PATH}", http.scheme(), reachable(address));
    let mut words =
        vec![print::shell_word(program), "call".to_owned(), "--url".to_owned(), print::shell_word(&url)];
    words.extend(call);
    if let Principal::Named(name) = &caller {
        let value = print::shell_word(&format!("the token {}", print::inline(name)));
        words.insert(0, format!("{TOKEN_VARIABLE}={value}"));
    }
    Some(words.join(" "))
}

/// The callers that `moongate call` can be without a client certificate: those with a static token, or anyone if no token
/// is required.
fn callers(http: &HttpConfig) -> Vec<Principal> {
    let authority = http.tls.as_ref().and_then(|tls| tls.client_authority.as_ref());
    if authority.is_some_and(|authority| authority.policy == ClientCertificatePolicy::Required) {
        return Vec::new();
    }
    if !http.requires_authentication() {
        return vec![Principal::Anonymous];
    }
    http.tokens.iter().map(|token| Principal::Named(token.principal.clone())).collect()
}

/// The words that call a read-only tool: of the tools whose schemas have example values, the one with the fewest required
/// arguments.
fn example_call(view: &Catalog) -> Option<Vec<String>> {
    let harmless = view.tools().iter().filter(|tool| tool.tool().hints.read_only == Some(true));
    let calls = harmless.filter_map(|tool| Some((tool, arguments(tool)?)));
    let (tool, arguments) = calls.min_by_key(|(_, arguments)| arguments.len())?;
    let arguments = arguments.iter().map(|argument| print::shell_word(argument));
    Some(std::iter::once(tool.public_name().to_string()).chain(arguments).collect())
}

/// The address for reaching a listener from this machine.
fn reachable(address: SocketAddr) -> SocketAddr {
    let here: IpAddr = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(here, address.port())
}

/// Values for the required arguments; `None` if the schema has no example for one of them.
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

/// A value from the schema or its description, such as `such as 'Asia/Tokyo'`.
fn sample(schema: &Value) -> Option<Value> {
    let named = [&schema["examples"][0], &schema["default"], &schema["const"], &schema["enum"][0]];
    if let Some(value) = named.into_iter().find(|value| !value.is_null()) {
        return Some(value.clone());
    }
    match schema["type"].as_str()? {
        "string" => {
            let (_, text) = schema["description"].as_str()?.split_once("such as ")?;
            let mark = text.chars().next().filter(|c| "'\"`".contains(*c))?;
            text[1..].split_once(mark).map(|(value, _)| Value::from(value))
        }
        "integer" | "number" => Some(schema.get("minimum").cloned().unwrap_or(Value::from(1))),
        "boolean" => Some(Value::from(true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
