//! The source of the SDK for a new project, until the SDK is published.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use moongate_system::private_dir::Ownership;

/// The source code that this gateway was built from, if it still exists.
const BUILD_SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The location of the SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SdkSource {
    /// A directory.
    Directory(PathBuf),
    /// The URL of a Git repository.
    Git(String),
}

/// The SDK wasn't found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SdkError {
    /// The given directory doesn't contain the SDK.
    #[error("no `moongate-sdk` in `{0}`")]
    NotFound(String),
    /// No directory was given, and the source code of this gateway can't be used.
    #[error(
        "SDK not found: the source code that this gateway was built from doesn't exist or belongs to another user"
    )]
    Unknown,
}

/// The hint for both errors.
pub(super) const SDK_HINT: &str =
    "pass a directory with Moongate's source code, or the URL of its Git repository, with `--sdk`";

impl SdkSource {
    /// The SDK at the given location, or otherwise in the source code of this gateway.
    pub(super) fn find(named: Option<&str>) -> Result<Self, SdkError> {
        match named {
            Some(named) if is_address(named) => Ok(Self::Git(named.to_owned())),
            Some(named) => match in_directory(Path::new(named)) {
                Some(directory) => Ok(Self::Directory(directory)),
                None => Err(SdkError::NotFound(named.to_owned())),
            },
            None => in_directory(Path::new(BUILD_SOURCES))
                .filter(|directory| has_trusted_owner(directory))
                .map(Self::Directory)
                .ok_or(SdkError::Unknown),
        }
    }

    /// The dependency in `Cargo.toml`.
    pub(super) fn dependency(&self) -> String {
        match self {
            Self::Directory(directory) => {
                format!("{{ path = {} }}", toml_string(&directory.to_string_lossy()))
            }
            Self::Git(address) => format!("{{ git = {} }}", toml_string(address)),
        }
    }
}

impl fmt::Display for SdkSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(directory) => write!(f, "`{}`", directory.display()),
            Self::Git(address) => write!(f, "`{address}`"),
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
    found.canonicalize().ok()
}

/// True if the directory belongs to this user or to the system. Its code runs when the project is built, and on any
/// machine but the build machine, another user could have created the directory.
fn has_trusted_owner(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| Ownership::SourceTree.check(&found).is_ok())
}

/// A TOML string; JSON strings are valid TOML.
pub(super) fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
