//! The libraries for plugins in other languages as their authors get them: as packages, which are built here and installed
//! into fresh environments.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{JAVASCRIPT_LIBRARY, PYTHON_LIBRARY, files_hash};
use crate::install::{self, MissingTool};
use crate::project::Project;
use crate::run::ProcessRun;

/// The lockfile of the tool that builds the wheel.
const WHEEL_TOOLS: &str = "plugin-sdk/python/requirements-wheel.txt";

/// The files that the wheel is built from. The build writes next to them, so they are copied.
const WHEEL_SOURCES: [&str; 3] = ["pyproject.toml", "README.md", "src"];

/// The program that the library's build module runs.
const COMPONENTIZE: &str = "componentize-py";

/// Builds the wheel of the library for Python and installs it into a fresh environment. `tools` is the Python of the
/// environment with componentize-py. Returns the fresh environment's Python.
pub(super) fn wheel(project: &Project, tools: &Path) -> Result<Result<PathBuf, MissingTool>> {
    let builder = match install::python_packages(project, "wheel", WHEEL_TOOLS)? {
        Ok(builder) => builder,
        Err(missing) => return Ok(Err(missing)),
    };
    let directory =
        directory(project, "library-python", PYTHON_LIBRARY, tools.as_os_str().as_encoded_bytes())?;
    let python = directory.join("environment/bin/python");
    install::install_once(&directory, || {
        let source = directory.join("source");
        for name in WHEEL_SOURCES {
            copy_all(&project.root().join(PYTHON_LIBRARY).join(name), &source.join(name))?;
        }
        let pip = || ProcessRun::new(&builder).args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
        let wheels = directory.join("wheels");
        let build = pip().args(["wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir"]);
        build.arg(&wheels).arg(&source).stdout_to_stderr().run()?;
        ProcessRun::new("python3")
            .args(["-m", "venv", "--without-pip"])
            .arg(directory.join("environment"))
            .stdout_to_stderr()
            .run()?;
        let install = pip().arg("--python").arg(&python).args(["install", "--no-deps", "--no-index"]);
        install.arg("--find-links").arg(&wheels).arg("moongate").stdout_to_stderr().run()?;
        // As if componentize-py was installed, too.
        let (program, link) = (tools.with_file_name(COMPONENTIZE), python.with_file_name(COMPONENTIZE));
        symlink(&program, &link).with_context(|| format!("can't create `{}`", link.display()))
    })?;
    Ok(Ok(python))
}

/// Packs the library for JavaScript and installs the package into a fresh project with the lockfile of `lock`. Returns the
/// project's directory.
pub(super) fn npm_package(project: &Project, lock: &str) -> Result<Result<PathBuf, MissingTool>> {
    let lock = project.root().join(lock);
    let file = lock.join("package-lock.json");
    let versions = fs::read(&file).with_context(|| format!("can't read `{}`", file.display()))?;
    let directory = directory(project, "library-javascript", JAVASCRIPT_LIBRARY, &versions)?;
    install::install_once(&directory, || {
        for file in ["package.json", "package-lock.json"] {
            copy_all(&lock.join(file), &directory.join(file))?;
        }
        let npm = || ProcessRun::new("npm").current_dir(&directory);
        let pack = npm().args(["pack", "--silent"]).arg(project.root().join(JAVASCRIPT_LIBRARY));
        let package = format!("./{}", pack.read_stdout()?.trim());
        let install = ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"];
        npm().args(install).args(["--loglevel=error", &package]).stdout_to_stderr().run()
    })?;
    Ok(Ok(directory))
}

/// The directory for a library's content and the tools that it is installed with, which `tools` identifies.
fn directory(project: &Project, name: &str, library: &str, tools: &[u8]) -> Result<PathBuf> {
    let tools = install::hash(&[tools]);
    Ok(project.tools().join(format!("{name}-{}-{tools:08x}", files_hash(project, &[library])?)))
}

/// Copies a file, or a directory with everything in it.
fn copy_all(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to).with_context(|| format!("can't create `{}`", to.display()))?;
        for entry in fs::read_dir(from).with_context(|| format!("can't read `{}`", from.display()))? {
            let name = entry?.file_name();
            copy_all(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to).with_context(|| format!("can't copy `{}`", from.display()))?;
    Ok(())
}
