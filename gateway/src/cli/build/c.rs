//! Builds plugins in C: a compiler for WASI makes a module, and the module becomes a component with the contract's types.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::BuildTool;
use crate::cli::error::CommandError;
use crate::cli::{CommonOptions, ExitKind, print};

/// How to install a compiler.
const INSTALL: &str = "run `python3 -m venv .venv && .venv/bin/pip install ziglang` in this directory, install Zig, or \
                       set `WASI_SDK_PATH` to the directory of the WASI SDK";

/// The environment variable of the WASI SDK's documentation.
const SDK_VARIABLE: &str = "WASI_SDK_PATH";

/// The libraries of a project. Each directory contains the sources of one.
const LIBRARIES: &str = "vendor";

/// Adds headers whose warnings aren't the author's.
const LIBRARY_FLAG: &str = "-isystem";

/// Leaves out the C library's debugging information, more than a megabyte.
const STRIP_FLAG: &str = "-Wl,--strip-debug";

/// The sources of a project, and the directories of its headers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sources {
    files: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
}

/// The command that compiles the project in the current directory, for the component `output`.
pub(super) fn compiler(output: &Path, common: &CommonOptions) -> Result<BuildTool, CommandError> {
    let (mut command, is_zig) = find_compiler()?;
    if is_zig && !output.exists() && !common.quiet {
        print::note("Zig's first build on a machine takes about half a minute");
    }
    if let Some(directory) = output.parent() {
        fs::create_dir_all(directory)
            .with_context(|| format!("can't create the directory `{}`", directory.display()))?;
    }
    let Sources { files, libraries } = Sources::of(Path::new(""))?;
    // Zig's default with optimisation is to remove assertions.
    command.args(["-mexec-model=reactor", "-std=c17", "-O2", "-UNDEBUG", "-Wall", "-Isrc", STRIP_FLAG]);
    for library in libraries {
        command.arg(LIBRARY_FLAG).arg(library);
    }
    command.args(flags("CFLAGS")).arg("-o").arg(module_path(output)).args(files).args(flags("LDFLAGS"));
    Ok(BuildTool { command, name: "the C compiler", install: INSTALL })
}

/// The module that the compiler writes, next to the component.
pub(super) fn module_path(component: &Path) -> PathBuf {
    component.with_extension("core.wasm")
}

/// Makes a component of the compiled module.
pub(super) fn componentize(output: &Path) -> Result<()> {
    let file = module_path(output);
    let module = fs::read(&file).with_context(|| format!("can't read `{}`", file.display()))?;
    fs::remove_file(&file).with_context(|| format!("can't remove `{}`", file.display()))?;
    let component =
        component(&module, Path::new("vendor/moongate")).context("can't make a component of the plugin")?;
    // A gateway that watches the file never sees a partial one.
    let partial = output.with_extension("wasm.new");
    fs::write(&partial, component).with_context(|| format!("can't write `{}`", partial.display()))?;
    fs::rename(&partial, output).with_context(|| format!("can't write `{}`", output.display()))
}

/// A compiler for WASI: that of the WASI SDK, or Zig. Returns true for Zig.
fn find_compiler() -> Result<(Command, bool), CommandError> {
    let named = env::var_os(SDK_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let sdk = named.as_deref().unwrap_or(Path::new("/opt/wasi-sdk"));
    let clang = sdk.join("bin").join(format!("clang{}", env::consts::EXE_SUFFIX));
    if clang.is_file() {
        let mut command = Command::new(clang);
        command.arg("--target=wasm32-wasip1");
        return Ok((command, false));
    }
    if named.is_some() {
        let text = format!("`{SDK_VARIABLE}` contains no compiler: `{}` doesn't exist", clang.display());
        let hint = "set it to the directory of the WASI SDK, or unset it to use Zig";
        return Err(CommandError::new(ExitKind::Failure).message(&text, Some(hint)));
    }
    let own = Path::new(".venv/bin/python");
    let mut candidates: Vec<(&Path, &[&str])> =
        vec![(Path::new("zig"), &[]), (Path::new("python3"), &["-m", "ziglang"])];
    if own.is_file() {
        candidates.insert(0, (own, &["-m", "ziglang"]));
    }
    let found = candidates.into_iter().find(|(program, arguments)| {
        let mut version = Command::new(program);
        version
            .args(*arguments)
            .arg("version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    });
    let (program, arguments) = found.ok_or_else(|| {
        CommandError::new(ExitKind::Failure).message("no C compiler for WASI is installed", Some(INSTALL))
    })?;
    let mut command = Command::new(program);
    command.args(arguments).args(["cc", "-target", "wasm32-wasi"]);
    Ok((command, true))
}

/// The words of a variable that C programmers use for more flags.
fn flags(variable: &str) -> Vec<String> {
    let value = env::var(variable).unwrap_or_default();
    value.split_whitespace().map(str::to_owned).collect()
}

impl Sources {
    /// The C files in `src` and in the directories of `vendor`.
    fn of(project: &Path) -> Result<Self> {
        let mut sources = Self::default();
        sources.add(&project.join("src"))?;
        let libraries = project.join(LIBRARIES);
        if libraries.is_dir() {
            for directory in entries(&libraries)?.into_iter().filter(|path| path.is_dir()) {
                sources.add(&directory)?;
                sources.libraries.push(directory);
            }
        }
        Ok(sources)
    }

    fn add(&mut self, directory: &Path) -> Result<()> {
        let is_source = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "c");
        self.files.extend(entries(directory)?.into_iter().filter(is_source));
        Ok(())
    }
}

/// The paths in a directory, in order.
fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let read =
        || fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut paths = read().with_context(|| format!("can't read the directory `{}`", directory.display()))?;
    paths.sort();
    Ok(paths)
}

/// Makes a component of a module that exports the functions of the contract. `library` is the directory of the library in C,
/// which contains the contract.
fn component(module: &[u8], library: &Path) -> Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    resolve.push_dir(library.join("wit"))?;
    let file = library.join("world.wit");
    let world = fs::read_to_string(&file).with_context(|| format!("can't read `{}`", file.display()))?;
    let package = resolve.push_str(&file, &world)?;
    let world = resolve.select_world(&[package], None)?;
    let mut module = module.to_vec();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    let encoder = ComponentEncoder::default().validate(true).module(&module)?;
    encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?.encode()
}

#[cfg(test)]
mod tests;
