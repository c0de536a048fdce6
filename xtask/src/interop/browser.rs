//! The status page in Chromium, driven by Playwright, with axe for accessibility.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::install::MissingTool;
use super::{SuiteOutcome, count_lines, install};
use crate::project::Project;
use crate::run::ProcessRun;

/// The names of the browser's program on Debian and elsewhere.
const BROWSERS: [&str; 2] = ["chromium", "google-chrome"];

/// The pictures in the documentation. They differ a little between runs, so they are replaced only on request.
const PICTURES: [&str; 2] = ["status-page-light.png", "status-page-dark.png"];
const UPDATE_VARIABLE: &str = "UPDATE_SCREENSHOTS";

/// Runs the script, which starts gateways itself. It leaves screenshots in cargo's target directory.
pub(super) fn run(project: &Project) -> Result<SuiteOutcome> {
    let Some(browser) = BROWSERS.into_iter().find_map(find) else {
        return Ok(SuiteOutcome::Skipped(MissingTool::Chromium));
    };
    let node = match install::client_packages(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let node = match node.with(project, "browser", "tests/browser")? {
        Ok(node) => node,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let screenshots = project.target().join("interop/screenshots");
    fs::create_dir_all(&screenshots).with_context(|| format!("can't create `{}`", screenshots.display()))?;
    let run = node.run(&project.root().join("tests/browser/status_page.mjs")).arg(&node.directory);
    let run = run.arg(project.gateway()).arg(project.dist().join("malformed.wasm")).arg(&screenshots);
    let run = run.env("MOONGATE_CACHE_DIR", project.code_cache()).env("CHROMIUM", browser);
    let outcome = count_lines(run.current_dir(project.root()))?;
    if std::env::var_os(UPDATE_VARIABLE).is_some() {
        for picture in PICTURES {
            let (from, to) = (screenshots.join(picture), project.root().join("docs").join(picture));
            fs::copy(&from, &to).with_context(|| format!("can't copy `{}`", from.display()))?;
        }
    }
    Ok(outcome)
}

/// The path of a program.
fn find(name: &str) -> Option<String> {
    let found = ProcessRun::new("sh").args(["-c", &format!("command -v {name}")]).read_stdout().ok()?;
    let path = found.trim().to_owned();
    Path::new(&path).is_file().then_some(path)
}
