//! The address of the source code, which packages name.

use std::env;

use anyhow::{Result, bail};

/// The address of a repository on a forge, `https://HOST/OWNER/NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    url: String,
    owner: String,
    name: String,
}

impl Repository {
    /// Parses the address.
    pub(crate) fn new(url: &str) -> Result<Self> {
        let url = url.trim_end_matches('/').trim_end_matches(".git");
        let parts: Vec<&str> = url.strip_prefix("https://").unwrap_or_default().split('/').collect();
        let [host, owner, name] = parts[..] else {
            bail!("invalid repository `{url}`: expected https://HOST/OWNER/NAME");
        };
        if [host, owner, name].contains(&"") {
            bail!("invalid repository `{url}`: expected https://HOST/OWNER/NAME");
        }
        Ok(Self { url: url.to_owned(), owner: owner.to_owned(), name: name.to_owned() })
    }

    /// The repository whose workflow runs this, if any.
    pub(crate) fn from_environment() -> Result<Option<Self>> {
        match (env::var("GITHUB_SERVER_URL"), env::var("GITHUB_REPOSITORY")) {
            (Ok(server), Ok(path)) => Self::new(&format!("{server}/{path}")).map(Some),
            _ => Ok(None),
        }
    }

    /// The address, without `.git`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The name in the MCP Registry, whose names on this forge start with its owner.
    pub(crate) fn registry_name(&self) -> String {
        format!("io.github.{}/{}", self.owner, self.name)
    }

    /// The name of the image of a version in this forge's container registry.
    pub(crate) fn image(&self, version: &str) -> String {
        format!("ghcr.io/{}/{}:{version}", self.owner, self.name).to_lowercase()
    }

    /// The address of a file of a release.
    pub(crate) fn download(&self, version: &str, file: &str) -> String {
        format!("{}/releases/download/v{version}/{file}", self.url)
    }
}
