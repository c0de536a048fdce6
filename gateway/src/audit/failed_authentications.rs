//! Failed authentication: anyone can cause it, so at most one record a second is written for each reason.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use moongate_audit::{AuditEvent, AuditLog, AuditOutcome, AuditPrincipal, AuditRecord, PrincipalKind};
use tokio::runtime::Handle;

/// The interval between records with the same reason.
const INTERVAL: Duration = Duration::from_secs(1);

/// Failures by reason, of which there are only a few.
#[derive(Debug, Clone)]
pub(super) struct FailedAuthentications {
    log: AuditLog,
    waiting: Arc<Mutex<HashMap<&'static str, WaitingFailures>>>,
}

/// Failures since the last record.
#[derive(Debug)]
struct WaitingFailures {
    count: u64,
    /// The last address.
    address: IpAddr,
}

impl FailedAuthentications {
    pub(super) fn new(log: AuditLog) -> Self {
        Self { log, waiting: Arc::default() }
    }

    /// Records a failure: at once, or together with those of the same second.
    pub(super) fn record(&self, address: IpAddr, reason: &'static str) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failures) = waiting.get_mut(reason) {
            failures.count += 1;
            failures.address = address;
            return;
        }
        self.write(address, reason, 1);
        if let Ok(runtime) = Handle::try_current() {
            waiting.insert(reason, WaitingFailures { count: 0, address });
            let failures = self.clone();
            runtime.spawn(async move {
                // As long as there are more, once per interval.
                loop {
                    tokio::time::sleep(INTERVAL).await;
                    let mut waiting = failures.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    let Some(found) = waiting.get_mut(reason).filter(|found| found.count > 0) else {
                        waiting.remove(reason);
                        return;
                    };
                    failures.write(found.address, reason, std::mem::take(&mut found.count));
                }
            });
        }
    }

    /// Records the failures that wait.
    pub(super) fn flush(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for (reason, failures) in waiting.drain().filter(|(_, failures)| failures.count > 0) {
            self.write(failures.address, reason, failures.count);
        }
    }

    fn write(&self, address: IpAddr, reason: &'static str, count: u64) {
        let mut record = AuditRecord::new(AuditEvent::Authentication, AuditOutcome::Denied);
        record.reason = Some(reason);
        record.count = Some(count);
        record.principal = Some(AuditPrincipal {
            kind: PrincipalKind::Anonymous,
            name: None,
            issuer: None,
            subject: None,
            address: Some(address.to_string()),
        });
        self.log.record(&record);
    }
}
