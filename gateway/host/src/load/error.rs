//! Errors of loading a plugin, for the operator or the author who has to fix it.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use moongate_config::{LimitKey, Limits, SourceField, SourceProblem};
use moongate_model::call::CallError;
use moongate_model::names::Digest;

use crate::diagnostics::text::{self, display_path};
use crate::wasi::http::CaError;

mod hint;

pub use hint::PathOrigin;

/// An error when starting the host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The engine or its linker can't be set up.
    #[error("can't start the Wasm engine: {0}")]
    Engine(String),
    /// The thread that advances the engine's epoch can't be started.
    #[error("can't start the Wasm engine's epoch thread")]
    Ticker(#[source] std::io::Error),
    /// The CA file for plugins' requests is invalid.
    #[error(transparent)]
    CaFile(#[from] CaError),
}

/// The reason that a file can't be read. The message follows the path.
#[derive(Debug, thiserror::Error)]
pub enum ReadFailure {
    /// The file doesn't exist.
    #[error("doesn't exist{}", absence(link.as_deref(), directory.as_deref()))]
    NotFound {
        /// The target, if the path is a symlink.
        link: Option<PathBuf>,
        /// The topmost missing directory of the path.
        directory: Option<PathBuf>,
        /// An existing file with a similar path.
        near: Option<PathBuf>,
    },
    /// The gateway's user has no permission to read it.
    #[error("can't be read: permission denied")]
    PermissionDenied,
    /// Any other error.
    #[error("can't be read: {0}")]
    Other(std::io::Error),
}

fn absence(link: Option<&Path>, directory: Option<&Path>) -> String {
    match (link, directory) {
        (Some(to), _) => format!(": it is a symlink to `{}`, which doesn't exist", display_path(to)),
        (None, Some(directory)) => format!(": there is no directory `{}`", display_path(directory)),
        (None, None) => String::new(),
    }
}

/// A limit of the plugin that is too low.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitTooLow {
    /// The key of the limit.
    pub key: LimitKey,
    /// The minimum amount that the plugin needed. `None` if it isn't known.
    pub needed: Option<u64>,
    /// A value that is probably sufficient, as TOML. `None` if no permitted value is.
    pub sufficient: Option<String>,
}

impl LimitTooLow {
    /// A limit with a known needed amount.
    pub(crate) fn needing(key: LimitKey, wanted: u64) -> Self {
        Self { key, needed: Some(wanted), sufficient: key.suggest_value(wanted) }
    }

    /// A limit with an unknown needed amount.
    pub(crate) fn with_unknown_need(limits: &Limits, key: LimitKey) -> Self {
        Self { key, needed: None, sufficient: limits.suggest_higher(key) }
    }
}

/// The step of describing that failed.
fn failed_step(function: Option<&str>) -> String {
    function.map_or_else(|| "it can't be started".to_owned(), |function| format!("`{function}` failed"))
}

/// The amount that the plugin needed, if it is known.
fn needed_amount(low: Option<&LimitTooLow>) -> String {
    match low {
        Some(LimitTooLow { key, needed: Some(wanted), .. }) => {
            format!(" (it requested {})", key.format_amount(*wanted))
        }
        Some(LimitTooLow { needed: None, .. }) | None => String::new(),
    }
}

