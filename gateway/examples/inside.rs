//! Measures the gateway from inside: calls through dispatch without any transport, and how late timers get beside
//! guests that loop. `cargo xtask bench` runs it on the zoo; it prints one JSON object.
//!
//! Usage: `inside ZOO.wasm`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use moongate::host::{HostOptions, OutgoingOptions, WasmHost};
use moongate::metrics::Metrics;
use moongate_core::call::{CallContext, Outcome};
use moongate_core::catalog::{Catalog, Member};
use moongate_core::config::{Instances, PluginConfig};
use moongate_core::dispatch::{
    Arguments, CallEnd, CallKind, CallOutcome, Dispatcher, NetworkTransport, Observer as _, RequestEnd,
};
use moongate_core::gate::Gate;
use moongate_core::mcp::{Method, Revision};
use moongate_core::names::{PluginId, Principal};
use serde_json::{Value, json};
use tokio::sync::watch;

/// How many calls run at once: more than are made here.
const CONCURRENCY: u32 = 64;

/// How long calls are measured, after a tenth of it to warm up.
const CALLS: Duration = Duration::from_secs(2);

/// What a timer is set to.
const TIMER: Duration = Duration::from_millis(2);

/// How often it is set: two seconds' worth, well below the processor time that a looping call gets.
const TIMERS: usize = 1000;

/// Two guests that loop want every thread of the smallest machine we care for.
const LOOPS: usize = 2;

/// How often a call is counted to find out what that costs.
const COUNTED: u32 = 200_000;

fn main() -> Result<()> {
    let source = std::env::args_os().nth(1).map(PathBuf::from).context("usage: inside ZOO.wasm")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let figures = runtime.block_on(measure(source))?;
    #[expect(clippy::print_stdout, reason = "the figures are what it is for")]
    {
        println!("{figures}");
    }
    Ok(())
}

async fn measure(source: PathBuf) -> Result<Value> {
    let cache = tempfile::tempdir()?;
    let options = HostOptions {
        cache: cache.path().join("code"),
        state: None,
        concurrency: CONCURRENCY,
        inbox: None,
        outgoing: OutgoingOptions::default(),
    };
    let host = WasmHost::new(options)?;
    let reusing = dispatcher(&host, source.clone(), Instances::Reused).await?;
    let dispatcher = dispatcher(&host, source, Instances::Fresh).await?;

    let (mut small, mut large) = (calls(&dispatcher, 100).await?, calls(&dispatcher, 64 << 10).await?);
    let mut reused = calls(&reusing, 100).await?;
    let counting = counting(&dispatcher)?;
    let mut idle = timers().await?;

    let context = context();
    let loops: Vec<_> =
        (0..LOOPS).map(|_| tokio::spawn(spin(dispatcher.clone(), Arc::clone(&context)))).collect();
    while host.gauges().calls < u32::try_from(LOOPS)? {
        tokio::time::sleep(TIMER).await;
    }
    let mut beside = timers().await?;
    ensure!(host.gauges().calls >= u32::try_from(LOOPS)?, "a loop ended before the timers did");
    context.cancel.cancel();
    for ended in loops {
        ended.await?;
    }
    Ok(json!({
        "dispatch_p50_us": micros(&mut small, 0.5),
        "dispatch_p99_us": micros(&mut small, 0.99),
        "dispatch_reused_p50_us": micros(&mut reused, 0.5),
        "dispatch_64kib_p50_us": micros(&mut large, 0.5),
        "counting_ns": counting,
        "timer_idle_p50_us": micros(&mut idle, 0.5),
        "timer_idle_p99_us": micros(&mut idle, 0.99),
        "timer_p50_us": micros(&mut beside, 0.5),
        "timer_p99_us": micros(&mut beside, 0.99),
        "timer_worst_us": micros(&mut beside, 1.0),
    }))
}

