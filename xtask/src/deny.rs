//! The `cargo deny` step of `test`: licences, duplicate versions and sources of dependencies, and known
//! vulnerabilities where the advisory database is reachable. The rules are in `deny.toml`.

use std::time::Duration;

use anyhow::Result;

use crate::install::{self, MissingTool};
use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::ProcessRun;

/// The repository that `cargo deny check advisories` clones.
const ADVISORY_DATABASE: &str = "https://github.com/RustSec/advisory-db";

/// A repository that takes longer to answer counts as unreachable.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(20);

/// Runs `cargo deny check` if cargo-deny is installed.
pub(crate) fn check(project: &Project) -> Result<Tally> {
    if cargo_deny(project).arg("--version").read_stdout().is_err() {
        return Ok(install::skip_loudly("cargo deny", &MissingTool::CargoDeny));
    }
    let mut tally = Tally::default();
    tally.add(checked(cargo_deny(project).args(["check", "bans", "licenses", "sources"])));
    if is_database_reachable() {
        tally.add(checked(cargo_deny(project).args(["check", "advisories"])));
    } else {
        report::note(&format!(
            "skipped `cargo deny check advisories`: the advisory database at {ADVISORY_DATABASE} isn't reachable"
        ));
        tally.add(Tally::SKIP);
    }
    Ok(tally)
}

fn cargo_deny(project: &Project) -> ProcessRun {
    project.cargo(&["deny"])
}

/// A command as one check. A failure of the first doesn't hide that of the second.
fn checked(run: ProcessRun) -> Tally {
    match run.run() {
        Ok(()) => Tally::PASS,
        Err(error) => {
            report::error(&format!("{error:#}"));
            Tally::FAIL
        }
    }
}

/// Returns true if git can reach the advisory database.
fn is_database_reachable() -> bool {
    let git = ProcessRun::new("git").args(["ls-remote", "--quiet", ADVISORY_DATABASE, "HEAD"]);
    let ended = git.env("GIT_TERMINAL_PROMPT", "0").output(DATABASE_TIMEOUT);
    matches!(ended, Ok((Some(0), _)))
}
