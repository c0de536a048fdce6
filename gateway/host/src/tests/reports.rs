//! Log lines, progress and changes during a call, and the guest's information about its caller.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use moongate_config::{PluginConfig, Secret};
use moongate_model::call::{CallContext, CallError, CallSink, LogLevel, Outcome, ToolResult};
use moongate_model::caller::Caller;
use moongate_model::json::Json;
use moongate_model::names::{ResourceUri, ToolName};
use moongate_model::plugin::Plugin as _;
use tempfile::TempDir;

use super::{Guest, Warnings, load};
use crate::{ChangeInbox, HostOptions, OutgoingOptions, ReportedChanges, WasmHost};

/// Records log lines and progress.
#[derive(Debug, Default)]
struct RecordingSink(Mutex<Vec<String>>);

impl CallSink for RecordingSink {
    fn log_enabled(&self, level: LogLevel) -> bool {
        level >= LogLevel::Warning
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Json) {
        self.0.lock().unwrap().push(format!("{} {logger:?} {}", level.as_str(), data.get()));
    }

    fn progress(&self, current: f64, total: Option<f64>, message: Option<&str>) {
        self.0.lock().unwrap().push(format!("{current} {total:?} {message:?}"));
    }
}

/// Calls the guest once and returns the result, the sink's records and the reported changes.
async fn called(
    guest: Guest,
    change: impl FnOnce(&mut PluginConfig),
) -> (Result<ToolResult, CallError>, Vec<String>, Option<ReportedChanges>) {
    let dir = TempDir::new().unwrap();
    let inbox: Arc<ChangeInbox> = Arc::default();
    let cache = dir.path().join("cache");
    let options = HostOptions {
        cache_dir: cache,
        state: crate::StateLocation::Memory,
        max_concurrent_calls: 1,
        guest_memory: 4 << 30,
        uses_cached_descriptions: false,
        change_inbox: Some(Arc::clone(&inbox)),
        outgoing_http: OutgoingOptions::default(),
    };
    let host = WasmHost::new(options).unwrap();
    let plugin = load(&host, dir.path(), &guest, change).await;
    let records = Arc::new(RecordingSink::default());
    let sink = Arc::clone(&records) as Arc<dyn CallSink>;
    let context = CallContext { sink, ..CallContext::internal(Caller::Named("ann".into())) };
    let result = plugin.call_tool(Arc::new(context), &ToolName::new("run").unwrap(), "{}").await;
    let result = result.map(|outcome| match outcome {
        Outcome::Done(result) => result,
        Outcome::NeedInput(asked) => panic!("asked {asked:?}"),
    });
    let changes = inbox.take_now().remove("guest");
    let records = records.0.lock().unwrap().clone();
    (result, records, changes)
}

#[tokio::test]
async fn counts_a_dropped_log_line_once() {
    let guest = Guest {
        world: LOG,
        fields: r#"
            (import "moongate:plugin/log@0.1.0" "enabled" (func $enabled (param i32) (result i32)))
            (import "moongate:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32 i32 i32 i32)))"#,
        // Checked and written; only checked, as the SDK does; only written.
        body: "
            (drop (call $enabled (i32.const 3)))
            (call $write (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 16) (i32.const 5))
            (drop (call $enabled (i32.const 3)))
            (drop (call $enabled (i32.const 4)))
            (call $write (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 16) (i32.const 5))",
        ..Guest::default()
    };
    let (warnings, _guard) = Warnings::listen();
    let (result, records, _) = called(guest, |config| config.limits.log_lines = 0).await;
    assert!(result.is_ok() && records.is_empty());
    let dropped = warnings.lines();
    let [dropped] = &dropped[..] else { panic!("{dropped:?}") };
    assert!(dropped.starts_with("4 log lines dropped"), "{dropped}");
}

const LOG: &str = "import moongate:plugin/log@0.1.0;";
const LOG_WRITE: &str = r#"
    (import "moongate:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32 i32 i32 i32)))
    (data (i32.const 3600) "\22a\e2\80\aeb\22") (data (i32.const 3620) "no json")"#;

#[tokio::test]
async fn cleans_and_filters_log_lines() {
    let guest = Guest {
        world: LOG,
        fields: LOG_WRITE,
        body: "
            (call $write (i32.const 4) (i32.const 1) (i32.const 16) (i32.const 5) (i32.const 3600) (i32.const 7))
            (call $write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3600) (i32.const 7))
            (call $write (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3620) (i32.const 7))",
        ..Guest::default()
    };
    let (result, records, _) = called(guest, |_| {}).await;
    assert!(result.is_ok());
    assert_eq!(records, [r#"error Some("guest") "ab""#, r#"warning None "no json""#]);
}

#[tokio::test]
async fn limits_log_lines() {
    let guest = Guest {
        world: LOG,
        fields: LOG_WRITE,
        body: "(local $n i32)
            (loop $again
                (call $write (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3600) (i32.const 7))
                (local.set $n (i32.add (local.get $n) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $n) (i32.const 1000))))",
        ..Guest::default()
    };
    let (result, records, _) = called(guest, |config| config.limits.log_lines = 10).await;
    assert!(result.is_ok());
    assert_eq!(records.len(), 10);
}

#[tokio::test]
async fn drops_progress_that_does_not_grow() {
    let report = |current: &str| {
        format!(
            "(call $report (f64.const {current}) (i32.const 1) (f64.const 5)
                (i32.const 0) (i32.const 0) (i32.const 0))"
        )
    };
    let body = ["3", "2", "nan", "inf", "3", "4"].map(report).concat();
    let guest = Guest {
        world: "import moongate:plugin/progress@0.1.0;",
        fields: r#"(import "moongate:plugin/progress@0.1.0" "report"
            (func $report (param f64 i32 f64 i32 i32 i32)))"#,
        body: body.leak(),
        ..Guest::default()
    };
    let (result, records, _) = called(guest, |_| {}).await;
    assert!(result.is_ok());
    assert_eq!(records, ["3 Some(5.0) None", "4 Some(5.0) None"]);
}

