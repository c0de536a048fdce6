//! Each call to a plugin is reported once, however it ends.

use std::sync::Mutex;

use super::*;
use crate::call::{BusyReason, PluginError, PluginErrorDetail, RateLimited, RateScope};
use crate::call_rate::CallRate;
use crate::dispatch::{CallEnd, CallKind, Observer, RefusedName, RequestEnd};

/// The reported calls: plugin, kind, name and outcome, and whether the call ran.
type Told = (String, &'static str, String, &'static str, bool);

#[derive(Debug, Default)]
struct Notes(Mutex<Vec<Told>>);

impl Observer for Notes {
    fn call_ended(&self, call: &CallEnd<'_>) {
        let &CallEnd { catalog_plugin, kind, name, outcome, took, .. } = call;
        let name = name.map(ToString::to_string).unwrap_or_default();
        let told = (catalog_plugin.id().to_string(), kind.as_str(), name, outcome.kind(), took.is_some());
        self.0.lock().unwrap().push(told);
    }

    fn request_ended(&self, _: &RequestEnd<'_>) {
        unreachable!("the dispatcher sees only calls")
    }

    fn name_refused(&self, refused: &RefusedName<'_>) {
        let &RefusedName { context: _, kind, name } = refused;
        self.0.lock().unwrap().push((String::new(), kind.as_str(), name.to_owned(), "unknown", false));
    }
}

impl Notes {
    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn outcomes(&self) -> Vec<&'static str> {
        self.take().into_iter().map(|(_, _, _, outcome, _)| outcome).collect()
    }
}

fn observed(plugins: Vec<CatalogPlugin>) -> (Bench, Arc<Notes>) {
    let notes = Arc::<Notes>::default();
    let Bench { dispatcher, catalog, context } = bench(plugins);
    let dispatcher = dispatcher.with_observer(Arc::<Notes>::clone(&notes));
    (Bench { dispatcher, catalog, context }, notes)
}

