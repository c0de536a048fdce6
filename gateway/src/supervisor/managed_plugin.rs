//! One plugin of the configuration, as a state machine.
//!
//! A plugin's state has four parts, each of which can change while the others stay the same:
//!
//! - `approval`: the configuration in the file is in effect, or waits for the operator;
//! - `active` and `candidate`: the version that serves, and the one that should replace it;
//! - `file` and `config_failure`: the results of the last check of its file, and of the active code under its
//!   configuration;
//! - `checks`: the running check, and the queued one.
//!
//! The state machine consists of plain values and transitions; it doesn't wait, read or load. `check_queue` orders the
//! checks, and `versions` updates the versions when a catalog is published.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use moongate_config::PluginConfig;
use moongate_model::names::{Digest, PluginId};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::check::{
    CheckCause, CheckCircumstances, CheckRequest, CheckResult, CheckScope, CompileReporter, CompileStage,
    CompileStep, ConfigFinding, FileFinding, PluginCheck,
};
use super::control::RequestNumber;
use super::plugin_host::{LoadFailure, LoadedCode, LoadedPlugin, Recovery};
use super::status::{PendingChange, PluginActivity};

mod check_queue;
mod versions;

use check_queue::CheckQueue;
use versions::{Candidate, CandidateVersion};
pub(super) use versions::{PublishEffect, VersionChoice};

/// The delay before a missing file is looked for again, because a replacement can be in progress.
const MISSING_FILE_GRACE: Duration = Duration::from_secs(1);

/// One plugin of the configuration.
#[derive(Debug)]
pub(super) struct ManagedPlugin {
    /// Distinguishes the plugin from an earlier one with the same name.
    pub(super) serial: u64,
    /// The configuration in effect.
    config: Arc<PluginConfig>,
    approval: Approval,
    active: Option<ActiveVersion>,
    candidate: Candidate,
    file: FileState,
    /// The failure of the active code under its configuration.
    config_failure: Option<FailedCheck>,
    checks: CheckQueue,
    /// The stage of compiling, if the running check compiles code.
    compile_stage: Option<CompileStage>,
    /// The time when the file was first found missing, while it is looked for again.
    missing_since: Option<Instant>,
    /// Code that is always unusable, and the reason.
    unusable_code: Option<(Digest, LoadFailure)>,
    /// Previously active code that is still referenced.
    earlier_code: Vec<Weak<dyn LoadedCode>>,
    /// The plugin reported new lists while another version was being prepared, whose lists may be older.
    lists_changed_meanwhile: bool,
    backoff: Backoff,
    pub(super) logged: Logged,
    /// The detection time of the last checked change.
    last_detected: Option<Instant>,
}

/// The approval of the configuration in the file.
#[derive(Debug, Clone)]
pub(super) enum Approval {
    InForce,
    /// Another configuration waits for the operator; the earlier one stays in effect.
    ChangeWaits(WaitingConfig),
    /// The plugin is new and waits for the operator, with these grants. Nothing is loaded.
    PluginWaits(Vec<String>),
}

/// A configuration that waits for the operator.
#[derive(Debug, Clone)]
pub(super) struct WaitingConfig {
    pub(super) config: Arc<PluginConfig>,
    /// The grants that it adds.
    pub(super) grants: Vec<String>,
}

/// The version that serves calls.
#[derive(Debug, Clone)]
pub(super) struct ActiveVersion {
    pub(super) loaded: LoadedPlugin,
    pub(super) since: SystemTime,
    /// The same code with changed lists, until they are published.
    new_lists: Option<LoadedPlugin>,
}

/// The result of the last check of the file.
#[derive(Debug, Clone)]
enum FileState {
    /// The content is the candidate or the active version, or wasn't checked yet.
    UpToDate,
    Failed(FailedCheck),
    /// The file contains other code, which needs the operator's approval.
    AwaitsOperator(Digest),
}

/// A failure, and the time of the next attempt.
#[derive(Debug, Clone)]
struct FailedCheck {
    failure: LoadFailure,
    retry: Option<Retry>,
}

/// The time of a retry, by the loop's clock and by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Retry {
    at: Instant,
    wall_clock: SystemTime,
}

/// The last logged messages.
#[derive(Debug, Default)]
pub(super) struct Logged {
    pub(super) failure: Option<String>,
    pub(super) waiting: Option<PendingChange>,
}

