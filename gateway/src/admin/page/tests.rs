//! The page with hostile texts, and with many plugins.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use moongate_model::access_history::{GrantUse, LastUse, RefusedAccess};
use moongate_model::caller::Caller;
use moongate_model::names::Digest;
use moongate_protocol::dispatch::CallKind;

use super::*;
use crate::call_history::{CallFailure, CalledName, ItemCounts, MINUTES, MinuteCounts, RecentCall};
use crate::replicas::ReplicaReport;
use crate::supervisor::status::{
    CodeOrigin, ConfigStatus, OfferCounts, PendingChange, PluginAbout, PluginActivity, PluginIssue,
    PluginState, PluginStatus, ReloadCounts, ReloadRecord, WatchMode,
};

/// Text that tries to leave its place.
const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\r\nevent: plugins";

fn id(text: &str) -> PluginId {
    PluginId::new(text).unwrap()
}

fn issue() -> PluginIssue {
    let (reason, hint) = (HOSTILE.to_owned(), Some(HOSTILE.to_owned()));
    PluginIssue { reason, hint, ends_calls: false, retry_at: Some(UNIX_EPOCH) }
}

fn plugin(name: &str, state: PluginState) -> PluginStatus {
    let text = || Some(HOSTILE.to_owned());
    PluginStatus {
        id: id(name),
        source: PathBuf::from(HOSTILE),
        origin: CodeOrigin::Locked { address: HOSTILE.to_owned() },
        state,
        activity: PluginActivity::Idle,
        digest: None,
        since: Some(UNIX_EPOCH),
        about: Some(PluginAbout { title: text(), description: text(), version: HOSTILE.to_owned() }),
        offer_counts: OfferCounts { tools: 1, resources: 1, templates: 2, prompts: 1 },
        pending_change: Some(PendingChange::Grants(vec![HOSTILE.to_owned()])),
        unavailable_directories: vec![PathBuf::from(HOSTILE)],
    }
}

fn content(plugins: Vec<PluginStatus>) -> PageContent {
    let called = CalledName { plugin: id("evil"), kind: CallKind::Resource, name: None };
    let mut counts = ItemCounts { minutes: vec![MinuteCounts::default(); MINUTES], ..ItemCounts::default() };
    counts.minutes[59] = MinuteCounts { calls: 12_345, errors: 3 };
    counts.p50 = Some(Duration::from_micros(1_234));
    let caller = Caller::Named(HOSTILE.into());
    let call = RecentCall {
        number: 1,
        error: Some(HOSTILE.to_owned()),
        at: UNIX_EPOCH,
        called: called.clone(),
        caller,
        outcome: "ok",
        is_success: true,
        took: Duration::from_secs(12),
        waited: Some(Duration::from_secs(3)),
        cpu_time: Duration::from_secs(8),
    };
    let failure = CallFailure { at: UNIX_EPOCH, called: called.clone(), message: HOSTILE.to_owned() };
    let grant = GrantUse { kind: "files", grant: HOSTILE.to_owned(), last_used: LastUse::Never };
    let refused = RefusedAccess {
        wanted: HOSTILE.to_owned(),
        fix: Some(format!("add `{HOSTILE}` to `[plugins.evil.allow]`")),
        count: 2,
        at: UNIX_EPOCH,
    };
    let outcome = Err(format!("one; {HOSTILE}"));
    PageContent {
        snapshot: GatewaySnapshot {
            status: SupervisorStatus {
                generation: 1,
                config: ConfigStatus {
                    file: PathBuf::from(HOSTILE),
                    digest: Digest::of(b"configuration"),
                    since: UNIX_EPOCH,
                    rejected: Some(HOSTILE.to_owned()),
                    needs_restart: vec![HOSTILE.to_owned()],
                    pending_keys: vec![HOSTILE.to_owned()],
                    stop_grace: Duration::ZERO,
                },
                plugins,
                watch_mode: WatchMode::Polling(HOSTILE.to_owned()),
                is_settled: true,
                reload_counts: ReloadCounts::default(),
                history: VecDeque::from([ReloadRecord {
                    at: UNIX_EPOCH,
                    took: Duration::ZERO,
                    plugin: Some(id("evil")),
                    outcome,
                }]),
            },
            loads: BTreeMap::new(),
            clients: ServerGauges::default(),
            calls: RememberedCalls {
                items: vec![(called, counts)],
                recent: vec![call],
                failures: BTreeMap::from([(id("evil"), failure)]),
                ..RememberedCalls::default()
            },
            access: BTreeMap::from([(
                id("evil"),
                AccessHistory { grants: vec![grant], refused: vec![refused], limited: Vec::new() },
            )]),
            replicas: Some(vec![Replica {
                id: "1".to_owned(),
                report: ReplicaReport {
                    host: HOSTILE.to_owned(),
                    version: HOSTILE.to_owned(),
                    config: HOSTILE.to_owned(),
                    started: u64::MAX,
                    ..ReplicaReport::default()
                },
                is_own: false,
                differences: vec!["configuration"],
            }]),
        },
        process: ProcessInfo::current(),
        state: ServingState::Ready,
        now: UNIX_EPOCH + Duration::from_secs(1),
    }
}

#[test]
fn hostile_text_stays_text() {
    let plugins = vec![
        plugin("evil", PluginState::Degraded(issue())),
        plugin("worse", PluginState::Failed(issue())),
        plugin("fine", PluginState::Serving),
    ];
    let page = document(&content(plugins), TrialAccess::Allowed);
    assert!(page.matches("&lt;script&gt;").count() > 20, "{page}");
    assert_eq!(page.matches("<script").count(), 1, "only the page's own script");
    assert!(
        !page.contains("<img src=x") && !page.contains('\u{202e}') && !page.contains("\nevent"),
        "{page}"
    );
    // Every attribute is quoted with `"`, which is escaped in text.
    assert!(!page.contains("\"'>"), "{page}");
}

#[test]
fn the_page_names_what_operators_look_for() {
    let page = document(&content(vec![plugin("evil", PluginState::Serving)]), TrialAccess::Allowed);
    for part in [
        "12\u{202f}345",
        "1.2 ms",
        "12 s",
        "3.0 s queued, 8.0 s CPU",
        "1 granted, 1 unused",
        "<code>[plugins.evil.allow]</code>",
        "locked",
        "other configuration",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = document(&content(Vec::new()), TrialAccess::Allowed);
    assert!(page.contains("No plugins are configured"), "{page}");
}

#[test]
fn a_page_of_many_plugins_is_small() {
    let plugins = (0..500).map(|at| plugin(&format!("p{at}"), PluginState::Failed(issue())));
    let page = document(&content(plugins.collect()), TrialAccess::Allowed);
    assert!(page.contains("And 1\u{202f}484 more"), "{page}");
    assert!(page.len() < 2_000_000, "{}", page.len());
}
