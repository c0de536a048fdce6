//! Plugins and test guests in languages other than Rust, tested and built with their languages' tools from committed
//! lockfiles. The libraries that they contain are installed as packages, as authors install them.
//!
//! A component is rebuilt only if one of its inputs changed; it is stored in cargo's target directory with a fingerprint
//! of its inputs. The commands are those of each plugin's README.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::build_plugins::place;
use crate::install::{self, MissingTool};
use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::ProcessRun;

mod library; // packages of the libraries

/// All plugins and guests.
const SOURCES: [ForeignSource; 5] = [
    ForeignSource {
        name: "statistics",
        language: Language::Python,
        directory: "plugins/statistics",
        tools: "plugins/statistics",
    },
    ForeignSource {
        name: "text",
        language: Language::JavaScript,
        directory: "plugins/text",
        tools: "plugins/text",
    },
    ForeignSource {
        name: "words",
        language: Language::JavaScript,
        directory: "tests/guests/words",
        tools: "plugins/text",
    },
    ForeignSource {
        name: "misuse-python",
        language: Language::Python,
        directory: "tests/guests/misuse-python",
        tools: "plugins/statistics",
    },
    ForeignSource {
        name: "misuse-javascript",
        language: Language::JavaScript,
        directory: "tests/guests/misuse-javascript",
        tools: "plugins/text",
    },
];

/// The helper libraries of other languages, which have tests and no component.
const LIBRARIES: [ForeignSource; 3] = [
    ForeignSource {
        name: "library for Python",
        language: Language::Python,
        directory: PYTHON_LIBRARY,
        tools: "plugins/statistics",
    },
    ForeignSource {
        name: "library for JavaScript",
        language: Language::JavaScript,
        directory: JAVASCRIPT_LIBRARY,
        tools: "plugins/text",
    },
    C_LIBRARY,
];

/// The helper library for C. `moongate build` builds plugins in C, so there is no source of one here.
const C_LIBRARY: ForeignSource = ForeignSource {
    name: "library for C",
    language: Language::C,
    directory: "plugin-sdk/c",
    tools: "plugin-sdk/c",
};

/// The helper library for Python.
const PYTHON_LIBRARY: &str = "plugin-sdk/python";

/// The helper library for JavaScript.
const JAVASCRIPT_LIBRARY: &str = "plugin-sdk/javascript";

/// Tests of a plugin that take longer hang.
const TESTS_TIMEOUT: Duration = Duration::from_secs(120);

/// Directories of a plugin without inputs of the component.
const IGNORED_DIRECTORIES: [&str; 5] = ["target", "node_modules", "__pycache__", ".venv", "tests"];

/// The file with the fingerprint, next to the built component.
const FINGERPRINT_FILE: &str = "fingerprint";

/// The sources of a plugin or guest.
#[derive(Debug, Clone, Copy)]
struct ForeignSource {
    name: &'static str,
    language: Language,
    /// Its directory in the checkout.
    directory: &'static str,
    /// The directory of the lockfile with its tools.
    tools: &'static str,
}

/// A language with its build and test tools.
#[derive(Debug, Clone, Copy)]
enum Language {
    /// npm, Node and componentize-qjs.
    JavaScript,
    /// pip and componentize-py.
    Python,
    /// pip and Zig; tests use the machine's own C compiler.
    C,
}

/// A plugin whose tools are installed.
#[derive(Debug)]
struct ForeignPlugin {
    language: Language,
    name: &'static str,
    /// Its sources.
    origin: ForeignSource,
    /// Its directory in the checkout, absolute.
    source: PathBuf,
    /// The directory that contains `node_modules`, or the environment's Python.
    tools: PathBuf,
    /// The library's sources, for its own tests. Plugins use the package that is installed with the tools.
    library: Option<PathBuf>,
    /// The directory of the built component.
    output: PathBuf,
}

/// Builds all plugins whose tools are available and copies them to `plugins/dist`. Prints on stderr only.
pub(crate) fn build(project: &Project) -> Result<()> {
    for source in SOURCES {
        match ForeignPlugin::install(project, source)? {
            Ok(plugin) => plugin.build(project)?,
            Err(missing) => {
                report::note(&format!("plugins/dist/{}.wasm: not built: {missing}", source.name));
            }
        }
    }
    // The tests build plugins in C.
    if let Err(missing) = ForeignPlugin::install(project, C_LIBRARY)? {
        report::note(&format!("no compiler for plugins in C: {missing}"));
    }
    Ok(())
}