/// An error when loading a plugin. The message doesn't contain the plugin's name; see [`LoadError::hint`] for the fix.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file can't be read.
    #[error("`{}` {why}", display_path(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: ReadFailure,
    },
    /// The plugin comes from an address, and no component is locked for it.
    #[error("{0}")]
    NotLocked(SourceProblem),
    /// The path isn't a file.
    #[error("`{}` is {}", display_path(path), if *directory { "a directory" } else { "not a regular file" })]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// True for a directory.
        directory: bool,
    },
    /// The file keeps changing.
    #[error("`{}` is still being written", display_path(path))]
    KeepsChanging {
        /// The file.
        path: PathBuf,
    },
    /// The file is too large.
    #[error("the file is larger than `limits.component` allows: {} instead of {}", size.display().iec(), most.display().iec())]
    TooLarge {
        /// The size of the file.
        size: ByteSize,
        /// The limit.
        most: ByteSize,
    },
    /// The file doesn't have the digest that the configuration or the lock file expects.
    #[error("the file's SHA-256 digest is {found} instead of {pinned}")]
    DigestMismatch {
        /// The digest of the file.
        found: Digest,
        /// The expected digest.
        pinned: Digest,
    },
    /// The file contains machine code.
    #[error("the file contains compiled machine code, which is never accepted from a plugin")]
    Precompiled,
    /// The file is a core module.
    #[error("the file is a core WebAssembly module, not a component")]
    CoreModule,
    /// The file is empty or isn't WebAssembly.
    #[error("the file isn't a WebAssembly component: {found}")]
    NotWasm {
        /// The file's actual format.
        found: &'static str,
    },
    /// The file starts like a component but can't be compiled.
    #[error("the component is broken: {reason}")]
    InvalidComponent {
        /// The compiler's message.
        reason: String,
    },
    /// The component uses a feature of WebAssembly that the engine doesn't support.
    #[error("the component uses {feature}, which this gateway doesn't support")]
    UnsupportedFeature {
        /// The feature, or the compiler's message about it.
        feature: String,
        /// The fix.
        fix: &'static str,
    },
    /// The component has more parts than the compiler allows.
    #[error("the component is larger than the compiler allows: {what}")]
    TooManyParts {
        /// The compiler's message: the kind of parts, and the maximum.
        what: String,
    },
    /// Compiling exceeded a limit.
    #[error("compiling the component takes {needs}")]
    CompileLimit {
        /// The amount of memory or time.
        needs: String,
        /// The limit to raise. `None` if raising a limit doesn't help.
        low: Option<Box<LimitTooLow>>,
    },
    /// The compiling process was killed.
    #[error("the process that compiled the component was killed")]
    CompilerKilled,
    /// An instance of the component would be too large.
    #[error("the component needs more than the instance limits allow: {what}")]
    InstanceTooLarge {
        /// The amount needed, and the maximum.
        what: String,
        /// The fix.
        fix: &'static str,
    },
    /// The component was built for another version of the contract.
    #[error("the component was built for moongate:plugin@{version}; this gateway supports {spoken}")]
    ContractVersion {
        /// The version that it was built for.
        version: String,
        /// The import or export with that version.
        name: String,
        /// The supported version.
        spoken: &'static str,
    },
    /// The component imports functions of a later version of the contract.
    #[error("the component needs {}, which this gateway doesn't offer", quoted_list(functions))]
    NewerFunctions {
        /// Interfaces, and functions as `interface.function`.
        functions: Vec<String>,
    },
    /// The component has unknown imports.
    #[error("the component imports {}, which this gateway doesn't offer", quoted_list(imports))]
    UnknownImports {
        /// The imports.
        imports: Vec<String>,
    },
    /// The component imports something with a different type.
    #[error("the component's imports don't match: {reason}")]
    ImportMismatch {
        /// The linker's message.
        reason: String,
    },
    /// The component isn't a plugin.
    #[error("{}", if *other { "the component doesn't export `lifecycle`, which is required" } else { "the component exports no interface of moongate:plugin" })]
    NotAPlugin {
        /// True if it exports other interfaces of the contract.
        other: bool,
    },
    /// The component exports an interface with a different type than the contract's.
    #[error("the component's export `{interface}` doesn't match the contract: {found}")]
    ExportMismatch {
        /// The interface.
        interface: String,
        /// The functions that don't match, with the reason.
        found: String,
    },
    /// A granted directory can't be opened.
    #[error("{reason}")]
    GrantedDirectory {
        /// Its path inside the sandbox, if it is known.
        guest: Option<String>,
        /// The directory and the reason.
        reason: String,
        /// The fix.
        hint: String,
    },
    /// Describing the plugin failed.
    #[error("{}: {error}{}", failed_step(*function), needed_amount(low.as_deref()))]
    DescribeFailed {
        /// The function that was called. `None` if no function was called yet.
        function: Option<&'static str>,
        /// The failure.
        error: CallError,
        /// The exceeded limit. `None` if the error isn't about a limit.
        low: Option<Box<LimitTooLow>>,
    },
    /// The description is invalid.
    #[error("invalid plugin description: {reason}")]
    InvalidDescription {
        /// The path to the invalid value, and the reason.
        reason: String,
        /// The exceeded limit. `None` if the error isn't about a limit.
        low: Option<Box<LimitTooLow>>,
    },
    /// An internal error of the gateway.
    #[error("internal error: {0}")]
    Internal(String),
}

