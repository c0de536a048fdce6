//! The gateways that share the store: each one reports itself every few seconds, and shows the reports of all.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use moongate_model::names::Digest;
use moongate_protocol::session::shared::ReplicaId;
use moongate_store::SharedStore;
use moongate_system::machine::host_name;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::supervisor::status::SupervisorStatus;

/// The interval of reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(3);

/// The time after which a gateway that doesn't report itself any more isn't shown.
const REPORT_LEASE: Duration = Duration::from_secs(15);

/// The report of a gateway. Fields that this version doesn't know are ignored, and missing ones are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplicaReport {
    /// The name of its machine.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The address of the HTTP endpoint.
    pub endpoint: Option<String>,
    /// The version of Moongate.
    pub version: String,
    /// The digest of the configuration, without secrets.
    pub config: String,
    /// The digest of the serving code of all plugins.
    pub code: String,
    /// The time when the configuration came into use, in seconds since 1970.
    pub since: u64,
    /// The time when the process started, in seconds since 1970.
    pub started: u64,
}

/// A gateway that shares the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// The id of this run.
    pub id: String,
    /// Its report.
    pub report: ReplicaReport,
    /// True for this gateway.
    pub is_own: bool,
    /// The facts in which it differs from this gateway: `version`, `configuration` or `code`.
    pub differences: Vec<&'static str>,
}

impl Replica {
    /// Its machine and address.
    #[must_use]
    pub fn name(&self) -> String {
        let ReplicaReport { host, pid, endpoint, .. } = &self.report;
        let host = if host.is_empty() { &self.id } else { host };
        match endpoint {
            Some(endpoint) => format!("{host} {endpoint}"),
            None => format!("{host}, process {pid}"),
        }
    }
}

/// The facts about a process that don't change.
#[derive(Debug, Clone)]
struct ProcessFacts {
    host: String,
    endpoint: Option<String>,
    started: u64,
}

impl ProcessFacts {
    fn report(&self, status: &SupervisorStatus) -> ReplicaReport {
        let Self { host, endpoint, started } = self.clone();
        ReplicaReport {
            host,
            pid: std::process::id(),
            endpoint,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config: status.config.digest.to_string(),
            code: code_digest(status).to_string(),
            since: unix_seconds(status.config.since),
            started,
        }
    }
}

fn unix_seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}

/// The digest of the names of all plugins and of their serving code.
fn code_digest(status: &SupervisorStatus) -> Digest {
    let mut plugins: Vec<_> = status
        .plugins
        .iter()
        .map(|plugin| {
            let digest = plugin.digest.as_ref().map_or_else(String::new, Digest::to_string);
            format!("{} {digest}\n", plugin.id)
        })
        .collect();
    plugins.sort();
    Digest::of(plugins.concat().as_bytes())
}

/// Reports this gateway, and keeps the reports of the others.
pub struct Replicas {
    store: SharedStore,
    own: ReplicaId,
    facts: ProcessFacts,
    status: Box<dyn Fn() -> Arc<SupervisorStatus> + Send + Sync>,
    /// The gateways as of the last report. Empty if it failed.
    known: Mutex<Vec<Replica>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Replicas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replicas").field("own", &self.own).finish_non_exhaustive()
    }
}

impl Replicas {
    /// Starts reporting. Must be called within a runtime.
    pub fn start(
        store: SharedStore,
        own: ReplicaId,
        endpoint: Option<String>,
        status: impl Fn() -> Arc<SupervisorStatus> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let facts = ProcessFacts {
            host: host_name().unwrap_or_default(),
            endpoint,
            started: unix_seconds(SystemTime::now()),
        };
        let replicas = Arc::new(Self {
            store,
            own,
            facts,
            status: Box::new(status),
            known: Mutex::default(),
            task: Mutex::default(),
        });
        let task = tokio::spawn(report(Arc::downgrade(&replicas)));
        *replicas.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        replicas
    }

    /// The gateways, with this one. Empty while the store isn't available.
    #[must_use]
    pub fn known(&self) -> Vec<Replica> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Removes this gateway's report, because the gateway is stopping.
    pub async fn leave(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
            let _ = task.await; // so that it doesn't report again
        }
        if let Err(error) = self.store.remove_report(self.own.as_str()).await {
            tracing::debug!(%error, "the report of this gateway expires");
        }
    }

    async fn update(&self) {
        let report = self.facts.report(&(self.status)());
        let text = serde_json::to_string(&report).expect("strings and numbers can be serialised");
        let own = self.own.as_str();
        let reports = self.store.report(own, &text, REPORT_LEASE).await.unwrap_or_default(); // the store logs its outages
        let replicas = read_reports(reports, own, &report);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = replicas;
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

async fn report(replicas: Weak<Replicas>) {
    let mut ticks = interval(REPORT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(replicas) = replicas.upgrade() else { return };
        replicas.update().await;
    }
}

/// The gateways of these reports, compared with the report of this one, in the order of their names.
fn read_reports(reports: Vec<(String, String)>, own: &str, own_report: &ReplicaReport) -> Vec<Replica> {
    let mut replicas: Vec<_> = reports
        .into_iter()
        .filter_map(|(id, report)| {
            let report: ReplicaReport = serde_json::from_str(&report).ok()?;
            let differences = differences(&report, own_report);
            Some(Replica { is_own: id == own, id, report, differences })
        })
        .collect();
    replicas.sort_by_cached_key(|replica| (replica.name(), replica.id.clone()));
    replicas
}

fn differences(report: &ReplicaReport, own: &ReplicaReport) -> Vec<&'static str> {
    let facts = [
        ("version", report.version == own.version),
        ("configuration", report.config == own.config),
        ("code", report.code == own.code),
    ];
    facts.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_compared_with_the_own_one() {
        let of = |endpoint: &str, config: &str| ReplicaReport {
            host: "a".to_owned(),
            endpoint: Some(endpoint.to_owned()),
            version: "1".to_owned(),
            config: config.to_owned(),
            ..ReplicaReport::default()
        };
        let own = of("10.0.0.2:1", "x");
        let text = |report: &ReplicaReport| serde_json::to_string(report).unwrap();
        let reports = vec![
            ("2".to_owned(), text(&own)),
            ("1".to_owned(), text(&of("10.0.0.1:1", "y"))),
            ("3".to_owned(), "{\"host\":\"b\",\"pid\":7,\"colour\":\"new\"}".to_owned()),
            ("4".to_owned(), "of another program".to_owned()),
        ];
        let replicas = read_reports(reports, "2", &own);
        let shown: Vec<_> =
            replicas.iter().map(|one| (one.name(), one.is_own, one.differences.as_slice())).collect();
        assert_eq!(
            shown,
            [
                ("a 10.0.0.1:1".to_owned(), false, &["configuration"][..]),
                ("a 10.0.0.2:1".to_owned(), true, &[]),
                ("b, process 7".to_owned(), false, &["version", "configuration"]),
            ]
        );
    }
}
