//! Installs packages of other languages from committed lockfiles, for the interop tests and for plugins.
//!
//! Each set is installed into a directory named after the lockfile's content, so that a second run reuses it and a changed
//! lockfile gets another directory. If a tool is missing, the step is skipped with a warning.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::ProcessRun;

/// Marks a complete installation; rewritten at each use.
const STAMP_FILE: &str = "installed";

/// A directory that wasn't used for longer is removed: its lockfile has changed.
const MAX_UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A tool that isn't installed on this machine.
#[derive(Debug)]
pub(crate) enum MissingTool {
    /// A Python that can create virtual environments.
    Python,
    /// npm.
    Npm,
    /// A Node of the version that the packages need, from npm or on the machine.
    Node,
    /// Chromium.
    Chromium,
    /// HAProxy.
    HaProxy,
    /// Redis.
    Redis,
    /// cargo-deny.
    CargoDeny,
    /// mdBook.
    MdBook,
}

impl fmt::Display for MissingTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Python => "python3 (3.11 or later) with the module `venv` isn't installed",
            Self::Npm => "npm isn't installed",
            Self::Node => "Node 22 isn't installed, and npm has no build for this machine",
            Self::Chromium => "chromium isn't installed",
            Self::HaProxy => "haproxy isn't installed",
            Self::Redis => "redis-server isn't installed",
            Self::CargoDeny => "cargo-deny isn't installed; run `cargo install --locked cargo-deny`",
            Self::MdBook => "mdbook isn't installed; run `cargo install --locked mdbook`",
        })
    }
}

/// Prints a prominent warning that something is skipped; in CI this counts as a failure.
pub(crate) fn skip_loudly(what: &str, missing: &MissingTool) -> Tally {
    let in_ci = env::var("CI").is_ok_and(|value| value == "true");
    let bar = "!".repeat(79);
    report::note(&format!("{bar}\n!! SKIPPED: {what}: {missing}\n{bar}"));
    if in_ci { Tally::FAIL } else { Tally::SKIP }
}

/// A program of the machine. Some are in a directory that isn't in the path of every user.
pub(crate) fn program_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut directories = env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    directories.find_map(|directory| Some(directory.join(name)).filter(|program| program.is_file()))
}

/// Packages from npm, and the Node that runs them.
#[derive(Debug)]
pub(crate) struct NodePackages {
    /// The Node executable.
    program: PathBuf,
    /// The directory that contains `node_modules`.
    pub(crate) directory: PathBuf,
}

/// Installs the packages of a lockfile of the checkout; returns the Python of their environment.
pub(crate) fn python_packages(
    project: &Project,
    name: &str,
    lock: &str,
) -> Result<Result<PathBuf, MissingTool>> {
    let asked = "import sys, venv, ensurepip; print(sys.version); sys.exit(sys.version_info < (3, 11))";
    let Ok(version) = ProcessRun::new("python3").args(["-c", asked]).read_stdout() else {
        return Ok(Err(MissingTool::Python));
    };
    let lock = project.root().join(lock);
    let directory = install_dir(project, &format!("python-{name}"), &lock, &version)?;
    let python = directory.join("bin/python");
    install_once(&directory, || {
        ProcessRun::new("python3").args(["-m", "venv"]).arg(&directory).stdout_to_stderr().run()?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--require-hashes",
        ];
        ProcessRun::new(&python)
            .args(pip)
            .args(["--only-binary", ":all:", "-r"])
            .arg(&lock)
            .stdout_to_stderr()
            .run()
    })?;
    Ok(Ok(python))
}

/// Installs `tests/clients/node`.
pub(crate) fn client_packages(project: &Project) -> Result<Result<NodePackages, MissingTool>> {
    node_packages(project, "node", "tests/clients/node")
}

/// Installs the packages of a directory of the checkout, which include a Node.
pub(crate) fn node_packages(
    project: &Project,
    name: &str,
    source: &str,
) -> Result<Result<NodePackages, MissingTool>> {
    let directory = match npm_packages(project, name, source)? {
        Ok(directory) => directory,
        Err(missing) => return Ok(Err(missing)),
    };
    Ok(program(&directory).map(|program| NodePackages { program, directory }).ok_or(MissingTool::Node))
}

