//! The functions that copy and compare memory, from LLVM's libc instead of musl's.
//!
//! On x86-64, musl's `memcpy` is slow for short values, and its `memcmp` compares byte by byte. A call copies and compares
//! hundreds of short values, which took a twelfth of its processor time. On 64-bit ARM, musl's functions are fast.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::run::ProcessRun;

/// The environment variable with the directory of the library, for the gateway's build script.
pub(super) const DIRECTORY_VARIABLE: &str = "MOONGATE_MEMORY_FUNCTIONS";

/// The name of the library. It is also in the gateway's build script.
const LIBRARY: &str = "libmemory_functions.a";

/// The functions' object files in LLVM's libc. They need no others.
const OBJECTS: [&str; 5] = ["bcmp.cpp.o", "memcmp.cpp.o", "memcpy.cpp.o", "memmove.cpp.o", "memset.cpp.o"];

/// Writes the library with these functions, and returns its directory.
///
/// # Errors
/// LLVM's libc isn't installed.
pub(super) fn build(project: &Project) -> Result<PathBuf> {
    let libc = llvm_libc().context(
        "LLVM's libc isn't installed: install the package `libllvmlibc-19-dev` or a later version",
    )?;
    let directory = project.target().join("memory-functions");
    if directory.exists() {
        fs::remove_dir_all(&directory).with_context(|| format!("can't remove `{}`", directory.display()))?;
    }
    fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
    let ar = || ProcessRun::new("ar").current_dir(&directory);
    ar().arg("x").arg(&libc).args(OBJECTS).run()?;
    ar().args(["rcsD", LIBRARY]).args(OBJECTS).run()?;
    Ok(directory)
}

/// The newest installed version of LLVM's libc, in the directories of Debian's and Ubuntu's packages.
fn llvm_libc() -> Option<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.strip_prefix("llvm-")?.parse::<u32>().ok();
    fs::read_dir("/usr/lib")
        .ok()?
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let library = path.join("lib/libllvmlibc.a");
            library.exists().then_some((version(&path)?, library))
        })
        .max()
        .map(|(_, library)| library)
}
