//! Checks against schemas belong to their call: its permit, its time and its cancellation.

use std::sync::Mutex;

use super::*;

/// A schema whose check takes about 10 ns for each byte and each of the 900 places.
fn costly_schema() -> Value {
    let word = json!({ "not": { "pattern": "[ab]*a[ab]{900}c" } });
    json!({ "type": "object", "properties": { "words": { "type": "array", "items": word } } })
}

/// Arguments of `words` strings, some milliseconds of work each. All strings differ and have no period, because the
/// engine remembers what it has seen (xorshift, Marsaglia 2003).
fn costly_arguments(words: usize) -> String {
    static STATE: Mutex<u32> = Mutex::new(1);
    let mut state = STATE.lock().unwrap();
    let mut letter = || {
        *state ^= *state << 13;
        *state ^= *state >> 17;
        *state ^= *state << 5;
        if *state & 1 == 0 { 'a' } else { 'b' }
    };
    let words: Vec<String> = (0..words).map(|_| (0..1_000).map(|_| letter()).collect()).collect();
    json!({ "words": words }).to_string()
}

fn costly_plugin(set: impl FnOnce(&mut crate::policy::PluginPolicy)) -> CatalogPlugin {
    let mut fake = FakePlugin::new("a").tool("run", &costly_schema(), None);
    fake.on_tool = Some(Box::new(|context, _| {
        let used = context.cpu_time.used();
        ready(Ok(Outcome::Done(ToolResult {
            content: vec![Content::text(format!("{used:?}"))],
            ..ToolResult::default()
        })))
    }));
    fake.into_catalog_plugin(|policy| {
        // The threads that check get little time on a busy machine.
        policy.timeout = Duration::from_secs(60 * 60);
        set(policy);
    })
}

#[tokio::test(start_paused = true)]
async fn arguments_are_checked_after_admission() {
    let mut fake = answers(Ok(ToolResult::default()), None);
    fake.on_tool = Some(Box::new(|_, _| Box::pin(pending())));
    let bench = bench(vec![fake.into_catalog_plugin(|policy| (policy.concurrency, policy.queue) = (1, 0))]);
    let (_, (invalid, unknown)) = tokio::join!(bench.tool("a_run", r#"{"n":1}"#), async {
        let invalid = bench.tool("a_run", "{}").await;
        let unknown = bench.tool("a_walk", "{}").await;
        bench.context.cancel.cancel();
        (invalid, unknown)
    });
    assert!(matches!(call_error(invalid), CallError::Busy(_)));
    assert!(matches!(unknown, Err(DispatchError::UnknownTool(_))), "a wrong name needs no permit");
}

#[tokio::test]
async fn checks_count_to_the_cpu_time() {
    let bench = bench(vec![costly_plugin(|_| {})]);
    let result = bench.tool("a_run", &costly_arguments(4)).await.unwrap();
    let used = bench.context.cpu_time.used();
    assert!(used > Duration::from_millis(1), "{used:?}");
    assert_eq!(result.content, [Content::text(format!("{used:?}"))], "the plugin gets the rest");
}

#[tokio::test]
async fn checks_end_at_the_cpu_time_limit() {
    let limit = Duration::from_millis(20);
    let structured = structured(&costly_arguments(40));
    let mut output = FakePlugin::new("b").tool("run", &json!({}), Some(&costly_schema()));
    output.on_tool = Some(Box::new(move |_, _| ready(Ok(Outcome::Done(structured.clone())))));
    let bench = bench(vec![
        costly_plugin(|policy| policy.cpu_time = limit),
        output.into_catalog_plugin(|policy| policy.cpu_time = limit),
    ]);
    let input = bench.tool("a_run", &costly_arguments(40)).await;
    assert_eq!(call_error(input), CallError::CpuTime(limit));
    let after_input = bench.context.cpu_time.used();
    assert!(after_input >= limit);
    let bench = Bench { context: Arc::new(CallContext::internal(Caller::Local)), ..bench };
    let output = bench.tool("b_run", "{}").await;
    assert_eq!(call_error(output), CallError::CpuTime(limit));
}

