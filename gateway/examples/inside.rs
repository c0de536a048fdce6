//! Measures calls through the dispatcher without a transport, and timer delays while guests loop. `cargo xtask bench`
//! runs it with the zoo. It prints one JSON object.
//!
//! Usage: `inside ZOO.wasm`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use moongate::metrics::Metrics;
use moongate_config::{InstancePolicy, PluginConfig};
use moongate_host::{HostOptions, OutgoingOptions, StateLocation, WasmHost};
use moongate_model::call::{CallContext, Outcome};
use moongate_model::caller::Caller;
use moongate_model::names::PluginId;
use moongate_protocol::catalog::{Catalog, CatalogPlugin};
use moongate_protocol::dispatch::{
    Arguments, CallEnd, CallInput, CallKind, CallOutcome, Dispatcher, NetworkTransport, Observer as _,
    RequestEnd,
};
use moongate_protocol::limiter::ConcurrencyLimiter;
use moongate_protocol::mcp::{Method, Revision};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The limit on concurrent calls, which the measurements don't reach.
const MAX_CONCURRENT_CALLS: u32 = 64;

/// The duration of each measurement. The warm-up takes a tenth of it.
const MEASUREMENT_TIME: Duration = Duration::from_secs(2);

/// The duration of a timer.
const TIMER_DURATION: Duration = Duration::from_millis(2);

/// The number of timers: two seconds in total, well below the CPU time of a looping call.
const TIMER_COUNT: usize = 1000;

/// The number of looping guests: enough to occupy every thread of the smallest supported machine.
const LOOP_COUNT: usize = 2;

/// The number of calls for measuring the cost of metrics.
const COUNTED_CALLS: u32 = 200_000;

fn main() -> Result<()> {
    let source = std::env::args_os().nth(1).map(PathBuf::from).context("usage: inside ZOO.wasm")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let figures = runtime.block_on(measure(source))?;
    #[expect(clippy::print_stdout, reason = "the result is printed on stdout")]
    {
        println!("{figures}");
    }
    Ok(())
}

async fn measure(source: PathBuf) -> Result<Value> {
    let cache = tempfile::tempdir()?;
    let options = HostOptions {
        cache_dir: cache.path().join("code"),
        state: StateLocation::Memory,
        max_concurrent_calls: MAX_CONCURRENT_CALLS,
        guest_memory: 4 << 30,
        uses_cached_descriptions: false,
        change_inbox: None,
        outgoing_http: OutgoingOptions::default(),
    };
    let host = WasmHost::new(options)?;
    let reusing = dispatcher(&host, source.clone(), InstancePolicy::Reused).await?;
    let dispatcher = dispatcher(&host, source, InstancePolicy::Fresh).await?;

    let mut small = calls(&dispatcher, 100).await?;
    let mut large = calls(&dispatcher, 64 << 10).await?;
    let mut reused = calls(&reusing, 100).await?;
    let counting = counting(&dispatcher)?;
    let mut idle = timers().await?;

    let context = context();
    let loops: Vec<_> =
        (0..LOOP_COUNT).map(|_| tokio::spawn(spin(dispatcher.clone(), Arc::clone(&context)))).collect();
    while host.gauges().running_calls < u32::try_from(LOOP_COUNT)? {
        tokio::time::sleep(TIMER_DURATION).await;
    }
    let mut while_looping = timers().await?;
    ensure!(host.gauges().running_calls >= u32::try_from(LOOP_COUNT)?, "a loop ended before the timers");
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
        "timer_p50_us": micros(&mut while_looping, 0.5),
        "timer_p99_us": micros(&mut while_looping, 0.99),
        "timer_worst_us": micros(&mut while_looping, 1.0),
    }))
}

