//! Checks one plugin: its file, its active code under its configuration, or both.
//!
//! A check changes nothing: it reports its findings, and the reconciler decides. All slow work happens here: reading,
//! compiling, asking the plugin for its description, compiling schemas. At start, up to four plugins are compiled at a
//! time, and afterwards one. A plugin that waits for its turn keeps nothing in memory and reads the latest content when
//! its turn comes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use moongate_config::{PluginConfig, ReloadPolicy, protected_paths};
use moongate_model::names::Digest;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use moongate_host::MAX_CONCURRENT_COMPILES;
use moongate_system::blocking::PluginBlockingLimiters;

use super::control::{RequestNumber, earlier};
use super::plugin_host::{CandidateFile, LoadFailure, LoadedCode, LoadedPlugin, PluginHost, Recovery};

/// The maximum number of plugins that are loaded at once, except for those that are compiled first. Each runs to describe
/// itself, and the instance pool has spare slots for both.
const MAX_CONCURRENT_LOADS: usize = 4;

/// The time limit for reading a file. After that, its file system counts as unresponsive, and reload requests stop
/// waiting for it.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum number of files that are read at once. Their content stays in memory until the plugin is loaded, and
/// there can be many.
const MAX_CONCURRENT_READS: usize = 8;

/// The subject of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckScope {
    File,
    /// The active code under the configuration, even if it was checked before.
    Config,
    FileAndConfig,
}

impl CheckScope {
    fn includes_file(self) -> bool {
        matches!(self, Self::File | Self::FileAndConfig)
    }

    pub(super) fn includes_config(self) -> bool {
        matches!(self, Self::Config | Self::FileAndConfig)
    }

    pub(super) fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::FileAndConfig }
    }
}

/// The cause of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckCause {
    /// A retry: nothing changed, but an earlier check failed.
    Retry,
    Change,
    /// A reload request: changes that wait for the operator are applied. The first such request.
    Operator(RequestNumber),
}

impl CheckCause {
    /// The request that caused the check.
    pub(super) fn request(self) -> Option<RequestNumber> {
        match self {
            Self::Operator(number) => Some(number),
            Self::Retry | Self::Change => None,
        }
    }

    fn and(self, other: Self) -> Self {
        match (earlier(self.request(), other.request()), self, other) {
            (Some(number), _, _) => Self::Operator(number),
            (None, Self::Retry, Self::Retry) => Self::Retry,
            (None, _, _) => Self::Change,
        }
    }
}

/// A pending check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CheckRequest {
    /// The time when the change was detected.
    pub(super) detected: Instant,
    pub(super) scope: CheckScope,
    pub(super) cause: CheckCause,
    pub(super) not_before: Option<Instant>,
}

impl CheckRequest {
    /// A check of a file that changed.
    pub(super) fn of_file(detected: Instant) -> Self {
        Self { detected, scope: CheckScope::File, cause: CheckCause::Change, not_before: None }
    }

    /// One check for both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            detected: self.detected.min(other.detected),
            scope: self.scope.and(other.scope),
            cause: self.cause.and(other.cause),
            not_before: self.not_before.zip(other.not_before).map(|(a, b)| a.min(b)),
        }
    }
}

/// A check, with everything that was known before it.
#[derive(Debug)]
pub(super) struct PluginCheck {
    pub(super) request: CheckRequest,
    pub(super) config: Arc<PluginConfig>,
    pub(super) active: Option<LoadedPlugin>,
    /// The digest of the version that is loaded but not active yet.
    pub(super) candidate: Option<Digest>,
    /// Code that is known to be unusable under this configuration.
    pub(super) rejected: Option<Digest>,
    /// Every plugin's current configuration.
    pub(super) all_configs: Arc<[Arc<PluginConfig>]>,
    /// True if a plugin can write to a directory.
    pub(super) has_writable_dirs: bool,
    pub(super) compile_reporter: CompileReporter,
    /// The number of permits that compiling takes, of [`MAX_CONCURRENT_COMPILES`].
    pub(super) compile_permits: u32,
}

/// The circumstances of all checks that start at the same time.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckCircumstances {
    /// See [`PluginCheck::compile_permits`].
    pub(super) compile_permits: u32,
    /// See [`PluginCheck::has_writable_dirs`].
    pub(super) has_writable_dirs: bool,
}

/// A check has reached a stage of compiling.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompileStep {
    /// The plugin's serial number.
    pub(super) serial: u64,
    pub(super) stage: CompileStage,
}

/// A stage of compiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompileStage {
    /// Other plugins are compiled first.
    Waiting,
    /// The code is being compiled.
    Running,
}

/// Reports the stages of compiling.
#[derive(Debug, Clone)]
pub(super) struct CompileReporter {
    /// The plugin's serial number.
    pub(super) serial: u64,
    pub(super) sender: mpsc::UnboundedSender<CompileStep>,
}