/// The zoo alone, under its tools' own names.
async fn dispatcher(host: &WasmHost, source: PathBuf, instances: Instances) -> Result<Dispatcher> {
    let mut config = PluginConfig::bare(PluginId::new("zoo")?, source);
    config.prefix = String::new();
    config.instances = instances;
    let config = Arc::new(config);
    let candidate = host.read(&config).await?;
    let plugin = host.load(Arc::clone(&config), candidate).await?;
    let member = Member::new(plugin, config).map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    let build = Catalog::build(1, vec![member], None);
    ensure!(build.refused.is_empty(), "the zoo conflicts with itself");
    let (_, latest) = watch::channel(Arc::new(build.catalog));
    Ok(Dispatcher::new(latest, Arc::new(Gate::new(CONCURRENCY))))
}

fn context() -> Arc<CallContext> {
    Arc::new(CallContext::internal(Principal::Local))
}

/// One call after the other, from the arguments' text to the checked answer.
async fn calls(dispatcher: &Dispatcher, bytes: usize) -> Result<Vec<Duration>> {
    let text = json!({ "text": "o".repeat(bytes) }).to_string();
    let dispatcher = dispatcher.clone();
    let work = async move {
        let mut latencies = Vec::new();
        let begin = Instant::now();
        while begin.elapsed() < CALLS + CALLS / 10 {
            let start = Instant::now();
            let catalog = dispatcher.catalog();
            let arguments = Arguments::parse(&text)?;
            let answered = dispatcher.call_tool(&catalog, &context(), "echo", &arguments).await?;
            let latency = start.elapsed();
            ensure!(matches!(answered.outcome, Outcome::Done(_)), "`echo` wants input");
            if begin.elapsed() > CALLS / 10 {
                latencies.push(latency);
            }
        }
        Ok(latencies)
    };
    tokio::spawn(work).await? // on a worker, as requests are
}

/// What it costs to count one call and its request, in nanoseconds.
fn counting(dispatcher: &Dispatcher) -> Result<f64> {
    let metrics = Metrics::new(dispatcher.watch());
    let catalog = dispatcher.catalog();
    let tool = catalog.tool("echo").context("the zoo has no `echo`")?;
    let name = Some(tool.public());
    let took = Duration::from_micros(25);
    let call = CallEnd {
        member: tool.member(),
        kind: CallKind::Tool,
        name,
        outcome: CallOutcome::Done,
        took: Some(took),
    };
    let request = RequestEnd {
        method: Some(Method::CallTool.as_str()),
        tool: name,
        revision: Some(Revision::LATEST_HANDSHAKE.as_str()),
        transport: NetworkTransport::Tcp,
        error: None,
        took,
    };
    let start = Instant::now();
    for _ in 0..COUNTED {
        metrics.call_ended(&call);
        metrics.request_ended(&request);
    }
    Ok((start.elapsed().as_secs_f64() * 1e9 / f64::from(COUNTED)).round())
}

/// A call that never ends by itself.
async fn spin(dispatcher: Dispatcher, context: Arc<CallContext>) {
    let catalog = dispatcher.catalog();
    drop(dispatcher.call_tool(&catalog, &context, "spin_forever", &Arguments::none()).await);
}

/// How late timers are, one set after the other.
async fn timers() -> Result<Vec<Duration>> {
    let work = async {
        let mut late = Vec::with_capacity(TIMERS);
        for _ in 0..TIMERS {
            let start = Instant::now();
            tokio::time::sleep(TIMER).await;
            late.push(start.elapsed().saturating_sub(TIMER));
        }
        late
    };
    Ok(tokio::spawn(work).await?)
}

/// A quantile in microseconds, to a tenth.
fn micros(times: &mut [Duration], quantile: f64) -> f64 {
    times.sort_unstable();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and the length"
    )]
    let at = ((times.len() - 1) as f64 * quantile) as usize;
    (times[at].as_secs_f64() * 1e7).round() / 10.0
}
