//! Plugins in other languages than Rust: tested by their languages' own test runners and built by their own tools,
//! which come from the committed lockfiles.
//!
//! A component is built again only when something changed that it is made of: it is kept in cargo's target folder,
//! beside a fingerprint of all that. The commands are those of each plugin's README.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::build_plugins::place;
use crate::install::{self, Missing};
use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::Run;

/// All plugins, by the names of their folders in `plugins`.
const PLUGINS: [(&str, Language); 2] = [("statistics", Language::Python), ("text", Language::JavaScript)];

/// Tests that haven't ended after this hang.
const LIMIT: Duration = Duration::from_secs(120);

/// Folders of a plugin that hold nothing a component is made of.
const NO_SOURCES: [&str; 5] = ["target", "node_modules", "__pycache__", ".venv", "tests"];

/// The file beside a built component that holds its fingerprint.
const MARK: &str = "fingerprint";

/// A language, and with it the tools that build and test.
#[derive(Debug, Clone, Copy)]
enum Language {
    /// npm, Node and componentize-qjs.
    JavaScript,
    /// pip and componentize-py.
    Python,
}

/// A plugin whose tools are installed.
#[derive(Debug)]
struct Plugin {
    language: Language,
    name: &'static str,
    /// Its folder in the checkout.
    source: PathBuf,
    /// The folder that holds `node_modules`, or the environment's Python.
    tools: PathBuf,
    /// Where what was built is kept.
    kept: PathBuf,
}

/// Builds all that can be built on this machine and puts it into `plugins/dist`. Prints on stderr only.
pub(crate) fn build(project: &Project) -> Result<()> {
    for (name, language) in PLUGINS {
        match Plugin::install(project, name, language)? {
            Ok(plugin) => plugin.build(project)?,
            Err(missing) => report::note(&format!("plugins/dist/{name}.wasm: not built: {missing}")),
        }
    }
    Ok(())
}

/// Builds all of them and runs their own tests; what can't be had is skipped, and in CI a failure.
pub(crate) fn check(project: &Project) -> Result<Tally> {
    let mut total = Tally::default();
    for (name, language) in PLUGINS {
        total.add(match Plugin::install(project, name, language)? {
            Ok(plugin) => {
                plugin.build(project)?;
                plugin.test()?
            }
            Err(missing) => install::skipped(&format!("plugin {name}"), &missing),
        });
    }
    Ok(total)
}

