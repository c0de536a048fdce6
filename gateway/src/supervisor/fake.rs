//! A host without Wasm, files without a disk, and a loop between them: for tests with a clock that stands still.
//!
//! What a fake file holds is what its plugin does: words are names of tools, and some words mean more, see [`Fake`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use moongate_core::call::{
    CallContext, CallError, Completion, CompletionTarget, Failure as Refusal, Fault, Outcome, PromptResult,
    ReadResult, ToolResult,
};
use moongate_core::catalog::{Answer, Plugin};
use moongate_core::config::{PluginConfig, Problem};
use moongate_core::json::Json;
use moongate_core::manifest::{Manifest, Tool, ToolHints};
use moongate_core::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};
use tokio::time::sleep;

use super::code::{Candidate, Code, Failure, Helps, Host, Work};

mod bench;

pub(super) use bench::Bench;

/// How long `slow` takes to compile.
pub(super) const SLOW: Duration = Duration::from_secs(30);

/// Files, and what was done with them.
#[derive(Debug, Default)]
pub(super) struct Disk {
    pub(super) files: Mutex<BTreeMap<PathBuf, String>>,
    /// What was compiled, by content; it isn't compiled again.
    pub(super) compiled: Mutex<Vec<String>>,
    /// What was loaded, by content.
    pub(super) loaded: Mutex<Vec<String>>,
    /// What was retired, by content.
    pub(super) retired: Mutex<Vec<String>>,
    /// How many were asked what they offer.
    pub(super) described: Mutex<usize>,
    /// How many files' contents are in memory, and how many were at most.
    pub(super) held: Mutex<usize>,
    pub(super) most_held: Mutex<usize>,
    /// What every plugin offers beside what its file says: it changes while they serve.
    pub(super) also: Mutex<Option<String>>,
    /// Every plugin that was made.
    pub(super) fakes: Mutex<Vec<Weak<Fake>>>,
}

/// A plugin. Its file's words are the names of its tools, but for these:
///
/// - `broken` isn't compiled, whenever it is tried; `flaky` is compiled only when the disk has a file `/ready`;
/// - `slow` takes [`SLOW`] to compile; `panic` makes the compiler panic;
/// - a file that holds nothing but `stuck` is never read to its end;
/// - `picky` doesn't describe itself where its settings hold `trouble`;
/// - `open` has a tool more where its settings hold `more`.
#[derive(Debug)]
pub(super) struct Fake {
    disk: Arc<Disk>,
    text: String,
    digest: Digest,
    pub(super) table: Arc<PluginConfig>,
    manifest: Manifest,
}

impl Fake {
    /// Remembers the plugin on its disk.
    fn shared(self) -> Arc<dyn Code> {
        let disk = Arc::clone(&self.disk);
        let fake = Arc::new(self);
        disk.fakes.lock().unwrap().push(Arc::downgrade(&fake));
        fake
    }

    fn describe(disk: &Arc<Disk>, text: &str, table: &Arc<PluginConfig>) -> Result<Manifest, Failure> {
        *disk.described.lock().unwrap() += 1;
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.contains(&"picky") && table.config.contains_key("trouble") {
            return Err(failed(table, "it doesn't describe itself", Helps::Time));
        }
        let more = (words.contains(&"open") && table.config.contains_key("more")).then_some("more");
        let also = disk.also.lock().unwrap().clone();
        let tools = words.into_iter().filter(|word| !["picky", "open", "slow", "flaky"].contains(word));
        Ok(Manifest {
            tools: tools.chain(more).chain(also.as_deref()).map(tool).collect(),
            ..Manifest::default()
        })
    }
}

fn tool(name: &str) -> Tool {
    Tool {
        name: ToolName::new(name).unwrap(),
        title: None,
        description: format!("does {name}"),
        input_schema: Json::from_value(&serde_json::json!({ "type": "object" })),
        output_schema: None,
        hints: ToolHints::default(),
        icons: Vec::new(),
        meta: Vec::new(),
        extra: Vec::new(),
    }
}

fn failed(table: &PluginConfig, reason: &str, helps: Helps) -> Failure {
    let problem = Problem::error(format!("plugin `{}` can't be loaded: {reason}", table.id));
    let problems = vec![problem.at(table.source_place.clone())];
    let reason = format!("`{}`: {reason}", table.source.display());
    Failure { reason, hint: None, helps, ends_calls: false, problems }
}

/// A host that reads from a [`Disk`].
pub(super) struct FakeHost(pub(super) Arc<Disk>);

