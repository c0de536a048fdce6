//! Changes to components.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use moongate_model::names::{Digest, PluginId};
use tokio::time::{Instant, sleep};

use crate::supervisor::fake::{SLOW_COMPILE_TIME, TestReconciler};
use crate::supervisor::status::{PluginActivity, PluginState};

const ONE: &str = "[plugins.a]\nsource = '/a'\n";
const TWO: &str = "[plugins.a]\nsource = '/a'\n[plugins.b]\nsource = '/b'\n";

fn digest(text: &str) -> Option<Digest> {
    Some(Digest::of(text.as_bytes()))
}

#[tokio::test(start_paused = true)]
async fn changed_file_replaces_the_active_version() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    let before = Arc::clone(&gateway.catalog.borrow());
    gateway.write("/a", "new").await;
    assert_eq!(gateway.tools(), ["a_new"]);
    assert!(before.tool("a_old").is_some(), "requests keep the catalog that they started with");
    assert_eq!(*gateway.disk.retired.lock().unwrap(), ["old"]);
    let status = Arc::clone(&gateway.status.borrow());
    assert_eq!((status.generation, status.reload_counts.replaced), (before.generation() + 1, 1));
    let line = status.history[0].outcome.as_ref().unwrap();
    for part in [Digest::of(b"old").short(), Digest::of(b"new").short(), "`a_old`".into(), "`a_new`".into()] {
        assert!(line.contains(&part), "{part} isn't in: {line}");
    }
}

#[tokio::test(start_paused = true)]
async fn start_waits_for_a_slow_plugin_without_spinning() {
    // The paused clock advances only while nothing runs.
    let gateway = TestReconciler::start(TWO, &[("/a", "quick"), ("/b", "slow late")]).await;
    assert_eq!(gateway.tools(), ["a_quick", "b_late"]);
}

