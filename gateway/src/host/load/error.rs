//! Why a plugin can't be loaded, in words for the operator or the author who has to mend it.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use moongate_core::call::CallError;
use moongate_core::config::{LimitKey, Limits, Spot};
use moongate_core::names::Digest;

use crate::host::diagnostics::text;
use crate::host::wasi::http::CaError;

mod hint;

pub use hint::Named;

/// Why there is no host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The engine or its linker can't be set up.
    #[error("the Wasm engine can't be started: {0}")]
    Engine(String),
    /// The thread that advances the engine's clock can't be started.
    #[error("the thread of the Wasm engine's clock can't be started")]
    Ticker(#[source] std::io::Error),
    /// The file of authorities that plugins' requests trust can't be used.
    #[error(transparent)]
    Authorities(#[from] CaError),
}

/// Why a file can't be read. Reads on after its path.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// There is no such file.
    #[error("isn't there{}", absence(link.as_deref(), folder.as_deref()))]
    Absent {
        /// What stands at the path is a link to this.
        link: Option<PathBuf>,
        /// The first directory on the way to it that isn't there either.
        folder: Option<PathBuf>,
        /// A file that is there and whose path is nearly the same.
        near: Option<PathBuf>,
    },
    /// The gateway's user may not read it.
    #[error("may not be read")]
    Denied,
    /// Anything else.
    #[error("can't be read: {0}")]
    Other(std::io::Error),
}

fn absence(link: Option<&Path>, folder: Option<&Path>) -> String {
    match (link, folder) {
        (Some(to), _) => format!(": it is a link to `{}`, which isn't there", shown(to)),
        (None, Some(folder)) => format!(": there is no directory `{}`", shown(folder)),
        (None, None) => String::new(),
    }
}

/// A path without what can't be seen or moves a cursor.
pub(in crate::host) fn shown(path: &Path) -> String {
    let mut shown = String::new();
    for c in path.to_string_lossy().chars() {
        if c.is_control() || text::is_hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// A limit of the plugin's table that is too low.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLow {
    /// Which.
    pub key: LimitKey,
    /// How much was asked for, at least; none: nobody knows.
    pub wanted: Option<u64>,
    /// A value that is likely to do, as TOML; none: no value does that may stand there.
    pub enough: Option<String>,
}

impl TooLow {
    /// It is known how much is wanted.
    pub(in crate::host) fn wanting(key: LimitKey, wanted: u64) -> Self {
        Self { key, wanted: Some(wanted), enough: key.with_room(wanted) }
    }

    /// It isn't.
    pub(in crate::host) fn in_these(limits: &Limits, key: LimitKey) -> Self {
        Self { key, wanted: None, enough: limits.more_than_now(key) }
    }
}

/// What was being done.
fn asked(function: Option<&str>) -> String {
    function.map_or_else(|| "it can't be started".to_owned(), |function| format!("`{function}` failed"))
}

/// How much more it would have had.
fn wish(low: Option<&TooLow>) -> String {
    match low {
        Some(TooLow { key, wanted: Some(wanted), .. }) => format!(", it asked for {}", key.shown(*wanted)),
        Some(TooLow { wanted: None, .. }) | None => String::new(),
    }
}

/// Why a plugin can't be loaded. The message doesn't name the plugin, [`LoadError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file can't be read.
    #[error("`{}` {why}", shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: Unreadable,
    },
    /// There is something else than a file.
    #[error("`{}` is {}", shown(path), if *directory { "a directory" } else { "no regular file" })]
    NoFile {
        /// Its path.
        path: PathBuf,
        /// Whether it is a directory.
        directory: bool,
    },
    /// The file changes all the time.
    #[error("`{}` is still being written", shown(path))]
    Unsettled {
        /// The file.
        path: PathBuf,
    },
    /// The file is larger than it may be.
    #[error("the file has {}, but at most {} are allowed", size.display().iec(), most.display().iec())]
    TooBig {
        /// How large it is.
        size: ByteSize,
        /// How large it may be.
        most: ByteSize,
    },
    /// The file isn't the one that was pinned.
    #[error("the file's SHA-256 digest is {found}, not the one that is pinned")]
    Digest {
        /// The digest of the file.
        found: Digest,
        /// The digest in the configuration.
        pinned: Digest,
    },
    /// The file holds machine code.
    #[error("the file holds compiled machine code, which is never taken from a plugin")]
    Precompiled,
    /// The file is a core module.
    #[error("the file is a core WebAssembly module, not a component")]
    CoreModule,
    /// The file is empty, or something else than WebAssembly.
    #[error("the file is no WebAssembly component: {found}")]
    NotWasm {
        /// What it is instead.
        found: &'static str,
    },
    /// The file begins like a component but can't be compiled.
    #[error("the component is broken: {reason}")]
    Broken {
        /// What the compiler said.
        reason: String,
    },
    /// It uses functions that the component model has for calls that wait for each other.
    #[error(
        "the component is built with the component model's async functions, which this gateway doesn't offer"
    )]
    Async,
    /// Compiling it was given up.
    #[error("compiling the component takes {needs}")]
    Compile {
        /// What it takes.
        needs: String,
        /// The limit that lets it have more; none: no limit does.
        low: Option<Box<TooLow>>,
    },
    /// Compiling it was ended from outside.
    #[error("the process that compiled the component was killed")]
    Killed,
    /// An instance of it would be larger than instances are.
    #[error("it needs more than an instance gets: {what}")]
    Demands {
        /// What it needs, and how much there is.
        what: String,
    },
    /// It was made for another version of the contract.
    #[error("it was made for moongate:plugin@{version}; this gateway speaks {spoken}")]
    Contract {
        /// The version it was made for.
        version: String,
        /// The import or export that says so.
        name: String,
        /// The version that is spoken here.
        spoken: &'static str,
    },
    /// It calls functions of a later version of the contract.
    #[error("it needs {}, which this gateway doesn't offer", list(functions))]
    NewerFunctions {
        /// Interfaces, and functions as `interface.function`.
        functions: Vec<String>,
    },
    /// It imports what nobody here offers.
    #[error("it imports {}, which this gateway doesn't offer", list(imports))]
    UnknownImports {
        /// The imports.
        imports: Vec<String>,
    },
    /// It imports something in another shape than it has here.
    #[error("its imports don't fit: {reason}")]
    Import {
        /// What the linker said.
        reason: String,
    },
    /// It isn't a plugin.
    #[error("{}", if *other { "it exports no `lifecycle`, which every plugin needs" } else { "it exports nothing of moongate:plugin" })]
    NoExports {
        /// Whether it exports other interfaces of the contract.
        other: bool,
    },
    /// It exports an interface in another shape than the contract's.
    #[error("its export `{interface}` doesn't fit: {found}")]
    Export {
        /// The interface.
        interface: String,
        /// The functions that don't fit, and why.
        found: String,
    },
    /// A granted directory can't be opened.
    #[error("{reason}")]
    Grant {
        /// Its path inside the sandbox, where it is known.
        guest: Option<String>,
        /// Which, and why.
        reason: String,
        /// What to do about it.
        hint: String,
    },
    /// It failed to describe itself.
    #[error("{}: {error}{}", asked(*function), wish(low.as_deref()))]
    Describe {
        /// The function that was asked; none: it didn't come to that.
        function: Option<&'static str>,
        /// How it failed.
        error: CallError,
        /// The limit that it came up against; none: it was no limit.
        low: Option<Box<TooLow>>,
    },
    /// What it says of itself can't be used.
    #[error("what it says of itself can't be used: {reason}")]
    Manifest {
        /// Where, and why.
        reason: String,
        /// The limit that it came up against; none: it was no limit.
        low: Option<Box<TooLow>>,
    },
    /// The gateway itself failed.
    #[error("the gateway failed: {0}")]
    Internal(String),
}

