//! The request that a state is bound to: plugin and version, caller, method and parameters (2026-07-28,
//! basic/patterns/mrtr: security).

use serde_json::Value;

use crate::catalog::CatalogPlugin;
use crate::names::{Digest, Principal};

use super::super::super::Params;

/// Members of the parameters that change between rounds.
const CHANGING_MEMBERS: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// The request that a state is bound to.
#[derive(Debug)]
pub(in crate::mcp::input) struct StateClaim {
    pub(super) plugin: String,
    pub(super) version: String,
    pub(super) caller: String,
    pub(super) request: String,
}

impl StateClaim {
    /// A fixed claim of the local caller.
    #[cfg(any(test, feature = "fuzz"))]
    pub(in crate::mcp::input) fn fixed(plugin: &str, version: Digest) -> Self {
        let [plugin, caller, request] = [plugin, "local", "r"].map(str::to_owned);
        Self { plugin, version: version.to_string(), caller, request }
    }

    /// The claim of a request.
    pub(in crate::mcp::input) fn new(
        catalog_plugin: &CatalogPlugin,
        principal: &Principal,
        method: &str,
        params: &Params,
    ) -> Self {
        let mut text = Vec::new();
        write_canonical(&mut text, &Value::from(method));
        for (key, value) in params.sorted().into_iter().filter(|(key, _)| !CHANGING_MEMBERS.contains(key)) {
            write_canonical(&mut text, &Value::from(key));
            write_canonical(&mut text, value);
        }
        let caller = match principal {
            Principal::Local => "local".to_owned(),
            Principal::Anonymous => "anonymous".to_owned(),
            Principal::Named(name) => format!("named {name}"),
        };
        let plugin = catalog_plugin.id().to_string();
        let version = catalog_plugin.plugin().digest().to_string();
        Self { plugin, version, caller, request: Digest::of(&text).to_string() }
    }
}

/// Writes a canonical form of a value: equal values have equal text, whatever the order of their members.
fn write_canonical(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            out.push(b'{');
            for (key, value) in members {
                write_canonical(out, &Value::from(key.as_str()));
                write_canonical(out, value);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            items.iter().for_each(|item| write_canonical(out, item));
            out.push(b']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.extend_from_slice(value.to_string().as_bytes());
            out.push(b',');
        }
    }
}
