//! The source of the SDK for a new project.

use std::fmt;
use std::fs;
use std::path::{self, Component, Path, PathBuf};

use moongate_system::private_dir::Ownership;

/// The directory of the gateway in the source code that it was built from, if it still exists.
const BUILD_SOURCES: &str = env!("CARGO_MANIFEST_DIR");

/// The location of the SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SdkSource {
    /// The published crate, in this version.
    Version(&'static str),
    /// A directory.
    Directory(PathBuf),
    /// A Git repository, at a revision or at the head of its default branch.
    Git { url: String, revision: Option<&'static str> },
}

/// The facts about the SDK that a release is built with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReleasedSdk {
    /// The version of the published crate.
    pub(super) version: Option<&'static str>,
    /// The URL of the Git repository.
    pub(super) repository: Option<&'static str>,
    /// The revision that the gateway was built from.
    pub(super) revision: Option<&'static str>,
}

/// The SDK wasn't found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SdkError {
    /// The given directory doesn't contain the SDK.
    #[error("no `moongate-sdk` in `{0}`")]
    NotFound(String),
    /// No directory was given, and this gateway isn't a release.
    #[error("this gateway isn't a release, so a new project needs the location of the SDK")]
    NotReleased,
}

impl ReleasedSdk {
    /// The facts of this gateway. `cargo xtask dist` sets the variables.
    pub(super) const OWN: Self = Self {
        version: option_env!("MOONGATE_SDK_VERSION"),
        repository: option_env!("MOONGATE_REPOSITORY"),
        revision: option_env!("MOONGATE_REVISION"),
    };
}

impl SdkError {
    /// The hint for the error. It names the source code that this gateway was built from, if it can be used.
    pub(super) fn hint(&self) -> String {
        let own =
            Path::new(BUILD_SOURCES).parent().and_then(in_directory).filter(|own| has_trusted_owner(own));
        match (self, own) {
            (Self::NotReleased, Some(own)) => {
                format!(
                    "add `--sdk {}`, or the URL of a Git repository",
                    super::print::shell_word(&own.to_string_lossy())
                )
            }
            (Self::NotReleased | Self::NotFound(_), _) => {
                "pass a directory with Moongate's source code, or the URL of its Git repository, with `--sdk`"
                    .to_owned()
            }
        }
    }
}

impl SdkSource {
    /// The SDK at the given location, or otherwise the one of this release.
    pub(super) fn find(named: Option<&str>, released: ReleasedSdk) -> Result<Self, SdkError> {
        match named {
            Some(named) if is_address(named) => Ok(Self::Git { url: named.to_owned(), revision: None }),
            Some(named) => match in_directory(Path::new(named)) {
                Some(directory) => Ok(Self::Directory(directory)),
                None => Err(SdkError::NotFound(named.to_owned())),
            },
            None => match released {
                ReleasedSdk { version: Some(version), .. } => Ok(Self::Version(version)),
                ReleasedSdk { repository: Some(url), revision: Some(revision), version: None } => {
                    Ok(Self::Git { url: url.to_owned(), revision: Some(revision) })
                }
                ReleasedSdk { version: None, .. } => Err(SdkError::NotReleased),
            },
        }
    }

    /// The dependency in `Cargo.toml`.
    pub(super) fn dependency(&self) -> String {
        match self {
            Self::Version(version) => toml_string(version),
            Self::Directory(directory) => {
                format!("{{ path = {} }}", toml_string(&directory.to_string_lossy()))
            }
            Self::Git { url, revision: None } => format!("{{ git = {} }}", toml_string(url)),
            Self::Git { url, revision: Some(revision) } => {
                format!("{{ git = {}, rev = {} }}", toml_string(url), toml_string(revision))
            }
        }
    }
}

impl fmt::Display for SdkSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "`moongate-sdk` {version}"),
            Self::Directory(directory) => write!(f, "the SDK in `{}`", directory.display()),
            Self::Git { url, revision: None } => write!(f, "the SDK in `{url}`"),
            Self::Git { url, revision: Some(revision) } => {
                write!(f, "the SDK in `{url}` at revision `{revision}`")
            }
        }
    }
}

/// True if cargo accepts this as the URL of a repository; it doesn't accept `git@host:path`.
fn is_address(named: &str) -> bool {
    ["https://", "http://", "ssh://", "git://", "file://"].iter().any(|scheme| named.starts_with(scheme))
}

/// The directory of the SDK, given directly or as the directory of Moongate's source code.
fn in_directory(directory: &Path) -> Option<PathBuf> {
    let mut places = [directory.to_owned(), directory.join("plugin-sdk")].into_iter();
    let found = places.find(|place| {
        let manifest = fs::read_to_string(place.join("Cargo.toml"));
        manifest.is_ok_and(|text| text.lines().any(|line| line.trim() == r#"name = "moongate-sdk""#))
    })?;
    // Symlinks are kept, because they can outlive their targets. Only the file system knows what `..` leads to.
    let is_plain = found.components().all(|part| part != Component::ParentDir);
    if is_plain { path::absolute(found).ok() } else { found.canonicalize().ok() }
}

/// True if the directory belongs to this user or to the system. On any machine but the build machine, another user could
/// have created it, and its code would run when the project is built.
fn has_trusted_owner(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| Ownership::SourceTree.check(&found).is_ok())
}

/// A TOML string; JSON strings are valid TOML.
pub(super) fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
