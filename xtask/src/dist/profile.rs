//! The profile of the gateway under load, for a profile-guided build.
//!
//! The code of a single call is spread over the whole binary, so a processor spends most of a call on fetching it. With a
//! profile, the compiler places the code that runs together, and the rest elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{Release, Target, binary};
use crate::bench;
use crate::run::ProcessRun;

/// The environment variable with one flag of the compiler for all crates of a target, which may contain spaces. Build
/// scripts are built without it.
pub(super) const FLAGS_VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

/// Builds the gateway with counters, runs loads on it, and returns the file with the counts.
///
/// The build differs from that of the binary in one flag only. In any other case, the names of functions would differ, and
/// the compiler wouldn't find their counts.
pub(super) fn record(release: &Release<'_>, target: &Target) -> Result<PathBuf> {
    let llvm_profdata = llvm_profdata(release)?;
    let directory = release.project.target().join("profile");
    let counts = directory.join("counts");
    let cargo = binary::cargo(release, target)?.env("CARGO_TARGET_DIR", &directory);
    cargo.env(FLAGS_VARIABLE, format!("-Cprofile-generate={}", counts.display())).run()?;
    if counts.exists() {
        fs::remove_dir_all(&counts).with_context(|| format!("can't remove `{}`", counts.display()))?;
    }
    bench::train(release.project, &directory.join(target.triple).join("release/moongate"))?;
    let profile = directory.join(format!("moongate-{}.profdata", target.triple));
    ProcessRun::new(llvm_profdata).args(["merge", "-o"]).arg(&profile).arg(&counts).run()?;
    Ok(profile)
}

/// Checks that a file is a profile. With any other file, the compiler only warns, and builds without a profile.
pub(super) fn check(release: &Release<'_>, profile: &Path) -> Result<()> {
    let shown = ProcessRun::new(llvm_profdata(release)?).arg("show").arg(profile).read_stdout();
    shown
        .with_context(|| format!("`{}` isn't a profile; unpack it if it is compressed", profile.display()))?;
    Ok(())
}

/// The flag that builds with a profile.
pub(super) fn use_flag(profile: &Path) -> String {
    format!("-Cprofile-use={}", profile.display())
}

/// Installs the component `llvm-tools`, which has the version of the compiler, and returns its program for profiles.
fn llvm_profdata(release: &Release<'_>) -> Result<PathBuf> {
    let root = release.project.root();
    ProcessRun::new("rustup").args(["component", "add", "llvm-tools"]).current_dir(root).run()?;
    let rustc = |what| ProcessRun::new("rustc").args(["--print", what]).current_dir(root).read_stdout();
    let (sysroot, host) = (rustc("sysroot")?, rustc("host-tuple")?);
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(host.trim()).join("bin/llvm-profdata"))
}
