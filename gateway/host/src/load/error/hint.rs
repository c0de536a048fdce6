//! Hints on how to fix a plugin that can't be loaded.

use std::path::Path;

use moongate_config::{LimitKey, PluginConfig, SourceField};

use super::{LimitTooLow, LoadError, ReadFailure, UncallableComponent};
use crate::diagnostics::text::display_path;
use crate::wasi::linker;

/// The place that names the component's file, where a fix can be written.
#[derive(Debug, Clone, Copy)]
pub enum PathOrigin<'a> {
    /// `source` in this configuration.
    Config(&'a PluginConfig),
    /// The command line, without a configuration.
    CommandLine,
}

impl<'a> PathOrigin<'a> {
    /// The place that names the file of this plugin. A plugin outside of any configuration has no place in one.
    #[must_use]
    pub fn of(config: &'a PluginConfig) -> Self {
        if config.source_span.is_empty() { Self::CommandLine } else { Self::Config(config) }
    }

    /// The command that downloads the component again. `None` if it doesn't come from an address.
    fn fetch(self) -> Option<String> {
        match self {
            Self::Config(config) if config.remote.is_some() => {
                Some(format!("run `moongate fetch {}`", config.id))
            }
            Self::Config(_) | Self::CommandLine => None,
        }
    }

    /// The command that resolves the component's address again. `None` if it doesn't come from an address.
    fn update(self) -> Option<String> {
        match self {
            Self::Config(config) if config.remote.is_some() => {
                Some(format!("run `moongate update {}`, which downloads its current version", config.id))
            }
            Self::Config(_) | Self::CommandLine => None,
        }
    }

    /// The name of the place.
    fn path_name(self) -> &'static str {
        match self {
            Self::Config(_) => "`source`",
            Self::CommandLine => "the path",
        }
    }

    /// A hint to name another file.
    fn name_file(self, file: &str) -> String {
        match self {
            Self::Config(_) => format!("set `source` to {file}"),
            Self::CommandLine => format!("name {file}"),
        }
    }

    /// A hint to raise a limit. `enough` is a value that is probably sufficient.
    fn raise_limit(self, key: LimitKey, enough: Option<&str>) -> String {
        let spot = SourceField::Limit(key);
        // The defaults of these limits depend on the component's size.
        let has_dynamic_default = matches!(key, LimitKey::CompileMemory | LimitKey::CompileTime);
        let key = key.as_str();
        match (self, enough) {
            (Self::Config(config), Some(enough)) => {
                // The message points at the value, if there is one.
                let is_set = config.spans.contains_key(&spot);
                let place =
                    if is_set { "here".to_owned() } else { format!("in `[plugins.{}.limits]`", config.id) };
                let remove = if is_set && has_dynamic_default { "remove the line, or " } else { "" };
                format!("raise `limits.{key}`: {remove}write `{key} = {enough}` {place}")
            }
            (Self::CommandLine, Some(enough)) => format!(
                "configure it in `gateway.toml`, with `source` and with `limits = {{ {key} = {enough} }}`"
            ),
            (Self::Config(_) | Self::CommandLine, None) => {
                format!("build it so that it needs less: `limits.{key}` can't be raised that far")
            }
        }
    }

    /// A hint to raise a limit that is too low for one item. The message points at the plugin.
    pub(crate) fn raise_limit_for_item(self, low: &LimitTooLow) -> String {
        let LimitTooLow { key, needed: _, sufficient: enough } = low;
        match (self, enough) {
            (Self::Config(config), Some(enough)) => {
                let (key, id) = (key.as_str(), &config.id);
                format!("raise `limits.{key}`: write `{key} = {enough}` in `[plugins.{id}.limits]`")
            }
            (Self::Config(_) | Self::CommandLine, _) => self.raise_limit(*key, enough.as_deref()),
        }
    }

    /// A hint to change the plugin, or else to raise the limit.
    fn or_raise_limit(self, low: Option<&LimitTooLow>, better: &str) -> String {
        match low {
            None | Some(LimitTooLow { sufficient: None, .. }) => better.to_owned(),
            Some(LimitTooLow { key, sufficient: enough, .. }) => {
                format!("{better}; or {}", self.raise_limit(*key, enough.as_deref()))
            }
        }
    }
}

