//! Both lines of the TypeScript SDK as clients.

use anyhow::Result;

use super::{Verdict, explain, gateway, install, script, stdio};
use crate::project::Project;

/// What the clients are served.
const CONFIG: &str = "tests/clients/time.toml";

/// Lists and calls with both SDKs, over HTTP and stdio.
pub(super) fn sdks(project: &Project) -> Result<Verdict> {
    let node = match install::node(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(Verdict::Skipped(missing)),
    };
    let server = gateway(project, CONFIG)?;
    let run = node.run(&project.root().join("tests/clients/node/list_and_call.mjs"));
    let run =
        run.arg(&node.folder).args(["time_", "--http", &server.url, "--stdio"]).args(stdio(project, CONFIG));
    Ok(Verdict::Judged(explain(&server, script(project, run)?)))
}
