//! A load generator for MCP servers: `load http`, `load stdio`, `load cold`, `load repeat` and `load soak`, one JSON object
//! per run on stdout.
//!
//! The generator writes to raw sockets and pipes on one thread and parses only what is necessary, so that it measures the
//! server and not itself. The id of every answer is checked, and a string that is unique to the request. This isn't a full
//! client: it sends one kind of call and can start with or without a handshake.

mod cold;
mod figures;
mod http;
mod message;
mod process;
mod repeat;
mod soak;
mod stdio;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::message::Spec;
use crate::repeat::Repeated;
use crate::soak::SoakPlan;

const USAGE: &str = "usage: load http  --url URL [--pid PID] [--connections N] [options]
       load stdio [--window N] [options] -- COMMAND…
       load cold  [--runs N] [--tools N] [options] -- COMMAND…
       load repeat --url URL [--connections N] [--arguments FILE] [options]
       load soak  [--url URL --pid PID] [--calls N] [--sample N] --hostile FILE [options] [-- COMMAND…]
options: --tool NAME     the tool to call with {\"text\": …}       [echo]
         --argument NAME the name of its argument                [text]
         --bytes N       how long the text is                     [100]
         --patience S    how long to wait for an answer          [20]
         --seconds S     how long to measure, after a warm-up     [1]
         --revision REV  2026-07-28 is spoken without a handshake [2025-11-25]
         --bare          the server knows no handshake
         --list          list tools instead of calling one (`repeat`)
         --token TOKEN   sent as a bearer token";

/// The parameters of a run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The number of connections, concurrent requests, or cold starts.
    pub(crate) width: usize,
    /// The duration of the measurement.
    pub(crate) time: Duration,
    /// The duration of the warm-up.
    pub(crate) warm_up: Duration,
    /// The maximum time for an answer.
    pub(crate) patience: Duration,
}

struct Args {
    spec: Spec,
    plan: Plan,
    url: Option<String>,
    pid: Option<u32>,
    command: Vec<String>,
    /// The number of tools in a complete list.
    tools: usize,
    /// What `repeat` sends.
    repeated: Repeated,
    arguments: Option<PathBuf>,
    /// The numbers of calls of `soak`, in total and between two samples.
    soak: SoakPlan,
    hostile: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run() {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("load: {problem:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<Value> {
    let mut words = std::env::args().skip(1);
    let verb = words.next().context(USAGE)?;
    let args = read(words)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match verb.as_str() {
            "http" => {
                http::run(
                    args.url.as_deref().context("`--url` is missing")?,
                    args.pid,
                    &args.spec,
                    &args.plan,
                )
                .await
            }
            "stdio" => stdio::run(&args.command, &args.spec, &args.plan).await,
            "cold" => cold::run(&args.command, &args.spec, &args.plan, args.tools).await,
            "repeat" => {
                let url = args.url.as_deref().context("`--url` is missing")?;
                repeat::run(url, &args.spec, &args.plan, args.repeated, args.arguments.as_deref()).await
            }
            "soak" => {
                let hostile = args.hostile.as_deref().context("`--hostile` is missing")?;
                let target = args.url.as_deref().zip(args.pid);
                soak::run(target, &args.command, &args.spec, &args.plan, &args.soak, hostile).await
            }
            other => bail!("there is no `{other}`\n{USAGE}"),
        }
    })
}

fn read(mut words: impl Iterator<Item = String>) -> anyhow::Result<Args> {
    let mut args = Args {
        spec: Spec::default(),
        plan: Plan {
            width: 1,
            time: Duration::from_secs(1),
            warm_up: Duration::from_millis(300),
            patience: Duration::from_secs(20),
        },
        url: None,
        pid: None,
        command: Vec::new(),
        tools: 1,
        repeated: Repeated::Call,
        arguments: None,
        soak: SoakPlan { calls: 1_000_000, sample: 10_000 },
        hostile: None,
    };
    while let Some(word) = words.next() {
        if word == "--" {
            args.command = words.by_ref().collect();
            break;
        }
        if word == "--bare" {
            args.spec.bare = true;
            continue;
        }
        if word == "--list" {
            args.repeated = Repeated::List;
            continue;
        }
        let value = words.next().with_context(|| format!("`{word}` needs a value\n{USAGE}"))?;
        let bad = || format!("`{word} {value}` can't be read");
        match word.as_str() {
            "--url" => args.url = Some(value),
            "--pid" => args.pid = Some(value.parse().with_context(bad)?),
            "--connections" | "--window" | "--runs" => args.plan.width = value.parse().with_context(bad)?,
            "--tool" => args.spec.tool = value,
            "--patience" => args.plan.patience = Duration::from_secs(value.parse().with_context(bad)?),
            "--argument" => args.spec.argument = value,
            "--tools" => args.tools = value.parse().with_context(bad)?,
            "--arguments" => args.arguments = Some(value.into()),
            "--calls" => args.soak.calls = value.parse().with_context(bad)?,
            "--sample" => args.soak.sample = value.parse().with_context(bad)?,
            "--hostile" => args.hostile = Some(value.into()),
            "--bytes" => args.spec.bytes = value.parse().with_context(bad)?,
            "--seconds" => args.plan.time = Duration::from_secs_f64(value.parse().with_context(bad)?),
            "--revision" => args.spec.revision = value,
            "--token" => args.spec.token = Some(value),
            other => bail!("there is no `{other}`\n{USAGE}"),
        }
    }
    ensure!(args.plan.width > 0, "there must be at least one of it");
    Ok(args)
}