impl LoadError {
    /// The fix. `None` if there is no general one.
    #[must_use]
    pub fn hint(&self, named: PathOrigin<'_>) -> Option<String> {
        if let Some(fetch) = named.fetch()
            && matches!(
                self,
                Self::DigestMismatch { .. } | Self::Read { why: ReadFailure::NotFound { .. }, .. }
            )
        {
            return Some(format!(
                "{fetch}, which downloads it again, as the gateway's user and with its MOONGATE_CACHE_DIR"
            ));
        }
        if let (Self::InvalidComponent { .. }, Some(update)) = (self, named.update()) {
            return Some(update);
        }
        Some(match self {
            Self::Read { path, why } => return read_hint(path, why, named),
            Self::NotLocked(problem) => problem.hint.clone(),
            Self::NotAFile { .. } => named.name_file("the component's `.wasm` file"),
            Self::KeepsChanging { .. } => {
                "wait until the file is complete; to replace it safely, write another file and rename it".to_owned()
            }
            Self::CompilerKilled => "check the machine's free memory; large components need a lot to compile".to_owned(),
            Self::TooLarge { size, .. } => {
                let low = LimitTooLow::needing(LimitKey::Component, size.as_u64());
                named.or_raise_limit(Some(&low), "build the plugin with `--release` and without debug symbols")
            }
            Self::DigestMismatch { found, .. } => format!("to accept the new file, set `sha256 = \"{found}\"`"),
            Self::Precompiled => "use the original component instead of the compiled code".to_owned(),
            Self::CoreModule => {
                "build it for wasm32-wasip2 (`cargo build --target wasm32-wasip2`), or wrap it with `wasm-tools component new`"
                    .to_owned()
            }
            Self::NotWasm { .. } => named.name_file("the `.wasm` file that the build wrote"),
            Self::CompileLimit { low, .. } => {
                named.or_raise_limit(low.as_deref(), "optimise it, or split it into several plugins")
            }
            Self::InstanceTooLarge { fix, .. } | Self::UnsupportedFeature { fix, .. } => (*fix).to_owned(),
            Self::TooManyParts { .. } => "reduce its size, or split it into several plugins".to_owned(),
            Self::InvalidComponent { .. } => "copy or build the file again".to_owned(),
            Self::ContractVersion { name, spoken, .. } => {
                format!("build the plugin with an SDK for {spoken}, or use a matching gateway (see its `{name}`)")
            }
            Self::NewerFunctions { .. } => "update the gateway; the plugin was built for a newer one".to_owned(),
            Self::UnknownImports { imports } => imports_hint(imports),
            Self::ImportMismatch { .. } | Self::ExportMismatch { .. } => {
                "rebuild the plugin with this gateway's `wit/` or SDK".to_owned()
            }
            Self::NotAPlugin { found } => uncallable_hint(*found).to_owned(),
            Self::DescribeFailed { low, .. } | Self::InvalidDescription { low, .. } => {
                let LimitTooLow { key, sufficient: enough, .. } = low.as_deref()?;
                named.raise_limit(*key, enough.as_deref())
            }
            Self::Internal(_) => return None,
            Self::GrantedDirectory { hint, .. } => hint.clone(),
        })
    }
}

/// The fix for a component without exports that the gateway can call.
fn uncallable_hint(found: UncallableComponent) -> &'static str {
    match found {
        UncallableComponent::PartOfContract => {
            "export `moongate:plugin/lifecycle@0.1.0`, as `#[plugin]` of the Rust SDK does"
        }
        UncallableComponent::Command => {
            "the gateway calls exported functions: export them, or implement moongate:plugin; `wasmtime run` runs \
             programs"
        }
        UncallableComponent::HttpServer => {
            "the gateway calls exported functions: export them, or implement moongate:plugin; `wasmtime serve` runs \
             HTTP servers"
        }
        UncallableComponent::NoFunctions => {
            "export functions, or implement moongate:plugin, as `#[plugin]` of the Rust SDK does; if it does already, \
             the file is truncated: copy or build it again"
        }
    }
}

/// The fix for a file that can't be read.
fn read_hint(path: &Path, why: &ReadFailure, named: PathOrigin<'_>) -> Option<String> {
    Some(match why {
        ReadFailure::NotFound { near: Some(near), .. } => format!("did you mean `{}`?", display_path(near)),
        ReadFailure::NotFound { link: Some(_), .. } => {
            format!("fix the symlink, or correct {}", named.path_name())
        }
        ReadFailure::NotFound { link: None, .. } => {
            let hint = missing_file_hint(path, named);
            match named {
                PathOrigin::Config(_) => {
                    format!("{hint}; relative paths start in the directory of `gateway.toml`")
                }
                PathOrigin::CommandLine => hint,
            }
        }
        ReadFailure::PermissionDenied => {
            "let the gateway's user read the file and enter its directories".to_owned()
        }
        ReadFailure::Other(_) => return None,
    })
}

/// The fix for a missing file. For a path in cargo's target directory, it lists the usual reasons.
fn missing_file_hint(path: &Path, named: PathOrigin<'_>) -> String {
    if let (PathOrigin::CommandLine, None, Some(name)) = (named, path.extension(), path.file_name()) {
        let file = display_path(Path::new(name));
        return format!(
            "name a `.wasm` file, such as `./{file}.wasm`; for a configured plugin, the name of its tool is enough"
        );
    }
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let at = parts.iter().position(|part| part == "target");
    let cargo = at.and_then(|at| Some((parts.get(at + 1)?, parts.get(at + 2)?)));
    match cargo.filter(|(target, _)| target.starts_with("wasm32-")) {
        Some((target, profile)) => {
            let profile = match profile.as_ref() {
                "debug" => String::new(),
                "release" => " --release".to_owned(),
                other => format!(" --profile {other}"),
            };
            format!(
                "build it with `cargo build --target {target}{profile}`; its `Cargo.toml` needs `crate-type = [\"cdylib\"]` \
                 under `[lib]`, cargo replaces `-` in the crate's name with `_`, and with `CARGO_TARGET_DIR` or \
                 `build.target-dir` it builds into that directory"
            )
        }
        None => format!("build or copy it there, or correct {}", named.path_name()),
    }
}

/// The fix for unknown imports.
fn imports_hint(imports: &[String]) -> String {
    let imports = || imports.iter().filter_map(|name| name.split_once('@'));
    if imports().any(|(name, version)| name.starts_with("wasi:") && version.starts_with("0.3")) {
        return "build it for wasm32-wasip2".to_owned();
    }
    for (name, _) in imports() {
        if let Some(offered) = linker::offered_version(name) {
            return format!("build it with tools for `{name}@{offered}`");
        }
    }
    "plugins can import only WASI 0.2 and moongate:plugin; build it without other imports".to_owned()
}
