//! `new`: creates a plugin project.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::cli::error::{CommandError, CommandResult};
use crate::cli::{CommonOptions, ExitKind, print};

mod language;
mod name;
mod sdk;

use language::Language;
use name::ProjectName;
use sdk::{ReleasedSdk, SdkSource};

/// Create a plugin project with one tool and its test
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate new hello
  moongate new hello --lang python
  moongate new plugins/hello --sdk ~/src/moongate

Rust projects use the SDK of the gateway's release. With a gateway that you built yourself, add `--sdk`. Projects in \
other languages contain the library that they need.")]
pub(super) struct New {
    /// Directory to create; its last part is the plugin's name
    #[arg(value_name = "NAME")]
    directory: PathBuf,
    /// Language of the plugin
    #[arg(long, value_name = "LANGUAGE", default_value = "rust")]
    lang: Language,
    /// SDK to use for Rust: a directory, or the URL of a Git repository
    #[arg(long, value_name = "PATH|URL")]
    sdk: Option<String>,
}

impl New {
    pub(super) fn run(&self, common: &CommonOptions) -> CommandResult {
        let usage =
            |message: &str, hint: &str| CommandError::new(ExitKind::Usage).message(message, Some(hint));
        let name =
            ProjectName::of(&self.directory).map_err(|error| usage(&error.to_string(), error.hint()))?;
        let sdk = match (self.lang, &self.sdk) {
            (Language::Rust, named) => Some(
                SdkSource::find(named.as_deref(), ReleasedSdk::OWN)
                    .map_err(|error| usage(&error.to_string(), &error.hint()))?,
            ),
            (_, None) => None,
            (_, Some(_)) => {
                return Err(usage("`--sdk` is for Rust", "remove it: the project contains its library"));
            }
        };
        let component = match self.lang {
            Language::Rust => component_path(&name, env::var_os("CARGO_TARGET_DIR").map(PathBuf::from)),
            Language::Python | Language::Javascript | Language::Typescript | Language::C => {
                format!("target/{name}.wasm")
            }
        };
        let shown = self.directory.display();
        if fs::symlink_metadata(&self.directory).is_ok() && !is_empty(&self.directory) {
            let message = format!("`{shown}` already exists");
            return Err(usage(&message, "choose another directory"));
        }
        let dependency = sdk.as_ref().map(SdkSource::dependency).unwrap_or_default();
        let project = self.lang.files().iter().map(|(file, text)| {
            let text = fill(text, &name, &dependency, &component);
            ((*file).to_owned(), text.replace("@extension@", self.lang.extension()))
        });
        let library = self.lang.library().iter();
        let library = library.map(|(file, text)| (format!("vendor/moongate/{file}"), (*text).to_owned()));
        for (file, text) in project.chain(library) {
            write(&self.directory.join(file), &text).with_context(|| {
                format!("can't create `{shown}`; remove the incomplete directory and try again")
            })?;
        }
        print::stdout(&format!("created `{shown}`: a plugin with the tool `greet` and its test\n"))?;
        if !common.quiet {
            match sdk {
                Some(sdk) => print::note(&format!("the project uses {sdk}")),
                None => print::note("the project's library is in `vendor/moongate`"),
            }
            print::stderr_lines(&next_steps(self.lang, &self.directory, &component));
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

/// Fills in a template. `dependency` is the SDK in `Cargo.toml`.
fn fill(text: &str, name: &ProjectName, dependency: &str, component: &str) -> String {
    text.replace("@name@", name.as_str())
        .replace("@type@", &name.type_name())
        .replace("@component@", &print::shell_word(component))
        .replace("@source@", &sdk::toml_string(component))
        .replace("@sdk@", dependency)
}

/// The text of a configuration with the plugin `name`, whose component is the file `source`, and without grants.
pub(super) fn config_text(name: &str, source: &str) -> String {
    let (_, template) = language::GATEWAY_FILE;
    template.replace("@name@", name).replace("@source@", &sdk::toml_string(source))
}

/// The next commands to run.
fn next_steps(language: Language, directory: &Path, component: &str) -> String {
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
    let test = language.test_command();
    format!(
        "next:\n  cd {directory} && {test}\n  {program} build && {program} call --plugin {component} greet name=Ada\n"
    )
}

#[cfg(test)]
mod tests;
