//! The ends of calls: a result, a limit, a trap, or cancellation.

use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use moongate_config::{DirGrant, DirMode, PluginConfig};
use moongate_model::call::{BusyReason, CallContext, CallError, Content, Outcome, ToolResult};
use moongate_model::caller::Caller;
use moongate_model::names::ToolName;
use moongate_model::plugin::Plugin as _;
use tempfile::TempDir;

use super::{Guest, host, idle_gauges, load, load_file};
use crate::{ChangeInbox, HostOptions, OutgoingOptions, WasmHost, WasmPlugin};

async fn call(plugin: &WasmPlugin) -> Result<ToolResult, CallError> {
    let context = Arc::new(CallContext::internal(Caller::Local));
    let outcome = plugin.call_tool(context, &ToolName::new("run").unwrap(), r#"{"a":1}"#).await?;
    match outcome {
        Outcome::Done(result) => Ok(result),
        Outcome::NeedInput(asked) => panic!("asked {asked:?}"),
    }
}

/// Calls a guest once and checks that the call leaves no resources behind.
async fn called(guest: Guest, change: impl FnOnce(&mut PluginConfig)) -> Result<ToolResult, CallError> {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &guest, change).await;
    let result = call(&plugin).await;
    assert_eq!(host.gauges(), idle_gauges());
    result
}

/// Returns one text block with the arguments.
const ECHO: &str = "
    (i32.store (i32.const 3080) (i32.const 3200)) (i32.store (i32.const 3084) (i32.const 1))
    (i32.store (i32.const 3208) (local.get $args)) (i32.store (i32.const 3212) (local.get $args-length))";

#[tokio::test]
async fn passes_arguments_unchanged() {
    let result = called(Guest::that(ECHO), |_| {}).await.unwrap();
    assert_eq!(result.content, vec![Content::text(r#"{"a":1}"#)]);
}

#[tokio::test]
async fn each_call_has_its_own_instance() {
    let counts = Guest {
        fields: "(global $calls (mut i32) (i32.const 48))",
        body: "
            (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
            (i32.store (i32.const 3080) (i32.const 3200)) (i32.store (i32.const 3084) (i32.const 1))
            (i32.store8 (i32.const 3300) (global.get $calls))
            (i32.store (i32.const 3208) (i32.const 3300)) (i32.store (i32.const 3212) (i32.const 1))",
        ..Guest::default()
    };
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &counts, |_| {}).await;
    for _ in 0..3 {
        assert_eq!(call(&plugin).await.unwrap().content, vec![Content::text("1")]);
    }
}

const LOOP: &str = "(loop $again (br $again))";

#[tokio::test]
async fn an_infinite_loop_ends_at_the_cpu_limit() {
    let limit = Duration::from_millis(30);
    let error = called(Guest::that(LOOP), |config| config.limits.cpu_time = limit).await.unwrap_err();
    assert_eq!(error, CallError::CpuTime(limit));
}

#[tokio::test]
async fn an_infinite_loop_ends_at_the_timeout() {
    let limit = Duration::from_millis(30);
    let error = called(Guest::that(LOOP), |config| config.limits.timeout = limit).await.unwrap_err();
    assert_eq!(error, CallError::Timeout(limit));
}

#[tokio::test]
async fn cancellation_ends_a_call() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &Guest::that(LOOP), |_| {}).await;
    let context = Arc::new(CallContext::internal(Caller::Local));
    let name = ToolName::new("run").unwrap();
    let (result, ()) = tokio::join!(plugin.call_tool(Arc::clone(&context), &name, "{}"), async {
        context.cancel.cancel();
    });
    assert_eq!(result.unwrap_err(), CallError::Cancelled);
    // A dropped call leaves no resources either.
    let context = Arc::new(CallContext::internal(Caller::Local));
    let given_up =
        tokio::time::timeout(Duration::from_millis(20), plugin.call_tool(context, &name, "{}")).await;
    assert!(given_up.is_err());
    assert_eq!(host.gauges(), idle_gauges());
}

#[tokio::test]
async fn an_infinite_loop_yields_to_other_calls() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let endless = load(&host, dir.path(), &Guest::that(LOOP), |config| {
        config.limits.timeout = Duration::from_secs(600); // the test drops it
        config.limits.cpu_time = Duration::from_secs(600);
    })
    .await;
    let echo = load(&host, dir.path(), &Guest::that(ECHO), |_| {}).await;
    // One thread serves both: the second call is served while the first one keeps running.
    let mut first = Box::pin(call(&endless));
    let second = async {
        for _ in 0..10 {
            call(&echo).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        biased;
        result = &mut first => panic!("ended too early: {result:?}"),
        () = second => {}
    }
}

#[tokio::test]
async fn refused_memory_is_the_reason_for_the_following_trap() {
    let grows = "(if (i32.eq (memory.grow (i32.const 1000)) (i32.const -1)) (then unreachable))";
    let limit = ByteSize::mib(1);
    let error = called(Guest::that(grows), |config| config.limits.memory = limit).await.unwrap_err();
    assert_eq!(error, CallError::Memory(limit.as_u64()));
    let copes = "(drop (memory.grow (i32.const 1000)))";
    assert!(called(Guest::that(copes), |config| config.limits.memory = limit).await.is_ok());
}

#[tokio::test]
async fn peak_memory_belongs_to_the_code() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let grows = Guest::that("(drop (memory.grow (i32.const 7)))");
    let plugin = load(&host, dir.path(), &grows, |_| {}).await;
    let described = plugin.peak_memory().unwrap();
    assert!(described > 0 && described % 65_536 == 0, "{described}");
    for _ in 0..2 {
        call(&plugin).await.unwrap();
        assert_eq!(plugin.peak_memory(), Some(described + 7 * 65_536));
    }
    let again = load(&host, dir.path(), &Guest::default(), |_| {}).await;
    assert_eq!(again.peak_memory(), Some(described));
}

