//! `allow.credentials`: headers that the gateway adds. Their secrets are hidden from the plugin and from messages.

use std::collections::BTreeSet;
use std::ops::Range;

use super::http::{is_http_token, report_pattern_error};
use crate::model::diagnostic::quoted;
use crate::model::http_path::PatternError;
use crate::model::http_pattern::{self, HttpPattern};
use crate::model::{
    Credential, Diagnostic, HostPattern, HttpGrant, HttpOrigin, HttpScheme, ReservedHeader, Secret,
};
use crate::read::environment::variables;
use crate::read::secret_detection::is_auth_scheme;
use crate::read::{ConfigReader, DisclosedValue, TomlString, TomlTable, TomlValue};
use crate::spec::keys::{HEADER, ValueKind};

/// A header with its value, and the span of its name.
pub(crate) type AddedHeader = (String, Secret, Range<usize>);

/// Reads `allow.credentials`. `http` is `allow.http`.
pub(crate) fn read_credentials(
    reader: &mut ConfigReader<'_>,
    allow: &TomlTable<'_>,
    http: &[HttpGrant],
) -> Vec<Credential> {
    let mut all: Vec<Credential> = Vec::new();
    let mut seen: Vec<(HttpOrigin, String, Range<usize>)> = Vec::new();
    for table in reader.tables(allow, "credentials") {
        let origin = reader.string(&table, "origin");
        let origin = origin.and_then(|text| Some((read_origin(reader, &text)?, text)));
        let (headers, filled_from) = read_headers(reader, &table);
        let Some((origin, text)) = origin else { continue };
        check_origin(reader, &origin, &text, http);
        for (name, _, span) in &headers {
            let known = seen.iter().find(|(other, its, _)| *other == origin && its == name);
            match known {
                Some((_, _, first)) => {
                    let problem = Diagnostic::error(format!("duplicate header `{name}` for `{origin}`"));
                    let problem =
                        problem.with_span(span.clone()).with_related(first.clone(), "first defined here");
                    reader.report(problem.with_hint("remove one of the two"));
                }
                None => seen.push((origin.clone(), name.clone(), span.clone())),
            }
        }
        let headers = headers.into_iter().map(|(name, value, _)| (name, value)).collect();
        all.push(Credential { span: text.span, origin, headers, origins: filled_from });
    }
    all
}

/// Warns if no grant allows requests to the origin.
fn check_origin(reader: &mut ConfigReader<'_>, origin: &HttpOrigin, text: &TomlString, http: &[HttpGrant]) {
    if !http.iter().any(|grant| grant.covers_origin(origin)) {
        let problem =
            Diagnostic::warning(format!("unused credential: requests to `{origin}` aren't granted"));
        let hint = format!("add \"{origin}\" to `http`, or remove this");
        reader.report(problem.with_span(text.span.clone()).with_hint(hint));
    }
}

fn read_origin(reader: &mut ConfigReader<'_>, text: &TomlString) -> Option<HttpOrigin> {
    match parse_origin(&text.text) {
        Ok(origin) => Some(origin),
        Err(error) => {
            report_pattern_error(reader, text, error);
            None
        }
    }
}

/// The headers of a table, and the variables and files that they are filled from.
pub(crate) fn read_headers(
    reader: &mut ConfigReader<'_>,
    table: &TomlTable<'_>,
) -> (Vec<AddedHeader>, BTreeSet<String>) {
    let mut headers = Vec::new();
    let mut filled_from = BTreeSet::new();
    let named = reader.named_entries(table, "headers");
    if let Some(value) = table.get("headers").filter(|value| value.inner.is_table() && named.is_empty()) {
        let problem = Diagnostic::error("`headers` is empty").with_span(value.span);
        let hint = "add one such as `authorization = { env = \"TOKEN\", prefix = \"Bearer \" }`";
        reader.report(problem.with_hint(hint));
    }
    for (name, value) in named {
        let is_valid = check_header_name(reader, name, &value);
        let Some(secret) = read_header(reader, &value, &mut filled_from) else { continue };
        if is_valid {
            headers.push((name.to_ascii_lowercase(), secret, value.key_span));
        }
    }
    (headers, filled_from)
}

/// Reports a header that can't be added.
fn check_header_name(reader: &mut ConfigReader<'_>, name: &str, value: &TomlValue<'_>) -> bool {
    let shown = quoted(name);
    let problem = if !is_http_token(name) {
        Diagnostic::error(format!("invalid header name {shown}"))
            .with_hint("write a name such as `authorization`")
    } else if let Some(reserved) = ReservedHeader::of(name) {
        let problem = Diagnostic::error(format!("reserved header {shown}"));
        problem.with_hint(format!("remove it: it {}", reserved.reason()))
    } else {
        return true;
    };
    reader.report(problem.with_span(value.key_span.clone()));
    false
}

