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
    ProcessRun::new("rustup")
        .args(["component", "add", "llvm-tools"])
        .current_dir(release.project.root())
        .run()?;
    let directory = release.project.target().join("profile");
    let counts = directory.join("counts");
    let cargo = binary::cargo(release, target)?.env("CARGO_TARGET_DIR", &directory);
    cargo.env(FLAGS_VARIABLE, format!("-Cprofile-generate={}", counts.display())).run()?;
    if counts.exists() {
        fs::remove_dir_all(&counts).with_context(|| format!("can't remove `{}`", counts.display()))?;
    }
    bench::train(release.project, &directory.join(target.triple).join("release/moongate"))?;
    let profile = directory.join(format!("moongate-{}.profdata", target.triple));
    ProcessRun::new(llvm_profdata()?).args(["merge", "-o"]).arg(&profile).arg(&counts).run()?;
    Ok(profile)
}

/// The flag that builds with a profile.
///
/// # Errors
/// The file isn't a profile. The compiler would only warn, and build without one.
pub(super) fn use_flag(profile: &Path) -> Result<String> {
    let shown = ProcessRun::new(llvm_profdata()?).arg("show").arg(profile).read_stdout();
    shown
        .with_context(|| format!("`{}` isn't a profile; unpack it if it is compressed", profile.display()))?;
    Ok(format!("-Cprofile-use={}", profile.display()))
}

/// The program of the component `llvm-tools`, which has the version of the compiler.
fn llvm_profdata() -> Result<PathBuf> {
    let sysroot = ProcessRun::new("rustc").args(["--print", "sysroot"]).read_stdout()?;
    let host = ProcessRun::new("rustc").args(["--print", "host-tuple"]).read_stdout()?;
    let tools = Path::new(sysroot.trim()).join("lib/rustlib").join(host.trim()).join("bin");
    Ok(tools.join("llvm-profdata"))
}
