//! `new`: a plugin's project, ready to be built and tested.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::cli::failure::{Done, Failure};
use crate::cli::{Common, Exit, print};

mod name;
mod sdk;

use name::ProjectName;
use sdk::Sdk;

/// Make a plugin's project in Rust: one tool, its test, and what builds it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate new hello
  moongate new plugins/hello --sdk ~/src/moongate

The SDK isn't published yet. Without --sdk it is taken from the sources that this gateway was built from.")]
pub(super) struct New {
    /// The folder to make; its last part is the plugin's name
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// Where the SDK is: a folder, or the address of a Git repository
    #[arg(long, value_name = "PATH|URL")]
    sdk: Option<String>,
}

/// A file of the project, and its text with names to be filled in.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("new/template/Cargo.toml.in")),
    ("src/lib.rs", include_str!("new/template/lib.rs.in")),
    ("README.md", include_str!("new/template/README.md.in")),
    ("gateway.toml", include_str!("new/template/gateway.toml.in")),
    ("rust-toolchain.toml", include_str!("new/template/rust-toolchain.toml.in")),
    (".gitignore", include_str!("new/template/gitignore.in")),
];

impl New {
    pub(super) fn run(&self, common: &Common) -> Done {
        let usage = |message: &str, hint: &str| Failure::new(Exit::Usage).says(message, Some(hint));
        let name = ProjectName::of(&self.folder).map_err(|error| usage(&error.to_string(), error.hint()))?;
        let sdk = Sdk::find(self.sdk.as_deref()).map_err(|error| usage(&error.to_string(), sdk::HINT))?;
        let component = component(&name, env::var_os("CARGO_TARGET_DIR").map(PathBuf::from));
        let shown = self.folder.display();
        if fs::symlink_metadata(&self.folder).is_ok() && !is_empty(&self.folder) {
            let message = format!("`{shown}` is there already");
            return Err(usage(&message, "name a folder that isn't there yet"));
        }
        for (file, text) in FILES {
            write(&self.folder.join(file), &fill(text, &name, &sdk, &component))
                .with_context(|| format!("`{shown}` is only half made; remove it before trying again"))?;
        }
        print::data(&format!("made `{shown}`: a plugin with one tool, `greet`, and its test\n"))?;
        if !common.quiet {
            print::remark(&format!("the SDK isn't published yet; it is taken from {sdk}"));
            print::note(&next(&self.folder, &component));
        }
        Ok(Exit::Success)
    }
}

/// Nothing is overwritten, so only an empty folder will do.
fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().expect("each file is in a folder");
    fs::create_dir_all(folder).with_context(|| format!("can't make the folder `{}`", folder.display()))?;
    fs::write(path, text).with_context(|| format!("can't write `{}`", path.display()))
}

/// Where cargo will write the component. `target`: where the environment has it build everything. A relative path is
/// another one in each folder that cargo runs in, so it can't stand in a file.
fn component(name: &ProjectName, target: Option<PathBuf>) -> String {
    let target = target.filter(|folder| folder.is_absolute()).unwrap_or_else(|| "target".into());
    target.join("wasm32-wasip2/release").join(name.file()).to_string_lossy().into_owned()
}

fn fill(text: &str, name: &ProjectName, sdk: &Sdk, component: &str) -> String {
    text.replace("@name@", name.as_str())
        .replace("@type@", &name.type_name())
        .replace("@component@", &print::word(component))
        .replace("@source@", &sdk::quoted(component))
        .replace("@sdk@", &sdk.dependency())
}

/// What to do with it.
fn next(folder: &Path, component: &str) -> String {
    let program = print::program();
    // The folder is another by then.
    let program = if program.contains(std::path::is_separator) {
        std::path::absolute(&program).map_or(program, |path| path.to_string_lossy().into_owned())
    } else {
        program
    };
    let (folder, program) = (print::word(&folder.to_string_lossy()), print::word(&program));
    let component = print::word(component);
    format!(
        "next:\n  cd {folder} && cargo test\n  cargo build --release --target wasm32-wasip2 && {program} call \
         --plugin {component} greet name=Ada\n"
    )
}

#[cfg(test)]
mod tests;
