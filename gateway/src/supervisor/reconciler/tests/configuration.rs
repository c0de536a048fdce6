//! Changes to the configuration.

use std::path::Path;
use std::sync::Arc;

use moongate_model::names::Digest;

use crate::supervisor::fake::TestReconciler;
use crate::supervisor::status::{PendingChange, PluginState};

const ONE: &str = "[plugins.a]\nsource = '/a'\n";
const FILES: &[(&str, &str)] = &[("/a", "say"), ("/b", "hear")];

fn grants(waiting: Option<&PendingChange>) -> bool {
    matches!(waiting, Some(PendingChange::Grants(grants)) if !grants.is_empty())
}

#[tokio::test(start_paused = true)]
async fn plugins_are_added_removed_and_renamed() {
    let mut gateway = TestReconciler::start(ONE, FILES).await;
    gateway.configure("[plugins.a]\nsource = '/a'\n[plugins.b]\nsource = '/b'\n").await;
    assert_eq!(gateway.tools(), ["a_say", "b_hear"]);
    gateway.configure("[plugins.b]\nsource = '/b'\n[plugins.a]\nsource = '/a'\n").await;
    assert_eq!(gateway.tools(), ["b_hear", "a_say"], "in the order of the file");
    gateway.configure("[plugins.b]\nsource = '/b'\n[plugins.c]\nsource = '/a'\n").await;
    assert_eq!(gateway.tools(), ["b_hear", "c_say"]);
    let changes =
        gateway.status.borrow().history.iter().filter_map(|it| it.outcome.clone().ok()).collect::<String>();
    assert!(
        changes.contains("`a` removed (removed tool: `a_say`)"),
        "the removed tool isn't named: {changes}"
    );
    gateway.configure("[plugins.c]\nsource = '/a'\n").await;
    assert_eq!(gateway.tools(), ["c_say"]);
    assert_eq!(gateway.compiled(), ["say", "hear"]);
    let files = gateway.watch_target().files;
    assert!(files.contains(Path::new("/a")) && !files.contains(Path::new("/b")), "{files:?}");
    assert_eq!(gateway.status.borrow().reload_counts.configured, 4);
}

