//! `build-plugins`: all guests in one call of cargo, then into `plugins/dist`.
//!
//! A component is put in place by renaming, and only when its bytes changed: a running gateway that watches the
//! folder sees whole files, and only new ones.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::foreign_plugins;
use crate::project::Project;
use crate::report;
use crate::run::Run;

/// What components are compiled for.
const TARGET: &str = "wasm32-wasip2";

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    crate::no_more("build-plugins", &rest.iter().collect::<Vec<_>>())?;
    build(project)?;
    foreign_plugins::build(project)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds all guests in Rust and puts them into `plugins/dist`. Prints on stderr only.
pub(crate) fn build(project: &Project) -> Result<()> {
    add_target(project)?;
    let guests = project.guests()?;
    let mut cargo = project.cargo(&["build", "--profile", "guest", "--target", TARGET]);
    for guest in &guests {
        cargo = cargo.args(["-p", guest.package.as_str()]);
    }
    cargo.quiet_stdout().done()?;

    let dist = project.dist();
    fs::create_dir_all(&dist).with_context(|| format!("`{}` can't be made", dist.display()))?;
    for guest in &guests {
        let built = project.target().join(TARGET).join("guest");
        let built = built.join(format!("{}.wasm", guest.package.replace('-', "_")));
        let placed = place(&built, &dist.join(format!("{}.wasm", guest.name)))?;
        let word = if placed { "new" } else { "unchanged" };
        report::note(&format!("plugins/dist/{}.wasm: {word}", guest.name));
    }
    Ok(())
}

/// Copies `from` to `to` by write and rename; gives back whether anything was to do.
pub(crate) fn place(from: &Path, to: &Path) -> Result<bool> {
    let bytes = fs::read(from).with_context(|| format!("`{}` can't be read", from.display()))?;
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    let beside = to.with_extension(format!("wasm.{}", std::process::id()));
    fs::write(&beside, bytes).with_context(|| format!("`{}` can't be written", beside.display()))?;
    fs::rename(&beside, to).with_context(|| format!("`{}` can't be put in place", to.display()))?;
    Ok(true)
}

/// Adds the target to the toolchain where it is missing.
fn add_target(project: &Project) -> Result<()> {
    let sysroot = Run::new("rustc").args(["--print", "sysroot"]).folder(project.root()).read()?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).is_dir() {
        return Ok(());
    }
    let added =
        Run::new("rustup").args(["target", "add", TARGET]).folder(project.root()).quiet_stdout().done();
    if let Err(error) = added {
        bail!(
            "the toolchain can't build for `{TARGET}`, and adding that target failed: {error:#}\n\
             hint: with rustup installed and the network up, `rustup target add {TARGET}` adds it; where Rust came \
             another way, install its standard library for `{TARGET}` the same way"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
