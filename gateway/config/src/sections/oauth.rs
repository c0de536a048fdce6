//! The OAuth keys of `[http.auth]`: the gateway as a protected resource, and the issuers of its access tokens.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use url::Url;

use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, Secret, is_loopback_host};
use crate::read::paths::unreadable;
use crate::read::{ConfigReader, TomlString, TomlTable};
use crate::spec::keys::INTROSPECTION;

/// The key with an issuer's identifier.
const ISSUER_KEY: &str = "issuer";

/// The gateway as an OAuth 2.1 resource server. Without issuers, it accepts no access tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthConfig {
    /// The public address of the endpoint. Never `None` if there are issuers.
    pub resource: Option<ProtectedResource>,
    /// The scopes that every access token needs.
    pub scopes: Vec<String>,
    /// The issuers of access tokens.
    pub issuers: Vec<IssuerConfig>,
}

/// The public address of the endpoint, as clients know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedResource {
    /// The address exactly as written: clients compare it with the address that they use.
    pub text: Arc<str>,
    /// The parsed address.
    pub url: Url,
}

/// An issuer of access tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerConfig {
    /// Its identifier, exactly as in its tokens.
    pub issuer: Arc<str>,
    /// The audiences of tokens for this gateway. Never empty.
    pub audiences: Vec<String>,
    /// The location of its keys.
    pub keys: KeyLocation,
    /// Its introspection endpoint. `None` means that opaque tokens are refused.
    pub introspection: Option<IntrospectionConfig>,
    /// The claim with the caller's name. `None` means the subject.
    pub name_claim: Option<String>,
}

/// The location of an issuer's JSON Web Key Set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyLocation {
    /// The address in the issuer's metadata.
    Discovered,
    /// An address.
    Address(Url),
    /// A file.
    File(PathBuf),
}

/// A token introspection endpoint (RFC 7662).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntrospectionConfig {
    /// The address. `None` means the one in the issuer's metadata.
    pub endpoint: Option<Url>,
    /// The gateway's client identifier.
    pub client_id: String,
    /// The gateway's client secret.
    pub client_secret: Secret,
}

impl OAuthConfig {
    /// The gateway's client secrets, each with its issuer.
    pub(crate) fn client_secrets(&self) -> impl Iterator<Item = (&str, &Secret)> {
        let introspected =
            self.issuers.iter().filter_map(|issuer| Some((issuer, issuer.introspection.as_ref()?)));
        introspected.map(|(issuer, introspection)| (&*issuer.issuer, &introspection.client_secret))
    }
}

/// Reads the OAuth keys of `[http.auth]`.
pub(crate) fn read_oauth(reader: &mut ConfigReader<'_>, auth: &TomlTable<'_>) -> OAuthConfig {
    let resource = reader.string(auth, "resource").and_then(|text| read_resource(reader, &text));
    let scopes = read_scopes(reader, auth);
    let mut issuers: Vec<IssuerConfig> = Vec::new();
    let mut seen: Vec<Range<usize>> = Vec::new();
    let mut introspected: Option<Range<usize>> = None;
    for table in reader.tables(auth, "issuers") {
        let Some(text) = reader.string(&table, ISSUER_KEY) else { continue };
        let Some(issuer) = read_issuer(reader, &table, &text, resource.as_ref()) else { continue };
        if let Some(first) = issuers.iter().position(|other| other.issuer == issuer.issuer) {
            let problem = Diagnostic::error(format!("duplicate issuer {}", quoted(&issuer.issuer)));
            let problem =
                problem.with_span(text.span.clone()).with_related(seen[first].clone(), "first defined here");
            reader.report(problem.with_hint("list its audiences in one table"));
        }
        if let Some(value) = table.get("introspection") {
            match &introspected {
                None => introspected = Some(value.key_span),
                Some(first) => {
                    let problem = Diagnostic::error("two issuers have `introspection`");
                    let problem = problem
                        .with_span(value.key_span)
                        .with_related(first.clone(), "the first one is here");
                    reader.report(problem.with_hint(
                        "remove one of the two: an opaque token doesn't name its issuer, and must not be sent to another",
                    ));
                }
            }
        }
        seen.push(text.span);
        issuers.push(issuer);
    }
    check_resource(reader, auth, resource.as_ref(), &issuers);
    OAuthConfig { resource, scopes, issuers }
}