#[tokio::test(start_paused = true)]
async fn same_content_changes_nothing() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    let before = gateway.catalog.borrow().generation();
    gateway.write("/a", "old").await;
    assert_eq!((gateway.compiled().len(), gateway.catalog.borrow().generation()), (1, before));
    let status = Arc::clone(&gateway.status.borrow());
    assert_eq!((status.reload_counts.unchanged, status.history.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn broken_build_keeps_the_active_version() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.write("/a", "broken").await;
    assert_eq!(gateway.tools(), ["a_old"]);
    let plugin = gateway.plugin("a");
    let PluginState::Degraded(trouble) = plugin.state else { panic!("{plugin:?}") };
    assert!(trouble.reason.contains("`/a`") && trouble.reason.contains("broken"), "{trouble:?}");
    assert_eq!((trouble.retry_at, plugin.digest), (None, digest("old")), "only a change can help");
    gateway.write("/a", "broken").await;
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(gateway.compiled(), ["old", "broken"]);
    let status = Arc::clone(&gateway.status.borrow());
    assert_eq!(
        (status.reload_counts.failed, status.history.len()),
        (1, 1),
        "the same reason is reported once"
    );
    gateway.write("/a", "new").await;
    assert_eq!((gateway.tools(), gateway.failure("a")), (vec!["a_new".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn restoring_the_active_code_recovers_without_loading() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    let before = gateway.catalog.borrow().generation();
    gateway.write("/a", "broken").await;
    gateway.write("/a", "old").await;
    assert_eq!((gateway.plugin("a").state, gateway.compiled().len()), (PluginState::Serving, 2));
    assert_eq!(gateway.catalog.borrow().generation(), before);
}

#[tokio::test(start_paused = true)]
async fn repeated_failure_is_reported_again_after_recovery() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    for text in ["broken", "old", "broken"] {
        gateway.write("/a", text).await;
    }
    let PluginState::Degraded(trouble) = gateway.plugin("a").state else {
        panic!("{:?}", gateway.plugin("a"))
    };
    assert_eq!((gateway.compiled().len(), gateway.status.borrow().reload_counts.failed), (2, 2));
    let broken = trouble.reason;
    gateway.remove("/a");
    gateway.report("/a").await;
    gateway.settle().await;
    sleep(Duration::from_secs(2)).await;
    let PluginState::Degraded(trouble) = gateway.plugin("a").state else {
        panic!("{:?}", gateway.plugin("a"))
    };
    assert_ne!(trouble.reason, broken, "the file is missing");
    gateway.write("/a", "broken").await;
    let PluginState::Degraded(trouble) = gateway.plugin("a").state else {
        panic!("{:?}", gateway.plugin("a"))
    };
    assert_eq!((trouble.reason, gateway.compiled().len()), (broken, 2));
}

#[tokio::test(start_paused = true)]
async fn temporary_failure_is_retried_with_backoff() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.write("/a", "flaky new").await;
    let PluginState::Degraded(trouble) = gateway.plugin("a").state else { panic!() };
    assert!(trouble.retry_at.is_some());
    sleep(Duration::from_secs(600)).await;
    // At 1, 3, 7, 15, 31, 63, 127, 255 and 511 seconds.
    let tries = || gateway.disk.loaded.lock().unwrap().iter().filter(|text| *text == "flaky new").count();
    assert_eq!(tries(), 10);
    assert_eq!(gateway.status.borrow().reload_counts.failed, 1);
    gateway.put("/ready", "");
    sleep(Duration::from_secs(300)).await;
    assert_eq!(
        (gateway.tools(), gateway.plugin("a").state),
        (vec!["a_new".to_owned()], PluginState::Serving)
    );
}

#[tokio::test(start_paused = true)]
async fn plugin_that_failed_at_the_start_is_loaded_once_fixed() {
    let mut gateway = TestReconciler::start(TWO, &[("/a", "broken"), ("/b", "old")]).await;
    assert_eq!(gateway.tools(), ["b_old"]);
    assert!(matches!(gateway.plugin("a").state, PluginState::Failed(_)));
    assert_eq!(gateway.status.borrow().history.len(), 0, "the caller reports failures of the start");
    gateway.write("/a", "new").await;
    assert_eq!(gateway.tools(), ["a_new", "b_old"], "in the order of the file");
}

#[tokio::test(start_paused = true)]
async fn file_that_returns_within_a_second_is_not_missing() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.remove("/a");
    gateway.report("/a").await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(gateway.plugin("a").state, PluginState::Serving);
    gateway.write("/a", "new").await;
    assert_eq!(
        (gateway.tools(), gateway.plugin("a").state),
        (vec!["a_new".to_owned()], PluginState::Serving)
    );
    assert_eq!(gateway.status.borrow().reload_counts.failed, 0);
}

#[tokio::test(start_paused = true)]
async fn grace_for_a_missing_file_is_not_cut_short() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.write("/a", "broken").await;
    gateway.remove("/a");
    for _ in 0..9 {
        gateway.report("/a").await;
        sleep(Duration::from_millis(100)).await;
        assert!(!gateway.failure("a").unwrap().contains("no such file"));
    }
    gateway.write("/a", "new").await;
    assert_eq!(
        (gateway.tools(), gateway.status.borrow().reload_counts.failed),
        (vec!["a_new".to_owned()], 1)
    );
}

#[tokio::test(start_paused = true)]
async fn missing_file_is_reported_and_the_plugin_keeps_serving() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.remove("/a");
    gateway.report("/a").await;
    gateway.settle().await;
    let PluginState::Degraded(trouble) = gateway.plugin("a").state else { panic!() };
    assert!(trouble.reason.contains("no such file"), "{trouble:?}");
    assert_eq!(gateway.tools(), ["a_old"]);
    // The file returns, without a report.
    gateway.put("/a", "old");
    sleep(Duration::from_secs(10)).await;
    assert_eq!(gateway.plugin("a").state, PluginState::Serving);
}

