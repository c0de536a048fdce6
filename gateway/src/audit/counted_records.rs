//! Events that callers can cause any number of times, such as refused calls and failed authentication, and that mustn't
//! fill the log.
//!
//! The first of a kind is recorded at once. Later ones are counted, and recorded after a second, two, four, and so on up
//! to a minute, until there was none for a minute.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moongate_audit::{AuditEvent, AuditLog, AuditOutcome, AuditPrincipal, AuditRecord};
use moongate_model::caller::Caller;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::call_record;

/// The shortest interval between records of the same kind. Each one is twice as long as the one before.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The longest interval, and the time without an event after which a kind is forgotten.
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// The maximum number of kinds that are counted by caller. Above it, the callers of a kind are counted together.
const MAX_KINDS: usize = 1024;

/// Counts events by kind. Clones share the counters.
#[derive(Debug, Clone)]
pub(super) struct CountedRecords {
    log: AuditLog,
    kinds: Arc<Mutex<HashMap<EventKind, CountedEvent>>>,
}

/// Events of one kind are counted together.
#[derive(Debug, PartialEq, Eq, Hash)]
struct EventKind {
    event: AuditEvent,
    outcome: AuditOutcome,
    reason: Option<&'static str>,
    /// `None` for all callers.
    caller: Option<AuditPrincipal>,
}

/// The events of a kind.
#[derive(Debug)]
struct CountedEvent {
    /// Those since the last record.
    count: u64,
    /// The record of the last one.
    last: AuditRecord,
    happened: Instant,
    /// The earliest time of the next record.
    next: Instant,
    interval: Duration,
}

impl CountedRecords {
    pub(super) fn new(log: AuditLog) -> Self {
        Self { log, kinds: Arc::default() }
    }

    /// Records an event that its principal has caused.
    pub(super) fn record_by_principal(&self, record: AuditRecord) {
        let caller = record.principal.clone();
        self.record(caller, record);
    }

    /// Records an event. Callers without credentials are counted together.
    pub(super) fn record_caused_by(&self, caller: &Caller, record: AuditRecord) {
        match caller {
            Caller::Address(_) => self.record(None, record),
            Caller::Local
            | Caller::Named(_)
            | Caller::Subject(_)
            | Caller::Certificate(_)
            | Caller::User(_)
            | Caller::Operator(_) => self.record_by_principal(record),
        }
    }

    /// Records an event of any caller.
    pub(super) fn record_for_all(&self, record: AuditRecord) {
        self.record(None, record);
    }

    /// Records failed authentication. Addresses are counted together.
    pub(super) fn record_authentication(&self, event: AuditEvent, address: IpAddr, reason: &'static str) {
        let mut record = AuditRecord::new(event, AuditOutcome::Denied);
        record.reason = Some(reason);
        record.principal = Some(call_record::principal(&Caller::Address(address)));
        self.record(None, record);
    }

    fn record(&self, caller: Option<AuditPrincipal>, mut record: AuditRecord) {
        // A subject is the same with any display name, which some issuers let it change.
        let caller = caller.map(|caller| match caller.subject {
            Some(_) => AuditPrincipal { name: None, ..caller },
            None => caller,
        });
        let mut kind =
            EventKind { event: record.event, outcome: record.outcome, reason: record.reason, caller };
        let mut kinds = self.kinds();
        if kind.caller.is_some() && kinds.len() >= MAX_KINDS && !kinds.contains_key(&kind) {
            kind.caller = None;
            // It counts for several callers.
            (record.principal, record.client, record.session, record.trace_id) = (None, None, None, None);
        }
        let now = Instant::now();
        if let Some(counted) = kinds.get_mut(&kind) {
            counted.count += 1;
            counted.happened = now;
            counted.last = record;
            counted.last.client = None; // the first record has it
            if now >= counted.next {
                self.write_counted(counted, now);
            }
            return;
        }
        self.write(&mut record, 1);
        // Without a runtime, the gateway has stopped or not started.
        if let Ok(runtime) = Handle::try_current() {
            let is_first = kinds.is_empty();
            let (next, interval) = (now + MIN_INTERVAL, MIN_INTERVAL);
            kinds.insert(kind, CountedEvent { count: 0, last: record, happened: now, next, interval });
            if is_first {
                runtime.spawn(self.clone().write_when_due());
            }
        }
    }

    /// Records due counts and forgets idle kinds, once a second, until no kind is left.
    async fn write_when_due(self) {
        loop {
            tokio::time::sleep(MIN_INTERVAL).await;
            let mut kinds = self.kinds();
            let now = Instant::now();
            // With many kinds, the names of callers are worth more than long intervals.
            let kept_for = if kinds.len() > MAX_KINDS / 2 { MIN_INTERVAL } else { MAX_INTERVAL };
            kinds.retain(|_, counted| {
                if counted.count > 0 && now >= counted.next {
                    self.write_counted(counted, now);
                }
                counted.count > 0 || now - counted.happened < kept_for
            });
            if kinds.is_empty() {
                return;
            }
        }
    }

