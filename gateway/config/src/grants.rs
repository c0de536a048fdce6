//! `[plugins.NAME.allow]`: the grants of a plugin.

use std::collections::BTreeSet;

use crate::model::diagnostic::quoted;
use crate::model::{ClientFeature, Diagnostic, Grants, Secret, StateGrant, StateScope};
use crate::read::secret_detection::is_secret_name;
use crate::read::types::is_boolean_word;
use crate::read::{ConfigReader, DisclosedValue, NameOrBoolean, TomlTable};
use moongate_model::names::StoreName;

mod credentials;
mod dirs;
#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod http;
mod networks;

pub(crate) use credentials::read_headers;
#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_grant;

/// Reads the grants of a plugin.
pub(crate) fn read_grants(reader: &mut ConfigReader<'_>, allow: &TomlTable<'_>) -> Grants {
    let http = http::read_http_grants(reader, allow);
    Grants {
        dirs: dirs::read_dirs(reader, allow),
        env: read_env(reader, allow),
        client: read_client(reader, allow),
        instructions: reader.boolean(allow, "instructions", false),
        credentials: credentials::read_credentials(reader, allow, &http),
        http,
        state: read_state(reader, allow),
        state_scope: match reader.string(allow, "state_scope").as_ref().map(|word| word.text.as_str()) {
            Some("caller") => StateScope::Caller,
            Some(_) | None => StateScope::Plugin, // any other word was reported
        },
        spans: allow.entries().into_iter().map(|(key, value)| (key.to_owned(), value.key_span)).collect(),
    }
}

fn read_state(reader: &mut ConfigReader<'_>, allow: &TomlTable<'_>) -> StateGrant {
    match reader.name_or_boolean(allow, "state") {
        None | Some(NameOrBoolean::Boolean(false)) => StateGrant::NotGranted,
        Some(NameOrBoolean::Boolean(true)) => StateGrant::Own,
        // All plugins with this mistake would share a store.
        Some(NameOrBoolean::Name(name)) if is_boolean_word(&name.text) => {
            let problem = Diagnostic::error(format!("invalid store name {}", quoted(&name.text)));
            reader.report(problem.with_span(name.span).with_hint("write `true` or `false` without quotes"));
            StateGrant::NotGranted
        }
        Some(NameOrBoolean::Name(name)) => match StoreName::new(&name.text) {
            Ok(name) => StateGrant::Shared(name),
            Err(error) => {
                let problem = Diagnostic::error(format!("invalid store name: {error}"));
                reader.report(
                    problem.with_span(name.span).with_hint("use `true` for a store of the plugin's own"),
                );
                StateGrant::NotGranted
            }
        },
    }
}

fn read_client(reader: &mut ConfigReader<'_>, allow: &TomlTable<'_>) -> BTreeSet<ClientFeature> {
    let named = reader.strings(allow, "client").unwrap_or_default();
    let feature = |name: &str| ClientFeature::ALL.into_iter().find(|feature| feature.as_str() == name);
    named.iter().filter_map(|text| feature(&text.text)).collect()
}

fn read_env(reader: &mut ConfigReader<'_>, allow: &TomlTable<'_>) -> Vec<(String, String)> {
    let mut granted: Vec<(String, String)> = Vec::new();
    for name in reader.strings(allow, "env").unwrap_or_default() {
        match reader.variable(&name) {
            Ok(_) if granted.iter().any(|(other, _)| *other == name.text) => {
                let problem = Diagnostic::warning(format!("duplicate variable {}", quoted(&name.text)));
                reader.report(problem.with_span(name.span).with_hint("remove one of the two"));
            }
            Ok(value) => {
                let secret = Secret::new(value.as_str());
                if is_secret_name(&name.text) {
                    reader.add_secret(secret.clone());
                }
                reader.disclosed.push(DisclosedValue::to_plugin(name.span, secret));
                granted.push((name.text, value));
            }
            Err(problem) => reader.report(problem.with_span(name.span)),
        }
    }
    granted
}