#[tokio::test(start_paused = true)]
async fn conflict_at_the_start_is_not_a_failed_reload() {
    let both = "[plugins.a]\nsource = '/a'\nprefix = ''\n[plugins.b]\nsource = '/b'\nprefix = ''\n";
    let gateway = TestReconciler::start(both, &[("/a", "one"), ("/b", "one")]).await;
    assert!(gateway.failure("b").unwrap().contains("isn't served"));
    let status = Arc::clone(&gateway.status.borrow());
    assert_eq!(
        status.reload_counts.failed, 0,
        "the caller reports failures of the start: {:?}",
        status.history
    );
}

#[tokio::test(start_paused = true)]
async fn slow_compile_does_not_hold_up_others() {
    let mut gateway = TestReconciler::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    gateway.write("/b", "known").await;
    gateway.write("/b", "old").await;
    gateway.put("/a", "slow new");
    gateway.report("/a").await;
    gateway.put("/b", "known");
    gateway.status.wait_for(|status| status.plugins[0].activity == PluginActivity::Compiling).await.unwrap();
    assert_eq!(
        (gateway.plugin("a").state, gateway.plugin("b").activity),
        (PluginState::Serving, PluginActivity::Idle)
    );
    let begun = Instant::now();
    gateway.report("/b").await;
    gateway.catalog.mark_unchanged();
    gateway.catalog.changed().await.unwrap();
    assert!(begun.elapsed() <= Duration::from_millis(1100), "{:?}", begun.elapsed());
    assert_eq!(gateway.tools(), ["a_old", "b_known"]);
    gateway.settle().await;
    assert_eq!(gateway.tools(), ["a_new", "b_known"]);
    assert_eq!(gateway.plugin("a").activity, PluginActivity::Idle);
}

#[tokio::test(start_paused = true)]
async fn versions_that_are_ready_together_are_published_together() {
    let mut gateway = TestReconciler::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    let before = gateway.catalog.borrow().generation();
    gateway.put("/a", "new");
    gateway.put("/b", "new");
    gateway.report_all(&["/a", "/b"]).await;
    gateway.settle().await;
    assert_eq!(
        (gateway.tools(), gateway.catalog.borrow().generation()),
        (vec!["a_new".into(), "b_new".into()], before + 1)
    );
}

#[tokio::test(start_paused = true)]
async fn only_the_latest_change_during_a_compile_counts() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.put("/a", "slow first");
    gateway.report("/a").await;
    for text in ["second", "third", "fourth"] {
        sleep(Duration::from_secs(1)).await;
        gateway.put("/a", text);
        gateway.report("/a").await;
    }
    gateway.settle().await;
    assert_eq!(gateway.compiled(), ["old", "slow first", "fourth"]);
    assert_eq!(gateway.tools(), ["a_fourth"]);
}

#[tokio::test(start_paused = true)]
async fn plugin_that_waits_to_be_compiled_is_read_late() {
    let mut gateway = TestReconciler::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    gateway.put("/a", "slow new");
    gateway.report("/a").await;
    sleep(Duration::from_secs(1)).await;
    gateway.put("/b", "first");
    gateway.report("/b").await;
    sleep(Duration::from_secs(1)).await;
    gateway.put("/b", "second");
    gateway.report("/b").await;
    let begun = Instant::now();
    gateway.settle().await;
    assert!(begun.elapsed() < SLOW_COMPILE_TIME);
    assert_eq!(gateway.compiled(), ["old", "slow new", "second"]);
}

