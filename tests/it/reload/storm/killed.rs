//! A gateway that is killed while it reads, compiles and caches code restarts with the current files and never loads an
//! incomplete cache entry. Another gateway on the same cache isn't affected.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{Http, ReplaceMethod, ReplaceableFile, scaled_rounds, send_signal, text, wait_until};
use serde_json::json;

use super::{version_in, workspace};

/// The number of times the gateway is killed.
const KILLS: u32 = 5;

/// A pseudo-random generator with the same sequence in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// The files of a cache with this extension.
fn files(cache: &Path, extension: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(cache).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|it| it == extension)).collect()
}

/// The version that the gateway serves.
fn served(http: &Http) -> u32 {
    version_in(text(&http.call(TOOL, json!({}))))
}

#[test]
fn restarts_after_sigkill_without_torn_cache_entries() {
    let workspace = workspace(&["p"], "");
    let cache = workspace.path().join("cache");
    let other = Http::start_with_cache(&workspace, &cache);
    let mut file = ReplaceableFile::new(workspace.path().join("p.wasm"));
    let mut chance = Random(0x5eed);
    let mut version = 1;
    for round in 0..scaled_rounds(KILLS) {
        let http = Http::start_with_cache(&workspace, &cache);
        assert_eq!(served(&http), version, "round {round}");
        // Reload a few times, then kill the gateway during the last reload, after a random number of calls to the other
        // gateway.
        for _ in 0..=chance.below(2) {
            version += 1;
            let way = ReplaceMethod::ALL[chance.below(ReplaceMethod::ALL.len() as u64) as usize];
            file.replace_by(way, &Plugin::version(version).functions(20).build(), &mut || {});
            for _ in 0..chance.below(50) {
                assert!(served(&http) <= version, "round {round}");
            }
        }
        send_signal(http.pid(), "KILL");
        let (_, log) = http.wait_for_exit();
        assert!(!log.contains("panicked"), "{log}");
        wait_until("the other gateway serves the new version", || served(&other) == version);
    }
    let http = Http::start_with_cache(&workspace, &cache);
    assert_eq!(served(&http), version);
    for log in [http.log(), other.log()] {
        // The gateway logs every cache entry that it has to rebuild.
        assert!(!log.contains("rebuilding the unusable cache entry"), "{log}");
    }
    // Unfinished files are removed once their writer is certainly dead.
    let unfinished = files(&cache, "tmp");
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    for path in &unfinished {
        fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    drop(http);
    let http = Http::start_with_cache(&workspace, &cache);
    assert_eq!(served(&http), version);
    assert!(files(&cache, "tmp").is_empty(), "unfinished files remain: {unfinished:?}");
    assert!(!files(&cache, "cwasm").is_empty());
}
