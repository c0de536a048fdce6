//! A plugin host without Wasm and files without a disk, for tests with a paused clock.
//!
//! The content of a fake file defines its plugin: words are tool names, and some have a special meaning, see
//! [`FakeCode`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use moongate_config::{Diagnostic, PluginConfig};
use moongate_model::manifest::Manifest;
use moongate_model::names::Digest;
use moongate_model::test_support::FakePlugin;
use serde_json::json;
use tokio::time::sleep;

use super::plugin_host::{CandidateFile, LoadFailure, LoadFuture, LoadedCode, PluginHost, Recovery};

mod test_reconciler;

pub(super) use test_reconciler::TestReconciler;

/// The time for compiling `slow`.
pub(super) const SLOW_COMPILE_TIME: Duration = Duration::from_secs(30);

/// Files, and records of operations on them.
#[derive(Debug, Default)]
pub(super) struct FakeDisk {
    pub(super) files: Mutex<BTreeMap<PathBuf, String>>,
    /// Compiled content, which isn't compiled again.
    pub(super) compiled: Mutex<Vec<String>>,
    /// Loaded content.
    pub(super) loaded: Mutex<Vec<String>>,
    /// Retired content.
    pub(super) retired: Mutex<Vec<String>>,
    /// The number of times that a plugin was described.
    pub(super) described: Mutex<usize>,
    /// The number of files in memory, and its maximum.
    pub(super) in_memory: Mutex<usize>,
    pub(super) max_in_memory: Mutex<usize>,
    /// A tool that every plugin has in addition. A test can change it at runtime.
    pub(super) extra_tool: Mutex<Option<String>>,
    /// Every plugin that was created.
    pub(super) plugins: Mutex<Vec<Weak<FakePlugin<FakeCode>>>>,
}

/// The code of a plugin. The words of its file are the names of its tools, except for these:
///
/// - `broken` can't be compiled; `flaky` can be compiled only if the disk has a file `/ready`;
/// - `slow` takes [`SLOW_COMPILE_TIME`] to compile; `panic` makes the compiler panic;
/// - a file with nothing but `stalled` is never read to its end;
/// - `picky` doesn't describe itself if its settings contain `trouble`;
/// - `open` has another tool if its settings contain `more`;
/// - `cached` has a cached description; a file with nothing but `cached stuck` can't be looked at before the disk has a file
///   `/ready`.
#[derive(Debug, Clone)]
pub(super) struct FakeCode {
    disk: Arc<FakeDisk>,
    text: String,
    pub(super) config: Arc<PluginConfig>,
}

impl FakeCode {
    /// A plugin with this code, recorded on its disk.
    fn into_plugin(self, manifest: Manifest) -> Arc<dyn LoadedCode> {
        let mut plugin = FakePlugin::new(self.config.id.as_str());
        plugin.digest = Digest::of(self.text.as_bytes());
        plugin.manifest = manifest;
        let disk = Arc::clone(&self.disk);
        let plugin = Arc::new(plugin.with_data(self));
        disk.plugins.lock().unwrap().push(Arc::downgrade(&plugin));
        plugin
    }

    fn describe(&self) -> Result<Manifest, LoadFailure> {
        let Self { disk, text, config } = self;
        *disk.described.lock().unwrap() += 1;
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.contains(&"picky") && config.settings.contains_key("trouble") {
            return Err(load_failure(config, "can't describe itself", Recovery::Retry));
        }
        let more = (words.contains(&"open") && config.settings.contains_key("more")).then_some("more");
        let extra = disk.extra_tool.lock().unwrap().clone();
        let tools =
            words.into_iter().filter(|word| !["picky", "open", "slow", "flaky", "cached"].contains(word));
        let names = tools.chain(more).chain(extra.as_deref());
        let schema = json!({ "type": "object" });
        let described = FakePlugin::new(config.id.as_str());
        Ok(names.fold(described, |plugin, name| plugin.tool(name, &schema, None)).manifest)
    }
}

fn load_failure(config: &PluginConfig, reason: &str, recovery: Recovery) -> LoadFailure {
    let problem = Diagnostic::error(format!("plugin `{}` can't be loaded: {reason}", config.id));
    let problems = vec![problem.with_span(config.source_span.clone())];
    let reason = format!("`{}`: {reason}", config.source.display());
    LoadFailure { reason, hint: None, recovery, ends_calls: false, problems }
}