#[tokio::test]
async fn checks_end_with_their_call() {
    // A cancelled call, a call that takes too long, and a call that is dropped.
    let bench = bench(vec![costly_plugin(|policy| policy.concurrency = 1)]);
    let arguments = costly_arguments(40);
    let (cancelled, ()) = tokio::join!(bench.tool("a_run", &arguments), async {
        while bench.dispatcher.checks.running() == 0 {
            tokio::task::yield_now().await;
        }
        bench.context.cancel.cancel();
    });
    assert_eq!(call_error(cancelled), CallError::Cancelled);
    assert_eq!(bench.dispatcher.limiter().loads()[0].1.running, 0, "the permit was returned");
    let limit = Duration::from_millis(20);
    let late = bench_with_timeout(limit).tool("a_run", &arguments).await;
    assert_eq!(call_error(late), CallError::Timeout(limit));

    let bench = Bench { context: Arc::new(CallContext::internal(Caller::Local)), ..bench };
    for _ in 0..8 {
        let arguments = costly_arguments(40);
        let dropped = tokio::time::timeout(Duration::from_millis(2), bench.tool("a_run", &arguments)).await;
        assert!(dropped.is_err());
    }
    while bench.dispatcher.checks.running() > 0 {
        tokio::task::yield_now().await;
    }
    let used = bench.context.cpu_time.used();
    bench.tool("a_run", &costly_arguments(40)).await.unwrap();
    let whole_check = bench.context.cpu_time.used() - used;
    assert!(used < whole_check * 4, "{used:?}, and {whole_check:?} for a whole check");
}

fn bench_with_timeout(timeout: Duration) -> Bench {
    bench(vec![costly_plugin(|policy| policy.timeout = timeout)])
}

#[tokio::test]
async fn callers_check_by_turns() {
    let bench = bench(vec![costly_plugin(|policy| policy.concurrency = 7)]);
    let arguments = costly_arguments(10);
    let call = |name: &str| {
        let context = Arc::new(CallContext::internal(Caller::Named(name.into())));
        let arguments = Arguments::parse(&arguments).unwrap();
        let bench = &bench;
        async move { bench.dispatcher.call_tool(&bench.catalog, &context, "a_run", &arguments).await.unwrap() }
    };
    let ended = AtomicUsize::new(0);
    let busy = async || {
        call("ann").await;
        ended.fetch_add(1, Ordering::Relaxed);
    };
    let honest = async {
        while bench.dispatcher.checks.running() == 0 {
            tokio::task::yield_now().await;
        }
        call("ben").await;
        ended.load(Ordering::Relaxed)
    };
    let (_, _, _, _, _, before) = tokio::join!(busy(), busy(), busy(), busy(), busy(), honest);
    let threads = std::thread::available_parallelism().unwrap().get();
    assert!(before <= 2 * threads, "{before} checks of the other caller came first");
}

#[tokio::test]
async fn comparisons_end_with_their_call() {
    let forms: Vec<Value> = (0..500).map(|form| json!({ "const": form })).collect();
    let schema = json!({ "type": "object", "properties": { "all": { "items": { "anyOf": forms } } } });
    let fake = FakePlugin::new("a").tool("run", &schema, None);
    let limit = Duration::from_millis(5);
    let bench = bench(vec![fake.into_catalog_plugin(|policy| policy.cpu_time = limit)]);
    let arguments = json!({ "all": vec![499; 90_000] }).to_string();
    assert_eq!(call_error(bench.tool("a_run", &arguments).await), CallError::CpuTime(limit));
    let used = bench.context.cpu_time.used();
    assert!(used < Duration::from_secs(1), "{used:?}");
}
