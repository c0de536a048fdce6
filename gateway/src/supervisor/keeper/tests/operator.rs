//! What the operator asks for.

use std::time::Duration;

use moongate_core::names::Digest;
use tokio::time::{sleep, timeout};

use crate::supervisor::control::{Cause, Reloaded};
use crate::supervisor::fake::Bench;
use crate::supervisor::status::{PluginState, Waiting};

const ONE: &str = "[plugins.a]\nsource = '/a'\n";

async fn reload(bench: &Bench) -> Reloaded {
    let asked = bench.reloader.reload(Cause::Signal);
    timeout(Duration::from_secs(300), asked).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_reload_finds_what_nobody_noticed_and_waits_for_it() {
    let bench = Bench::start(ONE, &[("/a", "old"), ("/b", "old")]).await;
    bench.put("/a", "slow new");
    bench.put("/gateway.toml", &format!("{ONE}[plugins.b]\nsource = '/b'\n"));
    let Reloaded { changed, failed, needs_restart: _ } = reload(&bench).await;
    assert_eq!((bench.tools(), failed), (vec!["a_new".into(), "b_old".into()], vec![]));
    assert!(changed.iter().any(|line| line.contains("`a`") && line.contains("a_new")), "{changed:?}");
    assert_eq!(reload(&bench).await, Reloaded::default(), "nothing to do");
}

#[tokio::test(start_paused = true)]
async fn a_reload_says_what_cannot_be_used() {
    let bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.put("/a", "broken");
    bench.put("/gateway.toml", "[plugins.a]\nprefix = 3\n");
    let Reloaded { changed, failed, needs_restart: _ } = reload(&bench).await;
    assert_eq!((bench.tools(), changed), (vec!["a_old".to_owned()], vec![]));
    for word in ["prefix", "broken"] {
        assert!(failed.iter().any(|line| line.contains(word)), "{failed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn several_may_ask_at_once() {
    let bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.put("/a", "slow new");
    let (one, two, three) = tokio::join!(reload(&bench), reload(&bench), reload(&bench));
    assert_eq!(bench.tools(), ["a_new"]);
    assert!([&one, &two, &three].iter().all(|told| told.failed.is_empty()));
    assert_eq!(bench.compiled().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_a_gateway_that_stops_hears_so() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.put("/a", "slow new");
    let reloader = bench.reloader.clone();
    let asked = tokio::spawn(async move { reloader.reload(Cause::Admin).await });
    sleep(Duration::from_secs(1)).await;
    bench.stop();
    assert!(timeout(Duration::from_secs(5), asked).await.unwrap().unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_reload_tries_at_once_what_would_be_tried_later() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.write("/a", "flaky new").await;
    sleep(Duration::from_secs(300)).await;
    bench.put("/ready", "");
    let _ = reload(&bench).await;
    assert_eq!((bench.tools(), bench.plugin("a").state), (vec!["a_new".to_owned()], PluginState::Serving));
}

#[tokio::test(start_paused = true)]
async fn pinned_code_waits_for_a_reload() {
    let mut bench = Bench::start(&format!("{ONE}reload = 'pinned'\n"), &[("/a", "old")]).await;
    bench.write("/a", "new").await;
    let plugin = bench.plugin("a");
    let waits = Some(Waiting::Code(Digest::of(b"new")));
    assert_eq!(
        (bench.tools(), plugin.waiting, plugin.state),
        (vec!["a_old".into()], waits, PluginState::Serving)
    );
    assert_eq!(bench.compiled(), ["old"]);
    bench.write("/a", "old").await;
    assert_eq!(bench.plugin("a").waiting, None, "it is what serves again");
    bench.write("/a", "new").await;
    assert!(reload(&bench).await.failed.is_empty());
    assert_eq!((bench.tools(), bench.plugin("a").waiting), (vec!["a_new".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn pinned_code_is_not_taken_by_way_of_its_table() {
    let mut bench = Bench::start(&format!("{ONE}reload = 'pinned'\n"), &[("/a", "old"), ("/b", "new")]).await;
    bench.configure("[plugins.a]\nsource = '/b'\nreload = 'pinned'\nlimits.timeout = '5s'\n").await;
    assert_eq!((bench.tools(), bench.sandbox("a").limits.timeout.as_secs()), (vec!["a_old".to_owned()], 5));
    assert!(matches!(bench.plugin("a").waiting, Some(Waiting::Code(_))));
    let _ = reload(&bench).await;
    assert_eq!(bench.tools(), ["a_new"]);
}

#[tokio::test(start_paused = true)]
async fn wider_grants_are_taken_by_a_reload() {
    let wait = "[gateway]\nwider_grants = 'wait'\n";
    let mut bench = Bench::start(&format!("{wait}{ONE}"), &[("/a", "old"), ("/b", "old")]).await;
    let new = "[plugins.b]\nsource = '/b'\nallow.instructions = true\n";
    bench.configure(&format!("{ONE}allow.instructions = true\n{new}")).await;
    assert_eq!(bench.tools(), ["a_old"]);
    assert_eq!(reload(&bench).await.failed, Vec::<String>::new());
    assert_eq!(bench.tools(), ["a_old", "b_old"]);
    assert!(bench.sandbox("a").allow.instructions);
    assert_eq!(bench.plugin("a").waiting, None);
    // The file said that nothing has to wait any more, and the operator took that, too.
    bench.configure(&format!("{ONE}allow.instructions = true\n{new}allow.state = true\n")).await;
    assert_eq!(bench.plugin("b").waiting, None);
}

#[tokio::test(start_paused = true)]
async fn a_file_system_that_does_not_answer_holds_no_reload_up_for_ever() {
    let two = format!("{ONE}[plugins.b]\nsource = '/b'\n");
    let mut bench = Bench::start(&two, &[("/a", "old"), ("/b", "old")]).await;
    bench.put("/a", "stuck");
    bench.put("/b", "new");
    let failed = reload(&bench).await.failed;
    assert!(failed.iter().any(|line| line.contains("`/a`") && line.contains("longer than")), "{failed:?}");
    assert_eq!(bench.tools(), ["a_old", "b_new"]);
    bench.write("/a", "new").await;
    assert_eq!((bench.tools(), bench.trouble("a")), (vec!["a_new".into(), "b_new".into()], None));
}

#[tokio::test(start_paused = true)]
async fn a_reload_is_answered_though_others_ask_without_end() {
    let bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.put("/a", "slow new");
    let reloader = bench.reloader.clone();
    let others = tokio::spawn(async move {
        loop {
            // They don't wait for their answers.
            let _ = timeout(Duration::from_millis(20), reloader.reload(Cause::Admin)).await;
        }
    });
    sleep(Duration::from_millis(100)).await;
    assert_eq!(reload(&bench).await.failed, Vec::<String>::new());
    assert_eq!(bench.tools(), ["a_new"], "it is answered when it is done");
    others.abort();
}

#[tokio::test(start_paused = true)]
async fn settings_that_hand_over_a_variable_wait_as_the_variable_does() {
    let text = |more: &str| format!("[gateway]\nwider_grants = 'wait'\n{ONE}{more}");
    let mut bench = Bench::start(&text(""), &[("/a", "old"), ("/b", "old")]).await;
    for setting in ["{ env = 'KEY' }", "'${KEY}'", "['${KEY:-none}']", "{ a = ['x${KEY}'] }"] {
        bench.configure(&text(&format!("config.k = {setting}\n"))).await;
        let waits = Some(Waiting::Grants(vec!["config from env KEY".to_owned()]));
        assert_eq!(bench.plugin("a").waiting, waits, "{setting}");
        assert!(bench.sandbox("a").config.is_empty(), "{setting}");
    }
    bench.configure(&text("config.k = '$${KEY}'\n")).await;
    assert_eq!((bench.plugin("a").waiting, bench.sandbox("a").config.len()), (None, 1), "it is only a text");
    bench.configure(&text("[plugins.b]\nsource = '/b'\nconfig.k = { env = 'KEY' }\n")).await;
    assert_eq!(bench.tools(), ["a_old"], "a new plugin that is given a variable waits whole");
    let _ = reload(&bench).await;
    assert_eq!(bench.tools(), ["a_old", "b_old"]);
}