/// Reports a resource without issuers, or the other way around.
fn check_resource(
    reader: &mut ConfigReader<'_>,
    auth: &TomlTable<'_>,
    resource: Option<&ProtectedResource>,
    issuers: &[IssuerConfig],
) {
    match (auth.get("resource"), auth.get("issuers")) {
        (None, Some(written)) if !issuers.is_empty() => {
            let problem = Diagnostic::error("`issuers` needs `resource`").with_span(written.key_span);
            reader.report(problem.with_hint(
                "add the public address of the endpoint: `resource = \"https://gateway.example.com/mcp\"`",
            ));
        }
        (Some(written), _) if resource.is_some() && issuers.is_empty() => {
            let problem =
                Diagnostic::warning("`resource` has no effect without `issuers`").with_span(written.key_span);
            reader.report(problem.with_hint("add `[[http.auth.issuers]]`, or remove this"));
        }
        _ => {}
    }
}

fn read_resource(reader: &mut ConfigReader<'_>, text: &TomlString) -> Option<ProtectedResource> {
    match secure_url(&text.text) {
        Ok(url) if url.query().is_none() => Some(ProtectedResource { text: text.text.as_str().into(), url }),
        Ok(_) => {
            report_invalid(reader, text, "address", "remove the query");
            None
        }
        Err(hint) => {
            report_invalid(reader, text, "address", hint);
            None
        }
    }
}

fn read_scopes(reader: &mut ConfigReader<'_>, auth: &TomlTable<'_>) -> Vec<String> {
    let mut scopes = Vec::new();
    for text in reader.strings(auth, "scopes").unwrap_or_default() {
        // RFC 6749, 3.3
        let is_scope_char = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        if text.text.is_empty() || !text.text.chars().all(is_scope_char) {
            let hint = "write one scope per string: ASCII characters without spaces, `\"` and `\\`";
            report_invalid(reader, &text, "scope", hint);
        } else if text.text == "offline_access" {
            let problem = Diagnostic::warning("access tokens don't have the scope `offline_access`")
                .with_span(text.span);
            reader.report(problem.with_hint("remove it: clients request it themselves"));
        } else if !scopes.contains(&text.text) {
            scopes.push(text.text);
        }
    }
    scopes
}

fn read_issuer(
    reader: &mut ConfigReader<'_>,
    table: &TomlTable<'_>,
    text: &TomlString,
    resource: Option<&ProtectedResource>,
) -> Option<IssuerConfig> {
    let problem = match secure_url(&text.text) {
        Ok(url) if url.query().is_some() => Some("remove the query"),
        Ok(_) => None,
        Err(hint) => Some(hint),
    };
    if let Some(hint) = problem {
        report_invalid(reader, text, ISSUER_KEY, hint);
    }
    let audiences = read_audiences(reader, table, resource);
    let keys = read_key_location(reader, table);
    let introspection = read_introspection(reader, table);
    let name_claim = reader.string(table, "name_claim").map(|text| text.text);
    problem.is_none().then(|| IssuerConfig {
        issuer: text.text.as_str().into(),
        audiences,
        keys,
        introspection,
        name_claim,
    })
}

