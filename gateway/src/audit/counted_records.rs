//! Refused calls and failed authentication: callers can cause any number of them, which mustn't fill the log.
//!
//! The first of a kind is recorded at once, and later ones once a second, with their number.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moongate_audit::{AuditEvent, AuditLog, AuditOutcome, AuditPrincipal, AuditRecord, PrincipalKind};
use tokio::runtime::Handle;

/// The interval between records of the same kind.
const INTERVAL: Duration = Duration::from_secs(1);

/// The maximum number of kinds that are counted by caller. Above it, the callers of a kind are counted together.
const MAX_KINDS: usize = 1024;

/// Counts refusals by kind. Clones share the counters.
#[derive(Debug, Clone)]
pub(super) struct RefusalRecords {
    log: AuditLog,
    waiting: Arc<Mutex<HashMap<RefusalKind, WaitingRefusals>>>,
}

/// Refusals of one kind are counted together.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RefusalKind {
    event: AuditEvent,
    outcome: AuditOutcome,
    reason: Option<&'static str>,
    /// `None` for all callers.
    caller: Option<AuditPrincipal>,
}

/// The refusals of a kind since its last record.
#[derive(Debug)]
struct WaitingRefusals {
    count: u64,
    last: AuditRecord,
}

impl RefusalRecords {
    pub(super) fn new(log: AuditLog) -> Self {
        Self { log, waiting: Arc::default() }
    }

    /// Records a refused call.
    pub(super) fn record_call(&self, record: AuditRecord) {
        let caller = record.principal.clone();
        self.record(caller, record);
    }

    /// Records failed authentication. Addresses are counted together.
    pub(super) fn record_authentication(&self, event: AuditEvent, address: IpAddr, reason: &'static str) {
        let mut record = AuditRecord::new(event, AuditOutcome::Denied);
        record.reason = Some(reason);
        record.principal = Some(AuditPrincipal {
            kind: PrincipalKind::Anonymous,
            name: None,
            issuer: None,
            subject: None,
            address: Some(address.to_string()),
        });
        self.record(None, record);
    }

    fn record(&self, caller: Option<AuditPrincipal>, mut record: AuditRecord) {
        let mut kind =
            RefusalKind { event: record.event, outcome: record.outcome, reason: record.reason, caller };
        let mut waiting = self.waiting();
        if kind.caller.is_some() && waiting.len() >= MAX_KINDS && !waiting.contains_key(&kind) {
            kind.caller = None;
            // It counts for several callers.
            (record.principal, record.client, record.session, record.trace_id) = (None, None, None, None);
        }
        if let Some(refusals) = waiting.get_mut(&kind) {
            refusals.count += 1;
            refusals.last = record;
            return;
        }
        self.write(&mut record, 1);
        // Without a runtime, the gateway has stopped or not started.
        if let Ok(runtime) = Handle::try_current() {
            let is_first = waiting.is_empty();
            waiting.insert(kind, WaitingRefusals { count: 0, last: record });
            if is_first {
                runtime.spawn(self.clone().write_each_interval());
            }
        }
    }

    /// Records what waits once per interval, as long as there is something.
    async fn write_each_interval(self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let mut waiting = self.waiting();
            waiting.retain(|_, refusals| {
                let is_needed = refusals.count > 0;
                self.write_waiting(refusals);
                is_needed
            });
            if waiting.is_empty() {
                return;
            }
        }
    }

    /// Records what waits.
    pub(super) fn flush(&self) {
        self.waiting().values_mut().for_each(|refusals| self.write_waiting(refusals));
    }

    fn write_waiting(&self, refusals: &mut WaitingRefusals) {
        let count = std::mem::take(&mut refusals.count);
        if count > 0 {
            self.write(&mut refusals.last, count);
        }
    }

    fn write(&self, record: &mut AuditRecord, count: u64) {
        record.count = Some(count);
        self.log.record_refusal(record);
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<RefusalKind, WaitingRefusals>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use moongate_audit::{AuditFiles, AuditKey, WhenFull};
    use tempfile::TempDir;

    use super::*;

    fn refusal(caller: &str) -> AuditRecord {
        let mut record = AuditRecord::new(AuditEvent::ToolCall, AuditOutcome::Denied);
        record.reason = Some("unknown");
        let name = Some(caller.to_owned());
        let kind = PrincipalKind::Token;
        record.principal = Some(AuditPrincipal { kind, name, issuer: None, subject: None, address: None });
        record
    }

    /// The counts of the records after `act`, by caller.
    async fn counts(act: impl AsyncFnOnce(&RefusalRecords)) -> Vec<(String, u64)> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("audit.jsonl");
        let files = AuditFiles { path: path.clone(), max_bytes: 1 << 30, keep: 1 };
        let key = AuditKey::new(&"k".repeat(32)).unwrap();
        let log = AuditLog::open(files, key, WhenFull::Refuse).unwrap();
        let refusals = RefusalRecords::new(log.clone());
        act(&refusals).await;
        log.stop(Duration::from_secs(60));
        let text = fs::read_to_string(&path).unwrap();
        let read = |line| -> serde_json::Value { serde_json::from_str(line).unwrap() };
        let count = |record: serde_json::Value| {
            let caller = record["principal"]["name"].as_str().unwrap_or("all").to_owned();
            (caller, record["count"].as_u64().unwrap())
        };
        text.lines().map(read).map(count).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_refusals_is_one_record_a_second_for_each_caller() {
        let counts = counts(async |refusals| {
            for _ in 0..3 {
                for _ in 0..1000 {
                    refusals.record_call(refusal("ann"));
                }
                refusals.record_call(refusal("bob"));
                tokio::time::sleep(INTERVAL).await;
            }
            tokio::time::sleep(3 * INTERVAL).await;
            refusals.record_call(refusal("ann"));
            assert_eq!(refusals.waiting().len(), 1, "earlier ones are forgotten");
        })
        .await;
        let of = |caller: &str| -> Vec<u64> {
            counts.iter().filter(|(name, _)| name == caller).map(|(_, count)| *count).collect()
        };
        let (ann, bob) = (of("ann"), of("bob"));
        assert_eq!(ann.first(), Some(&1));
        assert!(ann.len() <= 6 && ann.iter().sum::<u64>() == 3001, "{ann:?}");
        assert!(bob.len() <= 4 && bob.iter().sum::<u64>() == 3, "{bob:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn many_callers_are_counted_together() {
        let counts = counts(async |refusals| {
            for caller in 0..2 * MAX_KINDS {
                refusals.record_call(refusal(&caller.to_string()));
            }
            assert!(refusals.waiting().len() <= MAX_KINDS + 1);
            refusals.flush();
        })
        .await;
        assert_eq!(counts.len(), MAX_KINDS + 2);
        let together = counts.iter().filter(|(caller, _)| caller == "all").map(|(_, count)| count);
        assert_eq!(together.sum::<u64>(), MAX_KINDS as u64);
    }
}
