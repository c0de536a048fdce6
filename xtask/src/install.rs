//! Installing packages of other languages from the committed lockfiles, for judges and for plugins: each set into a
//! folder of its own that is named by the lockfile's content, so that a second run finds it and another lockfile gets
//! another folder. What can't be had on this machine is skipped, loudly.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::Run;

/// A folder that was installed to its end holds this file, rewritten at each use.
const STAMP: &str = "installed";

/// A folder that wasn't used for so long is removed: its lockfile is history.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Why something can't be had on this machine.
#[derive(Debug)]
pub(crate) enum Missing {
    /// No Python that can make environments.
    Python,
    /// No npm.
    Npm,
    /// No Node of the version that the packages need, neither from npm nor on the machine.
    Node,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Python => "it needs python3 (3.11 or later) with its `venv` module",
            Self::Npm => "it needs npm",
            Self::Node => "it needs Node 22, which npm doesn't have for this machine: install it beforehand",
        })
    }
}

/// Says that something is skipped, so that nobody can overlook it; in CI that is a failure.
pub(crate) fn skipped(what: &str, missing: &Missing) -> Tally {
    let in_ci = env::var("CI").is_ok_and(|value| value == "true");
    let bar = "!".repeat(79);
    report::note(&format!("{bar}\n!! SKIPPED: {what}: {missing}\n{bar}"));
    if in_ci { Tally::FAIL } else { Tally::SKIP }
}

/// Packages from npm, and a Node that runs them.
#[derive(Debug)]
pub(crate) struct Node {
    /// The program.
    program: PathBuf,
    /// The folder that holds `node_modules`.
    pub(crate) folder: PathBuf,
}

/// Installs the packages of a lockfile of the checkout; gives back the environment's Python.
pub(crate) fn python(project: &Project, name: &str, lock: &str) -> Result<Result<PathBuf, Missing>> {
    let asked = "import sys, venv, ensurepip; print(sys.version); sys.exit(sys.version_info < (3, 11))";
    let Ok(version) = Run::new("python3").args(["-c", asked]).read() else { return Ok(Err(Missing::Python)) };
    let lock = project.root().join(lock);
    let folder = keyed(project, &format!("python-{name}"), &lock, &version)?;
    let python = folder.join("bin/python");
    installed(&folder, || {
        Run::new("python3").args(["-m", "venv"]).arg(&folder).quiet_stdout().done()?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--require-hashes",
        ];
        Run::new(&python).args(pip).args(["--only-binary", ":all:", "-r"]).arg(&lock).quiet_stdout().done()
    })?;
    Ok(Ok(python))
}

/// Installs `tests/clients/node`.
pub(crate) fn node(project: &Project) -> Result<Result<Node, Missing>> {
    node_with(project, "node", "tests/clients/node")
}

/// Installs the packages of a folder of the checkout, which bring a Node.
pub(crate) fn node_with(project: &Project, name: &str, source: &str) -> Result<Result<Node, Missing>> {
    let folder = match packages(project, name, source)? {
        Ok(folder) => folder,
        Err(missing) => return Ok(Err(missing)),
    };
    Ok(program(&folder).map(|program| Node { program, folder }).ok_or(Missing::Node))
}

/// Installs the packages of a folder of the checkout; gives back where they are.
pub(crate) fn packages(project: &Project, name: &str, source: &str) -> Result<Result<PathBuf, Missing>> {
    let Ok(version) = Run::new("npm").arg("--version").read() else { return Ok(Err(Missing::Npm)) };
    let source = project.root().join(source);
    let folder = keyed(project, name, &source.join("package-lock.json"), &version)?;
    installed(&folder, || {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(source.join(file), folder.join(file))
                .with_context(|| format!("`{file}` can't be copied"))?;
        }
        // No package of these needs a script of its own to be run.
        let ci = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        Run::new("npm").args(ci).folder(&folder).quiet_stdout().done()
    })?;
    Ok(Ok(folder))
}

impl Node {
    /// The same Node, with the packages of another folder of the checkout.
    pub(crate) fn with(&self, project: &Project, name: &str, source: &str) -> Result<Result<Self, Missing>> {
        let folder = packages(project, name, source)?;
        Ok(folder.map(|folder| Self { program: self.program.clone(), folder }))
    }

    /// A call of Node with a script.
    pub(crate) fn run(&self, script: &Path) -> Run {
        // What the script starts by name, it finds as the same Node.
        let mut path = self.program.parent().map(Path::to_path_buf).into_iter().collect::<Vec<_>>();
        path.extend(env::var_os("PATH").iter().flat_map(env::split_paths));
        let run = Run::new(&self.program).arg(script);
        match env::join_paths(path) {
            Ok(path) => run.env("PATH", path),
            Err(_) => run, // a folder with `:` in its name: the system's own PATH does for most
        }
    }

    /// The program, where it was brought.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// A file of a package.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.folder.join("node_modules").join(path)
    }
}

/// The Node that npm brought for this system, else the machine's own where it is new enough.
fn program(folder: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(folder.join("node_modules")).ok()?.flatten();
    let brought = packages
        .filter(|package| package.file_name().to_string_lossy().starts_with("node-"))
        .map(|package| package.path().join("bin/node"))
        .find(|program| Run::new(program).arg("--version").read().is_ok());
    brought.or_else(|| {
        let version = Run::new("node").arg("--version").read().ok()?;
        let major: u32 = version.trim().trim_start_matches('v').split('.').next()?.parse().ok()?;
        (major >= 22).then(|| PathBuf::from("node"))
    })
}

/// The folder for a lockfile's content and the version of what reads it.
fn keyed(project: &Project, name: &str, lock: &Path, version: &str) -> Result<PathBuf> {
    let bytes = fs::read(lock).with_context(|| format!("`{}` can't be read", lock.display()))?;
    Ok(project.tools().join(format!("{name}-{:016x}", hash(&[&bytes, version.as_bytes()]))))
}

/// Runs `install` for a folder that isn't complete yet, from an empty one.
fn installed(folder: &Path, install: impl FnOnce() -> Result<()>) -> Result<()> {
    if !folder.join(STAMP).is_file() {
        report::note(&format!("installing into {}", folder.display()));
        forget_unused(folder);
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("`{}` can't be removed", folder.display()))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("`{}` can't be made", folder.display()))?;
        install()?;
    }
    fs::write(folder.join(STAMP), "").with_context(|| format!("`{}` can't be written", folder.display()))
}

/// Removes what stands beside `folder` and wasn't used for [`UNUSED`]. What can't be removed stays: it only takes room.
fn forget_unused(folder: &Path) {
    for beside in folder.parent().and_then(|tools| fs::read_dir(tools).ok()).into_iter().flatten().flatten() {
        let used = fs::metadata(beside.path().join(STAMP)).and_then(|stamp| stamp.modified());
        if used.is_ok_and(|used| used.elapsed().is_ok_and(|time| time > UNUSED)) {
            drop(fs::remove_dir_all(beside.path()));
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