/// Builds all plugins and runs their tests; a missing tool skips the plugin, or fails in CI.
pub(crate) fn check(project: &Project) -> Result<Tally> {
    let mut total = Tally::default();
    for source in LIBRARIES {
        total.add(match ForeignPlugin::install_tools(project, source)? {
            Ok(library) => library.test(project)?,
            Err(missing) => install::skip_loudly(source.name, &missing),
        });
    }
    for source in SOURCES {
        total.add(match ForeignPlugin::install(project, source)? {
            Ok(plugin) => {
                plugin.build(project)?;
                if plugin.source.join("tests").is_dir() { plugin.test(project)? } else { Tally::default() }
            }
            Err(missing) => install::skip_loudly(&format!("plugin {}", source.name), &missing),
        });
    }
    Ok(total)
}

/// Returns true if `plugins/dist` contains all plugins, built from the current sources.
pub(crate) fn are_built(project: &Project) -> Result<bool> {
    for source in SOURCES {
        let name = source.name;
        let output = output_directory(project, name);
        let fingerprint = fs::read_to_string(output.join(FINGERPRINT_FILE)).unwrap_or_default();
        let built = fs::read(output.join(format!("{name}.wasm")));
        let placed = fs::read(project.dist().join(format!("{name}.wasm")));
        let is_same = matches!((built, placed), (Ok(built), Ok(placed)) if built == placed);
        if !is_same || fingerprint.split(' ').next() != Some(&*sources_hash(project, source)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The directory of a built component.
fn output_directory(project: &Project, name: &str) -> PathBuf {
    project.target().join("foreign-plugins").join(name)
}

/// A hash of a component's inputs except the tools: its sources, its lockfile with the tools' versions, the helper library,
/// and the WIT contract.
fn sources_hash(project: &Project, source: ForeignSource) -> Result<String> {
    files_hash(project, &[source.directory, "wit", source.language.library()])
}

/// A hash of the files in some directories of the checkout.
fn files_hash(project: &Project, directories: &[&str]) -> Result<String> {
    let mut files = Vec::new();
    for directory in directories {
        collect_files(&project.root().join(directory), &mut files)?;
    }
    files.sort();
    let mut parts = Vec::new();
    for file in files {
        let name = file.strip_prefix(project.root()).unwrap_or(&file).to_string_lossy().into_owned();
        parts.push(name.into_bytes());
        parts.push(fs::read(&file).with_context(|| format!("can't read `{}`", file.display()))?);
    }
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    Ok(format!("{:016x}", install::hash(&parts)))
}

impl Language {
    /// The sources of the helper library that components contain.
    fn library(self) -> &'static str {
        match self {
            Self::JavaScript => JAVASCRIPT_LIBRARY,
            Self::Python => PYTHON_LIBRARY,
            Self::C => C_LIBRARY.directory,
        }
    }
}

impl ForeignPlugin {
    /// Installs the tools of a plugin, and its library as a package.
    fn install(project: &Project, source: ForeignSource) -> Result<Result<Self, MissingTool>> {
        let installed = match Self::install_tools(project, source)? {
            Ok(plugin) => plugin,
            Err(missing) => return Ok(Err(missing)),
        };
        let tools = match source.language {
            Language::JavaScript => library::npm_package(project, source.tools)?,
            Language::Python => library::wheel(project, &installed.tools)?,
            Language::C => Ok(installed.tools.clone()),
        };
        Ok(tools.map(|tools| Self { tools, library: None, ..installed }))
    }

    /// Installs only the tools.
    fn install_tools(project: &Project, source: ForeignSource) -> Result<Result<Self, MissingTool>> {
        let origin = source;
        let ForeignSource { name, language, directory, tools: lockfile } = source;
        let label = lockfile.replace("plugins/", "plugin-").replace("plugin-sdk/", "");
        let tools = match language {
            Language::JavaScript => install::npm_packages(project, &label, lockfile)?,
            Language::Python | Language::C => {
                install::python_packages(project, &label, &format!("{lockfile}/requirements.txt"))?
            }
        };
        let source = project.root().join(directory);
        let output = output_directory(project, name);
        let library = Some(project.root().join(language.library()));
        Ok(tools.map(|tools| Self { language, name, origin, source, tools, library, output }))
    }

    /// Builds the component if an input changed, and copies it to its place.
    fn build(&self, project: &Project) -> Result<()> {
        let built = self.output.join(format!("{}.wasm", self.name));
        let file = self.output.join(FINGERPRINT_FILE);
        let fingerprint = self.fingerprint(project)?;
        let is_same = fs::read_to_string(&file).is_ok_and(|old| old == fingerprint);
        if !(is_same && built.is_file()) {
            self.compile(&built)?;
        }
        fs::write(&file, fingerprint).with_context(|| format!("can't write `{}`", file.display()))?;
        let dist = project.dist();
        fs::create_dir_all(&dist).with_context(|| format!("can't create `{}`", dist.display()))?;
        let word =
            if place(&built, &dist.join(format!("{}.wasm", self.name)))? { "new" } else { "unchanged" };
        report::note(&format!("plugins/dist/{}.wasm: {word}", self.name));
        Ok(())
    }

    /// Compiles the component.
    fn compile(&self, built: &Path) -> Result<()> {
        if self.output.exists() {
            fs::remove_dir_all(&self.output)
                .with_context(|| format!("can't remove `{}`", self.output.display()))?;
        }
        fs::create_dir_all(&self.output)
            .with_context(|| format!("can't create `{}`", self.output.display()))?;
        match self.language {
            Language::JavaScript => {
                // A guest can use the contract alone, with a script of its own.
                let own = self.source.join("build.mjs");
                let package = self.tools.join("node_modules/.bin/moongate-build");
                let run = ProcessRun::new("node").arg(if own.is_file() { own } else { package });
                run.arg(built)
                    .arg(self.source.join("src/plugin.js"))
                    .current_dir(&self.tools)
                    .stdout_to_stderr()
                    .run()
            }
            Language::Python => ProcessRun::new(&self.tools)
                .args(["-m", "moongate.build", "-o"])
                .arg(built)
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .current_dir(&self.source)
                .stdout_to_stderr()
                .run(),
            Language::C => bail!("`moongate build` builds plugins in C"),
        }
    }

    /// Runs the plugin's own tests, which need no component.
    fn test(&self, project: &Project) -> Result<Tally> {
        let run = match self.language {
            Language::JavaScript => {
                let package = self.tools.join("node_modules/moongate");
                let register = self.library.as_ref().unwrap_or(&package).join("src/register.js");
                let run = ProcessRun::new("node").arg("--import").arg(register);
                run.args(["--test", "--test-reporter=tap"])
            }
            Language::Python => {
                let library = self.library.iter().map(|library| library.join("src"));
                let path = std::env::join_paths(library.chain([self.source.join("src")]))
                    .context("a path contains `:`, which PYTHONPATH can't contain")?;
                let run = ProcessRun::new(&self.tools).args(["-m", "unittest", "discover", "-s", "tests"]);
                run.env("PYTHONPATH", path).env("PYTHONDONTWRITEBYTECODE", "1")
            }
            Language::C => {
                let target = format!("TARGET={}", project.target().join("library-for-c").display());
                ProcessRun::new("make").args(["--silent", "-C", "tests"]).arg(target)
            }
        };
        let (code, output) = run.current_dir(&self.source).output(TESTS_TIMEOUT)?;
        let mut tally = output_tally(&output);
        if tally == Tally::default() && code == Some(0) {
            bail!("plugin {}: no tests ran", self.name);
        }
        if code != Some(0) {
            report::print(&output);
            if tally.failed == 0 {
                tally.add(Tally::FAIL);
            }
        }
        report::print(&format!("plugin {}: {}\n", self.name, report::summary(tally)));
        Ok(tally)
    }

    /// A hash of the component's sources, and after a space a hash of the tools' path.
    fn fingerprint(&self, project: &Project) -> Result<String> {
        let tools = self.tools.to_string_lossy();
        Ok(format!("{} {:016x}", sources_hash(project, self.origin)?, install::hash(&[tools.as_bytes()])))
    }
}

/// Adds the files of a directory, except ignored directories and Markdown.
fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| format!("can't read `{}`", directory.display()))? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            if entry.path().extension().is_none_or(|kind| kind != "md") {
                files.push(entry.path());
            }
        } else if !IGNORED_DIRECTORIES.iter().any(|name| entry.file_name() == *name) {
            collect_files(&entry.path(), files)?;
        }
    }
    Ok(())
}

