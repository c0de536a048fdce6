//! The MCP Inspector's command line, as a person would use it: over both transports, in each of its eras; and its
//! strict look at tools' schemas, at ours as plugins have them and in the form that is for every client.

use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::install::Node;
use super::{CONFIG, Table, Verdict, explain, gateway, install, sse, stdio};
use crate::project::Project;
use crate::report::{self, Tally};

/// What it looks at strictly, and a tool that it must find there.
const STRICT: [(&str, &str); 2] = [
    ("tests/clients/time.toml", "time_convert_time"),
    ("tests/clients/portable.toml", "json_schema_2020_12_tool"),
];

/// The Inspector's exit code for a tool's own error.
const TOOL_ERROR: i32 = 5;

/// Its eras, and the revision that each must end with.
const ERAS: [(&str, &str); 2] = [("legacy", "2025-11-25"), ("modern", "2026-07-28")];

/// Why it can't do more.
const LACKS: &str = "its command line asks one thing, prints the answer and ends";

/// What it can't.
const LACKING: [&str; 10] = [
    "complete",
    "progress",
    "logging",
    "elicitation",
    "sampling",
    "roots",
    "cancel",
    "list_changed",
    "subscriptions",
    "replaced",
];

/// One use of the Inspector.
#[derive(Debug)]
struct Use {
    words: &'static [&'static str],
    /// The exit code that is right.
    code: i32,
    /// What it must print.
    holds: &'static [&'static str],
}

impl Use {
    const fn of(words: &'static [&'static str], holds: &'static [&'static str]) -> Self {
        Self { words, code: 0, holds }
    }
}

/// What it can, each with the uses that show it.
const USES: [(&str, &[Use]); 4] = [
    (
        "list",
        &[
            Use::of(&["--method", "tools/list"], &[r#""name":"test_simple_text""#]),
            Use::of(&["--method", "resources/list"], &[r#""uri":"test://static-text""#]),
            Use::of(&["--method", "resources/templates/list"], &["test://template/{id}/data"]),
            Use::of(&["--method", "prompts/list"], &[r#""name":"test_prompt_with_arguments""#]),
        ],
    ),
    (
        "call",
        &[
            Use::of(
                &[
                    "--method",
                    "tools/call",
                    "--tool-name",
                    "test_x_mcp_header",
                    "--tool-arg",
                    "region=north",
                    "level=3",
                ],
                &["region=north, level=3"],
            ),
            Use {
                words: &["--method", "tools/call", "--tool-name", "test_error_handling"],
                code: TOOL_ERROR,
                holds: &["intentionally returns an error"],
            },
        ],
    ),
    (
        "read",
        &[Use::of(&["--method", "resources/read", "--uri", "test://template/7/data"], &["Data for ID: 7"])],
    ),
    (
        "get",
        &[Use::of(
            &[
                "--method",
                "prompts/get",
                "--prompt-name",
                "test_prompt_with_arguments",
                "--prompt-args",
                "arg1=a",
                "arg2=b",
            ],
            &["arg1='a', arg2='b'"],
        )],
    ),
];

/// All that it can, over each transport, in each era.
pub(super) fn judge(project: &Project, table: &mut Table) -> Result<Verdict> {
    let node = match install::node(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(Verdict::Skipped(missing)),
    };
    let client = format!("inspector-{}", version(&node)?);
    let server = gateway(project, CONFIG)?;
    let mut total = Tally::default();
    let mut tell = |line: String| {
        report::say(&format!("{line}\n"));
        total.add(table.note(&line));
    };
    let ways = [
        ("http", vec![server.url.clone()], &ERAS[..]),
        ("sse", vec![sse(&server)], &ERAS[..1]), // it has no other era
        ("stdio", stdio(project, CONFIG), &ERAS[..]),
    ];
    for (transport, target, eras) in ways {
        for (era, revision) in eras {
            let label = format!("{client} {transport} {revision}");
            let speaks = try_one(project, &node, &target, era, &["--method", "initialize"], 0);
            let speaks = speaks.and_then(|said| has(&said, revision));
            tell(line(&label, "connect", speaks));
            for (capability, uses) in USES {
                let used = uses.iter().try_for_each(|one| {
                    let said = try_one(project, &node, &target, era, one.words, one.code)?;
                    one.holds.iter().try_for_each(|text| has(&said, text))
                });
                tell(line(&label, capability, used));
            }
            LACKING.iter().for_each(|capability| tell(format!("- {label} {capability}: {LACKS}")));
        }
    }
    for (config, tool) in STRICT {
        for (era, revision) in ERAS {
            let words = ["--method", "tools/list", "--strict"];
            let said = try_one(project, &node, &stdio(project, config), era, &words, 0);
            let good = said.and_then(|said| has(&said, tool));
            tell(line(&format!("{client} {config} {revision}"), "strict", good));
        }
    }
    Ok(Verdict::Judged(explain(&server, total)))
}

/// The line that tells how a check went.
fn line(label: &str, name: &str, end: Result<()>) -> String {
    match end {
        Ok(()) => format!("ok {label} {name}"),
        Err(error) => format!("FAILED {label} {name}: {}", format!("{error:#}").replace('\n', " ")),
    }
}

/// Its version, from its package.
fn version(node: &Node) -> Result<String> {
    let path = node.file("@modelcontextprotocol/inspector/package.json");
    let text = fs::read(&path).with_context(|| format!("`{}` can't be read", path.display()))?;
    let package: Value = serde_json::from_slice(&text)?;
    Ok(package["version"].as_str().context("a package has a version")?.to_owned())
}

/// Uses it once; gives back what it printed.
fn try_one(
    project: &Project,
    node: &Node,
    target: &[String],
    era: &str,
    words: &[&str],
    code: i32,
) -> Result<String> {
    let launcher = node.file("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let cache = format!("MOONGATE_CACHE_DIR={}", project.code_cache().display());
    let mut all = vec!["--cli".to_owned()];
    if target.len() > 1 {
        all.extend(["-e".to_owned(), cache]);
    }
    all.extend_from_slice(target);
    all.extend(["--protocol-era", era, "--format", "json"].map(str::to_owned));
    all.extend(words.iter().map(|word| (*word).to_owned()));
    let run = node.run(&launcher).args(all).env("MCP_INSPECTOR_SECRET_STORE", "memory");
    let (ended, said) = run.folder(project.root()).output(super::LIMIT)?;
    if ended != Some(code) {
        bail!("it ended with {ended:?} instead of {code}: {said}");
    }
    Ok(said)
}

/// Makes sure that it printed a text.
fn has(said: &str, text: &str) -> Result<()> {
    if said.contains(text) { Ok(()) } else { bail!("its answer doesn't hold `{text}`: {said}") }
}
