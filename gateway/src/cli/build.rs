//! `build`: builds the plugin in the current directory with its language's tools.

use std::env::{self, VarError};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{self, Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use clap::Args;
use moongate_config::{Config, Environment, PluginConfig, ProcessEnvironment};

use crate::cli::configuration::{self, CONFIG_FILE_NAME};
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::{CommonOptions, ExitKind, print};

mod c;

/// The exit code of the libraries' build scripts if a tool is missing (`EX_UNAVAILABLE` of sysexits.h).
const TOOL_MISSING: i32 = 69;

/// Build the plugin in the current directory
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate build
  moongate build --output hello.wasm

The current directory is a project that `moongate new` created, or one with the same files. The component is written to \
the `source` of the plugin in gateway.toml. Rust plugins are built with cargo, Python plugins with componentize-py, \
JavaScript and TypeScript plugins with esbuild and componentize-qjs, and C plugins with Zig or the WASI SDK. If a tool is \
missing, the command prints how to install it.")]
pub(super) struct Build {
    /// Component file to write; not for Rust [default: `source` in gateway.toml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The kind of a project, by its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProjectKind {
    /// `Cargo.toml`.
    Rust,
    /// `src/plugin.py`.
    Python,
    /// `src/plugin.c`.
    C,
    /// `package.json`: JavaScript or TypeScript.
    Node,
}

/// A build tool that could be missing.
pub(super) struct BuildTool {
    pub(super) command: Command,
    /// The tool's name in messages.
    name: &'static str,
    /// How to install it, or the packages that it needs.
    install: &'static str,
}

impl Build {
    pub(super) fn run(&self, common: &CommonOptions) -> CommandResult {
        let kind = ProjectKind::of_current_directory()?;
        let (tool, output) = match (kind, &self.output) {
            (ProjectKind::Rust, None) => (cargo(), None),
            (ProjectKind::Rust, Some(_)) => {
                let hint = "remove it: cargo writes the component to its target directory";
                return Err(usage("`--output` isn't for Rust", hint));
            }
            (ProjectKind::Python | ProjectKind::C | ProjectKind::Node, named) => {
                let output = named.clone().map_or_else(configured_output, Ok)?;
                (kind.tool(&output, common)?, Some(output))
            }
        };
        tool.run()?;
        if let Some(output) = &output {
            kind.finish(output)?;
        }
        if let Some(output) = output.filter(|_| !common.quiet) {
            print::stdout(&format!("built `{}`\n", output.display()))?;
        }
        Ok(ExitKind::Success)
    }
}

impl ProjectKind {
    /// The kind of the project in the current directory.
    ///
    /// # Errors
    /// The directory contains no project.
    pub(super) fn of_current_directory() -> Result<Self, CommandError> {
        let hint = "run this in a directory that `moongate new` created";
        Self::of(Path::new("."))
            .ok_or_else(|| usage("the current directory contains no plugin project", hint))
    }

    /// The kind of the project in `directory`.
    fn of(directory: &Path) -> Option<Self> {
        let has = |file: &str| directory.join(file).is_file();
        if has("Cargo.toml") {
            Some(Self::Rust)
        } else if has("src/plugin.py") {
            Some(Self::Python)
        } else if has("src/plugin.c") {
            Some(Self::C)
        } else {
            has("package.json").then_some(Self::Node)
        }
    }

    /// The tool that builds the project in the current directory, and writes the component to `output`. Cargo writes it to its
    /// target directory instead.
    ///
    /// # Errors
    /// The project's packages or a compiler aren't installed.
    pub(super) fn tool(self, output: &Path, common: &CommonOptions) -> Result<BuildTool, CommandError> {
        match self {
            Self::Rust => Ok(cargo()),
            Self::Python => Ok(python(output)),
            Self::C => c::compiler(output, common),
            Self::Node => node(output),
        }
    }

    /// Converts the output of the tool to a component, if it isn't one.
    ///
    /// # Errors
    /// The tool has built something else.
    pub(super) fn finish(self, output: &Path) -> Result<(), CommandError> {
        match self {
            Self::C => Ok(c::componentize(output)?),
            Self::Rust | Self::Python | Self::Node => Ok(()),
        }
    }
}

/// The file of the only plugin in `gateway.toml` that comes from a file.
fn configured_output() -> Result<PathBuf, CommandError> {
    let file = Path::new(CONFIG_FILE_NAME);
    let several = || usage(ONE_PLUGIN_NEEDED, "pass the file to write with `--output`");
    if !file.is_file() {
        return Err(several());
    }
    let loaded = configuration::read_with(Some(file), &WithoutSecrets);
    let Some(config) = loaded.config else {
        return Err(CommandError::new(ExitKind::Configuration).diagnostics(&loaded.problems, &loaded.source));
    };
    let plugin = plugin_from_file(&config).ok_or_else(several)?;
    let directory = env::current_dir().unwrap_or_default();
    let source = &plugin.source;
    Ok(source.strip_prefix(&directory).map_or_else(|_| source.clone(), Path::to_path_buf))
}

/// The environment of this process. Missing secrets have a placeholder, because a build doesn't need them.
struct WithoutSecrets;

impl Environment for WithoutSecrets {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        ProcessEnvironment.variable(name)
    }

    fn secret(&self, name: &str) -> Result<String, VarError> {
        Ok(self.variable(name).unwrap_or_else(|_| placeholder(name)))
    }

    fn secret_file(&self, path: &Path) -> io::Result<String> {
        match ProcessEnvironment.secret_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(placeholder(&path.display().to_string()))
            }
            found => found,
        }
    }

    fn names(&self) -> Vec<String> {
        ProcessEnvironment.names()
    }
}