/// The counts at the end of a test runner's output: Node prints `# pass 3`, Python `Ran 3 tests in …` and
/// `FAILED (failures=1, errors=1, skipped=1)`.
fn output_tally(output: &str) -> Tally {
    let mut tally = Tally::default();
    let mut ran = 0;
    for line in output.lines() {
        let number = |text: &str| text.parse::<u32>().unwrap_or_default();
        if let Some((what, count)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(' ')) {
            match what {
                "pass" => tally.passed += number(count),
                "fail" | "cancelled" => tally.failed += number(count),
                "skipped" | "todo" => tally.skipped += number(count),
                _ => {}
            }
        } else if let Some(rest) = line.strip_prefix("Ran ") {
            ran = rest.split(' ').next().map(number).unwrap_or_default();
        } else if let Some((_, counts)) =
            line.strip_suffix(')').and_then(|line| line.split_once(" (")).filter(|_| ran > 0)
        {
            for (what, count) in counts.split(", ").filter_map(|part| part.split_once('=')) {
                match what {
                    "failures" | "errors" | "unexpected successes" => tally.failed += number(count),
                    "skipped" | "expected failures" => tally.skipped += number(count),
                    _ => {}
                }
            }
        }
    }
    tally.passed += ran.saturating_sub(tally.failed + tally.skipped);
    tally
}

#[cfg(test)]
mod tests;
