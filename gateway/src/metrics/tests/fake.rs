//! Plugins that do nothing, for metrics tests.

use std::path::PathBuf;
use std::sync::Arc;

use moongate_config::PluginConfig;
use moongate_model::call::{
    CallContext, CallError, Completion, CompletionTarget, Outcome, PromptResult, ReadResult, ToolResult,
};
use moongate_model::json::Json;
use moongate_model::manifest::{Manifest, Tool, ToolHints};
use moongate_model::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};
use moongate_protocol::catalog::{Catalog, CatalogBuild, CatalogPlugin, Plugin, PluginFuture};

#[derive(Debug)]
struct FakePlugin {
    id: PluginId,
    digest: Digest,
    manifest: Manifest,
}

/// A catalog entry of a plugin with these tools.
pub(super) fn catalog_plugin(id: &str, tools: &[&str]) -> CatalogPlugin {
    let tool = |name: &&str| Tool {
        name: ToolName::new(name).unwrap(),
        title: None,
        description: "runs".to_owned(),
        input_schema: Json::parse(r#"{"type":"object"}"#).unwrap(),
        output_schema: None,
        hints: ToolHints::default(),
        icons: Vec::new(),
        meta: Vec::new(),
        extra: Vec::new(),
    };
    let id = PluginId::new(id).unwrap();
    let manifest = Manifest { tools: tools.iter().map(tool).collect(), ..Manifest::default() };
    let plugin = FakePlugin { id: id.clone(), digest: Digest::of(b"fake"), manifest };
    CatalogPlugin::new(
        Arc::new(plugin),
        Arc::new(PluginConfig::ungranted(id, PathBuf::from("a.wasm")).policy()),
    )
    .unwrap()
}

/// A catalog of these plugins.
pub(super) fn catalog(generation: u64, plugins: Vec<CatalogPlugin>) -> Arc<Catalog> {
    let CatalogBuild { catalog, refused, .. } = Catalog::build(generation, plugins, None);
    assert_eq!(refused, []);
    Arc::new(catalog)
}

fn cancelled<T: Send + 'static>() -> PluginFuture<'static, T> {
    Box::pin(std::future::ready(Err(CallError::Cancelled)))
}

impl Plugin for FakePlugin {
    fn id(&self) -> &PluginId {
        &self.id
    }

    fn digest(&self) -> &Digest {
        &self.digest
    }

    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn peak_memory(&self) -> Option<u64> {
        Some(64 << 10)
    }

    fn call_tool<'a>(
        &'a self,
        _context: Arc<CallContext>,
        _name: &'a ToolName,
        _args: &'a str,
    ) -> PluginFuture<'a, Outcome<ToolResult>> {
        cancelled()
    }

    fn read_resource<'a>(
        &'a self,
        _context: Arc<CallContext>,
        _uri: &'a ResourceUri,
    ) -> PluginFuture<'a, Outcome<ReadResult>> {
        cancelled()
    }

    fn get_prompt<'a>(
        &'a self,
        _context: Arc<CallContext>,
        _name: &'a PromptName,
        _args: &'a [(String, String)],
    ) -> PluginFuture<'a, Outcome<PromptResult>> {
        cancelled()
    }

    fn complete<'a>(
        &'a self,
        _context: Arc<CallContext>,
        _target: &'a CompletionTarget,
        _name: &'a str,
        _value: &'a str,
        _others: &'a [(String, String)],
    ) -> PluginFuture<'a, Completion> {
        cancelled()
    }
}
