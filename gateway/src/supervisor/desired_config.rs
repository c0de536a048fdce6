//! The desired configuration: the one in use, the content of its file, and the changes that have to wait.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moongate_config::{
    BearerToken, Config, ConfigSource, Diagnostic, Environment, PluginConfig, TlsConfig, WatchConfig,
    WiderGrantsPolicy, load_config, protected_paths,
};
use moongate_model::call_rate::CallerLimits;
use moongate_model::names::Digest;
use moongate_model::roles::AccessRoles;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use moongate_system::blocking::BlockingLimiter;

use super::control::{RequestNumber, earlier};

/// The delay between two reads of a file. Its content counts once both reads agree, because a write can be in progress.
const REREAD_DELAY: Duration = Duration::from_millis(100);
/// The same delay for a missing file, because a replacement can be in progress.
const MISSING_FILE_DELAY: Duration = Duration::from_secs(1);
/// The time limit for reading. After that, a file system of the configuration's files counts as unresponsive.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// A file that differs at every read is used as it is.
const MAX_REREADS: usize = 20;

/// Inspects a new configuration before it is used, and can reject it.
pub(super) type ConfigHook =
    Arc<dyn Fn(moongate_config::LoadedConfig) -> moongate_config::LoadedConfig + Send + Sync>;

/// Reads the configuration.
pub(super) trait ConfigReader: Send + Sync {
    /// This can block.
    fn read(&self) -> moongate_config::LoadedConfig;
}

/// Reads the configuration from its file.
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) environment: Arc<dyn Environment + Send + Sync>,
    pub(super) hook: Option<ConfigHook>,
}

impl ConfigReader for ConfigFile {
    fn read(&self) -> moongate_config::LoadedConfig {
        let mut loaded = load_config(&self.path, &*self.environment);
        if loaded.config.is_none() && !self.path.exists() {
            // The gateway was started with this file.
            let hint = "restore the file; until then, the current configuration stays in effect";
            loaded.problems.iter_mut().for_each(|problem| problem.hint = Some(hint.to_owned()));
        }
        match &self.hook {
            Some(hook) => hook(loaded),
            None => loaded,
        }
    }
}

/// The configuration that a new one is compared with.
#[derive(Debug, Clone)]
pub(super) struct ConfigInForce {
    /// The configuration that the gateway started with.
    pub(super) started: Arc<Config>,
    /// Every plugin's current configuration.
    pub(super) plugins: Arc<[Arc<PluginConfig>]>,
    /// The certificate of the endpoint.
    pub(super) tls: Option<TlsConfig>,
    /// The certificate of the admin listener.
    pub(super) admin_tls: Option<TlsConfig>,
}

impl ConfigInForce {
    /// Rejects a configuration that would let a plugin reach files that the gateway uses until the next restart, and a
    /// configuration that a plugin may have written. Looks at directories, which can block.
    ///
    /// Certificates that can't be used are replaced by those in use.
    fn check(&self, mut loaded: moongate_config::LoadedConfig) -> moongate_config::LoadedConfig {
        if let Some(config) = &mut loaded.config {
            config.keep_tls_in_use(self.tls.as_ref(), self.admin_tls.as_ref());
        }
        // Paths that change only with a restart are still in use, and no plugin can be allowed to reach them.
        let in_use = self.with_tls_in_use();
        let endangered =
            loaded.config.as_ref().map(|new| in_use.unsafe_until_restart(new)).unwrap_or_default();
        let foreign = protected_paths::check_configuration(&self.started.file, &self.plugins);
        if !endangered.is_empty() || foreign.is_some() {
            loaded.config = None;
        }
        loaded.problems.extend(endangered.into_iter().chain(foreign));
        loaded
    }

    /// The configuration at the start, with certificates and keys that replaced others since.
    fn with_tls_in_use(&self) -> Config {
        let mut config = Config::clone(&self.started);
        config.http.tls.clone_from(&self.tls);
        if let Some(admin) = &mut config.admin {
            admin.tls.clone_from(&self.admin_tls);
        }
        config
    }
}