#[tokio::test]
async fn reports_every_outcome_once() {
    let fault = || PluginErrorDetail { message: "no".to_owned(), ..PluginErrorDetail::default() };
    let ways = [
        Ok(ToolResult::default()),
        Ok(ToolResult::error("no".to_owned())),
        Err(CallError::Refused(PluginError::Internal(fault()))),
        Err(CallError::Timeout(Duration::from_secs(1))),
        Err(CallError::CpuTime(Duration::from_secs(1))),
        Err(CallError::Memory(1)),
        Err(CallError::TableElements(1)),
        Err(CallError::Handles(1)),
        Err(CallError::TooLarge(1)),
        Err(CallError::Trap("unreachable".to_owned())),
        Err(CallError::InvalidOutput("none".to_owned())),
        Err(CallError::Busy(BusyReason::Gateway)),
        Err(CallError::RateLimited(RateLimited {
            scope: RateScope::Tool,
            rate: CallRate::parse("1/s").unwrap(),
            retry_after: Duration::from_secs(1),
        })),
        Err(CallError::Cancelled),
        Err(CallError::Replaced),
        Err(CallError::Internal("no".to_owned())),
    ];
    let mut words = Vec::new();
    for way in ways {
        let (bench, notes) = observed(vec![answers(way, None).into_catalog_plugin(|_| {})]);
        let _ = bench.tool("a_run", r#"{"n":1}"#).await;
        let told = notes.take();
        let [(plugin, kind, name, outcome, ran)] = &told[..] else { panic!("{told:?}") };
        assert_eq!((plugin.as_str(), *kind, name.as_str(), *ran), ("a", "tool", "a_run", true));
        words.push(*outcome);
    }
    assert_eq!(
        words,
        [
            "ok",
            "tool_error",
            "refused",
            "timeout",
            "cpu_time",
            "memory",
            "tables",
            "handles",
            "too_large",
            "trap",
            "bad_output",
            "busy",
            "rate_limited",
            "cancelled",
            "replaced",
            "internal"
        ]
    );
}

#[tokio::test]
async fn reports_invalid_results_as_failures() {
    let schema = json!({ "type": "object" });
    let (bench, notes) =
        observed(vec![answers(Ok(ToolResult::default()), Some(&schema)).into_catalog_plugin(|_| {})]);
    assert!(bench.tool("a_run", r#"{"n":1}"#).await.is_err());
    assert_eq!(notes.outcomes(), ["bad_output"]);
}

#[tokio::test]
async fn reports_invalid_arguments_and_unknown_names() {
    let (bench, notes) = observed(vec![answers(Ok(ToolResult::default()), None).into_catalog_plugin(|_| {})]);
    for (name, arguments) in [("nobody", "{}"), ("a_run", "{}")] {
        assert!(bench.tool(name, arguments).await.is_err());
    }
    let Bench { dispatcher, catalog, context } = &bench;
    assert!(dispatcher.read_resource(catalog, context, "x://nobody").await.is_err());
    assert!(dispatcher.get_prompt(catalog, context, "nobody", &[]).await.is_err());
    let owner = CompletionOwner::Prompt("nobody");
    assert!(dispatcher.complete(catalog, context, owner, ("x", ""), &[]).await.is_err());
    let told = notes.take();
    let told: Vec<_> =
        told.iter().map(|(_, kind, name, outcome, ran)| (*kind, &**name, *outcome, *ran)).collect();
    assert_eq!(
        told,
        [
            ("tool", "nobody", "unknown", false),
            ("tool", "a_run", "invalid_arguments", false),
            ("resource", "x://nobody", "unknown", false),
            ("prompt", "nobody", "unknown", false),
            ("completion", "nobody", "unknown", false),
        ]
    );
}

#[tokio::test]
async fn reports_resources_prompts_and_completions() {
    let mut fake = FakePlugin::new("a").resource("x://one").prompt("review", &["code"]);
    fake.manifest.has_completions = true;
    fake.on_read = Some(Box::new(|_, uri| {
        ready(Ok(Outcome::Done(ReadResult { contents: vec![part(&uri)], ..ReadResult::default() })))
    }));
    let need = InputNeeded {
        requests: vec![InputRequest { key: "a".to_owned(), method: "roots/list".to_owned(), params: None }],
        state: None,
        meta: Vec::new(),
        extra: Vec::new(),
    };
    fake.on_prompt = Some(Box::new(move |_, _| ready(Ok(Outcome::NeedInput(need.clone())))));
    let (bench, notes) = observed(vec![
        fake.into_catalog_plugin(|config| config.client_features = [ClientFeature::Roots].into()),
    ]);
    bench.dispatcher.read_resource(&bench.catalog, &bench.context, "x://one").await.unwrap();
    bench.dispatcher.get_prompt(&bench.catalog, &bench.context, "a_review", &[]).await.unwrap();
    let whose = CompletionOwner::Prompt("a_review");
    assert!(
        bench.dispatcher.complete(&bench.catalog, &bench.context, whose, ("code", ""), &[]).await.is_err()
    );
    let told =
        |kind: CallKind, name: &str, outcome| ("a".to_owned(), kind.as_str(), name.to_owned(), outcome, true);
    assert_eq!(
        notes.take(),
        [
            told(CallKind::Resource, "", "ok"),
            told(CallKind::Prompt, "a_review", "input_required"),
            told(CallKind::Completion, "", "refused"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn reports_dropped_and_unadmitted_calls() {
    let mut fake = answers(Ok(ToolResult::default()), None);
    fake.on_tool = Some(Box::new(|_, _| Box::pin(pending())));
    let (bench, notes) = observed(vec![fake.into_catalog_plugin(|config| {
        config.concurrency = 1;
        config.queue = 0;
    })]);
    let arguments = r#"{"n":1}"#;
    tokio::select! {
        _ = bench.tool("a_run", arguments) => panic!("answered"),
        busy = async {
            tokio::task::yield_now().await;
            bench.tool("a_run", arguments).await
        } => assert!(matches!(call_error(busy), CallError::Busy(_))),
    }
    let told: Vec<_> = notes.take().into_iter().map(|(_, _, _, outcome, ran)| (outcome, ran)).collect();
    assert_eq!(told, [("busy", false), ("cancelled", true)]);
}

#[tokio::test]
async fn reports_panics_as_internal_errors() {
    let mut fake = answers(Ok(ToolResult::default()), None);
    fake.on_tool = Some(Box::new(|_, _| panic!("a bug")));
    let (bench, notes) = observed(vec![fake.into_catalog_plugin(|_| {})]);
    assert!(matches!(call_error(bench.tool("a_run", r#"{"n":1}"#).await), CallError::Internal(_)));
    assert_eq!(notes.outcomes(), ["internal"]);
}
