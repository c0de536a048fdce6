//! `new`: creates a plugin project.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::cli::error::{CommandError, CommandResult};
use crate::cli::{CommonOptions, ExitKind, print};

mod name;
mod sdk;

use name::ProjectName;
use sdk::{ReleasedSdk, SdkSource};

/// Create a plugin project in Rust with one tool and its test
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate new hello
  moongate new plugins/hello --sdk ~/src/moongate

A released gateway uses the SDK of its release. With a gateway that you built yourself, add `--sdk`.")]
pub(super) struct New {
    /// Directory to create; its last part is the plugin's name
    #[arg(value_name = "NAME")]
    directory: PathBuf,
    /// SDK to use: a directory, or the URL of a Git repository
    #[arg(long, value_name = "PATH|URL")]
    sdk: Option<String>,
}

/// The files of the project and their templates.
const TEMPLATE_FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("new/template/Cargo.toml.in")),
    ("src/lib.rs", include_str!("new/template/lib.rs.in")),
    ("README.md", include_str!("new/template/README.md.in")),
    ("gateway.toml", include_str!("new/template/gateway.toml.in")),
    ("rust-toolchain.toml", include_str!("new/template/rust-toolchain.toml.in")),
    (".gitignore", include_str!("new/template/gitignore.in")),
];

impl New {
    pub(super) fn run(&self, common: &CommonOptions) -> CommandResult {
        let usage =
            |message: &str, hint: &str| CommandError::new(ExitKind::Usage).message(message, Some(hint));
        let name =
            ProjectName::of(&self.directory).map_err(|error| usage(&error.to_string(), error.hint()))?;
        let sdk = SdkSource::find(self.sdk.as_deref(), ReleasedSdk::OWN)
            .map_err(|error| usage(&error.to_string(), &error.hint()))?;
        let component = component_path(&name, env::var_os("CARGO_TARGET_DIR").map(PathBuf::from));
        let shown = self.directory.display();
        if fs::symlink_metadata(&self.directory).is_ok() && !is_empty(&self.directory) {
            let message = format!("`{shown}` already exists");
            return Err(usage(&message, "choose another directory"));
        }
        for (file, text) in TEMPLATE_FILES {
            write(&self.directory.join(file), &fill(text, &name, &sdk, &component)).with_context(|| {
                format!("can't create `{shown}`; remove the incomplete directory and try again")
            })?;
        }
        print::stdout(&format!("created `{shown}`: a plugin with the tool `greet` and its test\n"))?;
        if !common.quiet {
            print::note(&format!("the project uses {sdk}"));
            print::stderr_lines(&next_steps(&self.directory, &component));
        }
        Ok(ExitKind::Success)
    }
}

/// True if the directory is empty; files are never overwritten.
fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let directory = path.parent().expect("every file is in a directory");
    fs::create_dir_all(directory)
        .with_context(|| format!("can't create the directory `{}`", directory.display()))?;
    fs::write(path, text).with_context(|| format!("can't write `{}`", path.display()))
}

/// The path to which cargo writes the component. `target` is `CARGO_TARGET_DIR`; a relative one is ignored, because it
/// depends on the directory in which cargo runs.
fn component_path(name: &ProjectName, target: Option<PathBuf>) -> String {
    let target = target.filter(|directory| directory.is_absolute()).unwrap_or_else(|| "target".into());
    target.join("wasm32-wasip2/release").join(name.file()).to_string_lossy().into_owned()
}

fn fill(text: &str, name: &ProjectName, sdk: &SdkSource, component: &str) -> String {
    text.replace("@name@", name.as_str())
        .replace("@type@", &name.type_name())
        .replace("@component@", &print::shell_word(component))
        .replace("@source@", &sdk::toml_string(component))
        .replace("@sdk@", &sdk.dependency())
}

/// The next commands to run.
fn next_steps(directory: &Path, component: &str) -> String {
    let program = print::program_name();
    // The commands change the current directory.
    let program = if program.contains(std::path::is_separator) {
        std::path::absolute(&program).map_or(program, |path| path.to_string_lossy().into_owned())
    } else {
        program
    };
    let directory = print::shell_word(&directory.to_string_lossy());
    let program = print::shell_word(&program);
    let component = print::shell_word(component);
    format!(
        "next:\n  cd {directory} && cargo test\n  cargo build --release --target wasm32-wasip2 && {program} call \
         --plugin {component} greet name=Ada\n"
    )
}

#[cfg(test)]
mod tests;
