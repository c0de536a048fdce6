//! What is remembered of calls.

use moongate_model::call::{CallContext, PluginError, PluginErrorDetail};
use moongate_protocol::catalog::fake::{FakePlugin, IntoCatalogPlugin as _};
use moongate_protocol::catalog::{CatalogBuild, CatalogPlugin};
use moongate_protocol::dispatch::CallInput;
use serde_json::json;

use super::*;

fn catalog_plugin(id: &str) -> CatalogPlugin {
    FakePlugin::new(id).tool("run", &json!({ "type": "object" }), None).into_catalog_plugin(|_| {})
}

fn catalog(generation: u64, ids: &[&str]) -> Arc<Catalog> {
    let plugins = ids.iter().map(|id| catalog_plugin(id)).collect();
    let CatalogBuild { catalog, .. } = Catalog::build(generation, plugins, None);
    Arc::new(catalog)
}

fn call(history: &CallHistory, plugin: &str, caller: Caller, outcome: CallOutcome<'_>) {
    let catalog_plugin = catalog_plugin(plugin);
    let name = PublicName::new(&format!("{plugin}_run")).unwrap();
    history.call_admitted(&AdmittedCall {
        catalog_plugin: &catalog_plugin,
        kind: CallKind::Tool,
        name: Some(&name),
    });
    history.call_ended(&CallEnd {
        context: &CallContext::internal(caller),
        input: CallInput::Arguments("{}"),
        input_hash: None,
        result_bytes: None,
        catalog_plugin: &catalog_plugin,
        kind: CallKind::Tool,
        name: Some(&name),
        outcome,
        was_admitted: true,
        took: Some(Duration::from_millis(2)),
    });
}

#[test]
fn calls_that_no_role_allows_name_the_caller() {
    let history = CallHistory::new(watch::channel(catalog(1, &["a"])).1);
    let context = CallContext::internal(Caller::Named("ci".into()));
    for name in ["a_run", "a_run", "a_other"] {
        history.name_refused(&RefusedName { context: &context, kind: CallKind::Tool, name });
    }
    let seen = history.read();
    let [denied] = &seen.denied[..] else { panic!("{:?}", seen.denied) };
    assert_eq!((denied.access().as_str(), denied.seen.count), ("a call to `a_run` by `ci`", 2));
    assert_eq!(
        seen.refusals.iter().map(|(word, seen)| (*word, seen.count)).collect::<Vec<_>>(),
        [("unknown_tool", 1)]
    );

    for number in 0..100 {
        let context = CallContext::internal(Caller::Named(format!("c{number}").into()));
        history.name_refused(&RefusedName { context: &context, kind: CallKind::Tool, name: "a_run" });
    }
    assert_eq!(history.read().denied.len(), MAX_DENIED);
}

#[test]
fn remembers_calls_callers_failures_and_limits() {
    let history = CallHistory::new(watch::channel(catalog(1, &["a", "b"])).1);
    let ci = || Caller::Named("ci".into());
    call(&history, "a", ci(), CallOutcome::Done);
    call(&history, "a", ci(), CallOutcome::Failed(&CallError::Memory(1 << 20)));
    let own = PluginError::Internal(PluginErrorDetail {
        message: "private".to_owned(),
        ..PluginErrorDetail::default()
    });
    call(&history, "b", Caller::Local, CallOutcome::Failed(&CallError::Refused(own)));
    history.request_refused(&ci(), RefusedRequest::Host);
    let seen = history.read();
    let of_a = &seen.items[0];
    assert_eq!((of_a.0.plugin.as_str(), of_a.1.calls(), of_a.1.errors(), of_a.1.in_flight), ("a", 2, 1, 0));
    assert!(of_a.1.p50.is_some());
    assert_eq!(seen.recent.iter().map(|call| call.outcome).collect::<Vec<_>>(), ["refused", "memory", "ok"]);
    let callers: Vec<_> =
        seen.callers.iter().map(|(who, used)| (who.to_string(), used.calls, used.errors)).collect();
    assert!(callers.contains(&("ci".to_owned(), 2, 1)) && callers.len() == 2, "{callers:?}");
    assert!(seen.failures.values().all(|failure| !failure.message.contains("private")), "{seen:?}");
    assert_eq!(
        seen.limits.iter().map(|(_, word, seen)| (*word, seen.count)).collect::<Vec<_>>(),
        [("memory", 1)]
    );
    assert_eq!(seen.refusals.iter().map(|(word, _)| *word).collect::<Vec<_>>(), ["host"]);
}

#[test]
fn forgets_removed_plugins_and_old_callers() {
    let (publish, seen) = watch::channel(catalog(1, &["a", "b"]));
    let history = CallHistory::new(seen);
    for at in 0..1000_u32 {
        let caller = Caller::Address(std::net::Ipv4Addr::from(at).into());
        call(&history, if at % 2 == 0 { "a" } else { "b" }, caller, CallOutcome::ToolError);
    }
    let before = history.read();
    assert_eq!((before.callers.len(), before.recent.len()), (MAX_CALLERS, MAX_LISTED_CALLS));
    assert_eq!((before.items.len(), before.failures.len()), (2, 2));
    publish.send_replace(catalog(2, &["b"]));
    let after = history.read();
    assert_eq!((after.items.len(), after.failures.len()), (1, 1));
    assert_eq!(after.items[0].0.plugin.as_str(), "b");
    // A call that ends after the change of the catalog is forgotten at the next one.
    for generation in 3..100 {
        let id = format!("p{generation}");
        publish.send_replace(catalog(generation, &[&id]));
        call(&history, &id, Caller::Local, CallOutcome::Done);
    }
    assert!(history.items.read().unwrap().len() <= 2);
}

#[test]
fn calls_are_numbered_and_the_last_ones_are_remembered() {
    let history = CallHistory::new(watch::channel(catalog(1, &["a"])).1);
    for _ in 0..MAX_RECENT_CALLS + 3 {
        call(&history, "a", Caller::Local, CallOutcome::ToolError);
    }
    let all = history.calls_after(0);
    let last = (MAX_RECENT_CALLS + 3) as u64;
    assert_eq!((all.len(), all[0].number, all[MAX_RECENT_CALLS - 1].number), (MAX_RECENT_CALLS, 4, last));
    let newer: Vec<_> = history.calls_after(last - 2).iter().map(|call| call.number).collect();
    assert_eq!(newer, [last - 1, last]);
    assert_eq!(all[0].error.as_deref(), Some("the tool returned an error"));
    assert_eq!(history.read().recent.len(), MAX_LISTED_CALLS);
}
