//! Configurations that change.

use std::path::Path;
use std::sync::Arc;

use moongate_core::names::Digest;

use crate::supervisor::fake::Bench;
use crate::supervisor::status::{PluginState, Waiting};

const ONE: &str = "[plugins.a]\nsource = '/a'\n";
const FILES: &[(&str, &str)] = &[("/a", "say"), ("/b", "hear")];

fn grants(waiting: Option<&Waiting>) -> bool {
    matches!(waiting, Some(Waiting::Grants(grants)) if !grants.is_empty())
}

#[tokio::test(start_paused = true)]
async fn plugins_come_go_and_are_renamed() {
    let mut bench = Bench::start(ONE, FILES).await;
    bench.configure("[plugins.a]\nsource = '/a'\n[plugins.b]\nsource = '/b'\n").await;
    assert_eq!(bench.tools(), ["a_say", "b_hear"]);
    bench.configure("[plugins.b]\nsource = '/b'\n[plugins.a]\nsource = '/a'\n").await;
    assert_eq!(bench.tools(), ["b_hear", "a_say"], "in the order of the file");
    bench.configure("[plugins.b]\nsource = '/b'\n[plugins.c]\nsource = '/a'\n").await;
    assert_eq!(bench.tools(), ["b_hear", "c_say"]);
    let told =
        bench.status.borrow().history.iter().filter_map(|it| it.outcome.clone().ok()).collect::<String>();
    assert!(told.contains("`a` removed (removed tool: `a_say`)"), "what went isn't named: {told}");
    bench.configure("[plugins.c]\nsource = '/a'\n").await;
    assert_eq!(bench.tools(), ["c_say"]);
    assert_eq!(bench.compiled(), ["say", "hear"]);
    let files = bench.wanted.borrow().files.clone();
    assert!(files.contains(Path::new("/a")) && !files.contains(Path::new("/b")), "{files:?}");
    assert_eq!(bench.status.borrow().reloads.configured, 4);
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_plugin_that_is_gone_are_forgotten() {
    let mut bench = Bench::start(ONE, FILES).await;
    let id = moongate_core::names::PluginId::new("a").unwrap();
    drop(bench.gate.admit(&id, 1, 1, &tokio_util::sync::CancellationToken::new()).await.unwrap());
    assert_eq!(bench.gate.loads().len(), 1);
    bench.configure("").await;
    assert_eq!((bench.tools().len(), bench.gate.loads().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn another_table_for_the_same_code_compiles_nothing() {
    let mut bench = Bench::start(ONE, FILES).await;
    bench.configure("[plugins.a]\nsource = '/a'\nprefix = 'x'\nlimits.timeout = '5s'\n").await;
    assert_eq!((bench.tools(), bench.compiled().len()), (vec!["x_say".to_owned()], 1));
    assert_eq!(bench.sandbox("a").limits.timeout.as_secs(), 5);
    let line = bench.status.borrow().history[0].outcome.clone().unwrap();
    assert!(line.contains("x_say"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_table_that_only_stands_elsewhere_changes_nothing() {
    let mut bench = Bench::start(ONE, FILES).await;
    bench.configure(&format!("# a comment\n{ONE}")).await;
    let status = Arc::clone(&bench.status.borrow());
    assert_eq!((status.generation, status.reloads.unchanged, status.reloads.configured), (1, 1, 0));
    assert_eq!(*bench.disk.described.lock().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn settings_that_lists_depend_on_change_them() {
    let mut bench = Bench::start(ONE, &[("/a", "open say")]).await;
    bench.configure(&format!("{ONE}config.more = 'yes'\n")).await;
    assert_eq!(bench.tools(), ["a_say", "a_more"]);
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_cannot_be_read_changes_nothing() {
    let mut bench = Bench::start(ONE, FILES).await;
    bench.configure("[plugins.a]\nsource = '/a'\nprefix = 3\n").await;
    let rejected = bench.status.borrow().config.rejected.clone().unwrap();
    assert!(rejected.contains("/gateway.toml:4") && rejected.contains("prefix"), "{rejected}");
    bench.configure("[plugins.a]\nsource = '/a'\nprefix = 3\n").await;
    assert_eq!((bench.tools(), bench.status.borrow().reloads.rejected), (vec!["a_say".to_owned()], 1));
    bench.write("/a", "shout").await;
    assert_eq!(bench.tools(), ["a_shout"], "files go on being taken");
    bench.configure(ONE).await;
    assert_eq!(bench.status.borrow().config.rejected, None);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_longer_granted_is_gone_whatever_becomes_of_the_code() {
    let granted = "[plugins.a]\nsource = '/a'\nallow.instructions = true\n";
    let mut bench = Bench::start(granted, &[("/a", "say"), ("/b", "broken")]).await;
    // Other code, which can't be used.
    bench.configure("[plugins.a]\nsource = '/b'\nlimits.timeout = '5s'\n").await;
    assert!(bench.trouble("a").unwrap().contains("broken"));
    let sandbox = bench.sandbox("a");
    assert_eq!((sandbox.allow.instructions, sandbox.limits.timeout.as_secs()), (false, 5));
    assert_eq!((bench.tools(), bench.plugin("a").digest), (vec!["a_say".into()], Some(Digest::of(b"say"))));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_longer_granted_is_taken_from_earlier_code_too() {
    let mut bench = Bench::start(&format!("{ONE}allow.instructions = true\n"), &[("/a", "old")]).await;
    let conversation = Arc::clone(&bench.catalog.borrow());
    bench.write("/a", "new").await;
    let times =
        |bench: &Bench| bench.disk.retired.lock().unwrap().iter().filter(|text| *text == "old").count();
    assert_eq!(times(&bench), 1);
    bench.configure(ONE).await;
    assert_eq!(times(&bench), 2, "sooner than was said before");
    drop(conversation);
    bench.configure("").await;
    assert_eq!(times(&bench), 2, "nobody has it any more");
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_does_not_describe_itself_under_its_new_table_keeps_its_lists_but_not_its_grants() {
    let before = "[plugins.a]\nsource = '/a'\nallow.instructions = true\n";
    let mut bench = Bench::start(before, &[("/a", "picky say")]).await;
    bench.configure("[plugins.a]\nsource = '/a'\nprefix = 'x'\nconfig.trouble = 'yes'\n").await;
    assert_eq!(bench.tools(), ["x_say"]);
    assert!(!bench.sandbox("a").allow.instructions);
    let PluginState::Degraded(trouble) = bench.plugin("a").state else { panic!() };
    assert!(trouble.reason.contains("describe") && trouble.retry_at.is_some(), "{trouble:?}");
    bench.configure("[plugins.a]\nsource = '/a'\nprefix = 'x'\n").await;
    assert_eq!(bench.plugin("a").state, PluginState::Serving);
}

#[tokio::test(start_paused = true)]
async fn names_that_cannot_be_had_leave_the_earlier_ones_but_not_the_earlier_grants() {
    let before = "[plugins.a]\nsource = '/a'\nallow.instructions = true\n[plugins.b]\nsource = '/b'\n";
    let mut bench = Bench::start(before, &[("/a", "say"), ("/b", "say")]).await;
    for (change, why) in [("prefix = 'b'\n", "both offer"), ("tools.deny = ['shout']\n", "shout")] {
        bench.configure(&format!("[plugins.a]\nsource = '/a'\n{change}[plugins.b]\nsource = '/b'\n")).await;
        assert_eq!(bench.tools(), ["a_say", "b_say"], "{change}");
        let trouble = bench.trouble("a").unwrap();
        assert!(trouble.contains(why), "{trouble}");
        assert!(!bench.sandbox("a").allow.instructions);
    }
    bench.configure(before).await;
    assert_eq!((bench.trouble("a"), bench.sandbox("a").allow.instructions), (None, true));
}

#[tokio::test(start_paused = true)]
async fn code_that_waits_for_its_names_is_the_newest_there_was() {
    let table = |prefix: &str| format!("[plugins.a]\nsource = '/a'\nprefix = '{prefix}'\n");
    let rival = "[plugins.b]\nsource = '/b'\n";
    let mut bench = Bench::start(&(table("a") + rival), &[("/a", "say"), ("/b", "say")]).await;
    bench.configure(&(table("b") + rival)).await;
    let history = bench.status.borrow().history.len();
    for text in ["say", "say shout", "say shout", "say whisper"] {
        bench.write("/a", text).await;
        assert_eq!(bench.tools(), ["a_say", "b_say"]);
        assert!(bench.trouble("a").unwrap().contains("both offer"));
    }
    bench.write("/a", "broken").await;
    bench.write("/a", "say whisper").await;
    assert!(bench.status.borrow().history.len() <= history + 2, "{:?}", bench.status.borrow().history);
    bench.configure(&table("b")).await;
    assert_eq!((bench.tools(), bench.trouble("a")), (vec!["b_say".into(), "b_whisper".into()], None));
}

#[tokio::test(start_paused = true)]
async fn two_plugins_can_change_names() {
    let table = |id: &str, prefix: &str| format!("[plugins.{id}]\nsource = '/{id}'\nprefix = '{prefix}'\n");
    let mut bench =
        Bench::start(&(table("a", "x") + &table("b", "y")), &[("/a", "say"), ("/b", "say")]).await;
    bench.configure(&(table("a", "y") + &table("b", "x"))).await;
    assert_eq!((bench.tools(), bench.trouble("a")), (vec!["y_say".into(), "x_say".into()], None));
}

#[tokio::test(start_paused = true)]
async fn only_the_pinned_bytes_are_taken() {
    let pin =
        |text: &str| format!("[plugins.a]\nsource = '/a'\nsha256 = '{}'\n", Digest::of(text.as_bytes()));
    let mut bench = Bench::start(&pin("say"), FILES).await;
    bench.write("/a", "shout").await;
    assert!(bench.trouble("a").unwrap().contains("pinned"));
    assert_eq!((bench.tools(), bench.compiled().len()), (vec!["a_say".to_owned()], 1));
    bench.configure(&pin("shout")).await;
    assert_eq!((bench.tools(), bench.trouble("a")), (vec!["a_shout".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn a_pin_on_what_serves_changes_nothing_for_clients() {
    let mut bench = Bench::start(ONE, FILES).await;
    bench.configure(&format!("{ONE}sha256 = '{}'\n", Digest::of(b"say"))).await;
    assert_eq!((bench.tools(), bench.compiled().len()), (vec!["a_say".to_owned()], 1));
    assert_eq!(bench.plugin("a").state, PluginState::Serving);
}

#[tokio::test(start_paused = true)]
async fn keys_that_wait_for_a_restart_are_told() {
    let mut bench = Bench::start(ONE, FILES).await;
    bench.configure(&format!("[http]\nlisten = '127.0.0.1:1'\n{ONE}")).await;
    let restart = bench.status.borrow().config.needs_restart.clone();
    assert!(restart.iter().any(|key| key.contains("listen")), "{restart:?}");
    bench.configure(ONE).await;
    assert!(bench.status.borrow().config.needs_restart.is_empty());
}

#[tokio::test(start_paused = true)]
async fn wider_grants_wait_and_everything_else_is_live() {
    let wait = "[gateway]\nwider_grants = 'wait'\n";
    let mut bench = Bench::start(&format!("{wait}{ONE}"), FILES).await;
    let wider = "[plugins.a]\nsource = '/a'\nprefix = 'x'\nallow.instructions = true\n";
    let new = "[plugins.b]\nsource = '/b'\n[plugins.c]\nsource = '/b'\nallow.instructions = true\n";
    bench.configure(&format!("{wait}{wider}{new}")).await;
    assert_eq!(bench.tools(), ["a_say", "b_hear"], "an earlier table holds whole, a new one not at all");
    assert!(grants(bench.plugin("a").waiting.as_ref()) && grants(bench.plugin("c").waiting.as_ref()));
    assert_eq!(bench.plugin("a").state, PluginState::Serving);
    // That they needn't wait can't be said in the same file, nor in the next.
    bench.configure(&format!("{wider}{new}")).await;
    bench.configure(&format!("# again\n{wider}{new}")).await;
    assert_eq!(bench.tools(), ["a_say", "b_hear"]);
    assert_eq!(bench.status.borrow().config.waiting, ["gateway.wider_grants"]);
    // Taking it back needs nobody.
    bench.configure(&format!("{wait}{ONE}")).await;
    assert_eq!((bench.tools(), bench.plugin("a").waiting), (vec!["a_say".to_owned()], None));
    assert!(bench.status.borrow().config.waiting.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_in_use_until_a_restart_is_given_to_no_plugin() {
    let key = "[gateway]\nsealing_key = { env = 'KEY' }\n";
    let mut bench = Bench::start(&format!("{key}{ONE}"), FILES).await;
    bench.configure(&format!("{ONE}config.key = {{ env = 'KEY' }}\n")).await;
    let rejected = bench.status.borrow().config.rejected.clone().unwrap();
    assert!(rejected.contains("sealing key"), "{rejected}");
    assert!(bench.sandbox("a").config.is_empty());
}
