//! Addresses of components: web addresses, and references to OCI artifacts
//! (OCI distribution specification 1.1, "Pulling manifests").

use std::fmt;
use std::str::FromStr as _;

use moongate_model::names::Digest;
use url::{Host, Url};

use super::{is_loopback_host, parse_host_and_port};

/// The longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 2048;

/// The longest repository, in bytes. Registries limit host and repository together to this length.
const MAX_REPOSITORY_BYTES: usize = 255;

/// The longest tag, in bytes.
const MAX_TAG_BYTES: usize = 128;

/// The address of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceReference {
    /// A file on a web server.
    Web(Url),
    /// An artifact in an OCI registry.
    Oci(OciReference),
}

/// A reference to an artifact in an OCI registry: a tag, a digest, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// The hosts that are contacted over plain HTTP, besides loopback addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlainHttpHosts(Vec<(Host<String>, u16)>);

/// An address that isn't a valid source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceReferenceError {
    /// The scheme isn't supported.
    #[error("plugins can't be loaded from `{0}://`")]
    Scheme(String),
    /// The address is too long.
    #[error("the address is longer than {MAX_ADDRESS_BYTES} bytes")]
    TooLong,
    /// The address can't be parsed.
    #[error("invalid address: {0}")]
    Url(String),
    /// The address contains a user name or a password.
    #[error("the address contains a user name or a password")]
    UserInfo,
    /// The address has a fragment.
    #[error("the address has a fragment")]
    Fragment,
    /// The address uses plain HTTP.
    #[error("plain HTTP isn't allowed for `{0}`")]
    PlainHttp(String),
    /// The registry isn't a host.
    #[error("`{0}` isn't a registry")]
    Registry(String),
    /// The repository is invalid.
    #[error("invalid repository `{0}`")]
    Repository(String),
    /// The tag is invalid.
    #[error("invalid tag `{0}`")]
    Tag(String),
    /// The digest is invalid.
    #[error("invalid digest `{0}`")]
    Digest(String),
    /// There is neither a tag nor a digest.
    #[error("the reference has neither a tag nor a digest")]
    NoVersion,
}

impl SourceReferenceError {
    /// The fix.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Scheme(scheme) if scheme == "file" => "write the path alone, without `file://`".to_owned(),
            Self::Scheme(_) => {
                "use a path, an `https://` address, or `oci://` for an artifact in a registry".to_owned()
            }
            Self::TooLong => "use a shorter address".to_owned(),
            Self::Url(_) => "write an address such as \"https://example.com/time.wasm\"".to_owned(),
            Self::UserInfo => {
                "remove them; for a private plugin, use a registry and log in to it with `docker login` or `skopeo login`"
                    .to_owned()
            }
            Self::Fragment => "remove the fragment after `#`".to_owned(),
            Self::PlainHttp(host) => {
                format!("use `https://`, or add `{host}` to `plain_http` in `[sources]`")
            }
            Self::Registry(_) => "start with the registry's host, such as \"oci://ghcr.io/acme/time:1.2\"".to_owned(),
            Self::Repository(_) => {
                "use lower-case letters, digits, and single `.`, `_` or `-` between them, separated by `/`".to_owned()
            }
            Self::Tag(_) => "use letters, digits, `.`, `_` and `-`".to_owned(),
            Self::Digest(_) => "write `@sha256:` and 64 hexadecimal digits".to_owned(),
            Self::NoVersion => "add a tag, such as `:1.2`, or a digest, such as `@sha256:…`".to_owned(),
        }
    }
}

impl PlainHttpHosts {
    /// The hosts, each as `host[:port]`. The error is the first invalid one.
    ///
    /// # Errors
    /// An entry isn't a host.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, &'t str> {
        let hosts = texts.into_iter().map(|text| {
            let (host, port) = parse_host_and_port(text).ok_or(text)?;
            Ok::<_, &str>((host, port.unwrap_or(80)))
        });
        Ok(Self(hosts.collect::<Result<_, _>>()?))
    }

    /// Reports whether this host is contacted over plain HTTP. Without a port, it is the default port of HTTP.
    #[must_use]
    pub fn contains(&self, host: &Host<String>, port: Option<u16>) -> bool {
        is_loopback_host(host)
            || self.0.iter().any(|(its, its_port)| its == host && *its_port == port.unwrap_or(80))
    }
}

