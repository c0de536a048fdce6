//! What to do about a plugin that can't be loaded, for whoever named its file.

use std::path::Path;

use moongate_core::config::{LimitKey, PluginConfig, Spot};

use super::{LoadError, TooLow, Unreadable, shown};

/// Where the component's file was named, so where a cure can be written.
#[derive(Debug, Clone, Copy)]
pub enum Named<'a> {
    /// By `source` in this table.
    InTable(&'a PluginConfig),
    /// On the command line, and no configuration has a table for it.
    ByHand,
}

impl Named<'_> {
    /// What names the file.
    fn it(self) -> &'static str {
        match self {
            Self::InTable(_) => "`source`",
            Self::ByHand => "the path",
        }
    }

    /// That another file should be named.
    fn name(self, file: &str) -> String {
        match self {
            Self::InTable(_) => format!("let `source` name {file}"),
            Self::ByHand => format!("name {file}"),
        }
    }

    /// That a limit should be raised. `enough`: a value that is likely to do.
    fn raise(self, key: LimitKey, enough: Option<&str>) -> String {
        let spot = Spot::Limit(key);
        // What holds where nothing is said goes by the component's size.
        let by_size = matches!(key, LimitKey::CompileMemory | LimitKey::CompileTime);
        let key = key.as_str();
        match (self, enough) {
            (Self::InTable(table), Some(enough)) => {
                // The message points at the value, if there is one.
                let stands = table.places.contains_key(&spot);
                let place =
                    if stands { "here".to_owned() } else { format!("in `[plugins.{}.limits]`", table.id) };
                let remove = if stands && by_size { "remove the line, or " } else { "" };
                format!("raise `limits.{key}`: {remove}write `{key} = {enough}` {place}")
            }
            (Self::InTable(_), None) => {
                format!("build it so that it needs less: `limits.{key}` can't be raised as far")
            }
            (Self::ByHand, Some(enough)) => format!(
                "give it a table in `gateway.toml`, with `source` and with `limits = {{ {key} = {enough} }}`"
            ),
            (Self::ByHand, None) => {
                format!("build it so that it needs less: no table can raise `limits.{key}` as far")
            }
        }
    }

    /// The same where the limit may be enough and the plugin too much.
    fn raise_or(self, low: Option<&TooLow>, better: &str) -> String {
        match low {
            None | Some(TooLow { enough: None, .. }) => better.to_owned(),
            Some(TooLow { key, enough, .. }) => {
                format!("{better}; or {}", self.raise(*key, enough.as_deref()))
            }
        }
    }
}

impl LoadError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self, named: Named<'_>) -> Option<String> {
        Some(match self {
            Self::Read { path, why } => return unread(path, why, named),
            Self::NoFile { .. } => named.name("the component's `.wasm` file"),
            Self::Unsettled { .. } => {
                "whatever writes it must come to an end; writing it elsewhere and renaming it is best".to_owned()
            }
            Self::Killed => "the machine may be short of memory; compiling large components takes some".to_owned(),
            Self::TooBig { size, .. } => {
                let low = TooLow::wanting(LimitKey::Component, size.as_u64());
                named.raise_or(Some(&low), "build the plugin with `--release` and without debug symbols")
            }
            Self::Digest { found, .. } => format!("if the new file is wanted, set `sha256 = \"{found}\"`"),
            Self::Precompiled => "use the component that it was compiled from".to_owned(),
            Self::CoreModule => {
                "build it for wasm32-wasip2 (`cargo build --target wasm32-wasip2`), or wrap it with `wasm-tools component new`"
                    .to_owned()
            }
            Self::NotWasm { .. } => named.name("the `.wasm` file that the build wrote"),
            Self::Compile { low, .. } => {
                named.raise_or(low.as_deref(), "build it smaller: with optimisation, or as several plugins")
            }
            Self::Demands { .. } => "build it with fewer or smaller memories and tables".to_owned(),
            Self::Broken { .. } => "copy or build the file again".to_owned(),
            Self::Async => "build it without async (componentize-qjs: `--sync`)".to_owned(),
            Self::Contract { name, spoken, .. } => {
                format!("`{name}` says so; build the plugin with an SDK for {spoken}, or use a matching gateway")
            }
            Self::NewerFunctions { .. } => "it was made for a newer gateway; update this one".to_owned(),
            Self::UnknownImports { imports } => of_imports(imports).to_owned(),
            Self::Import { .. } | Self::Export { .. } => {
                "build the plugin again with this gateway's `wit/` or SDK".to_owned()
            }
            Self::NoExports { other } => {
                let cut = if *other { "" } else { "; if it should, the file is cut short: copy or build it again" };
                format!(
                    "a plugin exports `moongate:plugin/lifecycle@0.1.0`; with the Rust SDK `#[plugin]` does that{cut}"
                )
            }
            Self::Describe { low, .. } | Self::Manifest { low, .. } => {
                let TooLow { key, enough, .. } = low.as_deref()?;
                named.raise(*key, enough.as_deref())
            }
            Self::Internal(_) => return None,
            Self::Grant { hint, .. } => hint.clone(),
        })
    }
}

/// What to do where the file can't be read.
fn unread(path: &Path, why: &Unreadable, named: Named<'_>) -> Option<String> {
    Some(match why {
        Unreadable::Absent { near: Some(near), .. } => format!("did you mean `{}`?", shown(near)),
        Unreadable::Absent { link: Some(_), .. } => format!("mend the link, or correct {}", named.it()),
        Unreadable::Absent { link: None, .. } => {
            let hint = of_absence(path, named);
            match named {
                Named::InTable(_) => {
                    format!("{hint}; a relative `source` starts at the directory of `gateway.toml`")
                }
                Named::ByHand => hint,
            }
        }
        Unreadable::Denied => {
            "let the user that the gateway runs as read it, and enter the directories above it".to_owned()
        }
        Unreadable::Other(_) => return None,
    })
}

/// What to do where there is no file. Where it is one that cargo would write, the usual ways to have none are named.
fn of_absence(path: &Path, named: Named<'_>) -> String {
    if let (Named::ByHand, None, Some(name)) = (named, path.extension(), path.file_name()) {
        let file = shown(Path::new(name));
        return format!(
            "name a `.wasm` file, such as `./{file}.wasm`; tools of the configuration need no file, their names are enough"
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
                 under `[lib]`, cargo writes `-` in a crate's name as `_`, and where `CARGO_TARGET_DIR` or `build.target-dir` \
                 is set it builds into that folder"
            )
        }
        None => format!("build or copy it there, or correct {}", named.it()),
    }
}

/// What to do about imports that nobody offers.
fn of_imports(imports: &[String]) -> &'static str {
    if imports.iter().any(|name| name.starts_with("wasi:") && name.contains("@0.3")) {
        return "build it for wasm32-wasip2";
    }
    "plugins may import WASI 0.2 and moongate:plugin; build it without the others"
}
