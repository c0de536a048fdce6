//! The metadata of an issuer (RFC 8414, OpenID Connect Discovery 1.0; MCP 2026-07-28,
//! basic/authorization/authorization-server-discovery).

use moongate_model::json::parse_strict;
use serde_json::Value;
use url::Url;

use crate::issuer_client::{IssuerClient, IssuerRequestError};

/// The parts of an issuer's metadata that a resource server needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IssuerMetadata {
    pub(crate) jwks_uri: Option<Url>,
    pub(crate) introspection_endpoint: Option<Url>,
}

/// Finds the metadata of an issuer.
///
/// # Errors
/// It is at none of the addresses that the standards define. The error is that of the first address.
pub(crate) async fn discover(
    client: &IssuerClient,
    issuer: &str,
) -> Result<IssuerMetadata, IssuerRequestError> {
    let mut first_error = None;
    for url in metadata_urls(issuer) {
        // Some servers answer requests to unknown paths with a page and status 200.
        match client.get(&url).await.and_then(|document| read(&document, issuer, &url)) {
            Ok(metadata) => return Ok(metadata),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| IssuerRequestError::new("the issuer isn't a valid address")))
}

/// The addresses of the metadata, in the order in which clients try them, without duplicates.
fn metadata_urls(issuer: &str) -> Vec<Url> {
    let Ok(issuer) = Url::parse(issuer) else { return Vec::new() };
    let path = issuer.path().trim_end_matches('/');
    let mut urls: Vec<Url> = Vec::new();
    for location in [
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
        format!("{path}/.well-known/openid-configuration"),
    ] {
        let mut url = issuer.clone();
        url.set_path(&location);
        if !urls.contains(&url) {
            urls.push(url);
        }
    }
    urls
}

fn read(document: &[u8], issuer: &str, url: &Url) -> Result<IssuerMetadata, IssuerRequestError> {
    let value = str::from_utf8(document).ok().and_then(|text| parse_strict(text).ok());
    let value = value.filter(Value::is_object);
    let Some(value) = value else {
        return Err(IssuerRequestError::new(format!("{url}: not a JSON object")));
    };
    // Otherwise, one issuer could speak for another (RFC 8414, 3.3).
    if value["issuer"] != *issuer {
        return Err(IssuerRequestError::new(format!("{url}: the metadata names another issuer")));
    }
    let address = |name: &str| Url::parse(value[name].as_str()?).ok();
    Ok(IssuerMetadata {
        jwks_uri: address("jwks_uri"),
        introspection_endpoint: address("introspection_endpoint"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_where_clients_look_for_it() {
        let urls = |issuer: &str| metadata_urls(issuer).iter().map(Url::to_string).collect::<Vec<_>>();
        assert_eq!(
            urls("https://a.example/tenant/"),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant",
                "https://a.example/.well-known/openid-configuration/tenant",
                "https://a.example/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            urls("https://a.example:8443"),
            [
                "https://a.example:8443/.well-known/oauth-authorization-server",
                "https://a.example:8443/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn metadata_of_another_issuer_is_refused() {
        let url = Url::parse("https://a.example/.well-known/openid-configuration").unwrap();
        let document = br#"{"issuer":"https://a.example","jwks_uri":"https://a.example/jwks"}"#;
        let found = read(document, "https://a.example", &url).unwrap();
        assert_eq!(found.jwks_uri.unwrap().as_str(), "https://a.example/jwks");
        for issuer in ["https://a.example/", "https://b.example", "https://A.example"] {
            assert!(read(document, issuer, &url).is_err(), "{issuer}");
        }
        for document in [&b"[]"[..], b"{", b"\xff", br#"{"issuer":"https://a.example","issuer":"x"}"#] {
            assert!(read(document, "https://a.example", &url).is_err(), "{document:?}");
        }
    }
}
