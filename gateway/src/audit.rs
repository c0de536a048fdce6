//! The audit log of the gateway: observes calls, requests and changes, and turns them into records.
//!
//! [`Auditor`] receives what the dispatcher, the server and the supervisor report to their observers. It only builds
//! records and queues them; `moongate-audit` writes them.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use moongate_audit::{
    AuditEvent, AuditFileError, AuditFiles, AuditKey, AuditKeyError, AuditLog, AuditOutcome, AuditRecord,
    AuditStatus, QueueRoom, WhenFull,
};
use moongate_config::{AuditConfig, AuditWhenFull, Config};
use moongate_model::caller::Caller;
use moongate_model::names::{Digest, PluginId};
use moongate_protocol::dispatch::{
    CallAdmission, CallEnd, InputHasher, Observer, RefusedName, RefusedRequest, RequestEnd,
};

use crate::supervisor::control::ReloadCause;
use crate::supervisor::observer::{SupervisorChange, SupervisorObserver};
use crate::supervisor::status::PendingChange;

mod arguments;
mod call_record;
mod counted_records;
mod observer_set;

pub use observer_set::ObserverSet;

use arguments::{ArgumentsRecorder, InputHash};
use counted_records::CountedRecords;

/// The time limit at shutdown for the last records.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason of changes that wait for a reload request.
const WAITS: &str = "waits";

/// An error when opening the audit log.
#[derive(Debug, thiserror::Error)]
pub enum AuditStartError {
    /// The key can't be used.
    #[error(transparent)]
    Key(#[from] AuditKeyError),
    /// The log can't be used.
    #[error(transparent)]
    File(#[from] AuditFileError),
}

impl AuditStartError {
    /// The hint for the operator.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Key(AuditKeyError::Missing(_)) => {
                "restore the key, or move the log away to begin a new one"
            }
            Self::Key(AuditKeyError::TooShort) => "generate a key with `openssl rand -hex 32`",
            Self::Key(AuditKeyError::NotPrivate(_)) | Self::File(AuditFileError::NotPrivate(_)) => {
                "run `chmod 600` on the file, or set another `file` in `[audit]`"
            }
            Self::File(AuditFileError::InvalidEnd(_)) => {
                "run `moongate audit verify`, keep the files as evidence, and move them away to begin a new log"
            }
            Self::File(AuditFileError::Locked { .. }) => {
                "end or resume the other process, or set another `file` in `[audit]`"
            }
            Self::Key(AuditKeyError::Io { .. }) | Self::File(AuditFileError::Io { .. }) => {
                "check `file` and `key` in `[audit]`, and that the directory exists"
            }
        }
    }
}

/// The location of a log.
#[must_use]
pub fn audit_files(config: &AuditConfig) -> AuditFiles {
    AuditFiles {
        path: config.file.clone(),
        max_bytes: config.max_size.as_u64(),
        keep: usize::try_from(config.keep).unwrap_or(usize::MAX),
    }
}

/// Records what is observed.
#[derive(Debug)]
pub struct Auditor {
    log: AuditLog,
    arguments: ArgumentsRecorder,
    counted: CountedRecords,
    is_closed: AtomicBool,
}

impl Auditor {
    /// Opens the log, and records that the gateway starts with these grants.
    ///
    /// # Errors
    /// The key or a file can't be used.
    pub fn open(audit: &AuditConfig, config: &Config) -> Result<Arc<Self>, AuditStartError> {
        let key = match &audit.key {
            Some(key) => AuditKey::new(key.expose())?,
            None => {
                let (key_file, file) = (audit.key_file(), &audit.file);
                let key = AuditKey::read_or_create(&key_file, file)?;
                if AuditKey::has_lost_log(&key_file, file) {
                    tracing::warn!(
                        "the audit log `{}` doesn't exist, but its key `{}` does: the log was removed, or its key should \
                         have been moved away with it",
                        file.display(),
                        key_file.display()
                    );
                }
                key
            }
        };
        let when_full = match audit.when_full {
            AuditWhenFull::Refuse => WhenFull::Refuse,
            AuditWhenFull::Drop => WhenFull::Drop,
        };
        let log = AuditLog::open(audit_files(audit), key, when_full)?;
        let auditor = Self {
            counted: CountedRecords::new(log.clone()),
            arguments: ArgumentsRecorder::new(audit),
            is_closed: AtomicBool::new(false),
            log,
        };
        let mut start = AuditRecord::new(AuditEvent::GatewayStart, AuditOutcome::Allowed);
        start.detail = Some(format!("moongate {}, {}", env!("CARGO_PKG_VERSION"), config.file.display()));
        start.digest = Some(Digest::of(config.source_text.expose().as_bytes()).to_string());
        auditor.log.record_change(&start);
        for plugin in &config.plugins {
            let granted = plugin.added_grants(None);
            if !granted.is_empty() {
                auditor.record_grants(&plugin.id, &granted, &[], &[], Some("start"));
            }
        }
        Ok(Arc::new(auditor))
    }

    /// The state of the log.
    #[must_use]
    pub fn status(&self) -> AuditStatus {
        self.log.status()
    }

    /// Records that credentials were missing or not accepted at the admin listener, or that a web page sent a request
    /// there.
    pub fn admin_refused(&self, address: IpAddr, reason: &'static str) {
        self.counted.record_authentication(AuditEvent::Admin, address, reason);
    }