impl SourceReference {
    /// Parses the text of a source. `None` means that it is a path.
    ///
    /// # Errors
    /// The text is an address, but not of a component.
    pub fn parse(text: &str, plain_http: &PlainHttpHosts) -> Result<Option<Self>, SourceReferenceError> {
        let Some((scheme, rest)) = text.split_once("://") else { return Ok(None) };
        if text.len() > MAX_ADDRESS_BYTES {
            return Err(SourceReferenceError::TooLong);
        }
        match scheme.to_ascii_lowercase().as_str() {
            "oci" => OciReference::parse(rest).map(Self::Oci).map(Some),
            "https" | "http" => parse_web_address(text, plain_http).map(Self::Web).map(Some),
            _ => Err(SourceReferenceError::Scheme(scheme.to_owned())),
        }
    }

    /// The address for people, without a query, which can contain a key.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Web(url) if url.query().is_some() => {
                let mut url = url.clone();
                url.set_query(None);
                format!("{url}?…")
            }
            Self::Web(url) => url.to_string(),
            Self::Oci(reference) => reference.to_string(),
        }
    }
}

/// Parses an address that components can be downloaded from.
///
/// # Errors
/// The address contains credentials or a fragment, or uses plain HTTP for another host than these.
pub fn parse_web_address(text: &str, plain_http: &PlainHttpHosts) -> Result<Url, SourceReferenceError> {
    let url = Url::parse(text).map_err(|error| SourceReferenceError::Url(error.to_string()))?;
    let Some(host) = url.host().map(|host| host.to_owned()) else {
        return Err(SourceReferenceError::Url("it has no host".to_owned()));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(SourceReferenceError::UserInfo);
    }
    if url.fragment().is_some() {
        return Err(SourceReferenceError::Fragment);
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if plain_http.contains(&host, url.port()) => Ok(url),
        "http" => {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            Err(SourceReferenceError::PlainHttp(format!("{host}{port}")))
        }
        scheme => Err(SourceReferenceError::Scheme(scheme.to_owned())),
    }
}

impl OciReference {
    /// Parses `registry/repository[:tag][@sha256:digest]`.
    ///
    /// # Errors
    /// The text isn't such a reference.
    pub fn parse(text: &str) -> Result<Self, SourceReferenceError> {
        let (registry, rest) = text.split_once('/').unwrap_or((text, ""));
        let registry = registry.to_ascii_lowercase();
        if registry.is_empty() || parse_host_and_port(&registry).is_none() {
            return Err(SourceReferenceError::Registry(registry));
        }
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(parse_sha256(digest)?)),
            None => (rest, None),
        };
        let (repository, tag) = match rest.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (rest, None),
        };
        if repository.len() > MAX_REPOSITORY_BYTES || !repository.split('/').all(is_repository_part) {
            return Err(SourceReferenceError::Repository(repository.to_owned()));
        }
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            return Err(SourceReferenceError::Tag(tag.to_owned()));
        }
        if tag.is_none() && digest.is_none() {
            return Err(SourceReferenceError::NoVersion);
        }
        Ok(Self { registry, repository: repository.to_owned(), tag: tag.map(str::to_owned), digest })
    }

    /// The registry's host, with a port if it isn't the default.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path of the repository in the registry.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest of the manifest.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The reference of the manifest with this digest in the same repository, without a tag.
    #[must_use]
    pub fn with_digest(&self, digest: Digest) -> Self {
        Self { tag: None, digest: Some(digest), ..self.clone() }
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { registry, repository, tag, digest } = self;
        write!(f, "oci://{registry}/{repository}")?;
        if let Some(tag) = tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = digest {
            write!(f, "@sha256:{digest}")?;
        }
        Ok(())
    }
}

/// Parses `sha256:` and 64 hexadecimal digits in lower case.
///
/// # Errors
/// The text isn't such a digest.
pub fn parse_sha256(text: &str) -> Result<Digest, SourceReferenceError> {
    let digest = text.strip_prefix("sha256:").and_then(|hex| Digest::from_str(hex).ok());
    // An upper-case digest would be the address of nothing.
    let digest = digest.filter(|digest| text.ends_with(&digest.to_string()));
    digest.ok_or_else(|| SourceReferenceError::Digest(text.to_owned()))
}

/// Reports whether it is a part of a repository: words of lower-case letters and digits, with separators between them.
fn is_repository_part(part: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let words = part.replace("__", ".");
    words.split(['.', '_']).all(|words| {
        let inner = words.trim_matches('-');
        inner.len() == words.len()
            && inner.split('-').filter(|word| !word.is_empty()).all(is_word)
            && !inner.is_empty()
    })
}

fn is_tag(tag: &str) -> bool {
    tag.len() <= MAX_TAG_BYTES
        && tag.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && tag.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c))
}

#[cfg(test)]
mod tests;