struct FakeCandidate {
    text: String,
    disk: Arc<Disk>,
    _held: Held,
}

/// Bytes in memory.
struct Held(Arc<Disk>);

impl Held {
    fn new(disk: &Arc<Disk>) -> Self {
        let mut held = disk.held.lock().unwrap();
        *held += 1;
        let mut most = disk.most_held.lock().unwrap();
        *most = (*most).max(*held);
        Self(Arc::clone(disk))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.held.lock().unwrap() -= 1;
    }
}

impl Host for FakeHost {
    fn read(&self, table: Arc<PluginConfig>) -> Work<Box<dyn Candidate>> {
        let disk = Arc::clone(&self.0);
        Box::pin(async move {
            let text = disk.files.lock().unwrap().get(&table.source).cloned();
            let text = text.ok_or_else(|| failed(&table, "it isn't there", Helps::Return))?;
            if text == "stuck" {
                return std::future::pending().await;
            }
            let digest = Digest::of(text.as_bytes());
            if table.sha256.is_some_and(|pinned| pinned != digest) {
                return Err(failed(&table, "it isn't the pinned one", Helps::Change));
            }
            let candidate = FakeCandidate { text, _held: Held::new(&disk), disk };
            sleep(Duration::from_millis(1)).await;
            Ok(Box::new(candidate) as Box<dyn Candidate>)
        })
    }
}

impl Candidate for FakeCandidate {
    fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }

    fn is_compiled(&self) -> bool {
        self.disk.compiled.lock().unwrap().contains(&self.text)
    }

    fn load(self: Box<Self>, table: Arc<PluginConfig>) -> Work<Arc<dyn Code>> {
        Box::pin(async move {
            let Self { disk, text, _held } = *self;
            let words: Vec<&str> = text.split_whitespace().collect();
            disk.loaded.lock().unwrap().push(text.clone());
            if !disk.compiled.lock().unwrap().contains(&text) {
                sleep(if words.contains(&"slow") { SLOW } else { Duration::ZERO }).await;
                disk.compiled.lock().unwrap().push(text.clone());
            }
            assert!(!words.contains(&"panic"), "as it was asked to");
            if words.contains(&"broken") {
                return Err(failed(&table, "it is broken", Helps::Change));
            }
            if words.contains(&"flaky") && !disk.files.lock().unwrap().contains_key(Path::new("/ready")) {
                return Err(failed(&table, "it isn't ready", Helps::Time));
            }
            let manifest = Fake::describe(&disk, &text, &table)?;
            let digest = Digest::of(text.as_bytes());
            Ok(Fake { disk, digest, text, table, manifest }.shared())
        })
    }
}

impl Code for Fake {
    fn under(&self, table: Arc<PluginConfig>) -> Arc<dyn Code> {
        let (disk, text) = (Arc::clone(&self.disk), self.text.clone());
        Self { disk, text, digest: self.digest, table, manifest: self.manifest.clone() }.shared()
    }

    fn described_anew(self: Arc<Self>) -> Work<Arc<dyn Code>> {
        Box::pin(async move {
            let manifest = Self::describe(&self.disk, &self.text, &self.table)?;
            let (disk, text, table) = (Arc::clone(&self.disk), self.text.clone(), Arc::clone(&self.table));
            Ok(Self { disk, text, digest: self.digest, table, manifest }.shared())
        })
    }

    fn retire(&self, _: Duration) {
        self.disk.retired.lock().unwrap().push(self.text.clone());
    }
}

fn nobody<T>() -> Answer<'static, T>
where
    T: Send + 'static,
{
    Box::pin(std::future::ready(Err(CallError::Refused(Refusal::NotFound(Fault::default())))))
}

impl Plugin for Fake {
    fn id(&self) -> &PluginId {
        &self.table.id
    }

    fn digest(&self) -> &Digest {
        &self.digest
    }

    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn call_tool<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a ToolName,
        _: &'a str,
    ) -> Answer<'a, Outcome<ToolResult>> {
        nobody()
    }

    fn read_resource<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a ResourceUri,
    ) -> Answer<'a, Outcome<ReadResult>> {
        nobody()
    }

    fn get_prompt<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a PromptName,
        _: &'a [(String, String)],
    ) -> Answer<'a, Outcome<PromptResult>> {
        nobody()
    }

    fn complete<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a CompletionTarget,
        _: &'a str,
        _: &'a str,
        _: &'a [(String, String)],
    ) -> Answer<'a, Completion> {
        nobody()
    }
}