#[tokio::test]
async fn reports_changes_once_even_if_the_call_fails() {
    let guest = Guest {
        world: "import moongate:plugin/changes@0.1.0;",
        fields: r#"
            (import "moongate:plugin/changes@0.1.0" "tools-changed" (func $tools))
            (import "moongate:plugin/changes@0.1.0" "resource-updated" (func $updated (param i32 i32)))
            (data (i32.const 3600) "file:///a")"#,
        body: "(call $tools) (call $updated (i32.const 3600) (i32.const 9)) (call $tools)
            (call $updated (i32.const 3600) (i32.const 4)) unreachable",
        ..Guest::default()
    };
    let (result, _, changes) = called(guest, |_| {}).await;
    assert!(matches!(result, Err(CallError::Trap(_))));
    let resources = BTreeSet::from([ResourceUri::new("file:///a").unwrap()]);
    assert_eq!(changes, Some(ReportedChanges { lists: true, resources }));
}

#[tokio::test]
async fn the_guest_gets_its_caller_and_settings() {
    // `principal` and `get` both return a string at the same place in their results.
    let principal = Guest {
        world: "import moongate:plugin/request@0.1.0;",
        fields: r#"(import "moongate:plugin/request@0.1.0" "principal" (func $ask (param i32)))"#,
        body: "(call $ask (i32.const 3600))
            (i32.store (i32.const 3080) (i32.const 3200)) (i32.store (i32.const 3084) (i32.const 1))
            (i64.store (i32.const 3208) (i64.load (i32.const 3604)))",
        ..Guest::default()
    };
    let (result, _, _) = called(principal, |_| {}).await;
    assert_eq!(result.unwrap().content, ToolResult::error("ann").content);
    let setting = Guest {
        world: "import wasi:config/store@0.2.0-rc.1;",
        fields: r#"(import "wasi:config/store@0.2.0-rc.1" "get" (func $ask (param i32 i32 i32)))
            (data (i32.const 3500) "key")"#,
        body: "(call $ask (i32.const 3500) (i32.const 3) (i32.const 3600))
            (i32.store (i32.const 3080) (i32.const 3200)) (i32.store (i32.const 3084) (i32.const 1))
            (i64.store (i32.const 3208) (i64.load (i32.const 3608)))",
        ..Guest::default()
    };
    let key =
        |config: &mut PluginConfig| drop(config.settings.insert("key".to_owned(), Secret::new("value")));
    let (result, _, _) = called(setting, key).await;
    assert_eq!(result.unwrap().content, ToolResult::error("value").content);
}

#[tokio::test]
async fn ignores_changes_reported_while_describing() {
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
        world: "import moongate:plugin/changes@0.1.0;",
        fields: r#"(import "moongate:plugin/changes@0.1.0" "tools-changed" (func $tools))"#,
        describe: "(call $tools)",
        ..Guest::default()
    };
    let plugin = load(&host, dir.path(), &guest, |_| {}).await;
    plugin.describe_again().await.unwrap();
    assert!(inbox.take_now().is_empty(), "it would be described again for ever");
}

#[tokio::test]
async fn a_cancelled_caller_receives_nothing_more() {
    let guest = Guest {
        world: "import moongate:plugin/log@0.1.0; import moongate:plugin/progress@0.1.0;
            import moongate:plugin/request@0.1.0;",
        fields: r#"
            (import "moongate:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32 i32 i32 i32)))
            (import "moongate:plugin/progress@0.1.0" "report" (func $report (param f64 i32 f64 i32 i32 i32)))
            (import "moongate:plugin/request@0.1.0" "cancelled" (func $cancelled (result i32)))
            (data (i32.const 3600) "1")"#,
        body: "(call $report (f64.const 1) (i32.const 0) (f64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
            (loop $again (br_if $again (i32.eqz (call $cancelled))))
            (call $report (f64.const 2) (i32.const 0) (f64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
            (call $write (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3600) (i32.const 1))",
        ..Guest::default()
    };
    let dir = TempDir::new().unwrap();
    let plugin = load(&super::host(dir.path()), dir.path(), &guest, |_| {}).await;
    let records = Arc::new(RecordingSink::default());
    let sink = Arc::clone(&records) as Arc<dyn CallSink>;
    let context = Arc::new(CallContext { sink, ..CallContext::internal(Caller::Local) });
    let name = ToolName::new("run").unwrap();
    let (result, ()) = tokio::join!(plugin.call_tool(Arc::clone(&context), &name, "{}"), async {
        while records.0.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        context.cancel.cancel();
    });
    // The guest may or may not be fast enough to return a result as well.
    assert!(matches!(result, Ok(_) | Err(CallError::Cancelled)));
    assert_eq!(*records.0.lock().unwrap(), ["1 None None"]);
}
