//! The admin listener over real sockets, with a fixed status.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use moongate_config::Secret;
use moongate_model::caller::Caller;
use moongate_model::caller_budget::CallerBudget;
use moongate_model::names::Digest;
use moongate_protocol::server::ServerGauges;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::*;
use crate::call_history::RememberedCalls;
use crate::supervisor::control::{ReloadCause, ReloadRequest, ReloadResult};
use crate::supervisor::status::{
    CodeOrigin, ConfigStatus, OfferCounts, PendingChange, PluginAbout, PluginActivity, PluginIssue,
    PluginState, PluginStatus, ReloadCounts, ReloadRecord, WatchMode,
};

mod browsers;
mod documents;
mod trials;

/// A token that is long enough.
const TOKEN: &str = "a-long-token-of-this-test-alone";

const JSON: &str = "Content-Type: application/json\r\n";

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

fn plugin(id: &str, state: PluginState) -> PluginStatus {
    PluginStatus {
        id: id.parse().unwrap(),
        source: PathBuf::from(format!("/plugins/{id}.wasm")),
        origin: CodeOrigin::File,
        state,
        activity: PluginActivity::Idle,
        digest: Some(Digest::of(id.as_bytes())),
        since: Some(at(1)),
        about: Some(PluginAbout {
            title: None,
            description: Some("It does".to_owned()),
            version: "1.2".to_owned(),
        }),
        offer_counts: OfferCounts { tools: 2, ..OfferCounts::default() },
        pending_change: None,
        unavailable_directories: Vec::new(),
    }
}

fn trouble(reason: &str) -> PluginIssue {
    let hint = Some("rebuild it".to_owned());
    PluginIssue { reason: reason.to_owned(), hint, ends_calls: false, retry_at: Some(at(60)) }
}

fn status() -> SupervisorStatus {
    let waiting = plugin("time", PluginState::Serving);
    let waiting = PluginStatus {
        pending_change: Some(PendingChange::Grants(vec!["env `LANG`".to_owned()])),
        ..waiting
    };
    let failed = plugin("bad", PluginState::Failed(trouble("not a component")));
    let failed = PluginStatus {
        digest: None,
        since: None,
        about: None,
        offer_counts: OfferCounts::default(),
        ..failed
    };
    SupervisorStatus {
        generation: 3,
        config: ConfigStatus {
            file: PathBuf::from("/etc/moongate/gateway.toml"),
            digest: Digest::of(b"a"),
            since: at(0),
            rejected: None,
            needs_restart: vec!["http.listen".to_owned()],
            pending_keys: vec!["gateway.wider_grants".to_owned()],
            stop_grace: Duration::from_secs(30),
        },
        plugins: vec![waiting, plugin("notes", PluginState::Degraded(trouble("it is truncated"))), failed],
        watch_mode: WatchMode::Polling("too many files are watched".to_owned()),
        is_settled: true,
        reload_counts: ReloadCounts { replaced: 1, unchanged: 2, failed: 3, configured: 4, rejected: 5 },
        history: VecDeque::from([ReloadRecord {
            at: at(2),
            took: Duration::from_millis(1234),
            plugin: Some("notes".parse().unwrap()),
            outcome: Err("plugin `notes` can't be loaded: it is truncated".to_owned()),
        }]),
    }
}

struct TestListener {
    address: SocketAddr,
    opener: StartupHandle,
    loaded: CancellationToken,
    draining: CancellationToken,
    stop: CancellationToken,
    served: JoinHandle<()>,
}

/// The listener of a gateway that is starting.
async fn start() -> TestListener {
    start_with(&AdminConfig::default(), &AdminCredentials::default()).await
}

async fn start_with(config: &AdminConfig, credentials: &AdminCredentials) -> TestListener {
    let bound = AdminContext::bind("127.0.0.1:0".parse().unwrap(), config, credentials).await.unwrap();
    let address = bound.address();
    let opener = bound.startup_handle();
    let (loaded, draining) = (CancellationToken::new(), CancellationToken::new());
    let stop = CancellationToken::new();
    let served = tokio::spawn(bound.serve(stop.clone()));
    TestListener { address, opener, loaded, draining, stop, served }
}

impl TestListener {
    /// Finishes the start.
    fn open(&self, status: SupervisorStatus) -> mpsc::Receiver<ReloadRequest> {
        self.open_with(status, RememberedCalls::default)
    }