impl LoadError {
    /// The configuration value that the error is about. `None` if it is about `source`, or not about the configuration.
    #[must_use]
    pub fn config_field(&self) -> Option<SourceField> {
        let limit = match self {
            Self::DigestMismatch { .. } => return Some(SourceField::Sha256),
            Self::TooLarge { .. } => LimitKey::Component,
            Self::CompileLimit { low, .. }
            | Self::InvalidDescription { low, .. }
            | Self::DescribeFailed { low, .. } => low.as_ref()?.key,
            Self::Read { .. }
            | Self::NotLocked(_)
            | Self::NotAFile { .. }
            | Self::KeepsChanging { .. }
            | Self::Precompiled
            | Self::CoreModule
            | Self::NotWasm { .. }
            | Self::InvalidComponent { .. }
            | Self::UnsupportedFeature { .. }
            | Self::TooManyParts { .. }
            | Self::CompilerKilled
            | Self::InstanceTooLarge { .. }
            | Self::ContractVersion { .. }
            | Self::NewerFunctions { .. }
            | Self::UnknownImports { .. }
            | Self::ImportMismatch { .. }
            | Self::NotAPlugin { .. }
            | Self::ExportMismatch { .. }
            | Self::GrantedDirectory { .. }
            | Self::Internal(_) => return None,
        };
        Some(SourceField::Limit(limit))
    }

    /// True if loading the same bytes with the same configuration always fails. Other errors can disappear by
    /// themselves, so loading is retried: a file appears, memory becomes free, or a plugin depends on the time of day.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            Self::TooLarge { .. }
            | Self::NotLocked(_)
            | Self::DigestMismatch { .. }
            | Self::Precompiled
            | Self::CoreModule
            | Self::NotWasm { .. }
            | Self::InvalidComponent { .. }
            | Self::UnsupportedFeature { .. }
            | Self::TooManyParts { .. }
            | Self::CompileLimit { .. }
            | Self::InstanceTooLarge { .. }
            | Self::ContractVersion { .. }
            | Self::NewerFunctions { .. }
            | Self::UnknownImports { .. }
            | Self::ImportMismatch { .. }
            | Self::NotAPlugin { .. }
            | Self::ExportMismatch { .. } => true,
            // A description can depend on anything that the plugin can access.
            Self::DescribeFailed { .. }
            | Self::InvalidDescription { .. }
            | Self::Read { .. }
            | Self::NotAFile { .. }
            | Self::KeepsChanging { .. }
            | Self::CompilerKilled
            | Self::GrantedDirectory { .. }
            | Self::Internal(_) => false,
        }
    }
}

/// The first names in backticks, each truncated, because a component can have a million.
pub(crate) fn quoted_list(names: &[String]) -> String {
    const MAX_LISTED_NAMES: usize = 8;
    let first = names
        .iter()
        .take(MAX_LISTED_NAMES)
        .map(|name| format!("`{}`", text::clean_line(name, text::MAX_WORD_BYTES)));
    let first = first.collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MAX_LISTED_NAMES) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}