/// A dispatcher with the zoo as its only plugin, without a prefix.
async fn dispatcher(host: &WasmHost, source: PathBuf, instances: InstancePolicy) -> Result<Dispatcher> {
    let mut config = PluginConfig::ungranted(PluginId::new("zoo")?, source);
    config.prefix = String::new();
    config.instances = instances;
    let config = Arc::new(config);
    let candidate = host.read(&config).await?;
    let plugin = host.load(Arc::clone(&config), candidate).await?;
    let catalog_plugin = CatalogPlugin::new(plugin, Arc::new(config.policy()))
        .map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    let build = Catalog::build(1, vec![catalog_plugin], None);
    ensure!(build.refused.is_empty(), "the zoo was rejected");
    let (_, latest) = watch::channel(Arc::new(build.catalog));
    Ok(Dispatcher::new(latest, Arc::new(ConcurrencyLimiter::new(MAX_CONCURRENT_CALLS))))
}

fn context() -> Arc<CallContext> {
    Arc::new(CallContext::internal(Caller::Local))
}

/// Sequential calls, each from the text of the arguments to the checked result.
async fn calls(dispatcher: &Dispatcher, bytes: usize) -> Result<Vec<Duration>> {
    let text = json!({ "text": "o".repeat(bytes) }).to_string();
    let dispatcher = dispatcher.clone();
    let work = async move {
        let mut latencies = Vec::new();
        let begin = Instant::now();
        while begin.elapsed() < MEASUREMENT_TIME + MEASUREMENT_TIME / 10 {
            let start = Instant::now();
            let catalog = dispatcher.catalog();
            let arguments = Arguments::parse(&text)?;
            let answered = dispatcher.call_tool(&catalog, &context(), "echo", &arguments).await?;
            let latency = start.elapsed();
            ensure!(matches!(answered.outcome, Outcome::Done(_)), "`echo` asked a question");
            if begin.elapsed() > MEASUREMENT_TIME / 10 {
                latencies.push(latency);
            }
        }
        Ok(latencies)
    };
    tokio::spawn(work).await? // on a worker thread, like requests
}

/// The cost of counting one call and its request, in nanoseconds.
fn counting(dispatcher: &Dispatcher) -> Result<f64> {
    let metrics = Metrics::new(dispatcher.watch(), watch::channel(Vec::new()).1);
    let catalog = dispatcher.catalog();
    let tool = catalog.tool("echo").context("the zoo has no `echo`")?;
    let name = Some(tool.public_name());
    let took = Duration::from_micros(25);
    let context = context();
    let call = CallEnd {
        context: &context,
        input: CallInput::Arguments("{}"),
        input_hash: None,
        result_bytes: None,
        catalog_plugin: tool.plugin(),
        kind: CallKind::Tool,
        name,
        outcome: CallOutcome::Done,
        was_admitted: true,
        took: Some(took),
    };
    let request = RequestEnd {
        method: Some(Method::CallTool.as_str()),
        tool: name,
        revision: Some(Revision::LATEST_HANDSHAKE.as_str()),
        transport: NetworkTransport::Http,
        traced: None,
        error: None,
        took,
    };
    let start = Instant::now();
    for _ in 0..COUNTED_CALLS {
        metrics.call_ended(&call);
        metrics.request_ended(&request);
    }
    Ok((start.elapsed().as_secs_f64() * 1e9 / f64::from(COUNTED_CALLS)).round())
}

/// A call that loops until it is cancelled.
async fn spin(dispatcher: Dispatcher, context: Arc<CallContext>) {
    let catalog = dispatcher.catalog();
    drop(dispatcher.call_tool(&catalog, &context, "spin_forever", &Arguments::empty()).await);
}

/// The delays of sequential timers.
async fn timers() -> Result<Vec<Duration>> {
    let work = async {
        let mut late = Vec::with_capacity(TIMER_COUNT);
        for _ in 0..TIMER_COUNT {
            let start = Instant::now();
            tokio::time::sleep(TIMER_DURATION).await;
            late.push(start.elapsed().saturating_sub(TIMER_DURATION));
        }
        late
    };
    Ok(tokio::spawn(work).await?)
}

/// A quantile in microseconds, to a tenth.
fn micros(times: &mut [Duration], quantile: f64) -> f64 {
    times.sort_unstable();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index below the length")]
    let at = ((times.len() - 1) as f64 * quantile) as usize;
    (times[at].as_secs_f64() * 1e7).round() / 10.0
}