/// Reads the configuration until two reads agree.
pub(super) async fn read_settled(
    reader: Arc<dyn ConfigReader>,
    lane: BlockingLimiter,
    in_force: ConfigInForce,
) -> moongate_config::LoadedConfig {
    let mut before = read(&reader, &lane, &in_force).await;
    for _ in 0..MAX_REREADS {
        // A token whose file is missing for a moment keeps its sessions.
        let exists =
            (before.config.is_some() || !before.source.text.is_empty()) && before.token_problems.is_empty();
        sleep(if exists { REREAD_DELAY } else { MISSING_FILE_DELAY }).await;
        let now = read(&reader, &lane, &in_force).await;
        if is_same(&now, &before) {
            return now;
        }
        before = now;
    }
    before
}

/// True if both reads agree. A write to a secret's file can be in progress, too.
fn is_same(a: &moongate_config::LoadedConfig, b: &moongate_config::LoadedConfig) -> bool {
    let plugins = |loaded: &moongate_config::LoadedConfig| {
        loaded.config.as_ref().map(|config| config.plugins.clone()).unwrap_or_default()
    };
    let tokens = |loaded: &moongate_config::LoadedConfig| {
        loaded.config.as_ref().map(|config| config.http.tokens.clone()).unwrap_or_default()
    };
    let tls = |loaded: &moongate_config::LoadedConfig| {
        loaded.config.as_ref().and_then(|config| config.http.tls.clone())
    };
    let admin = |loaded: &moongate_config::LoadedConfig| {
        loaded.config.as_ref().and_then(|config| config.admin.clone())
    };
    a.source.text == b.source.text
        && tokens(a) == tokens(b)
        && tls(a) == tls(b)
        && admin(a) == admin(b)
        && a.problems == b.problems
        && a.token_problems == b.token_problems
        && a.tls_problems == b.tls_problems
        && plugins(a).iter().zip(&plugins(b)).all(|(a, b)| a.is_equivalent_to(b))
}

async fn read(
    reader: &Arc<dyn ConfigReader>,
    lane: &BlockingLimiter,
    in_force: &ConfigInForce,
) -> moongate_config::LoadedConfig {
    let reader = Arc::clone(reader);
    let in_force = in_force.clone();
    let error = match timeout(READ_TIMEOUT, lane.run(move || in_force.check(reader.read()))).await {
        Ok(Ok(loaded)) => return loaded,
        Ok(Err(error)) => format!("internal error while reading the configuration: {error}"),
        Err(_) => {
            format!("reading the configuration and the files it names takes longer than {READ_TIMEOUT:?}")
        }
    };
    let source = ConfigSource { path: PathBuf::new(), text: String::new() };
    moongate_config::LoadedConfig::invalid(source, vec![Diagnostic::error(error)], BTreeSet::new())
}

/// A request to read the configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadRequest {
    /// The time when the change was detected.
    pub(super) detected: Instant,
    /// The operator's first request that this read is for.
    pub(super) request: Option<RequestNumber>,
}

/// The configuration in use, and the state of its file.
#[derive(Debug)]
pub(super) struct DesiredConfig {
    /// The configuration at the start.
    pub(super) started: Arc<Config>,
    /// Runs one read at a time, even if an earlier one never ended.
    pub(super) lane: BlockingLimiter,
    pub(super) since: SystemTime,
    /// The digest of its text, without its secrets.
    pub(super) digest: Digest,
    /// The files that this configuration, or the current content of its file, was read from.
    pub(super) files: BTreeSet<PathBuf>,
    /// The reason that the current content of the file isn't in use.
    pub(super) rejected: Option<String>,
    pub(super) logged_rejection: Option<String>,
    pub(super) logged_warnings: Option<String>,
    pub(super) needs_restart: Vec<String>,
    pub(super) wider_grants: WiderGrantsPolicy,
    /// The file has a different `wider_grants`, which waits for the operator.
    pub(super) wider_grants_waits: bool,
    /// The roles of callers.
    pub(super) roles: Option<Arc<AccessRoles>>,
    /// The file has different roles, which wait for the operator.
    pub(super) roles_wait: bool,
    pub(super) watch: WatchConfig,
    pub(super) stop_grace: Duration,
    /// The static tokens in use.
    pub(super) tokens: Vec<BearerToken>,
    /// The file has new tokens, which wait for the operator.
    pub(super) tokens_wait: bool,
    /// The file has another token or authority of the admin listener, which waits for the operator.
    pub(super) admin_waits: bool,
    /// The certificate of the endpoint. The endpoint waits for changes.
    pub(super) tls: watch::Sender<Option<TlsConfig>>,
    pub(super) callers: CallerLimits,
    queued: Option<ReadRequest>,
    running: Option<ReadRequest>,
}