/// The effect of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckEffect {
    /// A version or lists are ready to publish.
    ReadyToPublish,
    /// The file was written with the same content as before.
    SameContent,
    None,
}

/// The effect of a configuration change.
#[derive(Debug)]
pub(super) enum ConfigEffect {
    /// The configuration is equal.
    None,
    /// It differs, and no version is active.
    Changed,
    /// It differs, and its grants, limits and settings apply to the active version from now on.
    ActiveChanged { earlier: LoadedPlugin, grants: GrantChange },
}

/// A change to the grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrantChange {
    Narrower,
    SameOrWider,
}

impl ManagedPlugin {
    /// A plugin that has to be loaded.
    pub(super) fn new(serial: u64, config: Arc<PluginConfig>, now: Instant) -> Self {
        let checks = CheckQueue::Queued(CheckRequest::of_file(now));
        Self { checks, ..Self::idle(serial, config, Approval::InForce) }
    }

    /// A new plugin that waits for the operator, with these `grants`.
    pub(super) fn waiting_for_approval(serial: u64, config: Arc<PluginConfig>, grants: Vec<String>) -> Self {
        Self::idle(serial, config, Approval::PluginWaits(grants))
    }

    fn idle(serial: u64, config: Arc<PluginConfig>, approval: Approval) -> Self {
        Self {
            serial,
            config,
            approval,
            active: None,
            candidate: Candidate::None,
            file: FileState::UpToDate,
            config_failure: None,
            checks: CheckQueue::Idle,
            compile_stage: None,
            missing_since: None,
            unusable_code: None,
            earlier_code: Vec::new(),
            lists_changed_meanwhile: false,
            backoff: Backoff::default(),
            logged: Logged::default(),
            last_detected: None,
        }
    }

    pub(super) fn id(&self) -> &PluginId {
        &self.config.id
    }

    /// The configuration in effect.
    pub(super) fn config(&self) -> &Arc<PluginConfig> {
        &self.config
    }

    pub(super) fn active(&self) -> Option<&ActiveVersion> {
        self.active.as_ref()
    }

    pub(super) fn active_loaded(&self) -> Option<&LoadedPlugin> {
        self.active.as_ref().map(|active| &active.loaded)
    }

    /// True if the active version's lists come from a cache and weren't compared with those of its code yet.
    pub(super) fn is_unconfirmed(&self) -> bool {
        self.active_loaded().is_some_and(|active| !active.code.is_confirmed())
    }

    pub(super) fn has_candidate(&self) -> bool {
        self.candidate.version().is_some()
    }

    /// The configuration that waits for the operator while an earlier one is in effect.
    pub(super) fn waiting_config(&self) -> Option<&Arc<PluginConfig>> {
        match &self.approval {
            Approval::ChangeWaits(waiting) => Some(&waiting.config),
            Approval::InForce | Approval::PluginWaits(_) => None,
        }
    }

    /// True if nothing can be done before the operator approves the plugin.
    pub(super) fn waits_for_approval(&self) -> bool {
        matches!(self.approval, Approval::PluginWaits(_))
    }

    /// The change that waits for the operator.
    pub(super) fn waiting(&self) -> Option<PendingChange> {
        match (&self.approval, &self.file) {
            (Approval::ChangeWaits(WaitingConfig { grants, .. }) | Approval::PluginWaits(grants), _) => {
                Some(PendingChange::Grants(grants.clone()))
            }
            (Approval::InForce, FileState::AwaitsOperator(digest)) => Some(PendingChange::Code(*digest)),
            (Approval::InForce, FileState::UpToDate | FileState::Failed(_)) => None,
        }
    }

    /// The duration of the last check, starting from the detection of its change.
    pub(super) fn last_check_duration(&self) -> Duration {
        self.last_detected.map_or(Duration::ZERO, |detected| detected.elapsed())
    }

    /// All loaded versions.
    pub(super) fn into_loaded(mut self) -> Vec<LoadedPlugin> {
        let candidate = self.candidate.take().map(|version| version.loaded);
        let active = self.active.into_iter().flat_map(|active| [Some(active.loaded), active.new_lists]);
        active.flatten().chain(candidate).collect()
    }
}

/// Checks.
impl ManagedPlugin {
    /// Requests a check, or another one if a check is running.
    pub(super) fn request_check(&mut self, request: CheckRequest) {
        if self.waits_for_approval() {
            return;
        }
        if request.cause != CheckCause::Retry {
            self.backoff.reset();
        }
        self.checks.add(request);
    }