/// A secret that is long enough for a key and differs from other secrets.
fn placeholder(name: &str) -> String {
    format!("{name}-{:064}", 0)
}

/// The error for a configuration without exactly one plugin from a file.
pub(super) const ONE_PLUGIN_NEEDED: &str =
    "`gateway.toml` must contain exactly one plugin with a component file";

/// The only plugin of a configuration that comes from a file.
pub(super) fn plugin_from_file(config: &Config) -> Option<&Arc<PluginConfig>> {
    let mut files =
        config.plugins.iter().filter(|plugin| plugin.builtin.is_none() && plugin.remote.is_none());
    files.next().filter(|_| files.next().is_none())
}

/// The files that a build writes: the component, and those that exist only during the build.
pub(super) fn written_files(component: &Path) -> [PathBuf; 3] {
    [component.to_owned(), c::module_path(component), component.with_extension("wasm.new")]
}

fn cargo() -> BuildTool {
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--target", "wasm32-wasip2"]);
    BuildTool { command, name: "cargo", install: "install Rust with rustup, from https://rustup.rs" }
}

fn python(output: &Path) -> BuildTool {
    // The project's environment, or the one that is active.
    let own = Path::new(".venv/bin/python");
    let mut command = Command::new(if own.is_file() { own } else { Path::new("python3") });
    command.args(["-m", "moongate.build", "-o"]).arg(output);
    if Path::new("packages").is_dir() {
        command.args(["--path", "packages"]);
    }
    if let Some(path) = python_path() {
        command.env("PYTHONPATH", path);
    }
    let install = "install Python 3.11 or later, and run `python3 -m venv .venv && .venv/bin/pip install -r \
                   requirements.txt` in this directory";
    BuildTool { command, name: "python3", install }
}

/// The library in the project before other directories.
fn python_path() -> Option<OsString> {
    let vendor = path::absolute("vendor").ok().filter(|vendor| vendor.is_dir())?;
    let others = env::var_os("PYTHONPATH").filter(|others| !others.is_empty());
    let others = others.iter().flat_map(env::split_paths);
    env::join_paths([vendor].into_iter().chain(others)).ok()
}

fn node(output: &Path) -> Result<BuildTool, CommandError> {
    let script = Path::new("node_modules/moongate/build.mjs");
    let install = "install Node 18.19 or later, and run `npm install` in this directory";
    if !script.is_file() {
        let message = "the project's packages aren't installed";
        return Err(CommandError::new(ExitKind::Failure).message(message, Some(install)));
    }
    let mut command = Command::new("node");
    command.arg(script).arg(output);
    Ok(BuildTool { command, name: "node", install })
}

impl BuildTool {
    /// Runs the tool, which prints its own errors.
    fn run(mut self) -> Result<(), CommandError> {
        let status = self.command.status();
        self.check(status)
    }

    /// The error if the tool couldn't be started, or failed.
    pub(super) fn check(&self, status: io::Result<ExitStatus>) -> Result<(), CommandError> {
        let Self { command: _, name, install } = self;
        let failed = |message: &str, hint: Option<&str>| {
            Err(CommandError::new(ExitKind::Failure).message(message, hint))
        };
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) if status.code() == Some(TOOL_MISSING) => {
                failed("the build needs a tool that isn't installed", Some(install))
            }
            Ok(_) => failed(&format!("{name} couldn't build the plugin"), None),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                failed(&format!("{name} isn't installed"), Some(install))
            }
            Err(error) => failed(&format!("can't run {name}: {error}"), None),
        }
    }
}

/// An error in the command line or the project.
pub(super) fn usage(message: &str, hint: &str) -> CommandError {
    CommandError::new(ExitKind::Usage).message(message, Some(hint))
}
