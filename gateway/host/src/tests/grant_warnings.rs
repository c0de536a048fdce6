//! Warnings about missing directories and memory, and cases without a warning.

use std::sync::Arc;

use moongate_config::{DirGrant, DirMode};
use moongate_model::call::{CallContext, CallError, GrantEvent, GrantReport};
use moongate_model::caller::Caller;
use moongate_model::names::ToolName;
use moongate_model::plugin::Plugin as _;
use tempfile::TempDir;

use super::{Guest, Warnings, config, host, load, load_file};
use crate::LoadError;

const PREOPENS: &str = "import wasi:filesystem/preopens@0.2.0;";
/// The fields of every guest.
macro_rules! guest {
    ($more:literal) => {
        concat!(
            "(import \"wasi:filesystem/preopens@0.2.0\" \"get-directories\" (func $ask (param i32)))",
            "(data (i32.const 512) \"GET /v1/orders failed\")",
            $more
        )
    };
}
const PLAIN: &str = guest!("");
/// Lists its directories before the first call, as some languages do.
const LISTS_AT_START: &str = guest!("(func (export \"_initialize\") (call $ask (i32.const 256)))");

/// A call that fails with the message at 512.
macro_rules! fails {
    ($before:literal) => {
        concat!(
            $before,
            "(i32.store8 (i32.const 3072) (i32.const 1)) (i32.store8 (i32.const 3076) (i32.const 3))",
            "(i32.store (i32.const 3080) (i32.const 512)) (i32.store (i32.const 3084) (i32.const 21))"
        )
    };
}
const FAILS: &str = fails!("");
const LISTS: &str = "(call $ask (i32.const 256))";
const LISTS_AND_FAILS: &str = fails!("(call $ask (i32.const 256))");

/// The warnings of two calls to a guest with these granted directories, and the missing grants of an explanation.
async fn warnings_and_missing(
    fields: &'static str,
    body: &'static str,
    granted: &[&str],
) -> (Vec<String>, Vec<String>) {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let place = std::fs::canonicalize(dir.path()).unwrap();
    let (warnings, _guard) = Warnings::listen();
    let guest = Guest { world: PREOPENS, fields, body, ..Guest::default() };
    let plugin = load(&host, dir.path(), &guest, |config| {
        let grant = |guest: &&str| DirGrant {
            span: 0..0,
            host_path: place.clone(),
            unresolved_host_path: place.clone(),
            guest_path: (*guest).to_owned(),
            mode: DirMode::ReadOnly,
            allows_system: false,
        };
        config.allow.dirs = granted.iter().map(grant).collect();
    })
    .await;
    let grant_report: Arc<GrantReport> = Arc::default();
    for _ in 0..2 {
        let context = CallContext::internal(Caller::Local);
        let context = CallContext { grant_report: Some(Arc::clone(&grant_report)), ..context };
        let answer = plugin.call_tool(Arc::new(context), &ToolName::new("run").unwrap(), "{}").await;
        match (answer, body.contains(FAILS)) {
            (Ok(_), false) => {}
            (Err(CallError::Refused(failure)), true) => {
                assert_eq!(failure.to_string(), "GET /v1/orders failed")
            }
            (answer, _) => panic!("{answer:?}"),
        }
    }
    let lacked = grant_report.events().into_iter().filter_map(|entry| match entry {
        GrantEvent::Missing { wanted, fix } => {
            Some(format!("{wanted}; {}", fix.as_ref().map(moongate_config::grant_line).unwrap_or_default()))
        }
        GrantEvent::Used(_) | GrantEvent::Limited { .. } => None,
    });
    (warnings.lines(), lacked.collect())
}

#[tokio::test]
async fn listing_directories_at_start_is_no_missing_grant() {
    let none: (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for granted in [&[] as &[&str], &["/notes"]] {
        assert_eq!(warnings_and_missing(LISTS_AT_START, "", granted).await, none);
        assert_eq!(warnings_and_missing(LISTS_AT_START, FAILS, granted).await, none);
    }
    // A guest that never lists directories causes no warning either, whatever its message contains.
    assert_eq!(warnings_and_missing(PLAIN, FAILS, &["/notes"]).await, none);
}

#[tokio::test]
async fn listing_directories_in_a_failed_call_is_a_missing_grant() {
    let open = "dirs = [{ host = \"…\", guest = \"…\", mode = \"ro\" }]";
    let (warnings, lacked) = warnings_and_missing(PLAIN, LISTS, &[]).await;
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(lacked, [format!("perhaps access to a file or directory; {open}")]);
    assert_eq!(warnings_and_missing(PLAIN, LISTS, &["/notes"]).await, (Vec::new(), Vec::new()));
    let (warnings, lacked) = warnings_and_missing(PLAIN, LISTS_AND_FAILS, &["/v1"]).await;
    let wanted = "access to a file or directory outside `/v1`";
    assert_eq!(lacked, [format!("{wanted}; {open}")]);
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    // The list is there, so its line can't be added.
    let entry = open.trim_start_matches("dirs = [").trim_end_matches(']');
    let change = format!("was denied {wanted}; to allow it, add `{entry}` to `dirs` in `[plugins.");
    assert!(warning.contains(&change), "{warning}");
}

#[tokio::test]
async fn exceeding_memory_while_loading_is_only_an_error() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let describe = "(if (i32.eq (memory.grow (i32.const 1000)) (i32.const -1)) (then unreachable))";
    let mut config = config(dir.path(), &Guest { describe, ..Guest::default() }.build());
    config.limits.memory = bytesize::ByteSize::mib(1);
    let config = Arc::new(config);
    let (warnings, _guard) = Warnings::listen();
    for _ in 0..2 {
        let error = load_file(&host, &config).await.unwrap_err();
        assert!(
            matches!(error, LoadError::DescribeFailed { error: CallError::Memory(_), low: Some(_), .. }),
            "{error}"
        );
    }
    assert_eq!(warnings.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn exceeding_memory_in_calls_is_logged_once() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let body = "(if (i32.eq (memory.grow (i32.const 1000)) (i32.const -1)) (then unreachable))";
    let plugin = load(&host, dir.path(), &Guest::that(body), |config| {
        config.limits.memory = bytesize::ByteSize::mib(1);
    })
    .await;
    let (warnings, _guard) = Warnings::listen();
    for _ in 0..2 {
        let context = Arc::new(CallContext::internal(Caller::Local));
        let error = plugin.call_tool(context, &ToolName::new("run").unwrap(), "{}").await.unwrap_err();
        assert!(matches!(error, CallError::Memory(_)), "{error}");
    }
    let warnings = warnings.lines();
    assert!(
        warnings.len() == 1
            && warnings[0].contains("was denied more memory; to allow more, raise `memory` in"),
        "{warnings:?}"
    );
}
