//! The MCP Inspector's command line, over each transport and in each protocol era, and its strict validation of tool
//! schemas, both as plugins define them and in the portable form.

use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::install::NodePackages;
use super::{
    CLIENTS_CONFIG, ClientTable, SuiteOutcome, install, print_log_on_failure, sse_url, start_gateway,
    stdio_command,
};
use crate::project::Project;
use crate::report::{self, Tally};

/// The configurations to validate strictly, each with a tool that must be listed.
const STRICT_CONFIGS: [(&str, &str); 2] = [
    ("tests/clients/time.toml", "time_convert_time"),
    ("tests/clients/portable.toml", "json_schema_2020_12_tool"),
];

/// The Inspector's exit code for an error result of a tool.
const TOOL_ERROR_CODE: i32 = 5;

/// The protocol eras, and the revision that must be negotiated in each.
const ERAS: [(&str, &str); 2] = [("legacy", "2025-11-25"), ("modern", "2026-07-28")];

/// The reason why other capabilities aren't supported.
const UNSUPPORTED_REASON: &str = "its command line sends one request, prints the result and exits";

/// The unsupported capabilities.
const UNSUPPORTED: [&str; 10] = [
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

/// One run of the Inspector.
#[derive(Debug)]
struct InspectorRun {
    arguments: &'static [&'static str],
    /// The expected exit code.
    code: i32,
    /// Texts that the output must contain.
    expected: &'static [&'static str],
}

impl InspectorRun {
    const fn ok(arguments: &'static [&'static str], expected: &'static [&'static str]) -> Self {
        Self { arguments, code: 0, expected }
    }
}

/// The supported capabilities, each with the runs that test it.
const CAPABILITY_RUNS: [(&str, &[InspectorRun]); 4] = [
    (
        "list",
        &[
            InspectorRun::ok(&["--method", "tools/list"], &[r#""name":"test_simple_text""#]),
            InspectorRun::ok(&["--method", "resources/list"], &[r#""uri":"test://static-text""#]),
            InspectorRun::ok(&["--method", "resources/templates/list"], &["test://template/{id}/data"]),
            InspectorRun::ok(&["--method", "prompts/list"], &[r#""name":"test_prompt_with_arguments""#]),
        ],
    ),
    (
        "call",
        &[
            InspectorRun::ok(
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
            InspectorRun {
                arguments: &["--method", "tools/call", "--tool-name", "test_error_handling"],
                code: TOOL_ERROR_CODE,
                expected: &["intentionally returns an error"],
            },
        ],
    ),
    (
        "read",
        &[InspectorRun::ok(
            &["--method", "resources/read", "--uri", "test://template/7/data"],
            &["Data for ID: 7"],
        )],
    ),
    (
        "get",
        &[InspectorRun::ok(
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

/// Tests all capabilities over each transport in each era.
pub(super) fn run(project: &Project, table: &mut ClientTable) -> Result<SuiteOutcome> {
    let node = match install::client_packages(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let client = format!("inspector-{}", version(&node)?);
    let server = start_gateway(project, CLIENTS_CONFIG)?;
    let mut total = Tally::default();
    let mut report_check = |line: String| {
        report::print(&format!("{line}\n"));
        total.add(table.record(&line));
    };
    let transports = [
        ("http", vec![server.url.clone()], &ERAS[..]),
        ("sse", vec![sse_url(&server)], &ERAS[..1]), // the transport of the legacy era only
        ("stdio", stdio_command(project, CLIENTS_CONFIG), &ERAS[..]),
    ];
    for (transport, target, eras) in transports {
        for (era, revision) in eras {
            let label = format!("{client} {transport} {revision}");
            let output = run_inspector(project, &node, &target, era, &["--method", "initialize"], 0);
            let connected = output.and_then(|output| expect_text(&output, revision));
            report_check(result_line(&label, "connect", connected));
            for (capability, runs) in CAPABILITY_RUNS {
                let result = runs.iter().try_for_each(|run| {
                    let output = run_inspector(project, &node, &target, era, run.arguments, run.code)?;
                    run.expected.iter().try_for_each(|text| expect_text(&output, text))
                });
                report_check(result_line(&label, capability, result));
            }
            for capability in UNSUPPORTED {
                report_check(format!("- {label} {capability}: {UNSUPPORTED_REASON}"));
            }
        }
    }
    for (config, tool) in STRICT_CONFIGS {
        for (era, revision) in ERAS {
            let arguments = ["--method", "tools/list", "--strict"];
            let output = run_inspector(project, &node, &stdio_command(project, config), era, &arguments, 0);
            let result = output.and_then(|output| expect_text(&output, tool));
            report_check(result_line(&format!("{client} {config} {revision}"), "strict", result));
        }
    }
    Ok(SuiteOutcome::Checked(print_log_on_failure(&server, total)))
}

/// The line with the result of a check.
fn result_line(label: &str, name: &str, result: Result<()>) -> String {
    match result {
        Ok(()) => format!("ok {label} {name}"),
        Err(error) => format!("FAILED {label} {name}: {}", format!("{error:#}").replace('\n', " ")),
    }
}

/// The Inspector's version, from its package.
fn version(node: &NodePackages) -> Result<String> {
    let path = node.file("@modelcontextprotocol/inspector/package.json");
    let text = fs::read(&path).with_context(|| format!("can't read `{}`", path.display()))?;
    let package: Value = serde_json::from_slice(&text)?;
    Ok(package["version"].as_str().context("the package has no version")?.to_owned())
}

/// Runs the Inspector and returns its output; another exit code than the expected one is an error.
fn run_inspector(
    project: &Project,
    node: &NodePackages,
    target: &[String],
    era: &str,
    arguments: &[&str],
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
    all.extend(arguments.iter().map(|word| (*word).to_owned()));
    let run = node.run(&launcher).args(all).env("MCP_INSPECTOR_SECRET_STORE", "memory");
    let (actual, output) = run.current_dir(project.root()).output(super::SUITE_TIMEOUT)?;
    if actual != Some(code) {
        bail!("the exit code was {actual:?}, not {code}: {output}");
    }
    Ok(output)
}

/// Fails if the output doesn't contain a text.
fn expect_text(output: &str, text: &str) -> Result<()> {
    if output.contains(text) { Ok(()) } else { bail!("the output doesn't contain `{text}`: {output}") }
}