fn read_audiences(
    reader: &mut ConfigReader<'_>,
    table: &TomlTable<'_>,
    resource: Option<&ProtectedResource>,
) -> Vec<String> {
    let Some(texts) = reader.strings(table, "audiences") else {
        return resource.map(|resource| resource.text.to_string()).into_iter().collect();
    };
    if let Some(value) = table.get("audiences")
        && (texts.is_empty() || texts.iter().any(|text| text.text.is_empty()))
        && value.inner.is_array()
    {
        let problem = Diagnostic::error(format!("`{}` has no audience", value.path)).with_span(value.span);
        reader.report(
            problem
                .with_hint("write the `aud` of tokens for this gateway, or remove this if it is `resource`"),
        );
    }
    texts.into_iter().map(|text| text.text).collect()
}

fn read_key_location(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>) -> KeyLocation {
    let address = reader.string(table, "jwks_uri");
    let file = reader.string(table, "jwks_file");
    match (address, file) {
        (None, None) => KeyLocation::Discovered,
        (Some(text), None) => read_url(reader, &text).map_or(KeyLocation::Discovered, KeyLocation::Address),
        (None, Some(text)) => read_key_file(reader, &text).map_or(KeyLocation::Discovered, KeyLocation::File),
        (Some(_), Some(text)) => {
            let problem = Diagnostic::error("`jwks_uri` and `jwks_file` exclude each other");
            reader.report(problem.with_span(text.span).with_hint("remove one of the two"));
            KeyLocation::Discovered
        }
    }
}

/// Reads the path of a key set. The keys themselves are read while the gateway runs.
fn read_key_file(reader: &mut ConfigReader<'_>, text: &TomlString) -> Option<PathBuf> {
    let path = reader.path(text)?;
    let problem = match fs::metadata(&path) {
        Ok(found) if found.is_file() => {
            reader.key_files.push(path.clone());
            return Some(path);
        }
        Ok(_) => Diagnostic::error(format!("the key set {} isn't a file", quoted(&text.text)))
            .with_hint("name a JSON file"),
        Err(error) => unreadable("the key set", &text.text, &path, &error),
    };
    reader.report(problem.with_span(text.span.clone()));
    None
}

fn read_introspection(reader: &mut ConfigReader<'_>, issuer: &TomlTable<'_>) -> Option<IntrospectionConfig> {
    let value = issuer.get("introspection")?;
    let table = reader.as_table(&value, INTROSPECTION)?;
    let endpoint = reader.string(&table, "endpoint");
    let endpoint = endpoint.and_then(|text| read_url(reader, &text));
    let client_id = reader.string(&table, "client_id");
    let client_secret = match reader.optional_secret(&table.get("client_secret")?) {
        Ok(secret) => secret,
        Err(problem) => {
            reader.http_problems.push(*problem);
            None
        }
    };
    Some(IntrospectionConfig { endpoint, client_id: client_id?.text, client_secret: client_secret? })
}

fn read_url(reader: &mut ConfigReader<'_>, text: &TomlString) -> Option<Url> {
    secure_url(&text.text).map_err(|hint| report_invalid(reader, text, "address", hint)).ok()
}

fn report_invalid(reader: &mut ConfigReader<'_>, text: &TomlString, what: &str, hint: &'static str) {
    let problem = Diagnostic::error(format!("invalid {what} {}", quoted(&text.text)));
    reader.report(problem.with_span(text.span.clone()).with_hint(hint));
}

/// Parses an address that tokens and keys can be sent over: `https`, or `http` on this machine. The error is a hint.
fn secure_url(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "write an address such as \"https://auth.example.com\"")?;
    let is_loopback = url.host().is_some_and(|host| is_loopback_host(&host.to_owned()));
    match url.scheme() {
        "https" => {}
        "http" if is_loopback => {}
        "http" => return Err("use https: anyone on the way could read and change what is sent"),
        _ => return Err("write an https address"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("remove the user name and password");
    }
    if url.fragment().is_some() {
        return Err("remove the fragment after `#`");
    }
    Ok(url)
}

/// Reports whether tokens and keys can be sent over this address: it uses `https`, or `http` on this machine.
#[must_use]
pub fn is_secure_url(url: &str) -> bool {
    secure_url(url).is_ok()
}
