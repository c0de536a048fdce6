//! The credentials that container tools have stored for registries: `auth.json` of containers, and `config.json` of
//! Docker.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use moongate_config::OciReference;
use moongate_model::secret::Secret;
use serde::Deserialize;

use crate::error::SourceError;

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The directory that container tools use without `XDG_RUNTIME_DIR`, as in cron jobs, CI and root's shell. It has a
/// directory for each user id.
const DEFAULT_RUNTIME_DIRECTORY: &str = "/run/containers";

/// The credentials of container tools.
#[derive(Debug, Default)]
pub(crate) struct CredentialFiles {
    files: Vec<CredentialFile>,
}

/// The credentials for a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RegistryCredential {
    /// A user name and a password.
    Basic { user: String, password: Secret },
    /// A refresh token, which the authorization server exchanges for an access token.
    RefreshToken(Secret),
    /// An access token.
    AccessToken(Secret),
}

/// One file.
#[derive(Debug)]
struct CredentialFile {
    path: PathBuf,
    content: Result<CredentialDocument, String>,
}

/// The content of a file. Other members are ignored.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CredentialDocument {
    auths: BTreeMap<String, CredentialEntry>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CredentialEntry {
    /// User name and password in base64, with a colon between them.
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
    registrytoken: String,
}

impl std::fmt::Debug for CredentialDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CredentialDocument").field("registries", &self.auths.keys()).finish_non_exhaustive()
    }
}

impl CredentialFiles {
    /// Reads the files at the places where container tools look for them. `variable` reads environment variables.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        // Other users can't look into the default directory.
        let is_used = |path: &PathBuf| !path.starts_with(DEFAULT_RUNTIME_DIRECTORY) || path.exists();
        let files = paths(variable).into_iter().filter(is_used).filter_map(|path| {
            let content = read_document(&path)?;
            Some(CredentialFile { path, content })
        });
        Self { files: files.collect() }
    }

    /// The credentials for a repository. `None` if there are none.
    ///
    /// # Errors
    /// A file can't be read, so there could be some.
    pub(crate) fn find(&self, reference: &OciReference) -> Result<Option<RegistryCredential>, SourceError> {
        for CredentialFile { path, content } in &self.files {
            let content = content.as_ref().map_err(|reason| {
                SourceError::new(format!("can't read the credentials in `{}`: {reason}", path.display()))
                    .with_hint("correct or remove the file")
            })?;
            for place in places(reference) {
                let entry = content.auths.iter().find(|(key, _)| plain_key(key) == place);
                if let Some(credential) = entry.and_then(|(_, entry)| entry.read()) {
                    return Ok(Some(credential));
                }
            }
        }
        Ok(None)
    }

    /// The name of the credential helper that has the credentials, which isn't supported.
    pub(crate) fn helper(&self, reference: &OciReference) -> Option<&str> {
        let contents = self.files.iter().filter_map(|file| file.content.as_ref().ok());
        let mut helpers = contents.filter_map(|content| {
            let own = content.cred_helpers.iter().find(|(key, _)| plain_key(key) == reference.registry());
            own.map(|(_, helper)| helper.as_str()).or(content.creds_store.as_deref())
        });
        helpers.find(|helper| !helper.is_empty())
    }
}

/// The places of the files, in the order of their priority.
fn paths(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let config_home = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    let docker = variable("DOCKER_CONFIG").or_else(|| Some(variable("HOME")?.join(".docker")));
    let runtime = match variable("XDG_RUNTIME_DIR") {
        Some(directory) => directory.join("containers"),
        None => Path::new(DEFAULT_RUNTIME_DIRECTORY).join(rustix::process::getuid().to_string()),
    };
    let paths = [
        variable("REGISTRY_AUTH_FILE"),
        Some(runtime.join("auth.json")),
        config_home.map(|directory| directory.join("containers/auth.json")),
        docker.map(|directory| directory.join("config.json")),
    ];
    paths.into_iter().flatten().collect()
}

/// The content of a file, or the reason why it can't be read. `None` if there is no file.
fn read_document(path: &Path) -> Option<Result<CredentialDocument, String>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(error.to_string())),
    };
    let mut text = String::new();
    if let Err(error) = file.take(MAX_FILE_BYTES).read_to_string(&mut text) {
        return Some(Err(error.to_string()));
    }
    // The parser's message could quote a password.
    Some(serde_json::from_str(&text).map_err(|error| format!("invalid JSON at line {}", error.line())))
}

/// The keys under which the credentials of a repository can be, the most specific first.
fn places(reference: &OciReference) -> Vec<String> {
    let whole = format!("{}/{}", reference.registry(), reference.repository());
    let mut places: Vec<String> = whole.match_indices('/').map(|(at, _)| whole[..at].to_owned()).collect();
    places.push(whole.clone());
    places.reverse();
    if is_docker_hub(reference.registry()) {
        places.extend([
            "index.docker.io".to_owned(),
            "docker.io".to_owned(),
            "registry-1.docker.io".to_owned(),
        ]);
    }
    places
}

/// Reports whether a registry is Docker Hub, which has several names.
pub(crate) fn is_docker_hub(registry: &str) -> bool {
    ["docker.io", "index.docker.io", "registry-1.docker.io"].contains(&registry)
}

/// A key without the scheme and the version of the API, which some tools add.
fn plain_key(key: &str) -> &str {
    let key = key.split_once("://").map_or(key, |(_, rest)| rest).trim_end_matches('/');
    ["/v1", "/v2"].iter().find_map(|version| key.strip_suffix(version)).unwrap_or(key)
}

impl CredentialEntry {
    fn read(&self) -> Option<RegistryCredential> {
        let Self { auth, username, password, identitytoken, registrytoken } = self;
        if !registrytoken.is_empty() {
            return Some(RegistryCredential::AccessToken(Secret::new(registrytoken.as_str())));
        }
        if !identitytoken.is_empty() {
            return Some(RegistryCredential::RefreshToken(Secret::new(identitytoken.as_str())));
        }
        let decoded =
            BASE64_STANDARD.decode(auth.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let (user, password) = match decoded.as_ref().and_then(|auth| auth.split_once(':')) {
            Some((user, password)) => (user, password.trim_end_matches('\0')),
            None => (username.as_str(), password.as_str()),
        };
        (!user.is_empty())
            .then(|| RegistryCredential::Basic { user: user.to_owned(), password: Secret::new(password) })
    }
}

#[cfg(test)]
mod tests;