    /// The same for a gateway that remembers these calls.
    fn open_with(
        &self,
        status: SupervisorStatus,
        calls: impl Fn() -> RememberedCalls + Send + Sync + 'static,
    ) -> mpsc::Receiver<ReloadRequest> {
        self.open_endpoint(status, calls, true)
    }

    /// The same for a gateway whose callers need credentials.
    fn open_for_authenticated_callers(&self, status: SupervisorStatus) -> mpsc::Receiver<ReloadRequest> {
        self.open_endpoint(status, RememberedCalls::default, false)
    }

    fn open_endpoint(
        &self,
        status: SupervisorStatus,
        calls: impl Fn() -> RememberedCalls + Send + Sync + 'static,
        is_endpoint_open: bool,
    ) -> mpsc::Receiver<ReloadRequest> {
        let (sender, requests) = mpsc::channel(1);
        let shown = status.clone();
        self.opener.set_started(AdminContext {
            status: Box::new(move || status.clone()),
            snapshot: Box::new(move || GatewaySnapshot {
                status: shown.clone(),
                loads: BTreeMap::new(),
                clients: ServerGauges::default(),
                calls: calls(),
                access: BTreeMap::new(),
                replicas: None,
            }),
            catalog: watch::channel(trials::catalog()).1,
            request_memory: Box::new(|address| {
                RequestBodyMemory::new(&CallerBudget::new(u64::MAX), &Caller::Operator(address))
            }),
            call: Box::new(|address, request, _| Box::pin(trials::answer(address, request))),
            unread: UnreadResponses::new(u64::MAX),
            is_endpoint_open: Box::new(move || is_endpoint_open),
            calls_after: Box::new(|_| Vec::new()),
            store: Box::new(|| None),
            replicas: Box::new(|| None),
            reloader: Reloader::new(sender),
            metrics: Box::new(|format| format!("{format:?}\n")),
            refused: Box::new(|_| {}),
            peer_refused: Box::new(|_, _| {}),
            loaded: self.loaded.clone(),
            draining: self.draining.clone(),
        });
        requests
    }

