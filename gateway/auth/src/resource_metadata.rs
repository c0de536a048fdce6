//! Protected resource metadata (RFC 9728), and the challenges that lead clients to it (RFC 6750, 3; MCP 2026-07-28,
//! basic/authorization).
//!
//! All addresses come from the configuration. Those in requests are chosen by the client, or changed by proxies.

use moongate_config::{OAuthConfig, ProtectedResource};
use serde_json::json;

use crate::authenticator::TokenProblem;

/// The well-known path of the metadata. The path of the resource follows it.
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The metadata of the gateway as a protected resource.
#[derive(Debug, Clone)]
pub struct ResourceMetadata {
    /// The document.
    document: String,
    /// The paths of the document on this gateway.
    paths: Vec<String>,
    /// The parameters of every challenge.
    challenge: String,
}

impl ResourceMetadata {
    /// The metadata. `None` without issuers. `endpoint_path` is the path of the endpoint on this gateway; a proxy can
    /// show another one to clients.
    #[must_use]
    pub fn new(config: &OAuthConfig, endpoint_path: &str) -> Option<Self> {
        let OAuthConfig { resource, scopes, issuers } = config;
        let resource = resource.as_ref().filter(|_| !issuers.is_empty())?;
        let mut document = json!({
            "resource": &*resource.text,
            "authorization_servers": issuers.iter().map(|issuer| &*issuer.issuer).collect::<Vec<_>>(),
            "bearer_methods_supported": ["header"],
            "resource_name": "Moongate",
        });
        let mut challenge = format!("resource_metadata=\"{}\"", metadata_url(resource));
        if !scopes.is_empty() {
            document["scopes_supported"] = json!(scopes);
            challenge.push_str(&format!(", scope=\"{}\"", scopes.join(" ")));
        }
        let mut paths = Vec::new();
        for path in ["", resource.url.path(), endpoint_path] {
            let path = format!("{METADATA_PATH}{}", path.trim_end_matches('/'));
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Some(Self { document: document.to_string(), paths, challenge })
    }

    /// The document, if it is at this path. Only exactly these paths can be read without a token.
    #[must_use]
    pub fn document_at(&self, path: &str) -> Option<&str> {
        self.paths.iter().any(|own| own == path).then_some(&*self.document)
    }

    /// The challenge to a request without a token.
    #[must_use]
    pub fn challenge(&self) -> String {
        format!("Bearer {}", self.challenge)
    }

    /// The challenge to a request with a token that isn't accepted.
    #[must_use]
    pub fn invalid_token(&self, problem: TokenProblem) -> String {
        let description = problem.description();
        format!("Bearer error=\"invalid_token\", error_description=\"{description}\", {}", self.challenge)
    }

    /// The challenge to a request with a token without the necessary scopes.
    #[must_use]
    pub fn insufficient_scope(&self) -> String {
        let description = "the token needs more scopes";
        format!(
            "Bearer error=\"insufficient_scope\", error_description=\"{description}\", {}",
            self.challenge
        )
    }
}

/// The public address of the metadata: the well-known path comes before that of the resource (RFC 9728, 3.1).
fn metadata_url(resource: &ProtectedResource) -> String {
    let mut url = resource.url.clone();
    let path = format!("{METADATA_PATH}{}", resource.url.path().trim_end_matches('/'));
    url.set_path(&path);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(text: &str) -> ProtectedResource {
        ProtectedResource { text: text.into(), url: text.parse().unwrap() }
    }

    #[test]
    fn the_well_known_path_comes_before_that_of_the_resource() {
        for (text, url) in [
            ("https://a.example/mcp", "https://a.example/.well-known/oauth-protected-resource/mcp"),
            ("https://a.example/x/mcp/", "https://a.example/.well-known/oauth-protected-resource/x/mcp"),
            ("https://a.example:8443", "https://a.example:8443/.well-known/oauth-protected-resource"),
        ] {
            assert_eq!(metadata_url(&resource(text)), url);
        }
    }
}
