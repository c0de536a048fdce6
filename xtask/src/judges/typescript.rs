//! Both lines of the TypeScript SDK as clients, and the bridge `mcp-remote`, which is built on it.

use anyhow::Result;

use super::{CONFIG, Table, Verdict, explain, gateway, install, script, sse, stdio};
use crate::project::Project;

/// All that they can, over each transport.
pub(super) fn sdks(project: &Project, table: &mut Table) -> Result<Verdict> {
    let node = match install::node(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(Verdict::Skipped(missing)),
    };
    let server = gateway(project, CONFIG)?;
    let run = node.run(&project.root().join("tests/clients/node/everything.mjs"));
    let run = run.arg(&node.folder).args(["--http", &server.url, "--sse", &sse(&server), "--"]);
    let run = run.args(stdio(project, CONFIG));
    // The bridge keeps a folder of its own, by default in the user's home.
    let run = run.env("MCP_REMOTE_CONFIG_DIR", node.folder.join("mcp-remote"));
    Ok(Verdict::Judged(explain(&server, script(project, run, table)?)))
}
