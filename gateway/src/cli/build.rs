//! `build`: builds the plugin in the current directory with its language's tools.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{self, Path, PathBuf};
use std::process::Command;

use clap::Args;

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
enum ProjectKind {
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
struct BuildTool {
    command: Command,
    /// The tool's name in messages.
    name: &'static str,
    /// How to install it, or the packages that it needs.
    install: &'static str,
}

impl Build {
    pub(super) fn run(&self, common: &CommonOptions) -> CommandResult {
        let Some(kind) = ProjectKind::of(Path::new(".")) else {
            let hint = "run this in a directory that `moongate new` created";
            return Err(usage("the current directory contains no plugin project", hint));
        };
        let (tool, output) = match kind {
            ProjectKind::Rust if self.output.is_some() => {
                let hint = "remove it: cargo writes the component to its target directory";
                return Err(usage("`--output` isn't for Rust", hint));
            }
            ProjectKind::Rust => (cargo(), None),
            ProjectKind::Python | ProjectKind::C | ProjectKind::Node => {
                let output = self.output.clone().map_or_else(configured_output, Ok)?;
                let tool = match kind {
                    ProjectKind::Python => python(&output),
                    ProjectKind::C => c::compiler(&output, common)?,
                    ProjectKind::Rust | ProjectKind::Node => node(&output)?,
                };
                (tool, Some(output))
            }
        };
        tool.run()?;
        if let Some(output) = output.as_deref().filter(|_| kind == ProjectKind::C) {
            c::componentize(output)?;
        }
        if let Some(output) = output.filter(|_| !common.quiet) {
            print::stdout(&format!("built `{}`\n", output.display()))?;
        }
        Ok(ExitKind::Success)
    }
}

impl ProjectKind {
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
}

/// The file of the only plugin in `gateway.toml` that comes from a file.
fn configured_output() -> Result<PathBuf, CommandError> {
    let file = Path::new(CONFIG_FILE_NAME);
    let loaded = configuration::read(file.is_file().then_some(file));
    let plugins = loaded.config.iter().flat_map(|config| &config.plugins);
    let mut files = plugins.filter(|plugin| plugin.builtin.is_none() && plugin.remote.is_none());
    let directory = env::current_dir().unwrap_or_default();
    match (files.next(), files.next()) {
        (Some(plugin), None) if file.is_file() => {
            let source = &plugin.source;
            Ok(source.strip_prefix(&directory).map_or_else(|_| source.clone(), Path::to_path_buf))
        }
        _ => Err(usage(
            "`gateway.toml` must contain exactly one plugin with a component file",
            "pass the file to write with `--output`",
        )),
    }
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
    fn run(self) -> Result<(), CommandError> {
        let Self { mut command, name, install } = self;
        let failed = |message: &str, hint: Option<&str>| {
            Err(CommandError::new(ExitKind::Failure).message(message, hint))
        };
        match command.status() {
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

fn usage(message: &str, hint: &str) -> CommandError {
    CommandError::new(ExitKind::Usage).message(message, Some(hint))
}