    /// The check to start now, which then counts as running. `all_configs` is every plugin's current configuration.
    pub(super) fn start_check(
        &mut self,
        now: Instant,
        all_configs: &Arc<[Arc<PluginConfig>]>,
        compile_steps: &mpsc::UnboundedSender<CompileStep>,
        circumstances: CheckCircumstances,
    ) -> Option<PluginCheck> {
        if let Some(scope) = self.take_due_retry(now) {
            let cause = CheckCause::Retry;
            self.request_check(CheckRequest { scope, cause, ..CheckRequest::of_file(now) });
        }
        let request = self.checks.start(now)?;
        Some(PluginCheck {
            request,
            config: Arc::clone(&self.config),
            active: self.active_loaded().cloned(),
            candidate: self.candidate.version().map(|version| version.loaded.digest()),
            rejected: self.unusable_code.as_ref().map(|(digest, _)| *digest),
            all_configs: Arc::clone(all_configs),
            compile_reporter: CompileReporter { serial: self.serial, sender: compile_steps.clone() },
            compile_permits: circumstances.compile_permits,
            has_writable_dirs: circumstances.has_writable_dirs,
        })
    }

    /// The retry that is due now.
    fn take_due_retry(&mut self, now: Instant) -> Option<CheckScope> {
        let is_due = |failed: &mut FailedCheck| failed.retry.take_if(|retry| retry.at <= now).is_some();
        let is_file_due = match &mut self.file {
            FileState::Failed(failed) => is_due(failed),
            FileState::UpToDate | FileState::AwaitsOperator(_) => false,
        };
        let is_config_due = self.config_failure.as_mut().is_some_and(is_due);
        match (is_file_due, is_config_due) {
            (true, true) => Some(CheckScope::FileAndConfig),
            (true, false) => Some(CheckScope::File),
            (false, true) => Some(CheckScope::Config),
            (false, false) => None,
        }
    }

    /// Brings retries forward, because something that the configuration names has changed, such as a directory that was
    /// missing.
    fn retry_at_once(&mut self, now: Instant) {
        let file = match &mut self.file {
            FileState::Failed(failed) => Some(failed),
            FileState::UpToDate | FileState::AwaitsOperator(_) => None,
        };
        let failed = file.into_iter().chain(self.config_failure.as_mut());
        for retry in failed.filter_map(|failed| failed.retry.as_mut()) {
            retry.at = retry.at.min(now);
            self.backoff.reset();
        }
    }

    /// True if a check has to start now.
    pub(super) fn is_check_due(&self, now: Instant) -> bool {
        let is_due = |not_before: Option<Instant>| not_before.is_none_or(|time| time <= now);
        self.checks.running().is_none()
            && (self.checks.queued().is_some_and(|request| is_due(request.not_before))
                || self.failed_checks().any(|failed| failed.retry.is_some_and(|retry| retry.at <= now)))
    }

