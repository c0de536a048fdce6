//! Files that change.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use moongate_core::names::{Digest, PluginId};
use tokio::time::{Instant, sleep};

use crate::supervisor::fake::{Bench, SLOW};
use crate::supervisor::status::PluginState;

const ONE: &str = "[plugins.a]\nsource = '/a'\n";
const TWO: &str = "[plugins.a]\nsource = '/a'\n[plugins.b]\nsource = '/b'\n";

fn digest(text: &str) -> Option<Digest> {
    Some(Digest::of(text.as_bytes()))
}

#[tokio::test(start_paused = true)]
async fn a_changed_file_takes_the_place_of_what_served() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    let before = Arc::clone(&bench.catalog.borrow());
    bench.write("/a", "new").await;
    assert_eq!(bench.tools(), ["a_new"]);
    assert!(before.tool("a_old").is_some(), "whoever began with it keeps it");
    assert_eq!(*bench.disk.retired.lock().unwrap(), ["old"]);
    let status = Arc::clone(&bench.status.borrow());
    assert_eq!((status.generation, status.reloads.replaced), (2, 1));
    let line = status.history[0].outcome.as_ref().unwrap();
    for part in [Digest::of(b"old").short(), Digest::of(b"new").short(), "`a_old`".into(), "`a_new`".into()] {
        assert!(line.contains(&part), "{part} isn't in: {line}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_that_waits_for_a_slow_plugin_does_nothing_meanwhile() {
    // The clock goes on only while nothing is done.
    let bench = Bench::start(TWO, &[("/a", "quick"), ("/b", "slow late")]).await;
    assert_eq!(bench.tools(), ["a_quick", "b_late"]);
}

#[tokio::test(start_paused = true)]
async fn the_same_bytes_are_no_change() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.write("/a", "old").await;
    assert_eq!((bench.compiled().len(), bench.catalog.borrow().generation()), (1, 1));
    let status = Arc::clone(&bench.status.borrow());
    assert_eq!((status.reloads.unchanged, status.history.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_used_leaves_what_serves_and_is_not_compiled_twice() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.write("/a", "broken").await;
    assert_eq!(bench.tools(), ["a_old"]);
    let plugin = bench.plugin("a");
    let PluginState::Degraded(trouble) = plugin.state else { panic!("{plugin:?}") };
    assert!(trouble.reason.contains("`/a`") && trouble.reason.contains("broken"), "{trouble:?}");
    assert_eq!((trouble.retry_at, plugin.digest), (None, digest("old")), "only a change can help");
    bench.write("/a", "broken").await;
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(bench.compiled(), ["old", "broken"]);
    let status = Arc::clone(&bench.status.borrow());
    assert_eq!((status.reloads.failed, status.history.len()), (1, 1), "the same reason is told once");
    bench.write("/a", "new").await;
    assert_eq!((bench.tools(), bench.trouble("a")), (vec!["a_new".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn going_back_to_what_serves_ends_the_trouble_without_loading_anything() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.write("/a", "broken").await;
    bench.write("/a", "old").await;
    assert_eq!((bench.plugin("a").state, bench.compiled().len()), (PluginState::Serving, 2));
    assert_eq!(bench.catalog.borrow().generation(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_broken_once_more_in_the_same_way_is_told_once_more() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    for text in ["broken", "old", "broken"] {
        bench.write("/a", text).await;
    }
    let PluginState::Degraded(trouble) = bench.plugin("a").state else { panic!("{:?}", bench.plugin("a")) };
    assert_eq!((bench.compiled().len(), bench.status.borrow().reloads.failed), (2, 2));
    let broken = trouble.reason;
    bench.remove("/a");
    bench.notice("/a").await;
    bench.settle().await;
    sleep(Duration::from_secs(2)).await;
    let PluginState::Degraded(trouble) = bench.plugin("a").state else { panic!("{:?}", bench.plugin("a")) };
    assert_ne!(trouble.reason, broken, "it isn't there");
    bench.write("/a", "broken").await;
    let PluginState::Degraded(trouble) = bench.plugin("a").state else { panic!("{:?}", bench.plugin("a")) };
    assert_eq!((trouble.reason, bench.compiled().len()), (broken, 2));
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_by_itself_is_tried_again_and_again_but_ever_more_seldom() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.write("/a", "flaky new").await;
    let PluginState::Degraded(trouble) = bench.plugin("a").state else { panic!() };
    assert!(trouble.retry_at.is_some());
    sleep(Duration::from_secs(600)).await;
    // At 1, 3, 7, 15, 31, 63, 127, 255 and 511 seconds.
    let tries = || bench.disk.loaded.lock().unwrap().iter().filter(|text| *text == "flaky new").count();
    assert_eq!(tries(), 10);
    assert_eq!(bench.status.borrow().reloads.failed, 1);
    bench.put("/ready", "");
    sleep(Duration::from_secs(300)).await;
    assert_eq!((bench.tools(), bench.plugin("a").state), (vec!["a_new".to_owned()], PluginState::Serving));
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_cannot_be_used_at_the_start_is_used_when_it_can() {
    let mut bench = Bench::start(TWO, &[("/a", "broken"), ("/b", "old")]).await;
    assert_eq!(bench.tools(), ["b_old"]);
    assert!(matches!(bench.plugin("a").state, PluginState::Failed(_)));
    assert_eq!(bench.status.borrow().history.len(), 0, "whoever starts it tells of that");
    bench.write("/a", "new").await;
    assert_eq!(bench.tools(), ["a_new", "b_old"], "in the order of the file");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_comes_back_within_a_second_was_never_gone() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.remove("/a");
    bench.notice("/a").await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(bench.plugin("a").state, PluginState::Serving);
    bench.write("/a", "new").await;
    assert_eq!((bench.tools(), bench.plugin("a").state), (vec!["a_new".to_owned()], PluginState::Serving));
    assert_eq!(bench.status.borrow().reloads.failed, 0);
}

#[tokio::test(start_paused = true)]
async fn a_second_within_which_a_file_may_come_back_is_not_cut_short() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.write("/a", "broken").await;
    bench.remove("/a");
    for _ in 0..9 {
        bench.notice("/a").await;
        sleep(Duration::from_millis(100)).await;
        assert!(!bench.trouble("a").unwrap().contains("isn't there"));
    }
    bench.write("/a", "new").await;
    assert_eq!((bench.tools(), bench.status.borrow().reloads.failed), (vec!["a_new".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_stays_away_is_told_of_and_the_plugin_goes_on() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.remove("/a");
    bench.notice("/a").await;
    bench.settle().await;
    let PluginState::Degraded(trouble) = bench.plugin("a").state else { panic!() };
    assert!(trouble.reason.contains("isn't there"), "{trouble:?}");
    assert_eq!(bench.tools(), ["a_old"]);
    // Back again, without anybody noticing.
    bench.put("/a", "old");
    sleep(Duration::from_secs(10)).await;
    assert_eq!(bench.plugin("a").state, PluginState::Serving);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_at_the_start_is_no_failed_reload() {
    let both = "[plugins.a]\nsource = '/a'\nprefix = ''\n[plugins.b]\nsource = '/b'\nprefix = ''\n";
    let bench = Bench::start(both, &[("/a", "one"), ("/b", "one")]).await;
    assert!(bench.trouble("b").unwrap().contains("isn't served"));
    let status = Arc::clone(&bench.status.borrow());
    assert_eq!(status.reloads.failed, 0, "whoever starts it tells of it: {:?}", status.history);
}

#[tokio::test(start_paused = true)]
async fn a_slow_compile_holds_up_nobody() {
    let mut bench = Bench::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    bench.write("/b", "known").await;
    bench.write("/b", "old").await;
    bench.put("/a", "slow new");
    bench.notice("/a").await;
    bench.put("/b", "known");
    let begun = Instant::now();
    bench.notice("/b").await;
    bench.catalog.mark_unchanged();
    bench.catalog.changed().await.unwrap();
    assert!(begun.elapsed() <= Duration::from_millis(1100), "{:?}", begun.elapsed());
    assert_eq!(bench.tools(), ["a_old", "b_known"]);
    bench.settle().await;
    assert_eq!(bench.tools(), ["a_new", "b_known"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_ready_together_is_published_together() {
    let mut bench = Bench::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    bench.put("/a", "new");
    bench.put("/b", "new");
    bench.notice_all(&["/a", "/b"]).await;
    bench.settle().await;
    assert_eq!(
        (bench.tools(), bench.catalog.borrow().generation()),
        (vec!["a_new".into(), "b_new".into()], 2)
    );
}

#[tokio::test(start_paused = true)]
async fn while_a_plugin_is_compiled_only_the_newest_of_its_changes_counts() {
    let mut bench = Bench::start(ONE, &[("/a", "old")]).await;
    bench.put("/a", "slow first");
    bench.notice("/a").await;
    for text in ["second", "third", "fourth"] {
        sleep(Duration::from_secs(1)).await;
        bench.put("/a", text);
        bench.notice("/a").await;
    }
    bench.settle().await;
    assert_eq!(bench.compiled(), ["old", "slow first", "fourth"]);
    assert_eq!(bench.tools(), ["a_fourth"]);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_to_be_compiled_is_read_when_it_is_its_turn() {
    let mut bench = Bench::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    bench.put("/a", "slow new");
    bench.notice("/a").await;
    sleep(Duration::from_secs(1)).await;
    bench.put("/b", "first");
    bench.notice("/b").await;
    sleep(Duration::from_secs(1)).await;
    bench.put("/b", "second");
    bench.notice("/b").await;
    let begun = Instant::now();
    bench.settle().await;
    assert!(begun.elapsed() < SLOW);
    assert_eq!(bench.compiled(), ["old", "slow new", "second"]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_one_plugins_failure() {
    let mut bench = Bench::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    bench.write("/a", "panic").await;
    assert!(bench.trouble("a").unwrap().contains("the gateway failed"));
    bench.write("/b", "new").await;
    assert_eq!(bench.tools(), ["a_old", "b_new"]);
}

#[tokio::test(start_paused = true)]
async fn code_that_conflicts_waits_until_it_fits() {
    let two = "[plugins.a]\nsource = '/a'\nprefix = ''\n[plugins.b]\nsource = '/b'\nprefix = ''\n";
    let mut bench = Bench::start(two, &[("/a", "one"), ("/b", "two")]).await;
    bench.write("/b", "one three").await;
    assert_eq!(bench.tools(), ["one", "two"]);
    let trouble = bench.trouble("b").unwrap();
    assert!(trouble.contains("`one`") && trouble.contains("as it was before"), "{trouble}");
    bench.write("/a", "four").await;
    assert_eq!(
        (bench.tools(), bench.trouble("b")),
        (vec!["four".into(), "one".into(), "three".into()], None)
    );
    assert_eq!(bench.disk.loaded.lock().unwrap().iter().filter(|text| *text == "one three").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn lists_that_change_while_other_code_is_about_to_serve_are_asked_for_once_more() {
    let mut bench = Bench::start(TWO, &[("/a", "old"), ("/b", "old")]).await;
    bench.put("/a", "new");
    bench.put("/b", "slow new");
    bench.notice_all(&["/b", "/a"]).await;
    // The new code is loaded and waits a second for others: what it was asked is older than what is said now.
    sleep(Duration::from_millis(500)).await;
    *bench.disk.also.lock().unwrap() = Some("more".to_owned());
    bench.inbox.put(&PluginId::new("a").unwrap(), true, BTreeSet::new());
    bench.settle().await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(bench.tools()[..2], ["a_new", "a_more"]);
}

#[tokio::test(start_paused = true)]
async fn many_files_are_not_held_in_memory_at_once() {
    let names: Vec<String> = (0..40).map(|at| format!("p{at}")).collect();
    let tables: String = names.iter().map(|name| format!("[plugins.{name}]\nsource = '/{name}'\n")).collect();
    let files: Vec<_> = names.iter().map(|name| (format!("/{name}"), format!("say {name}"))).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let bench = Bench::start(&tables, &files).await;
    assert_eq!(bench.tools().len(), 80);
    assert!(*bench.disk.most_held.lock().unwrap() <= 9, "{:?}", bench.disk.most_held);
}

#[tokio::test(start_paused = true)]
#[cfg(unix)]
async fn code_that_another_plugin_could_have_put_there_is_not_loaded() {
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
    let mut bench = Bench::start(&config, &[(&at("link"), "old"), ("/b", "other")]).await;
    std::fs::remove_file(at("link")).unwrap();
    symlink("open/evil.wasm", at("link")).unwrap();
    bench.write(&at("link"), "evil").await;
    assert_eq!(bench.tools(), ["a_old", "b_other"]);
    let trouble = bench.trouble("a").unwrap();
    assert!(trouble.contains("`b` could change") && trouble.contains("open/evil.wasm"), "{trouble}");
    std::fs::remove_file(at("link")).unwrap();
    symlink("a2.wasm", at("link")).unwrap();
    bench.write(&at("link"), "good").await;
    assert_eq!((bench.tools(), bench.trouble("a")), (vec!["a_good".into(), "b_other".into()], None));
}
