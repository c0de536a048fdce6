//! What the supervisor asks of whatever loads plugins, so that all of it is tested with fakes.
//!
//! Code comes in two steps: a file is read, which gives a [`Candidate`] with a digest, and only where that is news is it
//! loaded. [`Code`] that is loaded can be put under another table without being loaded again.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use moongate_core::catalog::{Member, Plugin};
use moongate_core::config::{PluginConfig, Problem};
use moongate_core::names::Digest;

mod wasm;

pub(super) use wasm::Wasm;

/// Something that takes a while and may fail.
pub(super) type Work<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;

/// Where code comes from.
pub(super) trait Host: Send + Sync {
    /// Reads the component's file when nobody writes to it.
    fn read(&self, table: Arc<PluginConfig>) -> Work<Box<dyn Candidate>>;
}

/// What a component's file holds.
pub(super) trait Candidate: Send {
    /// Its digest.
    fn digest(&self) -> Digest;

    /// Was it compiled before, so that loading it takes little?
    fn is_compiled(&self) -> bool;

    /// Compiles it if need be, and asks it what it offers.
    fn load(self: Box<Self>, table: Arc<PluginConfig>) -> Work<Arc<dyn Code>>;
}

/// A plugin whose code is loaded.
pub(super) trait Code: Plugin {
    /// The same code with the grants, limits and settings of `table`, and with the lists that it has.
    fn under(&self, table: Arc<PluginConfig>) -> Arc<dyn Code>;

    /// The same code, asked anew what it offers.
    fn described_anew(self: Arc<Self>) -> Work<Arc<dyn Code>>;

    /// It serves no more: lets go of the code when `after` has passed, whoever still has it.
    fn retire(&self, after: Duration);
}

/// Code with what it offers to clients.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    pub(super) code: Arc<dyn Code>,
    pub(super) member: Member,
    /// The configuration in force: that of now, with the public names that the plugin serves under.
    pub(super) config: Arc<PluginConfig>,
}

impl Loaded {
    /// Looks at what the plugin offers. Takes time.
    pub(super) fn new(code: Arc<dyn Code>, table: Arc<PluginConfig>) -> Result<Self, Vec<Problem>> {
        let plugin: Arc<dyn Plugin> = Arc::<dyn Code>::clone(&code);
        Ok(Self { member: Member::new(plugin, Arc::new(table.policy()))?, code, config: table })
    }

    /// The same under another table: with its grants, limits and settings, but under the names that it has.
    pub(super) fn under(&self, table: &Arc<PluginConfig>) -> Option<Self> {
        Self { code: self.code.under(Arc::clone(table)), ..self.clone() }.regranted(table)
    }

    /// What it offers, where its table stands elsewhere in the file.
    pub(super) fn regranted(&self, table: &Arc<PluginConfig>) -> Option<Self> {
        let member = self.member.regranted(Arc::<dyn Code>::clone(&self.code), &table.policy())?;
        Some(Self {
            member,
            config: Arc::new(table.with_names_of(&self.config)),
            code: Arc::clone(&self.code),
        })
    }

    /// The same with an equivalent configuration, whose places in the file may differ. `None` if it isn't equivalent.
    pub(super) fn moved_to(&self, table: &Arc<PluginConfig>) -> Option<Self> {
        let is_same = self.config.says_the_same_as(table);
        let member = self.member.moved_to(Arc::new(table.policy())).filter(|_| is_same)?;
        Some(Self { member, config: Arc::clone(table), code: Arc::clone(&self.code) })
    }

    /// The code's digest.
    pub(super) fn digest(&self) -> Digest {
        *self.code.digest()
    }

    /// Is it the very same, not only the same code?
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.code, &other.code)
    }
}

/// Why a plugin can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The reason, in one line that names the file or the table.
    pub(super) reason: String,
    /// What to do about it.
    pub(super) hint: Option<String>,
    /// What may help.
    pub(super) helps: Helps,
    /// Every call fails meanwhile, of an earlier version, too.
    pub(super) ends_calls: bool,
    /// The same for who reads the configuration beside it.
    pub(super) problems: Vec<Problem>,
}

/// What may help against a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Helps {
    /// Only another file or another table.
    Change,
    /// Trying again may.
    Time,
    /// The file isn't there; it may be in the middle of being replaced.
    Return,
}

impl Failure {
    /// Something of which `problems` tell.
    pub(super) fn of(problems: Vec<Problem>) -> Self {
        let errors = problems.iter().filter(|problem| problem.is_error());
        let reason = errors.map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ");
        let hint = problems.iter().find_map(|problem| problem.hint.clone());
        Self { reason, hint, helps: Helps::Change, ends_calls: false, problems }
    }

    /// The file of the plugin of `table` wasn't read in so much time.
    pub(super) fn stuck(table: &PluginConfig, patience: Duration) -> Self {
        let source = table.source.display();
        let reason = format!("reading `{source}` takes longer than {patience:?}");
        let problem = Problem::error(format!("plugin `{}` can't be loaded: {reason}", table.id));
        let problem = problem.at(table.source_place.clone()).hint("see whether its file system answers");
        Self { reason, helps: Helps::Time, ..Self::of(vec![problem]) }
    }

    /// The gateway itself failed at the plugin of `table`.
    pub(super) fn internal(table: &PluginConfig, what: &dyn fmt::Display) -> Self {
        let message = format!("plugin `{}` can't be used: the gateway failed: {what}", table.id);
        let problem = Problem::error(message).at(table.place.clone());
        Self { helps: Helps::Time, ..Self::of(vec![problem]) }
    }
}