    /// Records what was counted.
    pub(super) fn flush(&self) {
        let now = Instant::now();
        self.kinds().values_mut().for_each(|counted| self.write_counted(counted, now));
    }

    fn write_counted(&self, counted: &mut CountedEvent, now: Instant) {
        let count = std::mem::take(&mut counted.count);
        if count > 0 {
            self.write(&mut counted.last, count);
            counted.interval = (2 * counted.interval).min(MAX_INTERVAL);
            counted.next = now + counted.interval;
        }
    }

    fn write(&self, record: &mut AuditRecord, count: u64) {
        record.count = Some(count);
        match record.outcome {
            AuditOutcome::Allowed => self.log.record_change(record),
            AuditOutcome::Denied
            | AuditOutcome::Limited
            | AuditOutcome::Failed
            | AuditOutcome::Cancelled
            | AuditOutcome::TimedOut => self.log.record_refusal(record),
        }
    }

    fn kinds(&self) -> MutexGuard<'_, HashMap<EventKind, CountedEvent>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use moongate_audit::{AuditFiles, AuditKey, PrincipalKind, WhenFull};
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
    async fn counts(act: impl AsyncFnOnce(&CountedRecords)) -> Vec<(String, u64)> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("audit.jsonl");
        let files = AuditFiles { path: path.clone(), max_bytes: 1 << 30, keep: 1 };
        let key = AuditKey::new(&"k".repeat(32)).unwrap();
        let log = AuditLog::open(files, key, WhenFull::Refuse).unwrap();
        let refusals = CountedRecords::new(log.clone());
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

    /// The counts of a caller's records.
    fn of(counts: &[(String, u64)], caller: &str) -> Vec<u64> {
        counts.iter().filter(|(name, _)| name == caller).map(|(_, count)| *count).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_refusals_is_one_record_a_minute_for_each_caller() {
        let counts = counts(async |refusals| {
            for second in 0..10 * 60 {
                for _ in 0..10 {
                    refusals.record_by_principal(refusal("ann"));
                }
                if second == 300 {
                    refusals.record_by_principal(refusal("bob"));
                }
                tokio::time::sleep(MIN_INTERVAL).await;
            }
            refusals.flush();
        })
        .await;
        let ann = of(&counts, "ann");
        assert_eq!(ann.first(), Some(&1));
        assert!(ann.len() <= 7 + 10 && ann.iter().sum::<u64>() == 6000, "{ann:?}");
        assert_eq!(of(&counts, "bob"), [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_between_refusals_make_no_more_records() {
        for pause in [1, 2, 5, 20, 59, 61] {
            let counts = counts(async |refusals| {
                for _ in 0..3600 / pause {
                    refusals.record_by_principal(refusal("ann"));
                    tokio::time::sleep(Duration::from_secs(pause)).await;
                }
                refusals.flush();
            })
            .await;
            let ann = of(&counts, "ann");
            assert!(ann.len() <= 60 + 7, "{pause} s: {ann:?}");
            assert_eq!(ann.iter().sum::<u64>(), 3600 / pause);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn kinds_are_forgotten_after_a_minute() {
        let counts = counts(async |refusals| {
            for _ in 0..2 {
                refusals.record_by_principal(refusal("ann"));
                refusals.record_by_principal(refusal("ann"));
                tokio::time::sleep(MAX_INTERVAL + 2 * MIN_INTERVAL).await;
                assert!(refusals.kinds().is_empty());
            }
        })
        .await;
        assert_eq!(of(&counts, "ann"), [1; 4]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_subject_with_many_names_is_one_caller() {
        let counts = counts(async |refusals| {
            for name in 0..2 * MAX_KINDS {
                let mut record = refusal(&format!("eve-{name}"));
                let principal = record.principal.as_mut().unwrap();
                principal.kind = PrincipalKind::Subject;
                principal.issuer = Some("https://a.example".to_owned());
                principal.subject = Some("eve".to_owned());
                refusals.record_by_principal(record);
            }
            refusals.record_by_principal(refusal("bob"));
            assert_eq!(refusals.kinds().len(), 2);
            refusals.flush();
        })
        .await;
        assert_eq!(of(&counts, "bob"), [1]);
        assert_eq!(counts.len(), 3, "{counts:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn many_callers_are_counted_together() {
        let counts = counts(async |refusals| {
            for caller in 0..2 * MAX_KINDS {
                refusals.record_by_principal(refusal(&caller.to_string()));
            }
            assert!(refusals.kinds().len() <= MAX_KINDS + 1);
            refusals.flush();
        })
        .await;
        assert_eq!(counts.len(), MAX_KINDS + 2);
        let together = counts.iter().filter(|(caller, _)| caller == "all").map(|(_, count)| count);
        assert_eq!(together.sum::<u64>(), MAX_KINDS as u64);
    }
}
