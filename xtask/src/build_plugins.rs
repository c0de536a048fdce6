//! `build-plugins`: builds all guests with one cargo command and copies them to `plugins/dist`.
//!
//! A component is replaced by renaming, and only if its content changed, so that a running gateway that watches the
//! directory sees complete and new files only.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::foreign_plugins;
use crate::project::{Guest, Project};
use crate::report;
use crate::run::ProcessRun;

/// The compilation target of components.
const TARGET: &str = "wasm32-wasip2";

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    crate::reject_arguments("build-plugins", &rest.iter().collect::<Vec<_>>())?;
    build(project)?;
    foreign_plugins::build(project)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds all guests in Rust and copies them to `plugins/dist`. Prints on stderr only.
pub(crate) fn build(project: &Project) -> Result<()> {
    add_target(project)?;
    let guests = project.guests()?;
    // Plugins and test guests separately: the build script of the built-in plugins builds the same plugins, and cargo
    // reuses them only if they are built with the same other packages.
    let (plugins, others): (Vec<&Guest>, Vec<&Guest>) =
        guests.iter().partition(|guest| guest.package.ends_with("-plugin"));
    for packages in [plugins, others] {
        let mut cargo = project.cargo(&["build", "--profile", "guest", "--target", TARGET]);
        for guest in packages {
            cargo = cargo.args(["-p", guest.package.as_str()]);
        }
        cargo.stdout_to_stderr().run()?;
    }

    let dist = project.dist();
    fs::create_dir_all(&dist).with_context(|| format!("can't create `{}`", dist.display()))?;
    for guest in &guests {
        let built = project.target().join(TARGET).join("guest");
        let built = built.join(format!("{}.wasm", guest.package.replace('-', "_")));
        let placed = place(&built, &dist.join(format!("{}.wasm", guest.name)))?;
        let word = if placed { "new" } else { "unchanged" };
        report::note(&format!("plugins/dist/{}.wasm: {word}", guest.name));
    }
    Ok(())
}

/// Copies `from` to `to` by write and rename; returns whether the content changed.
pub(crate) fn place(from: &Path, to: &Path) -> Result<bool> {
    let bytes = fs::read(from).with_context(|| format!("can't read `{}`", from.display()))?;
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    let temporary = to.with_extension(format!("wasm.{}", std::process::id()));
    fs::write(&temporary, bytes).with_context(|| format!("can't write `{}`", temporary.display()))?;
    fs::rename(&temporary, to).with_context(|| format!("can't replace `{}`", to.display()))?;
    Ok(true)
}

/// Adds the target to the toolchain if it is missing.
fn add_target(project: &Project) -> Result<()> {
    let sysroot =
        ProcessRun::new("rustc").args(["--print", "sysroot"]).current_dir(project.root()).read_stdout()?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).is_dir() {
        return Ok(());
    }
    let added = ProcessRun::new("rustup")
        .args(["target", "add", TARGET])
        .current_dir(project.root())
        .stdout_to_stderr()
        .run();
    if let Err(error) = added {
        bail!(
            "the toolchain can't build for `{TARGET}`, and adding that target failed: {error:#}\n\
             hint: run `rustup target add {TARGET}` with network access; without rustup, install Rust's standard library \
             for `{TARGET}`"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