impl CompileReporter {
    fn report(&self, stage: CompileStage) {
        let _ = self.sender.send(CompileStep { serial: self.serial, stage }); // the reconciler has stopped
    }
}

/// The result of a check.
#[derive(Debug, Default)]
pub(super) struct CheckResult {
    /// `None` if the file wasn't checked.
    pub(super) file: Option<FileFinding>,
    /// `None` if the active code wasn't checked.
    pub(super) config: Option<ConfigFinding>,
}

/// The content of the file.
#[derive(Debug, Clone)]
pub(super) enum FileFinding {
    /// The active code.
    Active(Digest),
    /// The code of the candidate.
    Candidate,
    /// Code that was found unusable before.
    Rejected,
    /// Other code, which needs the operator's approval.
    AwaitsOperator(Digest),
    /// Other code, which was loaded.
    Loaded(LoadedPlugin),
    /// Unusable content. The digest is known if the file was read.
    Failed(LoadFailure, Option<Digest>),
}

/// The result of checking the active code under the configuration.
#[derive(Debug, Clone)]
pub(super) enum ConfigFinding {
    Loaded(LoadedPlugin),
    /// The configuration applies in part: new names for the old lists.
    LoadedInPart(LoadedPlugin, LoadFailure),
    Failed(LoadFailure),
}

/// Limits expensive work.
#[derive(Debug)]
pub(super) struct CheckPermits {
    reading: Semaphore,
    compiling: Semaphore,
    loading: Semaphore,
    /// Resolves paths, one plugin at a time.
    paths: PluginBlockingLimiters,
}

impl Default for CheckPermits {
    fn default() -> Self {
        Self {
            reading: Semaphore::new(MAX_CONCURRENT_READS),
            compiling: Semaphore::new(MAX_CONCURRENT_COMPILES as usize),
            loading: Semaphore::new(MAX_CONCURRENT_LOADS),
            paths: PluginBlockingLimiters::new(1),
        }
    }
}

/// Runs a check. A panic becomes a failure of this plugin.
pub(super) async fn run(
    host: Arc<dyn PluginHost>,
    permits: Arc<CheckPermits>,
    check: PluginCheck,
) -> CheckResult {
    let scope = check.request.scope;
    let config = Arc::clone(&check.config);
    AssertUnwindSafe(check.run(&*host, &permits)).catch_unwind().await.unwrap_or_else(|_| {
        let failure = LoadFailure::internal(&config, &"the check panicked");
        if scope.includes_file() {
            CheckResult { file: Some(FileFinding::Failed(failure, None)), config: None }
        } else {
            CheckResult { file: None, config: Some(ConfigFinding::Failed(failure)) }
        }
    })
}

impl PluginCheck {
    async fn run(self, host: &dyn PluginHost, permits: &CheckPermits) -> CheckResult {
        let file = match self.request.scope.includes_file() {
            true => Some(self.check_file(host, permits).await),
            false => None,
        };
        // A version that is about to become active already has the configuration; the active code would replace it
        // again.
        let stays_active = match &file {
            Some(FileFinding::Loaded(_)) => false,
            Some(FileFinding::Active(_) | FileFinding::AwaitsOperator(_)) => true,
            Some(FileFinding::Candidate | FileFinding::Rejected | FileFinding::Failed(..)) | None => {
                self.candidate.is_none()
            }
        };
        let config = match &self.active {
            Some(active) if stays_active && self.is_config_due(active) => {
                let _permit = permits.loading.acquire().await;
                Some(self.check_config(active).await)
            }
            Some(_) | None => None,
        };
        CheckResult { file, config }
    }

    fn is_config_due(&self, active: &LoadedPlugin) -> bool {
        self.request.scope.includes_config() || !active.config.is_equivalent_to(&self.config)
    }

    /// Reads the file, and loads it if its content is new.
    async fn check_file(&self, host: &dyn PluginHost, permits: &CheckPermits) -> FileFinding {
        let reading = permits.reading.acquire().await;
        let file = match self.read_if_new(host, permits).await {
            Ok(file) => file,
            Err(finding) => return finding,
        };
        if file.is_compiled() {
            let _permit = permits.loading.acquire().await;
            return self.load(file).await;
        }
        drop(file);
        drop(reading);
        self.compile_reporter.report(CompileStage::Waiting);
        let _compiling = permits.compiling.acquire_many(self.compile_permits).await;
        let _reading = permits.reading.acquire().await;
        match self.read_if_new(host, permits).await {
            Ok(file) => {
                self.compile_reporter.report(CompileStage::Running);
                self.load(file).await
            }
            Err(finding) => finding,
        }
    }