    /// The time of the next scheduled step.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.checks.running().is_some() {
            return None;
        }
        let retries = self.failed_checks().filter_map(|failed| Some(failed.retry?.at));
        retries.chain(self.checks.queued().and_then(|request| request.not_before)).min()
    }

    /// The step of a change in progress. A file that may have changed counts once its new code is compiled: most
    /// events are about files with the same content.
    pub(super) fn activity(&self) -> PluginActivity {
        let is_change =
            |check: CheckRequest| check.cause.request().is_some() || check.scope.includes_config();
        match self.checks.running() {
            Some(_) if self.compile_stage == Some(CompileStage::Running) => PluginActivity::Compiling,
            Some(check) if is_change(check) => PluginActivity::Checking,
            Some(_) | None => PluginActivity::Idle,
        }
    }

    /// Notes the stage of compiling that the running check has reached.
    pub(super) fn set_compile_stage(&mut self, stage: CompileStage) {
        self.compile_stage = self.checks.running().map(|_| stage);
    }

    /// True if the running check compiles code, or waits for other plugins that are compiled.
    pub(super) fn awaits_compiler(&self) -> bool {
        self.compile_stage.is_some()
    }

    /// True until a version of the plugin is loaded, or loading it has failed.
    pub(super) fn is_loading(&self) -> bool {
        let is_loaded = self.active.is_some() || self.has_candidate();
        self.is_busy() && !is_loaded && self.failures().next().is_none()
    }

    /// True if a check is running or queued. Retries don't count.
    pub(super) fn is_busy(&self) -> bool {
        !matches!(self.checks, CheckQueue::Idle)
    }

    /// The operator's first unfinished request.
    pub(super) fn first_open_request(&self) -> Option<RequestNumber> {
        let checks = self.checks.running().into_iter().chain(self.checks.queued());
        checks.filter_map(|check| check.cause.request()).min()
    }

    /// Applies the result of a check that was done with `config`.
    pub(super) fn finish_check(
        &mut self,
        config: &PluginConfig,
        result: CheckResult,
        now: Instant,
    ) -> CheckEffect {
        let Some(request) = self.checks.finish() else { return CheckEffect::None };
        self.compile_stage = None;
        self.last_detected = Some(request.detected);
        if !config.is_equivalent_to(&self.config) {
            // Another configuration has replaced the one that was checked.
            let scope = request.scope.and(CheckScope::Config);
            self.request_check(CheckRequest { scope, not_before: None, ..request });
            return CheckEffect::None;
        }
        let CheckResult { file, config } = result;
        let is_known = file.as_ref().is_some_and(FileFinding::is_known);
        let mut new_version = match file {
            Some(finding) => self.apply_file_finding(finding, request, now),
            None => None,
        };
        match config {
            Some(ConfigFinding::Loaded(loaded)) => {
                self.config_failure = None;
                new_version = Some(loaded);
            }
            Some(ConfigFinding::LoadedInPart(loaded, failure)) => {
                self.config_failure = Some(self.failed_check(failure, now));
                new_version = Some(loaded);
            }
            Some(ConfigFinding::Failed(failure)) => {
                self.config_failure = Some(self.failed_check(failure, now));
            }
            None => {}
        }
        let effect = match new_version {
            Some(loaded) => {
                self.set_candidate(loaded, request.detected);
                CheckEffect::ReadyToPublish
            }
            None if is_known && request.cause == CheckCause::Change => CheckEffect::SameContent,
            None => CheckEffect::None,
        };
        if self.failed_checks().next().is_none() {
            self.backoff.reset();
        }
        effect
    }

    /// Applies a check's finding about the file. Returns the loaded version, if any.
    fn apply_file_finding(
        &mut self,
        finding: FileFinding,
        request: CheckRequest,
        now: Instant,
    ) -> Option<LoadedPlugin> {
        if let Some(unusable) = finding.unusable_code() {
            self.unusable_code = Some(unusable);
        }
        if let FileFinding::Active(digest) = finding
            && self.active_loaded().is_none_or(|active| active.digest() != digest)
        {
            // Other code became active while the file was being read.
            self.request_check(CheckRequest { not_before: None, ..request });
            return None;
        }
        let missing_since = self.missing_since.take();
        match finding {
            FileFinding::Active(_) => {
                self.file = FileState::UpToDate;
                self.candidate = Candidate::None;
            }
            FileFinding::Candidate => self.file = FileState::UpToDate,
            FileFinding::Loaded(loaded) => {
                self.file = FileState::UpToDate;
                self.config_failure = None;
                return Some(loaded);
            }
            FileFinding::AwaitsOperator(digest) => {
                self.file = FileState::AwaitsOperator(digest);
                self.candidate = Candidate::None;
            }
            // Another failure may have been found in the meantime. A retry wouldn't help.
            FileFinding::Rejected => {
                if let Some((_, failure)) = self.unusable_code.clone() {
                    self.file = FileState::Failed(FailedCheck { failure, retry: None });
                }
            }
            FileFinding::Failed(failure, _) => match self.grace_for(&failure, missing_since, now) {
                Some(since) => {
                    self.missing_since = Some(since);
                    // The configuration was checked just now.
                    let not_before = Some(since + MISSING_FILE_GRACE);
                    self.request_check(CheckRequest { scope: CheckScope::File, not_before, ..request });
                }
                None => self.file = FileState::Failed(self.failed_check(failure, now)),
            },
        }
        None
    }

    /// The time since when the file has been missing, while it is looked for again before the plugin counts as failed.
    fn grace_for(
        &self,
        failure: &LoadFailure,
        missing_since: Option<Instant>,
        now: Instant,
    ) -> Option<Instant> {
        let is_known_missing = match &self.file {
            FileState::Failed(failed) => failed.failure.recovery == Recovery::FileReturns,
            FileState::UpToDate | FileState::AwaitsOperator(_) => false,
        };
        if failure.recovery != Recovery::FileReturns || is_known_missing || self.active.is_none() {
            return None;
        }
        let since = missing_since.unwrap_or(now);
        (now < since + MISSING_FILE_GRACE).then_some(since)
    }

    fn failed_check(&mut self, failure: LoadFailure, now: Instant) -> FailedCheck {
        let retry = match failure.recovery {
            Recovery::Change => None,
            Recovery::Retry | Recovery::FileReturns => {
                let delay = self.backoff.next_delay();
                Some(Retry { at: now + delay, wall_clock: SystemTime::now() + delay })
            }
        };
        FailedCheck { failure, retry }
    }

    fn set_candidate(&mut self, loaded: LoadedPlugin, detected: Instant) {
        // The configuration's position in the file may have changed.
        let loaded = loaded.moved_to(&self.config).unwrap_or(loaded);
        self.candidate = Candidate::Ready(CandidateVersion { loaded, detected });
        if let Some(active) = &mut self.active {
            active.new_lists = None;
        }
    }
}

