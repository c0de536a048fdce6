//! The operator's reload requests.

use std::time::Duration;

use moongate_model::names::Digest;
use tokio::time::{sleep, timeout};

use crate::supervisor::control::{ReloadCause, ReloadResult};
use crate::supervisor::fake::TestReconciler;
use crate::supervisor::status::{PendingChange, PluginState};

const ONE: &str = "[plugins.a]\nsource = '/a'\n";

async fn reload(gateway: &TestReconciler) -> ReloadResult {
    let reload = gateway.reloader.reload(ReloadCause::Signal);
    timeout(Duration::from_secs(300), reload).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn reload_finds_unreported_changes_and_waits_for_them() {
    let gateway = TestReconciler::start(ONE, &[("/a", "old"), ("/b", "old")]).await;
    gateway.put("/a", "slow new");
    gateway.put("/gateway.toml", &format!("{ONE}[plugins.b]\nsource = '/b'\n"));
    let ReloadResult { changed, failed, needs_restart: _ } = reload(&gateway).await;
    assert_eq!((gateway.tools(), failed), (vec!["a_new".into(), "b_old".into()], vec![]));
    assert!(changed.iter().any(|line| line.contains("`a`") && line.contains("a_new")), "{changed:?}");
    assert_eq!(reload(&gateway).await, ReloadResult::default(), "nothing to do");
}

#[tokio::test(start_paused = true)]
async fn reload_reports_failures() {
    let gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.put("/a", "broken");
    gateway.put("/gateway.toml", "[plugins.a]\nprefix = 3\n");
    let ReloadResult { changed, failed, needs_restart: _ } = reload(&gateway).await;
    assert_eq!((gateway.tools(), changed), (vec!["a_old".to_owned()], vec![]));
    for word in ["prefix", "broken"] {
        assert!(failed.iter().any(|line| line.contains(word)), "{failed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_reloads_share_the_work() {
    let gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.put("/a", "slow new");
    let (one, two, three) = tokio::join!(reload(&gateway), reload(&gateway), reload(&gateway));
    assert_eq!(gateway.tools(), ["a_new"]);
    assert!([&one, &two, &three].iter().all(|reloaded| reloaded.failed.is_empty()));
    assert_eq!(gateway.compiled().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_a_reload_with_an_error() {
    let gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.put("/a", "slow new");
    let reloader = gateway.reloader.clone();
    let asked = tokio::spawn(async move { reloader.reload(ReloadCause::Admin).await });
    sleep(Duration::from_secs(1)).await;
    gateway.stop().await;
    assert!(timeout(Duration::from_secs(5), asked).await.unwrap().unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn reload_retries_at_once() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.write("/a", "flaky new").await;
    sleep(Duration::from_secs(300)).await;
    gateway.put("/ready", "");
    let _ = reload(&gateway).await;
    assert_eq!(
        (gateway.tools(), gateway.plugin("a").state),
        (vec!["a_new".to_owned()], PluginState::Serving)
    );
}

#[tokio::test(start_paused = true)]
async fn pinned_code_waits_for_a_reload() {
    let mut gateway = TestReconciler::start(&format!("{ONE}reload = 'pinned'\n"), &[("/a", "old")]).await;
    gateway.write("/a", "new").await;
    let plugin = gateway.plugin("a");
    let waits = Some(PendingChange::Code(Digest::of(b"new")));
    assert_eq!(
        (gateway.tools(), plugin.pending_change, plugin.state),
        (vec!["a_old".into()], waits, PluginState::Serving)
    );
    assert_eq!(gateway.compiled(), ["old"]);
    gateway.write("/a", "old").await;
    assert_eq!(gateway.plugin("a").pending_change, None, "the file has the active code again");
    gateway.write("/a", "new").await;
    assert!(reload(&gateway).await.failed.is_empty());
    assert_eq!((gateway.tools(), gateway.plugin("a").pending_change), (vec!["a_new".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn pinned_code_is_not_replaced_by_changing_its_source() {
    let mut gateway =
        TestReconciler::start(&format!("{ONE}reload = 'pinned'\n"), &[("/a", "old"), ("/b", "new")]).await;
    gateway.configure("[plugins.a]\nsource = '/b'\nreload = 'pinned'\nlimits.timeout = '5s'\n").await;
    assert_eq!(
        (gateway.tools(), gateway.active_config("a").limits.timeout.as_secs()),
        (vec!["a_old".to_owned()], 5)
    );
    assert!(matches!(gateway.plugin("a").pending_change, Some(PendingChange::Code(_))));
    let _ = reload(&gateway).await;
    assert_eq!(gateway.tools(), ["a_new"]);
}

#[tokio::test(start_paused = true)]
async fn reload_applies_wider_grants() {
    let wait = "[gateway]\nwider_grants = 'wait'\n";
    let mut gateway = TestReconciler::start(&format!("{wait}{ONE}"), &[("/a", "old"), ("/b", "old")]).await;
    let new = "[plugins.b]\nsource = '/b'\nallow.instructions = true\n";
    gateway.configure(&format!("{ONE}allow.instructions = true\n{new}")).await;
    assert_eq!(gateway.tools(), ["a_old"]);
    assert_eq!(reload(&gateway).await.failed, Vec::<String>::new());
    assert_eq!(gateway.tools(), ["a_old", "b_old"]);
    assert!(gateway.active_config("a").allow.instructions);
    assert_eq!(gateway.plugin("a").pending_change, None);
    // The file also loosened the policy, and the reload applied that, too.
    gateway.configure(&format!("{ONE}allow.instructions = true\n{new}allow.state = true\n")).await;
    assert_eq!(gateway.plugin("b").pending_change, None);
}

#[tokio::test(start_paused = true)]
async fn stalled_file_system_does_not_block_a_reload_for_ever() {
    let two = format!("{ONE}[plugins.b]\nsource = '/b'\n");
    let mut gateway = TestReconciler::start(&two, &[("/a", "old"), ("/b", "old")]).await;
    gateway.put("/a", "stalled");
    gateway.put("/b", "new");
    let failed = reload(&gateway).await.failed;
    assert!(failed.iter().any(|line| line.contains("`/a`") && line.contains("longer than")), "{failed:?}");
    assert_eq!(gateway.tools(), ["a_old", "b_new"]);
    gateway.write("/a", "new").await;
    assert_eq!((gateway.tools(), gateway.failure("a")), (vec!["a_new".into(), "b_new".into()], None));
}

#[tokio::test(start_paused = true)]
async fn reload_is_answered_despite_endless_other_requests() {
    let gateway = TestReconciler::start(ONE, &[("/a", "old")]).await;
    gateway.put("/a", "slow new");
    let reloader = gateway.reloader.clone();
    let others = tokio::spawn(async move {
        loop {
            // These don't wait for their answers.
            let _ = timeout(Duration::from_millis(20), reloader.reload(ReloadCause::Admin)).await;
        }
    });
    sleep(Duration::from_millis(100)).await;
    assert_eq!(reload(&gateway).await.failed, Vec::<String>::new());
    assert_eq!(gateway.tools(), ["a_new"], "it was answered too early");
    others.abort();
}

#[tokio::test(start_paused = true)]
async fn settings_with_a_variable_wait_like_the_variable() {
    let text = |more: &str| format!("[gateway]\nwider_grants = 'wait'\n{ONE}{more}");
    let mut gateway = TestReconciler::start(&text(""), &[("/a", "old"), ("/b", "old")]).await;
    for setting in ["{ env = 'KEY' }", "'${KEY}'", "['${KEY:-none}']", "{ a = ['x${KEY}'] }"] {
        gateway.configure(&text(&format!("config.k = {setting}\n"))).await;
        let waits = Some(PendingChange::Grants(vec!["config from env KEY".to_owned()]));
        assert_eq!(gateway.plugin("a").pending_change, waits, "{setting}");
        assert!(gateway.active_config("a").settings.is_empty(), "{setting}");
    }
    gateway.configure(&text("config.k = '$${KEY}'\n")).await;
    assert_eq!(
        (gateway.plugin("a").pending_change, gateway.active_config("a").settings.len()),
        (None, 1),
        "an escaped variable is a string"
    );
    gateway.configure(&text("[plugins.b]\nsource = '/b'\nconfig.k = { env = 'KEY' }\n")).await;
    assert_eq!(gateway.tools(), ["a_old"], "a new plugin that is given a variable waits");
    let _ = reload(&gateway).await;
    assert_eq!(gateway.tools(), ["a_old", "b_old"]);
}
