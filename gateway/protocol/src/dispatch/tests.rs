//! Tests of calls, invalid input and invalid output.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::call::{
    Capabilities, Content, GrantReport, InputNeeded, InputRequest, MediaContent, PluginError, ResourceBody,
    ResourceContents,
};
use crate::caller::Caller;
use crate::catalog::fake::{FakePlugin, IntoCatalogPlugin as _, catalog, ready};
use crate::json::Json;
use crate::policy::ClientFeature;

mod checks;
mod observer;

struct Bench {
    dispatcher: Dispatcher,
    catalog: Arc<Catalog>,
    context: Arc<CallContext>,
}

fn bench(plugins: Vec<CatalogPlugin>) -> Bench {
    let catalog = catalog(plugins);
    let (_, receiver) = watch::channel(Arc::clone(&catalog));
    let dispatcher = Dispatcher::new(receiver, Arc::new(ConcurrencyLimiter::new(8)));
    Bench { catalog, dispatcher, context: Arc::new(CallContext::internal(Caller::Local)) }
}

impl Bench {
    async fn tool(&self, name: &str, arguments: &str) -> Result<ToolResult, DispatchError> {
        let arguments = Arguments::parse(arguments)?;
        let answered = self.dispatcher.call_tool(&self.catalog, &self.context, name, &arguments).await?;
        match answered.outcome {
            Outcome::Done(result) => Ok(result),
            Outcome::NeedInput(need) => panic!("{need:?}"),
        }
    }
}

/// A plugin `a` whose tool `run` takes `{"n": integer}` and returns `result`.
fn answers(result: Result<ToolResult, CallError>, output: Option<&serde_json::Value>) -> FakePlugin {
    let input = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let mut fake = FakePlugin::new("a").tool("run", &input, output);
    fake.on_tool = Some(Box::new(move |_, _| ready(result.clone().map(Outcome::Done))));
    fake
}

fn structured(text: &str) -> ToolResult {
    ToolResult { structured: Some(Json::parse(text).unwrap()), ..ToolResult::default() }
}