/// Whether the tests of the gateway find all of them, built of what is there now.
pub(crate) fn are_built(project: &Project) -> Result<bool> {
    for (name, _) in PLUGINS {
        let mark = fs::read_to_string(kept(project, name).join(MARK)).unwrap_or_default();
        let built = fs::read(kept(project, name).join(format!("{name}.wasm")));
        let placed = fs::read(project.dist().join(format!("{name}.wasm")));
        let is_same = matches!((built, placed), (Ok(built), Ok(placed)) if built == placed);
        if !is_same || !is_of(&mark, &sources(project, name)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where what was built is kept.
fn kept(project: &Project, name: &str) -> PathBuf {
    project.target().join("foreign-plugins").join(name)
}

/// Whether a component with this mark was made of these sources.
fn is_of(mark: &str, sources: &str) -> bool {
    mark.split(' ').next() == Some(sources)
}

/// A name for all that a component is made of but the tools: its sources and lockfile, which says the tools' versions,
/// and the contract.
fn sources(project: &Project, name: &str) -> Result<String> {
    let mut files = Vec::new();
    for folder in [project.root().join("plugins").join(name), project.root().join("wit")] {
        gather(&folder, &mut files)?;
    }
    files.sort();
    let mut parts = Vec::new();
    for file in files {
        let name = file.strip_prefix(project.root()).unwrap_or(&file).to_string_lossy().into_owned();
        parts.push(name.into_bytes());
        parts.push(fs::read(&file).with_context(|| format!("`{}` can't be read", file.display()))?);
    }
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    Ok(format!("{:016x}", install::hash(&parts)))
}

impl Plugin {
    /// Installs the tools of a plugin.
    fn install(project: &Project, name: &'static str, language: Language) -> Result<Result<Self, Missing>> {
        let folder = format!("plugins/{name}");
        let tools = match language {
            Language::JavaScript => install::packages(project, &format!("plugin-{name}"), &folder)?,
            Language::Python => {
                install::python(project, &format!("plugin-{name}"), &format!("{folder}/requirements.txt"))?
            }
        };
        let source = project.root().join(folder);
        let kept = kept(project, name);
        Ok(tools.map(|tools| Self { language, name, source, tools, kept }))
    }

    /// Builds the component where anything changed, and puts it in place.
    fn build(&self, project: &Project) -> Result<()> {
        let built = self.kept.join(format!("{}.wasm", self.name));
        let mark = self.kept.join(MARK);
        let fingerprint = self.fingerprint(project)?;
        let same = fs::read_to_string(&mark).is_ok_and(|old| old == fingerprint);
        if !(same && built.is_file()) {
            self.make(project, &built)?;
        }
        fs::write(&mark, fingerprint).with_context(|| format!("`{}` can't be written", mark.display()))?;
        let dist = project.dist();
        fs::create_dir_all(&dist).with_context(|| format!("`{}` can't be made", dist.display()))?;
        let word =
            if place(&built, &dist.join(format!("{}.wasm", self.name)))? { "new" } else { "unchanged" };
        report::note(&format!("plugins/dist/{}.wasm: {word}", self.name));
        Ok(())
    }

    /// Makes the component, and what the tests need beside it.
    fn make(&self, project: &Project, built: &Path) -> Result<()> {
        if self.kept.exists() {
            fs::remove_dir_all(&self.kept)
                .with_context(|| format!("`{}` can't be removed", self.kept.display()))?;
        }
        fs::create_dir_all(&self.kept).with_context(|| format!("`{}` can't be made", self.kept.display()))?;
        match self.language {
            Language::JavaScript => {
                let script = self.source.join("build.mjs");
                Run::new("node").arg(script).arg(built).folder(&self.tools).quiet_stdout().done()
            }
            Language::Python => {
                let tool = || {
                    let world = format!("local:{}/plugin", self.name);
                    let run = Run::new(self.tools.with_file_name("componentize-py")).args(["-q", "-d"]);
                    let run = run.arg(project.root().join("wit")).args(["-d", "wit", "-w", &world]);
                    run.folder(&self.source).quiet_stdout()
                };
                tool().arg("bindings").arg(self.bindings()).done()?;
                tool().args(["componentize", "-p", "src", "app", "-o"]).arg(built).done()
            }
        }
    }

    /// Where the contract is kept as Python's classes.
    fn bindings(&self) -> PathBuf {
        self.kept.join("bindings")
    }

    /// Runs the plugin's own tests, which need no component.
    fn test(&self) -> Result<Tally> {
        let run = match self.language {
            Language::JavaScript => {
                let fakes = ["--import", "./tests/gateway.mjs"];
                Run::new("node").args(fakes).args(["--test", "--test-reporter=tap"])
            }
            Language::Python => {
                let path = std::env::join_paths([self.source.join("src"), self.bindings()])
                    .context("a folder's name holds a `:`, which Python can't be told")?;
                let run = Run::new(&self.tools).args(["-m", "unittest", "discover", "-s", "tests"]);
                run.env("PYTHONPATH", path).env("PYTHONDONTWRITEBYTECODE", "1")
            }
        };
        let (code, said) = run.folder(&self.source).output(LIMIT)?;
        let mut tally = counted(&said);
        if tally == Tally::default() && code == Some(0) {
            bail!("plugin {}: no test ran at all", self.name);
        }
        if code != Some(0) {
            report::say(&said);
            if tally.failed == 0 {
                tally.add(Tally::FAIL);
            }
        }
        report::say(&format!("plugin {}: {}\n", self.name, report::line(tally)));
        Ok(tally)
    }

    /// A name for all that the component is made of: its sources, and after a space where the tools are.
    fn fingerprint(&self, project: &Project) -> Result<String> {
        let tools = self.tools.to_string_lossy();
        Ok(format!("{} {:016x}", sources(project, self.name)?, install::hash(&[tools.as_bytes()])))
    }
}

/// Adds the files of a folder, but for those that nothing is made of.
fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("`{}` can't be read", folder.display()))? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            if entry.path().extension().is_none_or(|kind| kind != "md") {
                files.push(entry.path());
            }
        } else if !NO_SOURCES.iter().any(|name| entry.file_name() == *name) {
            gather(&entry.path(), files)?;
        }
    }
    Ok(())
}

/// What a test runner counted at its end: Node as `# pass 3`, Python as `Ran 3 tests in …` and
/// `FAILED (failures=1, errors=1, skipped=1)`.
fn counted(said: &str) -> Tally {
    let mut tally = Tally::default();
    let mut ran = 0;
    for line in said.lines() {
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