#[tokio::test]
async fn limits_table_elements() {
    let guest = Guest {
        fields: "(table $t 1 funcref)",
        body: "(if (i32.eq (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)) (then unreachable))",
        ..Guest::default()
    };
    let error = called(guest, |config| config.limits.table_elements = 100).await.unwrap_err();
    assert_eq!(error, CallError::TableElements(100));
}

#[tokio::test]
async fn describes_traps() {
    let recursion =
        Guest { fields: "(func $deeper (call $deeper))", body: "(call $deeper)", ..Guest::default() };
    for (guest, said) in [
        (Guest::that("unreachable"), "it aborted (`unreachable`) and printed nothing on stderr"),
        (Guest::that("(drop (i32.div_u (i32.const 1) (i32.const 0)))"), "division by zero"),
        (
            Guest::that("(drop (i32.load (i32.const -4)))"),
            "out-of-bounds memory access (infinite recursion?)",
        ),
        (recursion, "stack overflow (infinite recursion?)"),
    ] {
        assert_eq!(called(guest, |_| {}).await.unwrap_err(), CallError::Trap(said.to_owned()));
    }
}

#[tokio::test]
async fn limits_the_size_of_a_result() {
    let large = "
        (drop (memory.grow (i32.const 32)))
        (i32.store (i32.const 3080) (i32.const 3200)) (i32.store (i32.const 3084) (i32.const 1))
        (i32.store (i32.const 3208) (i32.const 4096)) (i32.store (i32.const 3212) (i32.const 1048576))";
    let error =
        called(Guest::that(large), |config| config.limits.transfer = ByteSize::kib(64)).await.unwrap_err();
    assert_eq!(error, CallError::TooLarge(64 << 10));
}

