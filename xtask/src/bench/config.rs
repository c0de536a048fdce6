//! The gateway's configurations for the measurements, in a temporary directory.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::binaries::Binaries;
use crate::project::Project;

/// The variable that overrides the cache of a configuration.
pub(super) const CACHE_VARIABLE: &str = "MOONGATE_CACHE_DIR";

/// The functions of a component of 20 MB.
const LARGE_PLUGIN_FUNCTIONS: &str = "16500";

/// The tools of the plugin with a list of 5 MB.
const LISTED_TOOLS: usize = 500;

/// The arguments of each of its tools, which have about 10 KB.
const LISTED_PROPERTIES: usize = 60;

/// The generated components of the measurements with neighbours.
#[derive(Debug)]
pub(super) struct FairnessPlugins {
    /// The component of 20 MB.
    pub(super) large: PathBuf,
}

/// The callers of the gateway with access control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// The caller that is measured.
    Caller,
    /// A caller that calls as often as it can.
    Flood,
    /// The same, with a limit on its rate.
    LimitedFlood,
}

impl Token {
    const ALL: [Self; 3] = [Self::Caller, Self::Flood, Self::LimitedFlood];

    fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Flood => "flood",
            Self::LimitedFlood => "limited",
        }
    }

    /// The token, which protects nothing.
    pub(super) fn secret(self) -> &'static str {
        match self {
            Self::Caller => "the-token-of-the-measured-caller",
            Self::Flood => "the-token-of-the-caller-that-floods",
            Self::LimitedFlood => "the-token-of-the-limited-caller",
        }
    }
}

/// A temporary directory for one run; removed when dropped.
#[derive(Debug)]
pub(super) struct ScratchDirectory {
    directory: PathBuf,
}

impl ScratchDirectory {
    /// Creates the directory in cargo's target directory.
    pub(super) fn new(project: &Project) -> Result<Self> {
        let directory = project.target().join(format!("bench-{}", std::process::id()));
        fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
        Ok(Self { directory })
    }

    /// The cache of compiled code.
    pub(super) fn cache(&self) -> PathBuf {
        self.directory.join("cache")
    }

    /// A configuration with the plugin `echo`, whose only tool has no prefix.
    pub(super) fn echo(&self, binaries: &Binaries) -> Result<PathBuf> {
        self.write("echo.toml", &honest(binaries))
    }

    /// A configuration with the plugin `echo`, tokens, roles and rates.
    pub(super) fn access(&self, binaries: &Binaries) -> Result<PathBuf> {
        let mut tokens = Vec::new();
        for token in Token::ALL {
            let file = self.file(&format!("{}.token", token.name()));
            fs::write(&file, token.secret())?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
            tokens.push(format!("{{ name = \"{}\", token = {{ file = {} }} }}", token.name(), quoted(&file)));
        }
        let role = |name: &str, members: &[Token], limits: &str| {
            let member = |token: &Token| format!("{{ token = \"{}\" }}", token.name());
            let members: Vec<String> = members.iter().map(member).collect();
            format!(
                "[roles.{name}]\nmembers = [{}]\nallow.plugins = [\"honest\"]\n{limits}\n",
                members.join(", ")
            )
        };
        let roles = role("callers", &[Token::Caller, Token::Flood], "")
            + &role("limited", &[Token::LimitedFlood], "limits.calls = \"100/s\"\n");
        let text = format!(
            "[http.auth]\ntokens = [{}]\n\n[callers]\ncalls = \"1000000/s\"\n\n{roles}{}\
             [plugins.honest.rates.\"*\"]\ncalls = \"1000000/s\"\nper_caller = \"1000000/s\"\n",
            tokens.join(", "),
            honest(binaries)
        );
        self.write("access.toml", &text)
    }

    /// A configuration with the plugin `echo`, and these tables.
    pub(super) fn watched(&self, binaries: &Binaries, name: &str, tables: &str) -> Result<PathBuf> {
        self.write(&format!("{name}.toml"), &format!("{tables}\n{}", honest(binaries)))
    }

    /// A configuration with the plugin `echo`, and with a shared store.
    pub(super) fn replica(&self, binaries: &Binaries, store: &str) -> Result<PathBuf> {
        let key = self.file("sealing-key");
        fs::write(&key, "a key that protects nothing, as all of this")?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        let path =
            self.write("replica.toml", &format!("[store]\nurl = \"{store}\"\n\n{}", honest(binaries)))?;
        let text = fs::read_to_string(&path)?;
        let sealing_key = format!("[gateway]\nsealing_key = {{ file = {} }}\n", quoted(&key));
        fs::write(&path, text.replacen("[gateway]\n", &sealing_key, 1))?;
        Ok(path)
    }

    /// A configuration with several copies of the plugin `time`.
    pub(super) fn times(&self, binaries: &Binaries, copies: usize) -> Result<PathBuf> {
        let source = quoted(&binaries.dist.join("time.wasm"));
        let mut plugins = String::new();
        for copy in 0..copies {
            write!(plugins, "[plugins.time{copy}]\nsource = {source}\n\n")?;
        }
        self.write(&format!("time-{copies}.toml"), &plugins)
    }

    /// A configuration with the plugin in a file, which has the tool `version`, and the plugin `echo`, both without a prefix.
    pub(super) fn replaced(&self, binaries: &Binaries, name: &str, file: &Path) -> Result<PathBuf> {
        let plugins =
            format!("[plugins.replaced]\nsource = {}\nprefix = \"\"\n\n{}", quoted(file), honest(binaries));
        self.write(&format!("{name}.toml"), &plugins)
    }

