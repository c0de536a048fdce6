//! Build tools of other languages, which `cargo xtask build-plugins` installs.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Workspace, gateway_binary};

/// The directory of all tools.
fn all_tools() -> PathBuf {
    gateway_binary().ancestors().nth(2).expect("the target directory").join("tools")
}

/// The directory of the installed tools whose name starts with this, the one that was used last.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn foreign_tools(prefix: &str) -> PathBuf {
    let all = all_tools();
    let found = fs::read_dir(&all).into_iter().flatten().flatten().map(|entry| entry.path());
    let found =
        found.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)));
    let used = |path: &PathBuf| fs::metadata(path.join("installed")).and_then(|stamp| stamp.modified()).ok();
    found.max_by_key(used).unwrap_or_else(|| panic!("no `{prefix}…` in {}", all.display()))
}

/// `PATH` with this directory first.
///
/// # Panics
/// If the directory's name contains a separator of paths.
#[must_use]
pub fn path_with(directory: &Path) -> OsString {
    let others = env::var_os("PATH").unwrap_or_default();
    env::join_paths([directory.to_owned()].into_iter().chain(env::split_paths(&others))).expect("a directory")
}

/// Lets a command find Zig. Its compiled C library is kept between runs.
pub fn add_zig(command: &mut Command) {
    command.env("PATH", path_with(&foreign_tools("python-c-").join("bin")));
    command.env("ZIG_GLOBAL_CACHE_DIR", all_tools().join("zig-cache")).env_remove("VIRTUAL_ENV");
}

/// Builds the plugin in C with this source, in a new project.
///
/// # Panics
/// If it can't be built.
#[must_use]
pub fn build_in_c(name: &str, source: &Path) -> PathBuf {
    let workspace = Workspace::new("");
    let output = workspace.run(&["new", name, "--lang", "c"]);
    assert!(output.status.success(), "{output:?}");
    let project = workspace.path().join(name);
    fs::copy(source, project.join("src/plugin.c")).expect("copy the source");
    let mut build = workspace.command(&["build"]);
    add_zig(&mut build);
    let output =
        build.current_dir(&project).env_remove("MOONGATE_CONFIG").output().expect("the gateway starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let component = all_tools().join(format!("{name}.wasm"));
    fs::copy(project.join(format!("target/{name}.wasm")), &component).expect("copy the component");
    component
}
