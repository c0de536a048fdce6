//! The MCP Inspector's command line, as a person would use it: over both transports, in each of its eras.

use anyhow::{Result, bail};

use super::install::Node;
use super::{Verdict, explain, gateway, install, stdio};
use crate::project::Project;
use crate::report::{self, Tally};

/// What it is served.
const CONFIG: &str = "tests/clients/time.toml";

/// The Inspector's exit code for a tool's own error.
const TOOL_ERROR: i32 = 5;

/// One use of the Inspector.
#[derive(Debug)]
struct Use {
    name: &'static str,
    words: &'static [&'static str],
    /// The exit code that is right.
    code: i32,
    /// What it must print.
    holds: &'static [&'static str],
}

const USES: [Use; 3] = [
    Use {
        name: "tools/list, strictly",
        words: &["--method", "tools/list", "--strict"],
        code: 0,
        holds: &[r#""name":"time_get_current_time""#, r#""name":"time_convert_time""#],
    },
    Use {
        name: "tools/call",
        words: &[
            "--method",
            "tools/call",
            "--tool-name",
            "time_convert_time",
            "--tool-arg",
            "source_timezone=UTC",
            "time=12:00",
            "target_timezone=Asia/Tokyo",
        ],
        code: 0,
        holds: &["T21:00:00+09:00", "+9.0h"],
    },
    Use {
        name: "tools/call of a zone that isn't there",
        words: &[
            "--method",
            "tools/call",
            "--tool-name",
            "time_get_current_time",
            "--tool-arg",
            "timezone=Mars/Olympus",
        ],
        code: TOOL_ERROR,
        holds: &["Mars/Olympus"],
    },
];

/// Lists and calls, over HTTP and stdio, in each era.
pub(super) fn judge(project: &Project) -> Result<Verdict> {
    let node = match install::node(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(Verdict::Skipped(missing)),
    };
    let server = gateway(project, CONFIG)?;
    let over = [("http", vec![server.url.clone()]), ("stdio", stdio(project, CONFIG))];
    let mut total = Tally::default();
    for (transport, target) in &over {
        for era in ["legacy", "auto", "modern"] {
            for one in &USES {
                let label = format!("inspector, {transport}, {era}: {}", one.name);
                total.add(match try_one(project, &node, target, era, one) {
                    Ok(()) => {
                        report::say(&format!("ok {label}\n"));
                        Tally::PASS
                    }
                    Err(error) => {
                        report::say(&format!("FAILED {label}: {error:#}\n"));
                        Tally::FAIL
                    }
                });
            }
        }
    }
    Ok(Verdict::Judged(explain(&server, total)))
}

/// Uses it once.
fn try_one(project: &Project, node: &Node, target: &[String], era: &str, one: &Use) -> Result<()> {
    let launcher = node.file("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let cache = format!("MOONGATE_CACHE_DIR={}", project.code_cache().display());
    let mut words = vec!["--cli".to_owned()];
    if target.len() > 1 {
        words.extend(["-e".to_owned(), cache]);
    }
    words.extend_from_slice(target);
    words.extend(["--protocol-era", era, "--format", "json"].map(str::to_owned));
    words.extend(one.words.iter().map(|word| (*word).to_owned()));
    let run = node.run(&launcher).args(words).env("MCP_INSPECTOR_SECRET_STORE", "memory");
    let (code, said) = run.folder(project.root()).output(super::LIMIT)?;
    if code != Some(one.code) {
        bail!("it ended with {code:?} instead of {}: {said}", one.code);
    }
    match one.holds.iter().find(|text| !said.contains(**text)) {
        None => Ok(()),
        Some(text) => bail!("its answer doesn't hold `{text}`: {said}"),
    }
}
