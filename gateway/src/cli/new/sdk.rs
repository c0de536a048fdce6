//! Where a new project takes the SDK from, as long as it isn't published. Used by `new`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::private_dir::Hands;

/// The sources that this gateway was built from. Often they are still there.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Where the SDK is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sdk {
    /// In this folder.
    Folder(PathBuf),
    /// In the Git repository at this address.
    Git(String),
}

/// The SDK wasn't found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SdkError {
    /// It isn't where it was said to be.
    #[error("there is no `moongate-sdk` in `{0}`")]
    NotThere(String),
    /// Nobody said where it is.
    #[error(
        "the sources that this gateway was built from aren't here, or aren't yours, so it isn't known where the SDK is"
    )]
    Gone,
}

/// What to do where it wasn't found.
pub(super) const HINT: &str =
    "`--sdk` names a folder with Moongate's sources, or the address of their Git repository";

impl Sdk {
    /// The SDK at the named place, or else beside the sources of this gateway.
    pub(super) fn find(named: Option<&str>) -> Result<Self, SdkError> {
        match named {
            Some(named) if is_address(named) => Ok(Self::Git(named.to_owned())),
            Some(named) => match in_folder(Path::new(named)) {
                Some(folder) => Ok(Self::Folder(folder)),
                None => Err(SdkError::NotThere(named.to_owned())),
            },
            None => in_folder(Path::new(SOURCES))
                .filter(|folder| is_ours(folder))
                .map(Self::Folder)
                .ok_or(SdkError::Gone),
        }
    }

    /// What stands in `Cargo.toml`.
    pub(super) fn dependency(&self) -> String {
        match self {
            Self::Folder(folder) => format!("{{ path = {} }}", quoted(&folder.to_string_lossy())),
            Self::Git(address) => format!("{{ git = {} }}", quoted(address)),
        }
    }
}

impl fmt::Display for Sdk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "`{}`", folder.display()),
            Self::Git(address) => write!(f, "`{address}`"),
        }
    }
}

/// What cargo takes as a repository's address. `git@host:path` isn't one.
fn is_address(named: &str) -> bool {
    ["https://", "http://", "ssh://", "git://", "file://"].iter().any(|scheme| named.starts_with(scheme))
}

/// The SDK's own folder, or the one with all of Moongate's sources, was named.
fn in_folder(folder: &Path) -> Option<PathBuf> {
    let mut places = [folder.to_owned(), folder.join("plugin-sdk")].into_iter();
    let found = places.find(|place| {
        let manifest = fs::read_to_string(place.join("Cargo.toml"));
        manifest.is_ok_and(|text| text.lines().any(|line| line.trim() == r#"name = "moongate-sdk""#))
    })?;
    found.canonicalize().ok()
}

/// Is the folder in the hands of whoever runs this, or of the system? Its code will run when the project is built, and on
/// another machine than the gateway was built on anybody may have put it there.
fn is_ours(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|found| Hands::Sources.check(&found).is_ok())
}

/// A text as TOML takes it: JSON's strings are TOML's, too.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