fn call_error(result: Result<ToolResult, DispatchError>) -> CallError {
    match result.unwrap_err() {
        DispatchError::Call { error, .. } => error,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn plugin_gets_its_own_name_and_exact_arguments() {
    let mut fake = FakePlugin::new("a").tool("run", &json!({ "type": "object" }), None);
    fake.on_tool = Some(Box::new(|_, (name, args)| {
        ready(Ok(Outcome::Done(ToolResult {
            content: vec![Content::text(format!("{name} {args}"))],
            ..ToolResult::default()
        })))
    }));
    let bench = bench(vec![fake.into_catalog_plugin(|_| {})]);
    let said = |result: ToolResult| match &result.content[..] {
        [Content::Text(text)] => text.text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(said(bench.tool("a_run", r#"{ "n" : 1.50 }"#).await.unwrap()), r#"run { "n" : 1.50 }"#);
    assert_eq!(said(bench.tool("a_run", "null").await.unwrap()), "run {}");
    let none = bench
        .dispatcher
        .call_tool(&bench.catalog, &bench.context, "a_run", &Arguments::empty())
        .await
        .unwrap();
    assert_eq!(none.catalog_plugin.id().as_str(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_unread_answers_ends_with_its_time_before_the_plugin() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let mut fake = answers(Ok(ToolResult::default()), None);
    fake.on_tool = Some(Box::new(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        ready(Ok(Outcome::Done(ToolResult::default())))
    }));
    let unread = UnreadResponses::new(800);
    let mut bench = bench(vec![fake.into_catalog_plugin(|_| {})]);
    bench.dispatcher = bench.dispatcher.with_unread_responses(Arc::clone(&unread));
    let unread = unread.charge(&Caller::Local, 100);
    let error = call_error(bench.tool("a_run", r#"{"n":1}"#).await);
    assert_eq!(error, CallError::TimeoutBeforeStart(Duration::from_secs(30)));
    assert_eq!(bench.context.arrived_at.elapsed(), Duration::from_secs(30));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    drop(unread);
    bench.context = Arc::new(CallContext::internal(Caller::Local));
    bench.tool("a_run", r#"{"n":1}"#).await.unwrap();
}

#[tokio::test]
async fn rejects_invalid_arguments_before_the_plugin() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let mut fake = answers(Ok(ToolResult::default()), None);
    fake.on_tool = Some(Box::new(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        ready(Ok(Outcome::Done(ToolResult::default())))
    }));
    let bench = bench(vec![fake.into_catalog_plugin(|_| {})]);
    for (name, arguments, message, pointer) in [
        ("a_run", "{}", "invalid arguments: `n` is missing", Some("/n")),
        ("a_run", r#"{"n":"1"}"#, "invalid arguments: `n` must be of type integer, not string", Some("/n")),
        ("a_run", "[]", "invalid arguments: `arguments` must be an object", Some("")),
        ("a_run", r#"{"n":1,"n":2}"#, "invalid arguments: duplicate key `n` at line 1 column 13", None),
        ("a_rnu", "{}", "unknown tool: `a_rnu`; did you mean `a_run`?", None),
        ("b\n", "{}", "unknown tool: `b\\n`", None),
    ] {
        let error = bench.tool(name, arguments).await.unwrap_err();
        assert_eq!(error.to_string(), message);
        if let DispatchError::InvalidArguments { pointer: found, .. } = error {
            assert_eq!(found.as_deref(), pointer, "{message}");
        }
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    bench.tool("a_run", r#"{"n":1}"#).await.unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn checks_large_arguments() {
    let bench = bench(vec![answers(Ok(ToolResult::default()), None).into_catalog_plugin(|_| {})]);
    let long = "x".repeat(200_000);
    bench.tool("a_run", &format!(r#"{{"n":1,"x":"{long}"}}"#)).await.unwrap();
    let error = bench.tool("a_run", &format!(r#"{{"x":"{long}"}}"#)).await.unwrap_err();
    assert_eq!(error.to_string(), "invalid arguments: `n` is missing");
}

#[tokio::test]
async fn checks_structured_results() {
    let schema = json!({ "type": "object", "required": ["t"] });
    let run = async |result: ToolResult, schema: Option<&serde_json::Value>| {
        bench(vec![answers(Ok(result), schema).into_catalog_plugin(|_| {})]).tool("a_run", r#"{"n":1}"#).await
    };
    let result = run(structured(r#"{"t": 1.0}"#), Some(&schema)).await.unwrap();
    assert_eq!(result.content, [Content::text(r#"{"t": 1.0}"#)]);
    assert_eq!(result.structured.unwrap().get(), r#"{"t": 1.0}"#);

    let with_text = ToolResult { content: vec![Content::text("one")], ..structured("[1]") };
    assert_eq!(run(with_text, None).await.unwrap().content, [Content::text("one")]);
    let image = MediaContent {
        data: vec![0],
        mime_type: "image/png".to_owned(),
        annotations: None,
        meta: Vec::new(),
        extra: Vec::new(),
    };
    let image = Content::Image(image);
    let with_image = ToolResult { content: vec![image.clone()], ..structured(r#"{"t":"AA=="}"#) };
    assert_eq!(
        run(with_image, Some(&schema)).await.unwrap().content,
        [image],
        "the structured part isn't repeated as text"
    );

    for (result, part) in [
        (structured("{}"), "`t` is missing"),
        (structured(r#"{"t":1,"t":2}"#), "duplicate key"),
        (ToolResult::default(), "the structured result is missing"),
    ] {
        let error = call_error(run(result, Some(&schema)).await);
        assert!(matches!(&error, CallError::InvalidOutput(why) if why.contains(part)), "{error}");
    }
}

#[tokio::test]
async fn failed_result_has_no_structured_content() {
    let schema = json!({ "type": "object", "required": ["t"] });
    let failed = ToolResult { is_error: true, ..structured(r#"{"why":"no"}"#) };
    let bench = bench(vec![answers(Ok(failed), Some(&schema)).into_catalog_plugin(|_| {})]);
    let result = bench.tool("a_run", r#"{"n":1}"#).await.unwrap();
    assert_eq!((result.structured, result.content), (None, vec![Content::text(r#"{"why":"no"}"#)]));
}

#[tokio::test]
async fn panic_fails_one_call() {
    let mut at_once = answers(Ok(ToolResult::default()), None);
    at_once.on_tool = Some(Box::new(|_, _| panic!("at once")));
    let mut later = answers(Ok(ToolResult::default()), None);
    later.on_tool = Some(Box::new(|_, _| Box::pin(async { panic!("later: {}", 1) })));
    for fake in [at_once, later] {
        let bench = bench(vec![fake.into_catalog_plugin(|_| {})]);
        let error = call_error(bench.tool("a_run", r#"{"n":1}"#).await);
        assert!(matches!(&error, CallError::Internal(why) if !why.contains("at once")), "{error}");
        assert_eq!(bench.dispatcher.limiter().loads()[0].1.running, 0, "the permit was returned");
    }
}

/// Reports when it is dropped.
struct Guard(CancellationToken);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_call() {
    let (started, dropped) = (CancellationToken::new(), CancellationToken::new());
    let mut fake = answers(Ok(ToolResult::default()), None);
    let (start, drop_it) = (started.clone(), dropped.clone());
    fake.on_tool = Some(Box::new(move |_, _| {
        let guard = Guard(drop_it.clone());
        start.cancel();
        Box::pin(async move {
            let _guard = guard;
            pending().await
        })
    }));
    let bench = bench(vec![fake.into_catalog_plugin(|_| {})]);
    let cancel = bench.context.cancel.clone();
    let (result, ()) = tokio::join!(bench.tool("a_run", r#"{"n":1}"#), async {
        started.cancelled().await;
        cancel.cancel();
    });
    assert_eq!(call_error(result), CallError::Cancelled);
    assert!(dropped.is_cancelled(), "the plugin's future was dropped");
}

#[tokio::test(start_paused = true)]
async fn cancelled_plugin_gets_a_grace_period() {
    let grace = Duration::from_millis(300);
    for (takes, ends_after) in [(100, 100), (299, 299), (1_000_000, 300)] {
        let tidy = CancellationToken::new();
        let mut fake = answers(Ok(ToolResult::default()), None);
        let done = tidy.clone();
        fake.on_tool = Some(Box::new(move |context, _| {
            let done = done.clone();
            Box::pin(async move {
                context.cancel.cancelled().await;
                tokio::time::sleep(Duration::from_millis(takes)).await;
                done.cancel();
                Ok(Outcome::Done(ToolResult::default()))
            })
        }));
        let bench = bench(vec![fake.into_catalog_plugin(|config| config.cancel_grace = grace)]);
        let begun = tokio::time::Instant::now();
        let (result, ()) = tokio::join!(bench.tool("a_run", r#"{"n":1}"#), async {
            tokio::task::yield_now().await;
            assert_eq!(bench.dispatcher.limiter().loads()[0].1.running, 1);
            bench.context.cancel.cancel();
        });
        assert_eq!(call_error(result), CallError::Cancelled, "its answer arrives too late");
        assert_eq!(begun.elapsed(), Duration::from_millis(ends_after));
        assert_eq!(tidy.is_cancelled(), takes < 300);
        assert_eq!(bench.dispatcher.limiter().loads()[0].1.running, 0, "the permit was returned");
    }
}

#[tokio::test]
async fn questions_need_a_grant_and_distinct_keys() {
    let ask = |method: &str, key: &str| InputRequest {
        key: key.to_owned(),
        method: method.to_owned(),
        params: None,
    };
    let need = |requests| InputNeeded { requests, state: None, meta: Vec::new(), extra: Vec::new() };
    for (requests, bad) in [
        (vec![ask("elicitation/create", "a"), ask("elicitation/create", "b")], None),
        (
            vec![ask("sampling/createMessage", "a")],
            Some("asking the client for sampling is not granted; an operator can allow it"),
        ),
        (vec![ask("elicitation/create", "a"), ask("elicitation/create", "a")], Some("two questions")),
        (vec![ask("elicitation/complete", "a")], Some("unsupported question")),
        (vec![], Some("asks no question")),
        ((0..17).map(|n| ask("elicitation/create", &n.to_string())).collect(), Some("17 questions at once")),
    ] {
        let mut fake = answers(Ok(ToolResult::default()), None);
        let need = need(requests);
        fake.on_tool = Some(Box::new(move |_, _| ready(Ok(Outcome::NeedInput(need.clone())))));
        let bench = bench(vec![
            fake.into_catalog_plugin(|config| config.client_features = [ClientFeature::Elicitation].into()),
        ]);
        let arguments = Arguments::parse(r#"{"n":1}"#).unwrap();
        let result = bench.dispatcher.call_tool(&bench.catalog, &bench.context, "a_run", &arguments).await;
        match (result, bad) {
            (Ok(answered), None) => assert!(matches!(answered.outcome, Outcome::NeedInput(_))),
            (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
            (result, bad) => panic!("{result:?} instead of {bad:?}"),
        }
    }
}

#[tokio::test]
async fn missing_capability_names_the_missing_grant() {
    let lacks = || CallError::Refused(PluginError::MissingCapability(vec!["sampling.tools".to_owned()]));
    let client = |has: Value| Capabilities::new(Json::from_value(&has));
    for (granted, has, expected) in [
        (false, json!({ "sampling": {} }), "is not granted; an operator can allow it"),
        (false, json!({}), "the client doesn't support: sampling.tools"),
        (true, json!({ "sampling": {} }), "the client doesn't support: sampling.tools"),
    ] {
        let mut fake = answers(Ok(ToolResult::default()), None);
        fake.on_tool = Some(Box::new(move |_, _| ready(Err(lacks()))));
        let allowed = granted.then_some(ClientFeature::Sampling);
        let bench = bench(vec![
            fake.into_catalog_plugin(|config| config.client_features = allowed.into_iter().collect()),
        ]);
        let grant_report = Arc::new(GrantReport::default());
        let context = Arc::new(CallContext {
            revision: Some("2025-11-25"),
            capabilities: Arc::new(client(has)),
            grant_report: Some(Arc::clone(&grant_report)),
            ..CallContext::internal(Caller::Local)
        });
        let arguments = Arguments::parse(r#"{"n":1}"#).unwrap();
        let result = bench.dispatcher.call_tool(&bench.catalog, &context, "a_run", &arguments).await;
        let error = result.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(grant_report.events().len(), usize::from(!granted));
    }
}

fn part(uri: &str) -> ResourceContents {
    ResourceContents {
        uri: ResourceUri::new(uri).unwrap(),
        mime_type: None,
        body: ResourceBody::Text(String::new()),
        meta: Vec::new(),
        extra: Vec::new(),
    }
}

#[tokio::test]
async fn drops_resources_of_other_plugins() {
    let reads = |uris: &'static [&'static str]| {
        let mut fake = FakePlugin::new("a").template("x://a/{+p}").resource("x://one");
        fake.on_read = Some(Box::new(move |_, _| {
            let contents = uris.iter().map(|uri| part(uri)).collect();
            ready(Ok(Outcome::Done(ReadResult { contents, ..ReadResult::default() })))
        }));
        bench(vec![
            fake.into_catalog_plugin(|_| {}),
            FakePlugin::new("b").resource("x://b").into_catalog_plugin(|_| {}),
        ])
    };
    let read = async |bench: &Bench, uri: &str| {
        let answered = bench.dispatcher.read_resource(&bench.catalog, &bench.context, uri).await?;
        let Outcome::Done(result) = answered.outcome else { panic!() };
        Ok::<_, DispatchError>(
            result.contents.into_iter().map(|part| part.uri.to_string()).collect::<Vec<_>>(),
        )
    };
    let mixed = reads(&["x://a/1", "x://b", "x://one", "x://nobody"]);
    assert_eq!(read(&mixed, "x://a/1").await.unwrap(), ["x://a/1", "x://one"]);
    let foreign = reads(&["x://b"]);
    assert!(read(&foreign, "x://one").await.unwrap_err().to_string().contains("belong to other plugins"));
    let empty = reads(&[]);
    assert!(read(&empty, "x://one").await.unwrap().is_empty());
    for uri in ["x://nobody", "no uri", "x://a/ "] {
        let error = read(&mixed, uri).await.unwrap_err();
        assert!(
            matches!(&error, DispatchError::ResourceNotFound(unknown) if unknown.requested == uri),
            "{error}"
        );
    }
}

#[tokio::test]
async fn checks_prompt_arguments() {
    let mut fake = FakePlugin::new("a").prompt("review", &["code!", "style"]);
    fake.on_prompt = Some(Box::new(|_, (name, args)| {
        let description = Some(format!("{name} {args:?}"));
        ready(Ok(Outcome::Done(PromptResult { description, ..PromptResult::default() })))
    }));
    let bench = bench(vec![fake.into_catalog_plugin(|_| {})]);
    let get = async |name: &str, args: &[(&str, &str)]| {
        let args: Vec<_> = args.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        bench.dispatcher.get_prompt(&bench.catalog, &bench.context, name, &args).await.map(|it| {
            match it.outcome {
                Outcome::Done(result) => result.description.unwrap(),
                Outcome::NeedInput(need) => panic!("{need:?}"),
            }
        })
    };
    // Undeclared arguments are passed on, too.
    assert_eq!(
        get("a_review", &[("code", "x"), ("stile", "y")]).await.unwrap(),
        r#"review [("code", "x"), ("stile", "y")]"#
    );
    for (arguments, message, at) in [
        (&[("code", "x"), ("code", "y")][..], "got a duplicate argument `code`", "/code"),
        (&[("style", "x")], "requires the argument `code`", "/code"),
        (&[("cod", "x"), ("more/", "y")], "requires the argument `code` (did you mean `cod`?)", "/code"),
        (&[("codes/", "x"), ("codes/", "y")], "got a duplicate argument `codes/`", "/codes~1"),
    ] {
        let error = get("a_review", arguments).await.unwrap_err();
        assert_eq!(error.to_string(), format!("invalid arguments: prompt `a_review` {message}"));
        let pointer = Some(at.to_owned());
        assert!(matches!(&error, DispatchError::InvalidArguments { pointer: its, .. } if *its == pointer));
    }
    for asked in ["review", "a.review", "a_revew"] {
        let said = format!("unknown prompt: `{asked}`; did you mean `a_review`?");
        assert_eq!(get(asked, &[]).await.unwrap_err().to_string(), said);
    }
}

#[tokio::test]
async fn limits_completions_to_a_hundred() {
    let mut fake = FakePlugin::new("a").prompt("review", &["code"]).template("x://a/{p}");
    fake.manifest.has_completions = true;
    fake.on_complete = Some(Box::new(|_, (target, name, value)| {
        let first = format!("{target:?} {name} {value}");
        let values = std::iter::once(first).chain((0..149).map(|n| n.to_string())).collect();
        ready(Ok(Completion { values, ..Completion::default() }))
    }));
    let silent = FakePlugin::new("b").prompt("ask", &["code"]);
    let bench = bench(vec![fake.into_catalog_plugin(|_| {}), silent.into_catalog_plugin(|_| {})]);
    let complete = async |whose: CompletionOwner<'_>, name: &str| {
        bench.dispatcher.complete(&bench.catalog, &bench.context, whose, (name, "v"), &[]).await
    };
    let all = complete(CompletionOwner::Prompt("a_review"), "code").await.unwrap();
    assert_eq!((all.values.len(), all.total, all.has_more), (100, Some(150), Some(true)));
    assert_eq!(all.values[0], r#"Prompt("review") code v"#);
    let template = complete(CompletionOwner::Resource("x://a/{p}"), "p").await.unwrap();
    assert_eq!(template.values[0], r#"Template("x://a/{p}") p v"#);
    assert!(complete(CompletionOwner::Resource("x://a/1"), "p").await.is_ok());
    assert!(complete(CompletionOwner::Prompt("a_review"), "nope").await.unwrap().values.is_empty());
    assert!(complete(CompletionOwner::Prompt("b_ask"), "code").await.unwrap().values.is_empty());
    assert_eq!(
        complete(CompletionOwner::Resource("y://a"), "p").await.unwrap_err(),
        DispatchError::UnknownTemplate(UnknownName::new("y://a"))
    );
    assert!(matches!(
        complete(CompletionOwner::Prompt("x"), "p").await,
        Err(DispatchError::UnknownPrompt(_))
    ));
}

#[tokio::test]
async fn request_keeps_its_catalog_snapshot() {
    let old = catalog(vec![answers(Ok(ToolResult::default()), None).into_catalog_plugin(|_| {})]);
    let (sender, receiver) = watch::channel(Arc::clone(&old));
    let dispatcher = Dispatcher::new(receiver, Arc::new(ConcurrencyLimiter::new(8)));
    let snapshot = dispatcher.catalog();
    sender.send(Arc::new(Catalog::empty())).unwrap();
    let context = Arc::new(CallContext::internal(Caller::Local));
    let arguments = Arguments::parse(r#"{"n":1}"#).unwrap();
    dispatcher.call_tool(&snapshot, &context, "a_run", &arguments).await.unwrap();
    let latest = dispatcher.catalog();
    let error = dispatcher.call_tool(&latest, &context, "a_run", &arguments).await.unwrap_err();
    assert!(matches!(error, DispatchError::UnknownTool { .. }));
}

#[tokio::test(start_paused = true)]
async fn busy_plugin_rejects_calls() {
    let mut fake = answers(Ok(ToolResult::default()), None);
    fake.on_tool = Some(Box::new(|_, _| Box::pin(pending())));
    let bench = bench(vec![fake.into_catalog_plugin(|config| {
        config.concurrency = 1;
        config.queue = 0;
    })]);
    let (first, second) = tokio::join!(bench.tool("a_run", r#"{"n":1}"#), async {
        let second = bench.tool("a_run", r#"{"n":1}"#).await;
        bench.context.cancel.cancel();
        second
    });
    assert_eq!(call_error(first), CallError::Cancelled);
    assert!(matches!(call_error(second), CallError::Busy(_)));
}