    /// Records that the gateway stops, and writes everything.
    pub async fn stop(self: Arc<Self>) {
        // Waiting blocks a thread. The task fails only if the runtime ends.
        let _ = tokio::task::spawn_blocking(move || self.close()).await;
    }

    fn close(&self) {
        if self.is_closed.swap(true, Ordering::Relaxed) {
            return;
        }
        self.counted.flush();
        self.log.record_change(&AuditRecord::new(AuditEvent::GatewayStop, AuditOutcome::Allowed));
        self.log.stop(STOP_TIMEOUT);
    }

    fn record_grants(
        &self,
        plugin: &PluginId,
        added: &[String],
        removed: &[String],
        remaining: &[String],
        reason: Option<&'static str>,
    ) {
        let mut record = AuditRecord::new(AuditEvent::Grants, AuditOutcome::Allowed);
        record.plugin = Some(plugin.to_string());
        record.added = added.to_vec();
        record.removed = removed.to_vec();
        record.remaining = remaining.to_vec();
        record.reason = reason;
        self.log.record_change(&record);
    }
}

impl Observer for Auditor {
    fn call_ended(&self, call: &CallEnd<'_>) {
        let record = call_record::of_call(call, &self.arguments);
        match call.took {
            Some(_) => self.log.record_admitted(&call.context.caller, &record),
            None => self.counted.record_by_principal(record),
        }
    }

    fn request_ended(&self, _request: &RequestEnd<'_>) {}

    fn admission(&self, caller: &Caller) -> CallAdmission {
        match self.log.room_for(caller) {
            QueueRoom::Free => CallAdmission::Admitted,
            QueueRoom::Full => CallAdmission::Later,
            QueueRoom::Unavailable => CallAdmission::Refused,
        }
    }

    fn input_hasher(&self) -> Option<Box<dyn InputHasher>> {
        Some(Box::new(InputHash(self.log.key().arguments_hash())))
    }

    fn name_refused(&self, refused: &RefusedName<'_>) {
        self.counted.record_by_principal(call_record::of_refused_name(refused));
    }

    fn authentication_failed(&self, address: IpAddr, reason: &'static str) {
        self.counted.record_authentication(AuditEvent::Authentication, address, reason);
    }

    fn request_refused(&self, caller: &Caller, why: RefusedRequest) {
        let mut record = AuditRecord::new(AuditEvent::Request, AuditOutcome::Denied);
        record.reason = Some(why.as_str());
        record.principal = Some(call_record::principal(caller));
        self.counted.record_caused_by(caller, record);
    }
}

impl SupervisorObserver for Auditor {
    fn changed(&self, change: &SupervisorChange<'_>) {
        let record = match *change {
            SupervisorChange::ReloadRequested(cause) => {
                let mut record = AuditRecord::new(AuditEvent::Admin, AuditOutcome::Allowed);
                record.reason = Some(match cause {
                    ReloadCause::Signal => "reload_signal",
                    ReloadCause::Admin => "reload_request",
                    ReloadCause::Build => "reload_build",
                });
                // Without a token, every local user can cause them.
                return self.counted.record_for_all(record);
            }
            SupervisorChange::ConfigurationApplied { digest, lines, needs_restart } => {
                let mut record = AuditRecord::new(AuditEvent::Configuration, AuditOutcome::Allowed);
                record.digest = Some(digest.to_string());
                record.changes = lines.to_vec();
                let restart = (!needs_restart.is_empty()).then(|| needs_restart.join(", "));
                record.detail = restart.map(|keys| format!("needs a restart: {keys}"));
                record
            }
            SupervisorChange::ConfigurationRejected(reason) => {
                let mut record = AuditRecord::new(AuditEvent::Configuration, AuditOutcome::Denied);
                record.reason = Some("rejected");
                record.detail = Some(reason.to_owned());
                record
            }
            SupervisorChange::ConfigurationWaits(changes) => {
                let mut record = AuditRecord::new(AuditEvent::Configuration, AuditOutcome::Denied);
                record.reason = Some(WAITS);
                record.changes = changes.to_vec();
                record
            }
            SupervisorChange::Waits { plugin, pending } => {
                let (event, digest, grants) = match pending {
                    PendingChange::Code(digest) => (AuditEvent::Code, Some(digest.to_string()), Vec::new()),
                    PendingChange::Grants(grants) => (AuditEvent::Grants, None, grants.clone()),
                };
                let mut record = AuditRecord::new(event, AuditOutcome::Denied);
                record.reason = Some(WAITS);
                record.plugin = Some(plugin.to_string());
                (record.digest, record.added) = (digest, grants);
                record
            }
            SupervisorChange::Grants { plugin, added, removed, remaining } => {
                return self.record_grants(plugin, added, removed, remaining, None);
            }
            SupervisorChange::Code { plugin, before, after } => {
                let mut record = AuditRecord::new(AuditEvent::Code, AuditOutcome::Allowed);
                record.plugin = Some(plugin.to_string());
                record.reason = Some(match (before, after) {
                    (None, _) => "added",
                    (Some(_), None) => "removed",
                    (Some(_), Some(_)) => "replaced",
                });
                let text = |digest: Digest| digest.to_string();
                (record.previous_digest, record.digest) = (before.map(text), after.map(text));
                record
            }
        };
        self.log.record_change(&record);
    }
}

impl Drop for Auditor {
    fn drop(&mut self) {
        // A start that failed ends here.
        self.close();
    }
}