/// Installs the packages of a directory of the checkout; returns the directory with `node_modules`.
pub(crate) fn npm_packages(
    project: &Project,
    name: &str,
    source: &str,
) -> Result<Result<PathBuf, MissingTool>> {
    let Ok(version) = ProcessRun::new("npm").arg("--version").read_stdout() else {
        return Ok(Err(MissingTool::Npm));
    };
    let source = project.root().join(source);
    let directory = install_dir(project, name, &source.join("package-lock.json"), &version)?;
    install_once(&directory, || {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(source.join(file), directory.join(file))
                .with_context(|| format!("can't copy `{file}`"))?;
        }
        // None of these packages needs an install script.
        let ci = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        ProcessRun::new("npm").args(ci).current_dir(&directory).stdout_to_stderr().run()
    })?;
    Ok(Ok(directory))
}

impl NodePackages {
    /// The same Node, with the packages of another directory of the checkout.
    pub(crate) fn with(
        &self,
        project: &Project,
        name: &str,
        source: &str,
    ) -> Result<Result<Self, MissingTool>> {
        let directory = npm_packages(project, name, source)?;
        Ok(directory.map(|directory| Self { program: self.program.clone(), directory }))
    }

    /// A call of Node with a script.
    pub(crate) fn run(&self, script: &Path) -> ProcessRun {
        // Programs that the script starts as `node` use the same Node.
        let mut path = self.program.parent().map(Path::to_path_buf).into_iter().collect::<Vec<_>>();
        path.extend(env::var_os("PATH").iter().flat_map(env::split_paths));
        let run = ProcessRun::new(&self.program).arg(script);
        match env::join_paths(path) {
            Ok(path) => run.env("PATH", path),
            Err(_) => run, // a path that contains `:`; the system's PATH usually works as well
        }
    }

    /// The path of the Node program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// A file of a package.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.directory.join("node_modules").join(path)
    }
}

/// The Node that npm installed for this system, or the machine's Node if it is new enough.
fn program(directory: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(directory.join("node_modules")).ok()?.flatten();
    let from_npm = packages
        .filter(|package| package.file_name().to_string_lossy().starts_with("node-"))
        .map(|package| package.path().join("bin/node"))
        .find(|program| ProcessRun::new(program).arg("--version").read_stdout().is_ok());
    from_npm.or_else(|| {
        let version = ProcessRun::new("node").arg("--version").read_stdout().ok()?;
        let major: u32 = version.trim().trim_start_matches('v').split('.').next()?.parse().ok()?;
        (major >= 22).then(|| PathBuf::from("node"))
    })
}

/// The directory for a lockfile's content and the version of what reads it.
fn install_dir(project: &Project, name: &str, lock: &Path, version: &str) -> Result<PathBuf> {
    let bytes = fs::read(lock).with_context(|| format!("can't read `{}`", lock.display()))?;
    Ok(project.tools().join(format!("{name}-{:016x}", hash(&[&bytes, version.as_bytes()]))))
}

/// Runs `install` for a directory that isn't complete yet, from an empty one.
pub(crate) fn install_once(directory: &Path, install: impl FnOnce() -> Result<()>) -> Result<()> {
    if !directory.join(STAMP_FILE).is_file() {
        report::note(&format!("installing into {}", directory.display()));
        remove_unused(directory);
        if directory.exists() {
            fs::remove_dir_all(directory)
                .with_context(|| format!("can't remove `{}`", directory.display()))?;
        }
        fs::create_dir_all(directory).with_context(|| format!("can't create `{}`", directory.display()))?;
        install()?;
    }
    fs::write(directory.join(STAMP_FILE), "")
        .with_context(|| format!("can't write `{}`", directory.display()))
}

/// Removes directories next to `directory` that weren't used for [`MAX_UNUSED`]. A failure only wastes disk space.
fn remove_unused(directory: &Path) {
    for other in directory.parent().and_then(|tools| fs::read_dir(tools).ok()).into_iter().flatten().flatten()
    {
        let used = fs::metadata(other.path().join(STAMP_FILE)).and_then(|stamp| stamp.modified());
        if used.is_ok_and(|used| used.elapsed().is_ok_and(|time| time > MAX_UNUSED)) {
            drop(fs::remove_dir_all(other.path()));
        }
    }
}

/// FNV-1a over parts, each with its length: a name for content, not a protection.
pub(crate) fn hash(parts: &[&[u8]]) -> u64 {
    let lengths = parts.iter().flat_map(|part| part.len().to_le_bytes());
    let bytes = parts.iter().flat_map(|part| part.iter().copied());
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    lengths.chain(bytes).fold(0xcbf2_9ce4_8422_2325, step)
}