    /// Sends a request with these header lines.
    async fn send(&self, verb: &str, path: &str, headers: &str, body: &str) -> Answer {
        let host =
            if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.address) };
        let length = body.len();
        let request = format!(
            "{verb} {path} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        self.exchange(&request).await
    }

    /// Sends this request, and reads until the connection is closed.
    async fn exchange(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Answer {
            status: head[9..12].parse().unwrap(),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", "").await
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

#[tokio::test]
async fn liveness_is_independent_of_readiness() {
    let listener = start().await;
    for path in ["/livez", "/healthz"] {
        let answer = listener.get(path).await;
        assert_eq!((answer.status, &*answer.body), (200, "alive\n"), "{path}");
    }
    let loading = listener.get("/readyz").await;
    assert_eq!((loading.status, &*loading.body), (503, "[-] load: in progress\nnot ready\n"));
    for (verb, path, headers, body) in
        [("GET", "/status.json", "", ""), ("GET", "/metrics", "", ""), ("POST", "/reload", JSON, "{}")]
    {
        let answer = listener.send(verb, path, headers, body).await;
        assert_eq!(
            (answer.status, answer.json()),
            (503, json!({ "error": "the gateway is starting" })),
            "{path}"
        );
    }
    let _asked = listener.open(status());
    let waits = "[!] configuration: needs a restart: `http.listen`\n";
    let loading = listener.get("/readyz").await;
    assert_eq!(
        (loading.status, loading.body),
        (503, format!("[-] load: in progress\n{waits}not ready\n")),
        "it serves, and some plugins are still being compiled"
    );
    listener.loaded.cancel();
    let ready = listener.get("/readyz").await;
    assert_eq!((ready.status, ready.body), (200, format!("{waits}ready\n")));
    listener.draining.cancel();
    let draining = listener.get("/readyz").await;
    assert_eq!(draining.status, 503);
    let stops = "[-] requests: rejected, the gateway is stopping\n";
    assert_eq!(draining.body, format!("{stops}{waits}not ready\n"));
    assert_eq!(listener.get("/livez").await.status, 200);
    listener.stop.cancel();
    listener.served.await.unwrap();
    assert!(TcpStream::connect(listener.address).await.is_err());
}

#[tokio::test]
async fn degraded_plugins_do_not_affect_readiness() {
    let listener = start().await;
    let _asked = listener.open(status());
    listener.loaded.cancel();
    let answer = listener.get("/readyz?verbose").await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.body,
        "[+] load: done\n\
         [+] requests: accepted\n\
         [!] configuration: needs a restart: `http.listen`\n\
         [+] plugin time: serving\n\
         [!] plugin notes: degraded, an earlier version is serving: it is truncated\n\
         [!] plugin bad: failed: not a component\n\
         ready\n"
    );
}

#[tokio::test]
async fn a_reload_is_answered_with_its_result() {
    let listener = start().await;
    let mut requests = listener.open(status());
    let supervisor = tokio::spawn(async move {
        let ReloadRequest { cause, done } = requests.recv().await.unwrap();
        assert_eq!(cause, ReloadCause::Admin);
        let changed = vec!["plugin `time` was replaced".to_owned()];
        let failed = vec!["plugin `bad` can't be loaded".to_owned()];
        done.send(ReloadResult { changed, failed, needs_restart: vec!["http.auth.tokens".to_owned()] })
            .unwrap();
    });
    let answer = listener.send("POST", "/reload", JSON, "{}").await;
    let expected = json!({
        "changed": ["plugin `time` was replaced"],
        "failed": ["plugin `bad` can't be loaded"],
        "needs_restart": ["http.auth.tokens"],
    });
    assert_eq!((answer.status, answer.json()), (200, expected));
    supervisor.await.unwrap();
    let stopped = listener.send("POST", "/reload", JSON, "{}").await;
    assert_eq!((stopped.status, stopped.json()), (503, json!({ "error": "the gateway is stopping" })));
}

#[tokio::test]
async fn rejects_requests_of_web_pages() {
    let listener = start().await;
    let mut requests = listener.open(status());
    let port = listener.address.port();
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(70_000));
    for (headers, body, status) in [
        ("Host: evil.example.com\r\n".to_owned() + JSON, "{}", 403),
        (format!("Host: evil.example.com:{port}\r\n{JSON}"), "{}", 403),
        (format!("Origin: https://evil.example.com\r\n{JSON}"), "{}", 403),
        (format!("Origin: null\r\n{JSON}"), "{}", 403),
        (format!("Origin: http://localhost:3000\r\n{JSON}"), "{}", 403),
        (format!("Origin: https://127.0.0.1:{port}\r\n{JSON}"), "{}", 403),
        (String::new(), "{}", 415),
        ("Content-Type: text/plain\r\n".to_owned(), "{}", 415),
        ("Content-Type: application/x-www-form-urlencoded\r\n".to_owned(), "{}", 415),
        (JSON.to_owned(), "", 400),
        (JSON.to_owned(), "[]", 400),
        (JSON.to_owned(), "{\"plugin\":\"time\"}", 400),
        (JSON.to_owned(), &long, 413),
    ] {
        let answer = listener.send("POST", "/reload", &headers, body).await;
        assert_eq!(answer.status, status, "{headers:?}: {answer:?}");
        assert!(answer.json()["error"].is_string(), "{answer:?}");
        assert!(!answer.head.contains("access-control"), "{answer:?}");
    }
    assert!(requests.try_recv().is_err(), "a reload was requested");
    for headers in ["Host: evil.example.com\r\n", "Origin: http://localhost:3000\r\n"] {
        assert_eq!(listener.send("GET", "/status.json", headers, "").await.status, 403, "{headers}");
    }
    for headers in [
        format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n"),
        format!("Origin: http://127.0.0.1:{port}\r\n"),
        "Host: localhost\r\n".to_owned(),
        format!("Host: [::1]:{port}\r\n"),
    ] {
        assert_eq!(listener.send("GET", "/status.json", &headers, "").await.status, 200, "{headers}");
    }
}