/// Failures.
impl ManagedPlugin {
    fn failed_checks(&self) -> impl Iterator<Item = &FailedCheck> {
        let file = match &self.file {
            FileState::Failed(failed) => Some(failed),
            FileState::UpToDate | FileState::AwaitsOperator(_) => None,
        };
        file.into_iter().chain(&self.config_failure)
    }

    /// The candidate's conflict with other plugins.
    pub(super) fn conflict(&self) -> Option<&LoadFailure> {
        match &self.candidate {
            Candidate::Blocked(_, conflict) => Some(conflict),
            Candidate::None | Candidate::Ready(_) => None,
        }
    }

    pub(super) fn failures(&self) -> impl Iterator<Item = &LoadFailure> {
        self.failed_checks().map(|failed| &failed.failure).chain(self.conflict())
    }

    /// The time of the earliest retry.
    pub(super) fn retry_at(&self) -> Option<SystemTime> {
        self.failed_checks().filter_map(|failed| failed.retry).min().map(|retry| retry.wall_clock)
    }
}

/// Configuration.
impl ManagedPlugin {
    /// Applies another configuration. The active version has its grants, limits and settings at once; a check
    /// determines the public names.
    pub(super) fn set_config(&mut self, config: &Arc<PluginConfig>, now: Instant) -> ConfigEffect {
        self.approval = Approval::InForce;
        let before = std::mem::replace(&mut self.config, Arc::clone(config));
        if before.is_equivalent_to(config) {
            let active = self.active.iter_mut();
            let active =
                active.flat_map(|active| [Some(&mut active.loaded), active.new_lists.as_mut()]).flatten();
            active.chain(self.candidate.loaded_mut()).for_each(|loaded| loaded.relocate(config));
            self.retry_at_once(now);
            return ConfigEffect::None;
        }
        let is_other_code = before.source != config.source || before.sha256 != config.sha256;
        let is_settled = self.active.is_some()
            && !self.has_candidate()
            && matches!(self.file, FileState::UpToDate)
            && self.missing_since.is_none();
        self.candidate = Candidate::None;
        self.unusable_code = None;
        self.missing_since = None;
        let scope = if is_other_code || !is_settled { CheckScope::FileAndConfig } else { CheckScope::Config };
        self.request_check(CheckRequest { scope, ..CheckRequest::of_file(now) });
        let Some(active) = &mut self.active else { return ConfigEffect::Changed };
        active.new_lists = None;
        // Always succeeds, because it is the same plugin with the same lists.
        let Some(loaded) = active.loaded.with_config(config) else { return ConfigEffect::Changed };
        let earlier = std::mem::replace(&mut active.loaded, loaded);
        let grants = if before.widened_grants(Some(config)).is_empty() {
            GrantChange::SameOrWider
        } else {
            GrantChange::Narrower
        };
        ConfigEffect::ActiveChanged { earlier, grants }
    }

    /// Lets another configuration wait for the operator. The current one stays in effect, but follows its position in
    /// the file.
    pub(super) fn hold_config(&mut self, waiting: WaitingConfig, now: Instant) {
        let WaitingConfig { config, .. } = &waiting;
        let relocated = PluginConfig {
            span: config.span.clone(),
            source_span: config.source_span.clone(),
            spans: config.spans.clone(),
            ..(*self.config).clone()
        };
        let _ = self.set_config(&Arc::new(relocated), now);
        self.approval = Approval::ChangeWaits(waiting);
    }
}