impl DesiredConfig {
    pub(super) fn new(config: Config, files: BTreeSet<PathBuf>) -> Self {
        Self {
            since: SystemTime::now(),
            digest: config.digest,
            files,
            rejected: None,
            logged_rejection: None,
            logged_warnings: None,
            needs_restart: Vec::new(),
            wider_grants: config.wider_grants.unwrap_or_default(),
            wider_grants_waits: false,
            roles: config.roles.clone(),
            roles_wait: false,
            watch: config.watch,
            stop_grace: config.stop_grace,
            tokens: config.http.tokens.clone(),
            tokens_wait: false,
            admin_waits: false,
            tls: watch::Sender::new(config.http.tls.clone()),
            callers: config.callers,
            queued: None,
            running: None,
            started: Arc::new(config),
            lane: BlockingLimiter::new(1),
        }
    }

    /// Requests a read, or another one if a read is running.
    pub(super) fn request_read(&mut self, request: ReadRequest) {
        self.queued = Some(self.queued.map_or(request, |queued| ReadRequest {
            detected: queued.detected.min(request.detected),
            request: earlier(queued.request, request.request),
        }));
    }

    /// True if a read must start now, which then counts as running.
    pub(super) fn start_read(&mut self) -> bool {
        if self.running.is_some() {
            return false;
        }
        self.running = self.queued.take();
        self.running.is_some()
    }

    /// Ends the running read.
    pub(super) fn finish_read(&mut self) -> Option<ReadRequest> {
        self.running.take()
    }

    /// True if a read is running or queued.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || self.queued.is_some()
    }

    /// The operator's first unfinished request.
    pub(super) fn first_open_request(&self) -> Option<RequestNumber> {
        let requests = [self.running, self.queued];
        requests.into_iter().flatten().filter_map(|read| read.request).min()
    }
}

/// The decision about a plugin's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConfigVerdict {
    Apply,
    /// It waits for the operator, because it adds these grants.
    Hold(Vec<String>),
}

/// Decides about a plugin's configuration. `before` is the current one, `None` for a new plugin.
pub(super) fn judge(
    before: Option<&PluginConfig>,
    config: &PluginConfig,
    policy: WiderGrantsPolicy,
) -> ConfigVerdict {
    let wider = match policy {
        WiderGrantsPolicy::Live => return ConfigVerdict::Apply,
        WiderGrantsPolicy::Wait => config.widened_grants(before),
    };
    if wider.is_empty() { ConfigVerdict::Apply } else { ConfigVerdict::Hold(wider) }
}

/// The policy for wider grants after reading a file with `in_file`. Only the operator can loosen it: otherwise, someone
/// who can write the file could loosen the policy first and add grants in the next step.
pub(super) fn next_policy(
    now: WiderGrantsPolicy,
    in_file: WiderGrantsPolicy,
    is_requested: bool,
) -> WiderGrantsPolicy {
    match now {
        WiderGrantsPolicy::Wait if !is_requested => WiderGrantsPolicy::Wait,
        WiderGrantsPolicy::Wait | WiderGrantsPolicy::Live => in_file,
    }
}

#[cfg(test)]
mod tests;