#[tokio::test]
async fn metrics_have_the_format_that_the_scraper_prefers() {
    let listener = start().await;
    let _requests = listener.open(status());
    let open = "application/openmetrics-text";
    for (accept, format) in [
        // Prometheus 3 and 2, the VictoriaMetrics agent, and a browser.
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            open,
        ),
        (
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
            open,
        ),
        ("text/plain;version=0.0.4;q=1,*/*;q=0.1", "text/plain"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/plain"),
        ("application/openmetrics-text", open),
        ("Application/OpenMetrics-Text; Version=1.0.0", open),
        ("application/openmetrics-text; version=\"1.0.0\", */*", open),
        ("text/plain, application/openmetrics-text; Q=0.9", "text/plain"),
        ("application/openmetrics-text;version=2.0.0, text/plain;q=0.1", "text/plain"),
        ("application/openmetrics-text;q=0", "text/plain"),
        ("*/*", "text/plain"),
        ("image/png", "text/plain"),
        ("", "text/plain"),
    ] {
        let answer = listener.send("GET", "/metrics", &format!("Accept: {accept}\r\n"), "").await;
        let (kind, body) = match format {
            "text/plain" => ("text/plain; version=0.0.4; charset=utf-8", "PrometheusText\n"),
            _ => ("application/openmetrics-text; version=1.0.0; charset=utf-8", "OpenMetrics\n"),
        };
        assert!(answer.head.contains(&format!("\r\ncontent-type: {kind}\r\n")), "{accept}: {answer:?}");
        assert_eq!(answer.body, body, "{accept}");
    }
    assert_eq!(listener.get("/metrics").await.body, "PrometheusText\n");
}

#[tokio::test]
async fn unknown_paths_and_methods_list_the_supported_ones() {
    let listener = start().await;
    let _asked = listener.open(status());
    listener.loaded.cancel();
    let nowhere = listener.get("/nowhere").await;
    assert_eq!(nowhere.status, 404);
    for path in ["/livez", "/readyz", "/metrics", "/status.json", "POST /reload"] {
        assert!(nowhere.json()["error"].as_str().unwrap().contains(path), "{nowhere:?}");
    }
    for (verb, path, allow) in [
        ("GET", "/reload", "post"),
        ("OPTIONS", "/reload", "post"),
        ("POST", "/status.json", "get, head"),
        ("DELETE", "/livez", "get, head"),
    ] {
        let answer = listener.send(verb, path, "", "").await;
        assert_eq!(answer.status, 405, "{verb} {path}");
        assert!(answer.head.contains(&format!("\r\nallow: {allow}")), "{answer:?}");
    }
    for path in ["/livez", "/readyz", "/metrics", "/status.json"] {
        let get = listener.get(path).await;
        let head = listener.send("HEAD", path, "", "").await;
        assert_eq!((get.status, head.status, &*head.body), (200, 200, ""), "{path}");
        assert!(get.head.contains("\r\ncache-control: no-store"), "{get:?}");
        assert!(get.head.contains("\r\nx-content-type-options: nosniff"), "{get:?}");
        assert!(get.head.contains("\r\ncross-origin-resource-policy: same-origin"), "{get:?}");
        assert!(head.head.contains(&format!("content-length: {}", get.body.len())), "{head:?}");
    }
}

#[tokio::test]
async fn other_machines_need_a_strong_token() {
    let bind = async |address: SocketAddr, token: Option<&str>| {
        let config = AdminConfig { token: token.map(Secret::new), ..AdminConfig::default() };
        AdminContext::bind(address, &config, &AdminCredentials::new(Some(&config))).await
    };
    for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0"].map(|address| address.parse().unwrap()) {
        let error = bind(address, None).await.unwrap_err();
        assert!(matches!(error, AdminError::Unauthenticated(_)), "{error}");
        assert!(error.hint().contains("127.0.0.1") && error.hint().contains("`token`"));
        let error = bind(address, Some("short")).await.unwrap_err();
        assert!(matches!(error, AdminError::WeakToken(_)), "{error}");
    }
    assert!(bind("0.0.0.0:0".parse().unwrap(), Some(TOKEN)).await.is_ok());
    let broken = AdminConfig { has_unreadable_token: true, ..AdminConfig::default() };
    let none = AdminCredentials::default();
    let error = AdminContext::bind("127.0.0.1:0".parse().unwrap(), &broken, &none).await.unwrap_err();
    assert!(matches!(error, AdminError::UnreadableCredentials), "{error}");
    let listener = start().await;
    let error = bind(listener.address, None).await.unwrap_err();
    assert!(error.hint().contains("`[admin]`"), "{}", error.hint());
}

