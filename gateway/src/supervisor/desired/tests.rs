//! What holds at once and what waits.

use moongate_core::names::PluginId;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use moongate_core::config::from_text;

use super::*;

fn variables(secret: &str) -> BTreeMap<String, String> {
    let variables = [("KEY", secret), ("MOONGATE_CACHE_DIR", "/cache")];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// A configuration whose secret is being written to.
#[derive(Default)]
struct Written(AtomicUsize);

impl Reader for Written {
    fn read(&self) -> config::Loaded {
        let secret = ["ab", "abc", "abc"][self.0.fetch_add(1, Ordering::Relaxed)];
        let variables = variables(secret);
        let text = "version = 1\n[plugins.a]\nsource = '/a'\nconfig.k = { env = 'KEY' }\n";
        from_text(Path::new("/gateway.toml"), text.to_owned(), &variables)
    }
}

fn nothing_else() -> InForce {
    let loaded = from_text(Path::new("/gateway.toml"), "version = 1\n".to_owned(), &variables("ab"));
    InForce { started: Arc::new(loaded.config.unwrap()), tables: [].into() }
}

#[tokio::test]
async fn half_a_secret_is_not_taken_though_the_file_that_names_it_is_the_same() {
    let loaded = settled(Arc::new(Written::default()), Lane::new(1), nothing_else()).await;
    let config = loaded.config.unwrap();
    assert_eq!(config.plugins[0].config["k"].expose(), "abc");
}

#[test]
fn a_configuration_that_is_gone_while_it_serves_is_to_be_put_back() {
    let place = tempfile::TempDir::new().unwrap();
    let file = place.path().join("gateway.toml");
    let environment = Arc::new(variables("ab"));
    let reader = FromFile { file: file.clone(), environment, look: None };
    std::fs::write(&file, "version = 1\ncolour = 1\n").unwrap();
    let hint = |loaded: config::Loaded| loaded.problems[0].hint.clone().unwrap();
    assert!(hint(reader.read()).starts_with("known here"));
    std::fs::rename(&file, place.path().join("gatewy.toml")).unwrap();
    assert!(hint(reader.read()).starts_with("put it back"));
}

/// A configuration on a disk that doesn't answer until the sender is dropped.
struct Stuck {
    released: Mutex<mpsc::Receiver<()>>,
    begun: AtomicUsize,
}

impl Reader for Stuck {
    fn read(&self) -> config::Loaded {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let _ = self.released.lock().unwrap().recv();
        from_text(Path::new("/gateway.toml"), "version = 1\n".to_owned(), &variables("ab"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_can_not_be_read_to_its_end_is_given_up_and_costs_one_thread() {
    let (release, released) = mpsc::channel();
    let stuck = Arc::new(Stuck { released: Mutex::new(released), begun: AtomicUsize::new(0) });
    let lane = Lane::new(1);
    for _ in 0..3 {
        let reader: Arc<dyn Reader> = Arc::<Stuck>::clone(&stuck);
        let reading = tokio::spawn(settled(reader, lane.clone(), nothing_else()));
        while !reading.is_finished() {
            // The clock doesn't go on by itself while a thread is at work.
            tokio::time::advance(Duration::from_secs(1)).await;
            tokio::task::yield_now().await;
        }
        let loaded = reading.await.unwrap();
        let [problem] = &loaded.problems[..] else { panic!("{:?}", loaded.problems) };
        assert!(problem.message.contains("takes longer than 30s"), "{problem}");
        assert!(loaded.config.is_none());
    }
    drop(release);
    let loaded = settled(Arc::<Stuck>::clone(&stuck), lane, nothing_else()).await;
    assert!(loaded.config.is_some(), "{:?}", loaded.problems);
    // The one that was stuck, and two looks that agree.
    assert_eq!(stuck.begun.load(Ordering::SeqCst), 3, "each attempt left a thread behind");
}

fn bare() -> PluginConfig {
    PluginConfig::bare(PluginId::new("a").unwrap(), PathBuf::from("a.wasm"))
}

fn granted() -> PluginConfig {
    let mut table = bare();
    table.allow.instructions = true;
    table
}

#[test]
fn only_grants_that_are_new_wait_and_only_where_they_should() {
    let (table, before) = (granted(), granted());
    assert_eq!(fate(None, &table, WiderGrants::Live), Fate::Take);
    assert_eq!(fate(Some(&before), &table, WiderGrants::Wait), Fate::Take);
    assert!(matches!(fate(Some(&bare()), &table, WiderGrants::Wait), Fate::Hold(_)));
    assert!(matches!(fate(None, &table, WiderGrants::Wait), Fate::Hold(_)));
    assert_eq!(fate(Some(&before), &bare(), WiderGrants::Wait), Fate::Take, "less is granted at once");
}

#[test]
fn only_the_operator_loosens_what_becomes_of_wider_grants() {
    use WiderGrants::{Live, Wait};
    for (now, written, asked, next) in [
        (Live, Wait, false, Wait),
        (Wait, Live, false, Wait),
        (Wait, Live, true, Live),
        (Live, Live, false, Live),
        (Wait, Wait, true, Wait),
    ] {
        assert_eq!(policy(now, written, asked), next, "{now:?} {written:?} {asked}");
    }
}