#[tokio::test]
async fn refuses_invalid_structured_json() {
    let guest = |text: &'static str| Guest {
        fields: text,
        body: "(i32.store8 (i32.const 3088) (i32.const 1))
            (i32.store (i32.const 3092) (i32.const 3500)) (i32.store (i32.const 3096) (i32.const 7))",
        ..Guest::default()
    };
    let good = called(guest(r#"(data (i32.const 3500) "{\"a\":\n1}")"#), |_| {}).await;
    assert_eq!(
        good.unwrap_err(),
        CallError::InvalidOutput(
            "`structured`: invalid JSON: EOF while parsing an object at line 2 column 1".to_owned()
        )
    );
    let good = called(guest(r#"(data (i32.const 3500) "{\"a\":1}")"#), |_| {}).await.unwrap();
    assert_eq!(good.structured.unwrap().get(), r#"{"a":1}"#);
}

#[tokio::test]
async fn refuses_strings_that_are_not_utf8() {
    let bad = "
        (i32.store (i32.const 3080) (i32.const 3200)) (i32.store (i32.const 3084) (i32.const 1))
        (i32.store8 (i32.const 3500) (i32.const 255))
        (i32.store (i32.const 3208) (i32.const 3500)) (i32.store (i32.const 3212) (i32.const 1))";
    let error = called(Guest::that(bad), |_| {}).await.unwrap_err();
    assert!(matches!(&error, CallError::Trap(said) if said.contains("utf-8")), "{error:?}");
}

#[tokio::test]
async fn limits_handles() {
    let guest = Guest {
        world: "import wasi:io/poll@0.2.0; import moongate:plugin/cancellation@0.1.0;",
        fields: r#"(import "moongate:plugin/cancellation@0.1.0" "subscribe" (func $subscribe (result i32)))"#,
        body: "(loop $again (drop (call $subscribe)) (br $again))",
        ..Guest::default()
    };
    let error = called(guest, |config| config.limits.handles = 50).await.unwrap_err();
    assert_eq!(error, CallError::Handles(50));
}

#[tokio::test]
async fn calls_above_the_pool_size_fail_as_busy() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &Guest::that(LOOP), |config| {
        config.limits.timeout = Duration::from_millis(100);
    })
    .await;
    let calls = futures_util::future::join_all((0..20).map(|_| call(&plugin))).await;
    let busy = calls.iter().filter(|result| **result == Err(CallError::Busy(BusyReason::Gateway))).count();
    let late = calls.iter().filter(|result| matches!(result, Err(CallError::Timeout(_)))).count();
    // The four concurrent calls, and some spare slots.
    assert!(late >= 4 && busy > 0 && late + busy == 20, "{late} {busy}");
    assert_eq!(host.gauges(), idle_gauges());
}

#[tokio::test]
async fn a_guest_can_end_by_itself_after_cancellation() {
    let dir = TempDir::new().unwrap();
    let inbox: Arc<ChangeInbox> = Arc::default();
    let cache_dir = dir.path().join("cache");
    let options = HostOptions {
        cache_dir,
        state: crate::StateLocation::Memory,
        max_concurrent_calls: 1,
        guest_memory: 4 << 30,
        uses_cached_descriptions: false,
        change_inbox: Some(Arc::clone(&inbox)),
        outgoing_http: OutgoingOptions::default(),
    };
    let host = WasmHost::new(options).unwrap();
    let guest = Guest {
        world: "import moongate:plugin/request@0.1.0; import moongate:plugin/changes@0.1.0;",
        fields: r#"
            (import "moongate:plugin/request@0.1.0" "cancelled" (func $cancelled (result i32)))
            (import "moongate:plugin/changes@0.1.0" "prompts-changed" (func $cleaned-up))"#,
        body: "(loop $again (br_if $again (i32.eqz (call $cancelled)))) (call $cleaned-up)",
        ..Guest::default()
    };
    let plugin = load(&host, dir.path(), &guest, |_| {}).await;
    let context = Arc::new(CallContext::internal(Caller::Local));
    let name = ToolName::new("run").unwrap();
    let (result, ()) = tokio::join!(plugin.call_tool(Arc::clone(&context), &name, "{}"), async {
        context.cancel.cancel();
    });
    // The guest may or may not be fast enough to return a result as well.
    assert!(matches!(result, Ok(_) | Err(CallError::Cancelled)));
    assert!(inbox.take_now()["guest"].lists);
}

#[tokio::test]
async fn a_guest_that_ignores_cancellation_ends_after_the_grace() {
    let guest = || Guest {
        world: "import moongate:plugin/request@0.1.0;",
        fields: r#"(import "moongate:plugin/request@0.1.0" "cancelled" (func $cancelled (result i32)))"#,
        body: "(loop $again (drop (call $cancelled)) (br $again))",
        ..Guest::default()
    };
    for grace in [Duration::ZERO, Duration::from_millis(20)] {
        let dir = TempDir::new().unwrap();
        let host = host(dir.path());
        let plugin = load(&host, dir.path(), &guest(), |config| config.limits.cancel_grace = grace).await;
        let context = Arc::new(CallContext::internal(Caller::Local));
        let name = ToolName::new("run").unwrap();
        let started = std::time::Instant::now();
        let (result, ()) = tokio::join!(plugin.call_tool(Arc::clone(&context), &name, "{}"), async {
            context.cancel.cancel();
        });
        assert_eq!(result.unwrap_err(), CallError::Cancelled);
        assert!(started.elapsed() >= grace, "it ended before its grace of {grace:?}");
        assert_eq!(host.gauges(), idle_gauges());
    }
}

#[tokio::test]
async fn a_missing_directory_is_named_without_its_host_path() {
    let dir = TempDir::new().unwrap();
    let granted = dir.path().join("granted");
    std::fs::create_dir(&granted).unwrap();
    let grant = DirGrant {
        span: 0..0,
        host_path: granted.clone(),
        unresolved_host_path: granted.clone(),
        guest_path: "/notes".to_owned(),
        mode: DirMode::ReadOnly,
        allows_system: false,
    };
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &Guest::default(), |config| config.allow.dirs = vec![grant]).await;
    assert!(call(&plugin).await.is_ok());
    std::fs::remove_dir(&granted).unwrap();
    let said = "the granted directory `/notes` can't be opened";
    assert_eq!(call(&plugin).await.unwrap_err(), CallError::Directory(said.to_owned()));
    // The load error is for the operator, who needs the host path.
    let error = load_file(&host, &plugin.sandbox.config).await.unwrap_err();
    assert!(error.to_string().contains(&granted.display().to_string()), "{error}");
}

#[tokio::test]
async fn many_tables_and_memories_do_not_reduce_concurrency() {
    let greedy = Guest {
        fields: "
            (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
            (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
            (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
            (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
            (memory $a 1) (memory $b 1) (memory $c 1)",
        body: "(loop $always (br $always))",
        ..Guest::default()
    };
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let time = Duration::from_millis(300);
    let plugin = load(&host, dir.path(), &greedy, |config| config.limits.timeout = time).await;
    // The limit on concurrent calls to this host.
    let ends = tokio::join!(call(&plugin), call(&plugin), call(&plugin), call(&plugin));
    let timeout = || Err(CallError::Timeout(time));
    assert_eq!(ends, (timeout(), timeout(), timeout(), timeout()));
}

#[tokio::test]
async fn logs_invalid_changed_resources_once() {
    let guest = Guest {
        world: "import moongate:plugin/changes@0.1.0;",
        fields: r#"(import "moongate:plugin/changes@0.1.0" "resource-updated" (func $updated (param i32 i32)))
            (global $left (mut i32) (i32.const 100000))"#,
        body: "(loop $more
            (call $updated (i32.const 16) (i32.const 5))
            (global.set $left (i32.sub (global.get $left) (i32.const 1)))
            (br_if $more (global.get $left)))",
        ..Guest::default()
    };
    let lines = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(Counting(Arc::clone(&lines)));
    called(guest, |_| {}).await.unwrap();
    assert_eq!(lines.load(std::sync::atomic::Ordering::Relaxed), 1);
}

/// Counts warnings.
struct Counting(Arc<std::sync::atomic::AtomicUsize>);

impl tracing::Subscriber for Counting {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN && metadata.target().ends_with("::change_inbox")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}