#[tokio::test]
async fn with_a_token_only_probes_need_no_credentials() {
    let config = AdminConfig { token: Some(Secret::new(TOKEN)), ..AdminConfig::default() };
    let credentials = AdminCredentials::new(Some(&config));
    let listener = start_with(&config, &credentials).await;
    let mut requests = listener.open(status());
    listener.loaded.cancel();
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    for (verb, path) in
        [("GET", "/metrics"), ("GET", "/status.json"), ("POST", "/reload"), ("GET", "/unknown")]
    {
        for headers in [
            String::new(),
            bearer("wrong"),
            bearer(""),
            format!("Authorization: Basic {TOKEN}\r\n"),
            bearer(TOKEN) + &bearer(TOKEN),
        ] {
            let answer = listener.send(verb, path, &(headers.clone() + JSON), "{}").await;
            assert_eq!(answer.status, 401, "{verb} {path} {headers}: {answer:?}");
            assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
            assert!(!answer.body.contains(TOKEN) && !answer.body.contains("notes"), "{answer:?}");
        }
    }
    assert!(requests.try_recv().is_err(), "a reload was requested");
    assert_eq!(listener.send("GET", "/status.json", &bearer(TOKEN), "").await.status, 200);
    let foreign = format!("{}Origin: http://localhost:3000\r\n", bearer(TOKEN));
    assert_eq!(listener.send("GET", "/status.json", &foreign, "").await.status, 403);

    let probe = listener.get("/readyz?verbose").await;
    assert_eq!((probe.status, &*probe.body), (200, "ready\n"));
    assert!(listener.send("GET", "/readyz?verbose", &bearer(TOKEN), "").await.body.contains("notes"));
    assert_eq!(listener.send("GET", "/livez", &bearer("wrong"), "").await.status, 401);

    // A changed token replaces the earlier one, and a removed one admits nobody.
    let status_with = async |token: &str| listener.send("GET", "/metrics", &bearer(token), "").await.status;
    credentials.token.send_replace(Some(Secret::new("another-token-of-this-test")));
    while status_with("another-token-of-this-test").await != 200 {}
    assert_eq!(status_with(TOKEN).await, 401);
    credentials.token.send_replace(None);
    while status_with("another-token-of-this-test").await != 401 {}
    assert_eq!(listener.get("/metrics").await.status, 401);
    assert_eq!(listener.get("/livez").await.status, 200);
}

#[tokio::test]
async fn a_token_that_is_added_is_required_at_once() {
    let credentials = AdminCredentials::default();
    let listener = start_with(&AdminConfig::default(), &credentials).await;
    let _requests = listener.open(status());
    assert_eq!(listener.get("/metrics").await.status, 200);
    credentials.token.send_replace(Some(Secret::new(TOKEN)));
    while listener.get("/metrics").await.status != 401 {}
}

#[test]
fn times_are_clamped_to_rfc_3339() {
    assert_eq!(format_time(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    assert_eq!(format_time(UNIX_EPOCH + Duration::from_secs(1 << 40)), "9999-12-31T23:59:59.000Z");
}

#[tokio::test]
async fn waiting_reloads_do_not_block_liveness() {
    let listener = Arc::new(start().await);
    let mut requests = listener.open(status());
    let mut waiting = Vec::new();
    let mut wait = tokio::task::JoinSet::new();
    for _ in 0..router::MAX_WAITING_RELOADS {
        let listener = Arc::clone(&listener);
        wait.spawn(async move { listener.send("POST", "/reload", JSON, "{}").await.status });
        waiting.push(requests.recv().await.unwrap());
    }
    let answer = listener.send("POST", "/reload", JSON, "{}").await;
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(listener.get("/livez").await.status, 200);
    waiting.into_iter().for_each(|request| request.done.send(ReloadResult::default()).unwrap());
    assert!(wait.join_all().await.iter().all(|status| *status == 200));
}

#[tokio::test]
async fn shutdown_answers_waiting_reloads() {
    let listener = Arc::new(start().await);
    let mut requests = listener.open(status());
    let answer = tokio::spawn({
        let listener = Arc::clone(&listener);
        async move { listener.send("POST", "/reload", JSON, "{}").await }
    });
    let _never_answered = requests.recv().await.unwrap();
    listener.draining.cancel();
    let answer = answer.await.unwrap();
    assert_eq!((answer.status, answer.json()), (503, json!({ "error": "the gateway is stopping" })));
}
