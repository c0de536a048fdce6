//! Reading the configuration, and changes that wait.

use moongate_model::names::PluginId;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use moongate_config::parse_config;

use super::*;

fn variables(secret: &str) -> BTreeMap<String, String> {
    let variables = [("KEY", secret), ("MOONGATE_CACHE_DIR", "/cache")];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// A configuration whose secret is being written.
#[derive(Default)]
struct ChangingSecret(AtomicUsize);

impl ConfigReader for ChangingSecret {
    fn read(&self) -> moongate_config::LoadedConfig {
        let secret = ["ab", "abc", "abc"][self.0.fetch_add(1, Ordering::Relaxed)];
        let variables = variables(secret);
        let text = "version = 1\n[plugins.a]\nsource = '/a'\nconfig.k = { env = 'KEY' }\n";
        parse_config(Path::new("/gateway.toml"), text.to_owned(), &variables)
    }
}

fn in_force() -> ConfigInForce {
    let loaded = parse_config(Path::new("/gateway.toml"), "version = 1\n".to_owned(), &variables("ab"));
    let started = Arc::new(loaded.config.unwrap());
    ConfigInForce { started, plugins: [].into(), tls: None, admin_tls: None }
}

#[tokio::test]
async fn half_written_secret_is_not_used() {
    let loaded = read_settled(Arc::new(ChangingSecret::default()), BlockingLimiter::new(1), in_force()).await;
    let config = loaded.config.unwrap();
    assert_eq!(config.plugins[0].settings["k"].expose(), "abc");
}

#[test]
fn hint_for_a_removed_configuration_is_to_put_it_back() {
    let place = tempfile::TempDir::new().unwrap();
    let file = place.path().join("gateway.toml");
    let environment = Arc::new(variables("ab"));
    let reader = ConfigFile { path: file.clone(), environment, hook: None };
    std::fs::write(&file, "version = 1\ncolour = 1\n").unwrap();
    let hint = |loaded: moongate_config::LoadedConfig| loaded.problems[0].hint.clone().unwrap();
    assert!(hint(reader.read()).starts_with("use one of these keys"));
    std::fs::rename(&file, place.path().join("gatewy.toml")).unwrap();
    assert!(hint(reader.read()).starts_with("restore the file"));
}

/// A configuration on a disk that doesn't respond until the sender is dropped.
struct StalledReader {
    released: Mutex<mpsc::Receiver<()>>,
    begun: AtomicUsize,
}

impl ConfigReader for StalledReader {
    fn read(&self) -> moongate_config::LoadedConfig {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let _ = self.released.lock().unwrap().recv();
        parse_config(Path::new("/gateway.toml"), "version = 1\n".to_owned(), &variables("ab"))
    }
}

#[tokio::test(start_paused = true)]
async fn stalled_configuration_times_out_and_costs_one_thread() {
    let (release, released) = mpsc::channel();
    let stalled = Arc::new(StalledReader { released: Mutex::new(released), begun: AtomicUsize::new(0) });
    let lane = BlockingLimiter::new(1);
    for _ in 0..3 {
        let reader: Arc<dyn ConfigReader> = Arc::<StalledReader>::clone(&stalled);
        let reading = tokio::spawn(read_settled(reader, lane.clone(), in_force()));
        while !reading.is_finished() {
            // The clock doesn't advance by itself while a thread is working.
            tokio::time::advance(Duration::from_secs(1)).await;
            tokio::task::yield_now().await;
        }
        let loaded = reading.await.unwrap();
        let [problem] = &loaded.problems[..] else { panic!("{:?}", loaded.problems) };
        assert!(problem.message.contains("takes longer than 30s"), "{problem}");
        assert!(loaded.config.is_none());
    }
    drop(release);
    let loaded = read_settled(Arc::<StalledReader>::clone(&stalled), lane, in_force()).await;
    assert!(loaded.config.is_some(), "{:?}", loaded.problems);
    // The stalled attempt, and two reads that agree.
    assert_eq!(stalled.begun.load(Ordering::SeqCst), 3, "each attempt left a thread behind");
}

fn bare() -> PluginConfig {
    PluginConfig::ungranted(PluginId::new("a").unwrap(), PathBuf::from("a.wasm"))
}

fn granted() -> PluginConfig {
    let mut config = bare();
    config.allow.instructions = true;
    config
}

#[test]
fn only_new_grants_wait_and_only_under_wait() {
    let config = granted();
    let before = granted();
    assert_eq!(judge(None, &config, WiderGrantsPolicy::Live), ConfigVerdict::Apply);
    assert_eq!(judge(Some(&before), &config, WiderGrantsPolicy::Wait), ConfigVerdict::Apply);
    assert!(matches!(judge(Some(&bare()), &config, WiderGrantsPolicy::Wait), ConfigVerdict::Hold(_)));
    assert!(matches!(judge(None, &config, WiderGrantsPolicy::Wait), ConfigVerdict::Hold(_)));
    assert_eq!(
        judge(Some(&before), &bare(), WiderGrantsPolicy::Wait),
        ConfigVerdict::Apply,
        "narrower grants apply at once"
    );
}

#[test]
fn only_the_operator_loosens_the_policy() {
    use WiderGrantsPolicy::{Live, Wait};
    for (now, in_file, is_requested, next) in [
        (Live, Wait, false, Wait),
        (Wait, Live, false, Wait),
        (Wait, Live, true, Live),
        (Live, Live, false, Live),
        (Wait, Wait, true, Wait),
    ] {
        assert_eq!(next_policy(now, in_file, is_requested), next, "{now:?} {in_file:?} {is_requested}");
    }
}