/// A plugin host that reads from a [`FakeDisk`].
pub(super) struct FakeHost(pub(super) Arc<FakeDisk>);

struct FakeComponentFile {
    text: String,
    disk: Arc<FakeDisk>,
    _in_memory: InMemory,
}

/// Counts a file in memory until it is dropped.
struct InMemory(Arc<FakeDisk>);

impl InMemory {
    fn new(disk: &Arc<FakeDisk>) -> Self {
        let mut count = disk.in_memory.lock().unwrap();
        *count += 1;
        let mut max = disk.max_in_memory.lock().unwrap();
        *max = (*max).max(*count);
        Self(Arc::clone(disk))
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        *self.0.in_memory.lock().unwrap() -= 1;
    }
}

impl PluginHost for FakeHost {
    fn read(&self, config: Arc<PluginConfig>) -> LoadFuture<Box<dyn CandidateFile>> {
        let disk = Arc::clone(&self.0);
        Box::pin(async move {
            let text = disk.files.lock().unwrap().get(&config.source).cloned();
            let text = text.ok_or_else(|| load_failure(&config, "no such file", Recovery::FileReturns))?;
            if text == "stalled" {
                return std::future::pending().await;
            }
            let digest = Digest::of(text.as_bytes());
            if config.sha256.is_some_and(|pinned| pinned != digest) {
                return Err(load_failure(&config, "not the pinned content", Recovery::Change));
            }
            let file = FakeComponentFile { text, _in_memory: InMemory::new(&disk), disk };
            sleep(Duration::from_millis(1)).await;
            Ok(Box::new(file) as Box<dyn CandidateFile>)
        })
    }

    fn find_described(&self, config: &Arc<PluginConfig>) -> Option<Arc<dyn LoadedCode>> {
        let disk = &self.0;
        let text = disk.files.lock().unwrap().get(&config.source).cloned()?;
        let is_ready = || disk.files.lock().unwrap().contains_key(Path::new("/ready"));
        while text == "cached stuck" && !is_ready() {
            std::thread::yield_now();
        }
        assert!(text != "cached panic", "requested by the test");
        let code = FakeCode { disk: Arc::clone(disk), text, config: Arc::clone(config) };
        let manifest = code.text.contains("cached").then(|| code.describe())?.ok()?;
        Some(code.into_plugin(manifest))
    }
}

impl CandidateFile for FakeComponentFile {
    fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }

    fn is_compiled(&self) -> bool {
        self.disk.compiled.lock().unwrap().contains(&self.text)
    }

    fn load(self: Box<Self>, config: Arc<PluginConfig>) -> LoadFuture<Arc<dyn LoadedCode>> {
        Box::pin(async move {
            let Self { disk, text, _in_memory } = *self;
            let words: Vec<&str> = text.split_whitespace().collect();
            disk.loaded.lock().unwrap().push(text.clone());
            if !disk.compiled.lock().unwrap().contains(&text) {
                sleep(if words.contains(&"slow") { SLOW_COMPILE_TIME } else { Duration::ZERO }).await;
                disk.compiled.lock().unwrap().push(text.clone());
            }
            assert!(!words.contains(&"panic"), "requested by the test");
            if words.contains(&"broken") {
                return Err(load_failure(&config, "broken", Recovery::Change));
            }
            if words.contains(&"flaky") && !disk.files.lock().unwrap().contains_key(Path::new("/ready")) {
                return Err(load_failure(&config, "not ready", Recovery::Retry));
            }
            let code = FakeCode { disk, text, config };
            let manifest = code.describe()?;
            Ok(code.into_plugin(manifest))
        })
    }
}

impl LoadedCode for FakePlugin<FakeCode> {
    fn with_config(&self, config: Arc<PluginConfig>) -> Arc<dyn LoadedCode> {
        FakeCode { config, ..self.data.clone() }.into_plugin(self.manifest.clone())
    }

    fn describe_again(self: Arc<Self>) -> LoadFuture<Arc<dyn LoadedCode>> {
        Box::pin(async move {
            let manifest = self.data.describe()?;
            Ok(self.data.clone().into_plugin(manifest))
        })
    }

    fn retire(&self, _: Duration) {
        self.data.disk.retired.lock().unwrap().push(self.data.text.clone());
    }
}