impl LoadError {
    /// The part of the plugin's table that it is about; none: it is about none but
    /// `source`, or isn't about the table.
    #[must_use]
    pub fn spot(&self) -> Option<Spot> {
        let limit = match self {
            Self::Digest { .. } => return Some(Spot::Sha256),
            Self::TooBig { .. } => LimitKey::Component,
            Self::Compile { low, .. } | Self::Manifest { low, .. } | Self::Describe { low, .. } => {
                low.as_ref()?.key
            }
            Self::Read { .. }
            | Self::NoFile { .. }
            | Self::Unsettled { .. }
            | Self::Precompiled
            | Self::CoreModule
            | Self::NotWasm { .. }
            | Self::Broken { .. }
            | Self::Async
            | Self::Killed
            | Self::Demands { .. }
            | Self::Contract { .. }
            | Self::NewerFunctions { .. }
            | Self::UnknownImports { .. }
            | Self::Import { .. }
            | Self::NoExports { .. }
            | Self::Export { .. }
            | Self::Grant { .. }
            | Self::Internal(_) => return None,
        };
        Some(Spot::Limit(limit))
    }

    /// Whether the same bytes under the same table can only fail again. Everything else may pass by itself, and is
    /// worth another try: a file that comes, memory that becomes free, a plugin that depends on the time of day.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            Self::TooBig { .. }
            | Self::Digest { .. }
            | Self::Precompiled
            | Self::CoreModule
            | Self::NotWasm { .. }
            | Self::Broken { .. }
            | Self::Async
            | Self::Compile { .. }
            | Self::Demands { .. }
            | Self::Contract { .. }
            | Self::NewerFunctions { .. }
            | Self::UnknownImports { .. }
            | Self::Import { .. }
            | Self::NoExports { .. }
            | Self::Export { .. } => true,
            // What it says of itself may depend on anything that it can reach.
            Self::Describe { .. }
            | Self::Manifest { .. }
            | Self::Read { .. }
            | Self::NoFile { .. }
            | Self::Unsettled { .. }
            | Self::Killed
            | Self::Grant { .. }
            | Self::Internal(_) => false,
        }
    }
}

/// Names in backticks, separated by commas: the first ones, each cut, because a component can have a million.
pub(in crate::host) fn list(names: &[String]) -> String {
    const FIRST: usize = 8;
    let first = names.iter().take(FIRST).map(|name| format!("`{}`", text::line(name, text::WORD)));
    let first = first.collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(FIRST) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}
