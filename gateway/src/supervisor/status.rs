//! What the supervisor tells of itself: plain values, for the command line, the admin listener and tests.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use moongate_model::names::{Digest, PluginId};

/// How many of the last reloads are remembered.
pub const REMEMBERED: usize = 20;

/// The gateway's plugins at one moment. Published through a `watch` channel whenever something of it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// How many catalogs were published before the one that serves.
    pub generation: u64,
    /// The configuration in use.
    pub config: ConfigStatus,
    /// The plugins, in the order of `gateway.toml`.
    pub plugins: Vec<PluginStatus>,
    /// How changes of files are noticed.
    pub watching: Watching,
    /// Nothing is being read, compiled or asked, and nothing waits for a turn; retries to come don't count.
    pub settled: bool,
    /// How often something came of a change since the start.
    pub reloads: Reloads,
    /// The last reloads, newest first: [`REMEMBERED`] at most.
    pub history: VecDeque<Reload>,
}

/// The configuration in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigStatus {
    /// Its file.
    pub file: PathBuf,
    /// When it was taken into use.
    pub since: SystemTime,
    /// Why what stands in the file now isn't in use; none: it is.
    pub rejected: Option<String>,
    /// Keys and tables that changed since the start and that only a restart takes into use, such as `http.listen`.
    pub needs_restart: Vec<String>,
    /// Keys that changed and that only the operator's word takes into use, such as `gateway.wider_grants`.
    pub waiting: Vec<String>,
    /// How long calls may go on when the gateway stops.
    pub stop_grace: Duration,
}

/// One plugin of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginStatus {
    /// The key of its table.
    pub id: PluginId,
    /// Its component's file.
    pub source: PathBuf,
    /// Whether it serves.
    pub state: PluginState,
    /// The digest of the code that serves; none: nothing does.
    pub digest: Option<Digest>,
    /// Since when that code serves.
    pub since: Option<SystemTime>,
    /// What it says of itself; none: nothing serves.
    pub about: Option<About>,
    /// What it offers.
    pub offers: Offers,
    /// A change that the operator has to ask for.
    pub waiting: Option<Waiting>,
}

/// What a plugin says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its version.
    pub version: String,
}

/// Whether a plugin serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginState {
    /// It is loaded for the first time.
    Loading,
    /// It serves, as its file and its table say.
    Serving,
    /// It serves, but not as its file and its table say now: an earlier version does.
    Degraded(Trouble),
    /// It can't be used, and there is no earlier version.
    Failed(Trouble),
}

/// Why a plugin isn't used as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The reason, in one line.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Every call fails meanwhile, of an earlier version, too.
    pub ends_calls: bool,
    /// When it is tried again, if nothing changes before; none: only a change can help.
    pub retry_at: Option<SystemTime>,
}

/// How many items a plugin offers to clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offers {
    /// Tools.
    pub tools: usize,
    /// Resources that are listed.
    pub resources: usize,
    /// Resource templates.
    pub templates: usize,
    /// Prompts.
    pub prompts: usize,
}

/// A change that isn't taken before the operator asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// The file of a plugin with `reload = "pinned"` holds something else.
    Code(Digest),
    /// The file grants more than before, and `wider_grants = "wait"`: what it would grant.
    Grants(Vec<String>),
}

/// How changes of files are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watching {
    /// The system reports them, and files are looked at now and then beside that.
    Events,
    /// Files are looked at now and then: why the system doesn't report.
    Polling(String),
    /// They aren't: only the operator's word counts.
    Off,
}

/// How often something came of a change since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reloads {
    /// A plugin was replaced by new code, or serves under another table.
    pub replaced: u64,
    /// A file changed, but not what it holds.
    pub unchanged: u64,
    /// A plugin could not be used as it is now.
    pub failed: u64,
    /// A configuration was taken into use.
    pub configured: u64,
    /// A configuration was refused.
    pub rejected: u64,
}

/// Something that came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reload {
    /// When it was done.
    pub at: SystemTime,
    /// How long it took from when the change was noticed.
    pub took: Duration,
    /// The plugin; none: the configuration.
    pub plugin: Option<PluginId>,
    /// What came of it, in one line; the same as in the log.
    pub outcome: Result<String, String>,
}
