//! Both lines of the Python SDK and FastMCP as clients.

use std::path::PathBuf;

use anyhow::Result;

use super::{CONFIG, Table, Verdict, explain, gateway, install, script, sse, stdio};
use crate::project::Project;
use crate::report::Tally;
use crate::run::Run;

/// All that the clients can, over each transport.
pub(super) fn sdks(project: &Project, table: &mut Table) -> Result<Verdict> {
    let mut total = Tally::default();
    let mut server = None;
    for line in ["v1", "v2", "fastmcp"] {
        let python = match install::python(project, line, &lock(line))? {
            Ok(python) => python,
            Err(missing) => return Ok(Verdict::Skipped(missing)),
        };
        let server = match &server {
            Some(server) => server,
            None => server.insert(gateway(project, CONFIG)?),
        };
        let run = call(project, python, &format!("everything_{line}.py"));
        let run = run.args(["--http", &server.url]);
        // The transport of 2024-11-05 is one of the older line's.
        let run = if line == "v1" { run.args(["--sse", &sse(server)]) } else { run };
        let run = run.arg("--stdio").args(stdio(project, CONFIG));
        total.add(explain(server, script(project, run, table)?));
    }
    Ok(Verdict::Judged(total))
}

/// A call of a script of `tests/clients/python`, which leaves nothing beside it.
fn call(project: &Project, python: PathBuf, name: &str) -> Run {
    let script = project.root().join("tests/clients/python").join(name);
    Run::new(python).arg(script).env("PYTHONDONTWRITEBYTECODE", "1")
}

/// What a line is installed from.
fn lock(line: &str) -> String {
    format!("tests/clients/python/requirements-{line}.txt")
}
