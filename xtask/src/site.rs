//! `site`: builds the documentation site with mdBook and checks its links.
//!
//! The site has the layout of the repository, so links between pages are the same in both. `docs/SUMMARY.md` lists the
//! pages. Other files that a page links to, such as `gateway.toml`, get a page that shows them.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::dist::Repository;
use crate::install::{self, MissingTool};
use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::ProcessRun;

use source::SiteSource;

/// Checks the links of built pages.
mod links;
/// Collects the pages.
mod source;

/// The table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// mdBook's configuration, the style sheet, the script and the icon, and their paths in the directory that mdBook reads.
const DESIGN: [(&str, &str); 4] = [
    ("docs/site/book.toml", "book.toml"),
    ("docs/site/site.css", "site.css"),
    ("docs/site/tables.js", "tables.js"),
    ("gateway/src/admin/page/icon.svg", "theme/favicon.svg"),
];

/// mdBook's fonts are replaced by the system's.
const FONTS: &str = "/* The system's fonts. */\n";

/// If mdBook takes longer, it hangs.
const BUILD_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    crate::reject_arguments("site", &rest.iter().collect::<Vec<_>>())?;
    if !is_mdbook_installed() {
        bail!("{}", MissingTool::MdBook);
    }
    let tally = build_and_check(project)?;
    report::print(&format!("wrote {}\n", project.site().join("index.html").display()));
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the site and checks its links if mdBook is installed.
pub(crate) fn check(project: &Project) -> Result<Tally> {
    if !is_mdbook_installed() {
        return Ok(install::skip_loudly("documentation site", &MissingTool::MdBook));
    }
    build_and_check(project)
}

fn is_mdbook_installed() -> bool {
    ProcessRun::new("mdbook").arg("--version").read_stdout().is_ok()
}

fn build_and_check(project: &Project) -> Result<Tally> {
    let source = SiteSource::collect(project.root())?;
    let mut findings = source.unlisted_pages()?;
    findings.extend(build(project, &source)?);
    let checked = links::check(&project.site())?;
    findings.extend(checked.findings);
    for finding in &findings {
        report::print(&format!("{finding}\n"));
    }
    report::print(&format!(
        "{} pages, {} links, {} findings\n",
        checked.pages,
        checked.links,
        findings.len()
    ));
    Ok(if findings.is_empty() { Tally::PASS } else { Tally::FAIL })
}

/// Runs mdBook; returns its warnings.
fn build(project: &Project, source: &SiteSource) -> Result<Vec<String>> {
    let directory = project.target().join("site-source");
    for old in [&directory, &project.site()] {
        if old.exists() {
            fs::remove_dir_all(old).with_context(|| format!("can't remove `{}`", old.display()))?;
        }
    }
    source.write(&directory.join("src"))?;
    for (from, to) in DESIGN {
        copy(&project.root().join(from), &directory.join(to))?;
    }
    write(&directory.join("theme/fonts/fonts.css"), FONTS.as_bytes())?;
    let mut mdbook = ProcessRun::new("mdbook")
        .args(["build", "--dest-dir"])
        .arg(project.site())
        .arg(&directory)
        .env("MDBOOK_LOG", "warn");
    if let Some(repository) = Repository::from_environment()? {
        mdbook = mdbook.env("MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL", repository.url());
    }
    let (code, printed) = mdbook.output(BUILD_TIMEOUT)?;
    if code != Some(0) {
        bail!("mdBook failed:\n{printed}");
    }
    Ok(printed.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
}

/// Writes a file and its directory.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let directory = path.parent().unwrap_or(path);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(path, bytes))
        .with_context(|| format!("can't write `{}`", path.display()))
}

/// Copies a file.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("can't read `{}`", from.display()))?;
    write(to, &bytes)
}