    /// A configuration with sample plugins and its own cache, for starts with an empty cache.
    pub(super) fn first_start(&self, binaries: &Binaries, name: &str, plugins: &[&str]) -> Result<PathBuf> {
        let mut tables = String::new();
        for plugin in plugins {
            let source = quoted(&binaries.dist.join(format!("{plugin}.wasm")));
            write!(tables, "[plugins.{plugin}]\nsource = {source}\n\n")?;
        }
        self.write_with_cache(&format!("first-{name}.toml"), &tables, &self.first_start_cache())
    }

    /// Clears the cache of the starts with an empty cache.
    pub(super) fn clear_first_start_cache(&self) -> Result<()> {
        let cache = self.first_start_cache();
        match fs::remove_dir_all(&cache) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("can't remove `{}`", cache.display()))
            }
            _ => Ok(()),
        }
    }

    fn first_start_cache(&self) -> PathBuf {
        self.directory.join("first-start-cache")
    }

    /// A configuration with the plugin `echo`, and the zoo with low limits, so that hostile calls end soon.
    pub(super) fn memory(&self, binaries: &Binaries) -> Result<PathBuf> {
        let zoo = quoted(&binaries.dist.join("zoo.wasm"));
        let plugins = format!(
            "{}[plugins.zoo]\nsource = {zoo}\nuris = [\"zoo://\"]\n\n\
             [plugins.zoo.limits]\ncpu_time = \"10ms\"\nmemory = \"8MiB\"\nhandles = 200\n",
            honest(binaries)
        );
        self.write("memory.toml", &plugins)
    }

    /// A configuration with the plugin `echo`, and the plugins of its neighbours.
    pub(super) fn fairness(&self, binaries: &Binaries) -> Result<(PathBuf, FairnessPlugins)> {
        let large = self.file("large.wasm");
        generate(binaries, &large, &["--functions", LARGE_PLUGIN_FUNCTIONS])?;
        let fill = self.file("fill.wasm");
        generate(binaries, &fill, &["--filled-pages", "3200"])?;
        let check = self.file("check.wasm");
        let word = json!({ "not": { "pattern": "[ab]*a[ab]{900}c" } });
        let schema =
            json!({ "type": "object", "properties": { "words": { "type": "array", "items": word } } });
        generate(binaries, &check, &["--schema", &schema.to_string()])?;
        let listed = self.file("listed.wasm");
        let property = |number: usize| {
            let text = json!({ "type": "string", "description": "An argument of a tool in a long list. ".repeat(3) });
            (format!("argument_{number}"), text)
        };
        let properties: serde_json::Map<_, _> = (0..LISTED_PROPERTIES).map(property).collect();
        let schema = json!({ "type": "object", "properties": properties }).to_string();
        let tools: Vec<String> = (0..LISTED_TOOLS).map(|number| format!("tool_{number}")).collect();
        let mut flags = vec!["--schema", &schema];
        flags.extend(tools.iter().flat_map(|tool| ["--tool", tool]));
        generate(binaries, &listed, &flags)?;

        let zoo = quoted(&binaries.dist.join("zoo.wasm"));
        let mut tables =
            format!("{}[plugins.zoo]\nsource = {zoo}\nuris = [\"zoo://\"]\n\n", honest(binaries));
        for (name, file) in [("large", &large), ("fill", &fill), ("check", &check), ("listed", &listed)] {
            write!(tables, "[plugins.{name}]\nsource = {}\n\n", quoted(file))?;
        }
        for name in ["zoo", "fill", "check"] {
            write!(
                tables,
                "[plugins.{name}.limits]\ntimeout = \"1h\"\ncpu_time = \"1h\"\nconcurrency = 40\n\
                 cancel_grace = \"0s\"\nmemory = \"512MiB\"\ntransfer = \"16MiB\"\n\n"
            )?;
        }
        Ok((self.write("fairness.toml", &tables)?, FairnessPlugins { large }))
    }

    /// The path of a file in the directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn write(&self, name: &str, plugins: &str) -> Result<PathBuf> {
        self.write_with_cache(name, plugins, &self.cache())
    }

    fn write_with_cache(&self, name: &str, plugins: &str, cache: &Path) -> Result<PathBuf> {
        let cache = quoted(cache);
        let text = format!(
            "version = 1\n\n[gateway]\ncache = {cache}\n\n[http]\nlisten = \"127.0.0.1:0\"\n\n{plugins}"
        );
        let path = self.directory.join(name);
        fs::write(&path, text).with_context(|| format!("can't write `{}`", path.display()))?;
        Ok(path)
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.directory)); // a failure leaves files in cargo's target directory only
    }
}

/// Generates a component with the tool `version`.
fn generate(binaries: &Binaries, file: &Path, flags: &[&str]) -> Result<()> {
    let mut command = Command::new(&binaries.generated);
    let status = command.arg(file).args(flags).status().context("can't start the generator of plugins")?;
    if !status.success() {
        bail!("can't generate `{}`", file.display());
    }
    Ok(())
}

/// The table of the plugin that the measured calls use. It has only the tool `echo`, like the other servers.
fn honest(binaries: &Binaries) -> String {
    format!("[plugins.honest]\nsource = {}\nprefix = \"\"\n\n", quoted(&binaries.dist.join("echo.wasm")))
}

/// A path as a TOML string.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}