    /// Reads the file. Returns it only if it has to be loaded.
    async fn read_if_new(
        &self,
        host: &dyn PluginHost,
        permits: &CheckPermits,
    ) -> Result<Box<dyn CandidateFile>, FileFinding> {
        let read = async {
            match self.check_write_access(permits).await {
                Some(failure) => Err(failure),
                None => host.read(Arc::clone(&self.config)).await,
            }
        };
        let read = timeout(READ_TIMEOUT, read).await;
        let read = read.unwrap_or_else(|_| Err(LoadFailure::read_timeout(&self.config, READ_TIMEOUT)));
        let file = read.map_err(|failure| FileFinding::Failed(failure, None))?;
        match self.find_known(file.digest()) {
            Some(known) => Err(known),
            None => Ok(file),
        }
    }

    /// Rejects a file on a path that a plugin can write to: a plugin that can change a component controls it.
    async fn check_write_access(&self, permits: &CheckPermits) -> Option<LoadFailure> {
        if !self.has_writable_dirs {
            return None;
        }
        let config = Arc::clone(&self.config);
        let all_configs = Arc::clone(&self.all_configs);
        let paths = permits.paths.for_plugin(&self.config.id);
        match paths.run(move || protected_paths::check_component(&config, &all_configs)).await {
            Ok(problem) => {
                Some(LoadFailure { recovery: Recovery::Retry, ..LoadFailure::new(vec![problem?]) })
            }
            Err(error) => Some(LoadFailure::internal(&self.config, &error)),
        }
    }

    /// The finding for content that doesn't have to be loaded.
    fn find_known(&self, digest: Digest) -> Option<FileFinding> {
        let active = self.active.as_ref().map(LoadedPlugin::digest);
        let awaits_operator = match self.config.reload {
            ReloadPolicy::Live => false,
            ReloadPolicy::Pinned => active.is_some() && self.request.cause.request().is_none(),
        };
        // The candidate can be the active code under names that it can't have yet.
        if self.candidate == Some(digest) {
            Some(FileFinding::Candidate)
        } else if active == Some(digest) {
            Some(FileFinding::Active(digest))
        } else if awaits_operator {
            Some(FileFinding::AwaitsOperator(digest))
        } else if self.rejected == Some(digest) {
            Some(FileFinding::Rejected)
        } else {
            None
        }
    }

    async fn load(&self, file: Box<dyn CandidateFile>) -> FileFinding {
        let digest = file.digest();
        let loaded = match file.load(Arc::clone(&self.config)).await {
            Ok(code) => self.check_offer(code).await,
            Err(failure) => Err(failure),
        };
        match loaded {
            Ok(loaded) => FileFinding::Loaded(loaded),
            Err(failure) => FileFinding::Failed(failure, Some(digest)),
        }
    }

    /// Applies the current configuration to the active code. If that fails, as much of the configuration as possible
    /// applies: the new names for the old lists, or nothing, and the plugin keeps its names.
    async fn check_config(&self, active: &LoadedPlugin) -> ConfigFinding {
        let code = active.code.with_config(Arc::clone(&self.config));
        let described = match Arc::clone(&code).describe_again().await {
            Ok(described) => self.check_offer(described).await,
            Err(failure) => Err(failure),
        };
        let failure = match described {
            Ok(loaded) => return ConfigFinding::Loaded(loaded),
            Err(failure) => failure,
        };
        // The first attempt did this already.
        if self.request.cause == CheckCause::Retry {
            return ConfigFinding::Failed(failure);
        }
        match self.check_offer(code).await {
            Ok(loaded) => ConfigFinding::LoadedInPart(loaded, failure),
            Err(_) => ConfigFinding::Failed(failure),
        }
    }

    async fn check_offer(&self, code: Arc<dyn LoadedCode>) -> Result<LoadedPlugin, LoadFailure> {
        let config = Arc::clone(&self.config);
        let loaded = match spawn_blocking(move || LoadedPlugin::new(code, config)).await {
            Ok(loaded) => loaded.map_err(LoadFailure::new)?,
            Err(error) => return Err(LoadFailure::internal(&self.config, &error)),
        };
        loaded.cache_description().await;
        Ok(loaded)
    }
}

impl FileFinding {
    /// Code that is always unusable, and the reason.
    pub(super) fn unusable_code(&self) -> Option<(Digest, LoadFailure)> {
        match self {
            Self::Failed(failure, digest) if failure.recovery == Recovery::Change => {
                Some(((*digest)?, failure.clone()))
            }
            Self::Failed(..)
            | Self::Active(_)
            | Self::Candidate
            | Self::Rejected
            | Self::AwaitsOperator(_)
            | Self::Loaded(_) => None,
        }
    }

    /// True for content that was known before, so nothing was loaded.
    pub(super) fn is_known(&self) -> bool {
        matches!(self, Self::Active(_) | Self::Candidate | Self::Rejected)
    }
}