#[tokio::test(start_paused = true)]
async fn permits_of_a_removed_plugin_are_dropped() {
    let mut gateway = TestReconciler::start(ONE, FILES).await;
    let id = moongate_model::names::PluginId::new("a").unwrap();
    let context = moongate_model::call::CallContext::internal(moongate_model::caller::Caller::Local);
    let policy = moongate_protocol::catalog::fake::bare_policy(&id);
    drop(gateway.limiter.admit(&policy, &context).await.unwrap());
    assert_eq!(gateway.limiter.loads().len(), 1);
    gateway.configure("").await;
    assert_eq!((gateway.tools().len(), gateway.limiter.loads().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn new_configuration_of_the_same_code_compiles_nothing() {
    let mut gateway = TestReconciler::start(ONE, FILES).await;
    gateway.configure("[plugins.a]\nsource = '/a'\nprefix = 'x'\nlimits.timeout = '5s'\n").await;
    assert_eq!((gateway.tools(), gateway.compiled().len()), (vec!["x_say".to_owned()], 1));
    assert_eq!(gateway.active_config("a").limits.timeout.as_secs(), 5);
    let line = gateway.status.borrow().history[0].outcome.clone().unwrap();
    assert!(line.contains("x_say"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn moved_configuration_changes_nothing() {
    let mut gateway = TestReconciler::start(ONE, FILES).await;
    let before = gateway.catalog.borrow().generation();
    gateway.configure(&format!("# a comment\n{ONE}")).await;
    let status = Arc::clone(&gateway.status.borrow());
    assert_eq!(
        (status.generation, status.reload_counts.unchanged, status.reload_counts.configured),
        (before, 1, 0)
    );
    assert_eq!(*gateway.disk.described.lock().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn settings_can_change_lists() {
    let mut gateway = TestReconciler::start(ONE, &[("/a", "open say")]).await;
    gateway.configure(&format!("{ONE}config.more = 'yes'\n")).await;
    assert_eq!(gateway.tools(), ["a_say", "a_more"]);
}

#[tokio::test(start_paused = true)]
async fn invalid_configuration_changes_nothing() {
    let mut gateway = TestReconciler::start(ONE, FILES).await;
    gateway.configure("[plugins.a]\nsource = '/a'\nprefix = 3\n").await;
    let rejected = gateway.status.borrow().config.rejected.clone().unwrap();
    assert!(rejected.contains("/gateway.toml:4") && rejected.contains("prefix"), "{rejected}");
    gateway.configure("[plugins.a]\nsource = '/a'\nprefix = 3\n").await;
    assert_eq!(
        (gateway.tools(), gateway.status.borrow().reload_counts.rejected),
        (vec!["a_say".to_owned()], 1)
    );
    gateway.write("/a", "shout").await;
    assert_eq!(gateway.tools(), ["a_shout"], "changed files still apply");
    gateway.configure(ONE).await;
    assert_eq!(gateway.status.borrow().config.rejected, None);
}

#[tokio::test(start_paused = true)]
async fn revoked_grants_are_gone_even_if_the_new_code_fails() {
    let granted = "[plugins.a]\nsource = '/a'\nallow.instructions = true\n";
    let mut gateway = TestReconciler::start(granted, &[("/a", "say"), ("/b", "broken")]).await;
    // Other code, which is broken.
    gateway.configure("[plugins.a]\nsource = '/b'\nlimits.timeout = '5s'\n").await;
    assert!(gateway.failure("a").unwrap().contains("broken"));
    let sandbox = gateway.active_config("a");
    assert_eq!((sandbox.allow.instructions, sandbox.limits.timeout.as_secs()), (false, 5));
    assert_eq!(
        (gateway.tools(), gateway.plugin("a").digest),
        (vec!["a_say".into()], Some(Digest::of(b"say")))
    );
}

#[tokio::test(start_paused = true)]
async fn revoked_grants_are_gone_for_earlier_code() {
    let mut gateway =
        TestReconciler::start(&format!("{ONE}allow.instructions = true\n"), &[("/a", "old")]).await;
    let conversation = Arc::clone(&gateway.catalog.borrow());
    gateway.write("/a", "new").await;
    let times = |gateway: &TestReconciler| {
        gateway.disk.retired.lock().unwrap().iter().filter(|text| *text == "old").count()
    };
    assert_eq!(times(&gateway), 1);
    gateway.configure(ONE).await;
    assert_eq!(times(&gateway), 2, "sooner than at first");
    drop(conversation);
    gateway.configure("").await;
    assert_eq!(times(&gateway), 2, "nothing references it any more");
}

#[tokio::test(start_paused = true)]
async fn failed_description_keeps_lists_but_not_revoked_grants() {
    let before = "[plugins.a]\nsource = '/a'\nallow.instructions = true\n";
    let mut gateway = TestReconciler::start(before, &[("/a", "picky say")]).await;
    gateway.configure("[plugins.a]\nsource = '/a'\nprefix = 'x'\nconfig.trouble = 'yes'\n").await;
    assert_eq!(gateway.tools(), ["x_say"]);
    assert!(!gateway.active_config("a").allow.instructions);
    let PluginState::Degraded(trouble) = gateway.plugin("a").state else { panic!() };
    assert!(trouble.reason.contains("describe") && trouble.retry_at.is_some(), "{trouble:?}");
    gateway.configure("[plugins.a]\nsource = '/a'\nprefix = 'x'\n").await;
    assert_eq!(gateway.plugin("a").state, PluginState::Serving);
}

#[tokio::test(start_paused = true)]
async fn conflicting_names_keep_old_names_but_not_revoked_grants() {
    let before = "[plugins.a]\nsource = '/a'\nallow.instructions = true\n[plugins.b]\nsource = '/b'\n";
    let mut gateway = TestReconciler::start(before, &[("/a", "say"), ("/b", "say")]).await;
    for (change, why) in [("prefix = 'b'\n", "both offer"), ("tools.deny = ['shout']\n", "shout")] {
        gateway.configure(&format!("[plugins.a]\nsource = '/a'\n{change}[plugins.b]\nsource = '/b'\n")).await;
        assert_eq!(gateway.tools(), ["a_say", "b_say"], "{change}");
        let reason = gateway.failure("a").unwrap();
        assert!(reason.contains(why), "{reason}");
        assert!(!gateway.active_config("a").allow.instructions);
    }
    gateway.configure(before).await;
    assert_eq!((gateway.failure("a"), gateway.active_config("a").allow.instructions), (None, true));
}

#[tokio::test(start_paused = true)]
async fn blocked_candidate_is_the_latest_usable_code() {
    let table = |prefix: &str| format!("[plugins.a]\nsource = '/a'\nprefix = '{prefix}'\n");
    let rival = "[plugins.b]\nsource = '/b'\n";
    let mut gateway = TestReconciler::start(&(table("a") + rival), &[("/a", "say"), ("/b", "say")]).await;
    gateway.configure(&(table("b") + rival)).await;
    let history = gateway.status.borrow().history.len();
    for text in ["say", "say shout", "say shout", "say whisper"] {
        gateway.write("/a", text).await;
        assert_eq!(gateway.tools(), ["a_say", "b_say"]);
        assert!(gateway.failure("a").unwrap().contains("both offer"));
    }
    gateway.write("/a", "broken").await;
    gateway.write("/a", "say whisper").await;
    assert!(gateway.status.borrow().history.len() <= history + 2, "{:?}", gateway.status.borrow().history);
    gateway.configure(&table("b")).await;
    assert_eq!((gateway.tools(), gateway.failure("a")), (vec!["b_say".into(), "b_whisper".into()], None));
}

#[tokio::test(start_paused = true)]
async fn two_plugins_can_swap_names() {
    let table = |id: &str, prefix: &str| format!("[plugins.{id}]\nsource = '/{id}'\nprefix = '{prefix}'\n");
    let mut gateway =
        TestReconciler::start(&(table("a", "x") + &table("b", "y")), &[("/a", "say"), ("/b", "say")]).await;
    gateway.configure(&(table("a", "y") + &table("b", "x"))).await;
    assert_eq!((gateway.tools(), gateway.failure("a")), (vec!["y_say".into(), "x_say".into()], None));
}

#[tokio::test(start_paused = true)]
async fn only_pinned_content_is_used() {
    let pin =
        |text: &str| format!("[plugins.a]\nsource = '/a'\nsha256 = '{}'\n", Digest::of(text.as_bytes()));
    let mut gateway = TestReconciler::start(&pin("say"), FILES).await;
    gateway.write("/a", "shout").await;
    assert!(gateway.failure("a").unwrap().contains("pinned"));
    assert_eq!((gateway.tools(), gateway.compiled().len()), (vec!["a_say".to_owned()], 1));
    gateway.configure(&pin("shout")).await;
    assert_eq!((gateway.tools(), gateway.failure("a")), (vec!["a_shout".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn pinning_the_active_code_changes_nothing() {
    let mut gateway = TestReconciler::start(ONE, FILES).await;
    gateway.configure(&format!("{ONE}sha256 = '{}'\n", Digest::of(b"say"))).await;
    assert_eq!((gateway.tools(), gateway.compiled().len()), (vec!["a_say".to_owned()], 1));
    assert_eq!(gateway.plugin("a").state, PluginState::Serving);
}

#[tokio::test(start_paused = true)]
async fn keys_that_need_a_restart_are_reported() {
    let mut gateway = TestReconciler::start(ONE, FILES).await;
    gateway.configure(&format!("[http]\nlisten = '127.0.0.1:1'\n{ONE}")).await;
    let restart = gateway.status.borrow().config.needs_restart.clone();
    assert!(restart.iter().any(|key| key.contains("listen")), "{restart:?}");
    gateway.configure(ONE).await;
    assert!(gateway.status.borrow().config.needs_restart.is_empty());
}

#[tokio::test(start_paused = true)]
async fn wider_grants_wait_and_other_changes_apply() {
    let wait = "[gateway]\nwider_grants = 'wait'\n";
    let mut gateway = TestReconciler::start(&format!("{wait}{ONE}"), FILES).await;
    let wider = "[plugins.a]\nsource = '/a'\nprefix = 'x'\nallow.instructions = true\n";
    let new = "[plugins.b]\nsource = '/b'\n[plugins.c]\nsource = '/b'\nallow.instructions = true\n";
    gateway.configure(&format!("{wait}{wider}{new}")).await;
    assert_eq!(
        gateway.tools(),
        ["a_say", "b_hear"],
        "an earlier configuration stays in effect, a new plugin isn't loaded"
    );
    assert!(
        grants(gateway.plugin("a").pending_change.as_ref())
            && grants(gateway.plugin("c").pending_change.as_ref())
    );
    assert_eq!(gateway.plugin("a").state, PluginState::Serving);
    // The policy can't be loosened in the same file, nor in the next.
    gateway.configure(&format!("{wider}{new}")).await;
    gateway.configure(&format!("# again\n{wider}{new}")).await;
    assert_eq!(gateway.tools(), ["a_say", "b_hear"]);
    assert_eq!(gateway.status.borrow().config.pending_keys, ["gateway.wider_grants"]);
    // Withdrawing the change needs no request.
    gateway.configure(&format!("{wait}{ONE}")).await;
    assert_eq!((gateway.tools(), gateway.plugin("a").pending_change), (vec!["a_say".to_owned()], None));
    assert!(gateway.status.borrow().config.pending_keys.is_empty());
}

#[tokio::test(start_paused = true)]
async fn secret_in_use_until_a_restart_is_given_to_no_plugin() {
    let key = "[gateway]\nsealing_key = { env = 'KEY' }\n";
    let mut gateway = TestReconciler::start(&format!("{key}{ONE}"), FILES).await;
    gateway.configure(&format!("{ONE}config.key = {{ env = 'KEY' }}\n")).await;
    let rejected = gateway.status.borrow().config.rejected.clone().unwrap();
    assert!(rejected.contains("sealing key"), "{rejected}");
    assert!(gateway.active_config("a").settings.is_empty());
}