#[tokio::test(start_paused = true)]
async fn changes_during_a_start_do_not_prolong_it() {
    let begun = Instant::now();
    let (mut gateway, startup) =
        TestReconciler::start_loading(TWO, &[("/a", "slow a"), ("/b", "b"), ("/c", "slow c")]).await;
    sleep(SLOW_COMPILE_TIME / 2).await;
    gateway.put("/b", "slow new");
    gateway.put("/gateway.toml", &format!("{TWO}[plugins.c]\nsource = '/c'\n"));
    gateway.report_all(&["/b", "/gateway.toml"]).await;
    startup.loaded().await;
    assert!(begun.elapsed() < SLOW_COMPILE_TIME + Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(gateway.tools(), ["a_a", "b_b"]);
    gateway.settle().await;
    assert_eq!(gateway.tools(), ["a_a", "b_new", "c_c"]);
}

#[tokio::test(start_paused = true)]
async fn panic_is_one_plugins_failure() {
    let mut gateway = TestReconciler::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    gateway.write("/a", "panic").await;
    assert!(gateway.failure("a").unwrap().contains("internal error"));
    gateway.write("/b", "new").await;
    assert_eq!(gateway.tools(), ["a_old", "b_new"]);
}

#[tokio::test(start_paused = true)]
async fn conflicting_code_waits_until_it_fits() {
    let two = "[plugins.a]\nsource = '/a'\nprefix = ''\n[plugins.b]\nsource = '/b'\nprefix = ''\n";
    let mut gateway = TestReconciler::start(two, &[("/a", "one"), ("/b", "two")]).await;
    gateway.write("/b", "one three").await;
    assert_eq!(gateway.tools(), ["one", "two"]);
    let reason = gateway.failure("b").unwrap();
    assert!(reason.contains("`one`") && reason.contains("keeps serving its earlier version"), "{reason}");
    gateway.write("/a", "four").await;
    assert_eq!(
        (gateway.tools(), gateway.failure("b")),
        (vec!["four".into(), "one".into(), "three".into()], None)
    );
    assert_eq!(gateway.disk.loaded.lock().unwrap().iter().filter(|text| *text == "one three").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn lists_that_change_before_activation_are_refreshed() {
    let mut gateway = TestReconciler::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    gateway.put("/a", "new");
    gateway.put("/b", "slow new");
    gateway.report_all(&["/b", "/a"]).await;
    // The new code is loaded and waits a second for others, so its description is older than the report.
    sleep(Duration::from_millis(500)).await;
    *gateway.disk.extra_tool.lock().unwrap() = Some("more".to_owned());
    assert!(gateway.inbox.put(&PluginId::new("a").unwrap(), true, BTreeSet::new()));
    gateway.settle().await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(gateway.tools()[..2], ["a_new", "a_more"]);
}

#[tokio::test(start_paused = true)]
async fn few_files_are_in_memory_at_once() {
    let names: Vec<String> = (0..40).map(|at| format!("p{at}")).collect();
    let tables: String = names.iter().map(|name| format!("[plugins.{name}]\nsource = '/{name}'\n")).collect();
    let files: Vec<_> = names.iter().map(|name| (format!("/{name}"), format!("say {name}"))).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let gateway = TestReconciler::start(&tables, &files).await;
    assert_eq!(gateway.tools().len(), 80);
    assert!(*gateway.disk.max_in_memory.lock().unwrap() <= 9, "{:?}", gateway.disk.max_in_memory);
}

#[tokio::test(start_paused = true)]
#[cfg(unix)]
async fn code_that_another_plugin_could_write_is_not_loaded() {
    use std::os::unix::fs::symlink;

    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    std::fs::create_dir(at("open")).unwrap();
    symlink("a.wasm", at("link")).unwrap();
    let config = format!(
        "[plugins.a]\nsource = '{}'\n[plugins.b]\nsource = '/b'\nallow.dirs = [{{ host = '{}', guest = '/o', mode = 'rw' }}]\n",
        at("link"),
        at("open")
    );
    let mut gateway = TestReconciler::start(&config, &[(&at("link"), "old"), ("/b", "other")]).await;
    std::fs::remove_file(at("link")).unwrap();
    symlink("open/evil.wasm", at("link")).unwrap();
    gateway.write(&at("link"), "evil").await;
    assert_eq!(gateway.tools(), ["a_old", "b_other"]);
    let reason = gateway.failure("a").unwrap();
    assert!(reason.contains("`b` could change") && reason.contains("open/evil.wasm"), "{reason}");
    std::fs::remove_file(at("link")).unwrap();
    symlink("a2.wasm", at("link")).unwrap();
    gateway.write(&at("link"), "good").await;
    assert_eq!((gateway.tools(), gateway.failure("a")), (vec!["a_good".into(), "b_other".into()], None));
}