/// Reads the whole value of a header.
fn read_header(
    reader: &mut ConfigReader<'_>,
    value: &TomlValue<'_>,
    filled_from: &mut BTreeSet<String>,
) -> Option<Secret> {
    if !value.inner.is_table() {
        reader.report_wrong_type(value, &ValueKind::Secret);
        return None;
    }
    let reported = reader.problems.len();
    let table = reader.as_table(value, HEADER)?;
    let prefix = match table.get("prefix") {
        Some(_) => reader.string(&table, "prefix")?,
        None => TomlString::default(),
    };
    let written = |key: &str| table.get(key).and_then(|value| value.inner.as_str());
    filled_from.extend(written("env").map(|name| format!("env {name}")));
    filled_from.extend(written("file").map(|path| format!("file {}", reader.base.join(path).display())));
    let prefix_variables = written("prefix").into_iter().flat_map(variables);
    filled_from.extend(prefix_variables.map(|name| format!("env {name}")));
    let secret = reader.secret_in(&table, value, reported)?;
    let whole = Secret::new(format!("{}{}", prefix.text, secret.expose()));
    let reference = ["env", "file"].iter().find_map(|key| table.get(key));
    let reference = reference.map_or(value.span.clone(), |value| value.span);
    let (invalid, span) = match invalid_header_value(&prefix.text) {
        Some(invalid) => (Some(invalid), prefix.span.clone()),
        None => {
            let invalid = invalid_header_value(secret.expose()).or_else(|| untrimmed_value(whole.expose()));
            (invalid, reference)
        }
    };
    if let Some((message, hint)) = invalid {
        reader.report(Diagnostic::error(message).with_span(span).with_hint(hint));
        return None;
    }
    if let Some((message, hint)) = suspicious_prefix(&prefix.text, secret.expose()) {
        reader.report(Diagnostic::warning(message).with_span(prefix.span).with_hint(hint));
    }
    reader.disclosed.push(DisclosedValue::to_server(value.span.clone(), whole.clone()));
    Some(whole)
}

/// Parses an origin: a pattern for one server, without a path.
pub(crate) fn parse_origin(text: &str) -> Result<HttpOrigin, PatternError> {
    let HttpPattern { scheme, host, port, path: _, parts } = http_pattern::parse(text)?;
    let host = match (scheme, host) {
        (HttpScheme::Http, _) => {
            let hint = "write `https`";
            return Err(PatternError::new(parts.scheme, "secrets are only sent encrypted", hint));
        }
        (HttpScheme::Https, HostPattern::Subdomains(_) | HostPattern::AnyName) => {
            let hint = "name one host, and add a table for each other host";
            return Err(PatternError::new(parts.host, "a credential is for one host only", hint));
        }
        (HttpScheme::Https, HostPattern::Exact(host)) => host,
    };
    if text.len() > parts.path.start + 1 {
        let message = "an origin can't contain a path";
        return Err(PatternError::new(parts.path, message, "remove the path"));
    }
    Ok(HttpOrigin { scheme, host, port })
}

/// A probable mistake between a prefix and a secret: message and hint, without the secret.
fn suspicious_prefix(prefix: &str, secret: &str) -> Option<(String, String)> {
    let word = prefix.trim_end();
    if word.is_empty() || !is_auth_scheme(word) {
        return None;
    }
    let is_repeated = secret.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        && secret[word.len()..].starts_with(' ');
    if is_repeated {
        let message = format!("the secret already starts with `{word} `");
        return Some((message, "remove `prefix`, or remove it from the secret".to_owned()));
    }
    (word == prefix && !secret.starts_with(' ')).then(|| {
        let message = format!("missing space between `{word}` and the secret");
        (message, format!("write \"{word} \", with a trailing space"))
    })
}

/// The reason why a text can't be part of a header (RFC 9110, 5.5): message and hint, without the text.
fn invalid_header_value(text: &str) -> Option<(&'static str, &'static str)> {
    if text.contains(['\n', '\r']) {
        return Some(("invalid header value: it contains a line break", "write the secret on one line"));
    }
    if text.contains(|c: char| c.is_control()) {
        return Some(("invalid header value: it contains a control character", "remove the character"));
    }
    if !text.is_ascii() {
        return Some(("invalid header value: it contains non-ASCII characters", "use a secret in ASCII"));
    }
    None
}

/// The same for a whole value: white space at its ends is lost in transit.
fn untrimmed_value(text: &str) -> Option<(&'static str, &'static str)> {
    (text.trim_ascii() != text)
        .then_some(("invalid header value: it starts or ends with white space", "remove the white space"))
}
