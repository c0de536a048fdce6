//! The status page as browsers request it, over real sockets.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use moongate_model::caller::Caller;
use tokio::time::Instant;

use super::*;
use crate::call_history::CallerUse;

const NAVIGATION: &str = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

#[tokio::test]
async fn the_page_shows_the_state_and_allows_no_foreign_content() {
    let listener = start().await;
    let _requests = listener.open(status());
    listener.loaded.cancel();
    let page = listener.get("/").await;
    assert_eq!(page.status, 200);
    for part in [
        ">Ready</span>",
        "gateway.toml</code>",
        "A restart applies <code>http.listen</code>",
        "A reload applies <code>gateway.wider_grants</code>",
        "gets wider permissions<ul><li>env <code>LANG</code></li></ul>",
        "plugin-bad",
        "not a component",
        "hint: rebuild it",
        "<noscript><meta http-equiv=\"refresh\"",
    ] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    let policy = "content-security-policy: default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                  connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'\r\n";
    assert!(page.head.contains(policy), "{page:?}");
    for field in
        ["x-content-type-options: nosniff", "referrer-policy: same-origin", "cache-control: no-store"]
    {
        assert!(page.head.contains(field), "{page:?}");
    }
    assert!(
        !page.body.contains("style=") && !page.body.contains("javascript:") && !page.body.contains(" on")
    );
    for (path, kind) in
        [("/status.css", "text/css"), ("/status.js", "text/javascript"), ("/icon.svg", "image/svg+xml")]
    {
        let part = listener.get(path).await;
        assert!(part.status == 200 && part.head.contains(&format!("\r\ncontent-type: {kind}")), "{part:?}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_read_and_change_nothing() {
    let listener = start().await;
    let mut requests = listener.open(status());
    let port = listener.address.port();
    let own = format!("Origin: http://127.0.0.1:{port}\r\n");
    for (verb, path, headers, status) in [
        ("GET", "/", "Host: evil.example.com\r\n".to_owned(), 403),
        ("GET", "/", "Origin: https://evil.example.com\r\n".to_owned(), 403),
        ("GET", "/", "Sec-Fetch-Site: cross-site\r\n".to_owned(), 403),
        ("GET", "/events", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n".to_owned(), 403),
        ("GET", "/status.json", "Sec-Fetch-Site: same-site\r\n".to_owned(), 403),
        ("GET", "/status.json", format!("Sec-Fetch-Site: cross-site\r\n{NAVIGATION}"), 403),
        ("GET", "/", format!("Sec-Fetch-Site: cross-site\r\n{NAVIGATION}"), 200),
        ("GET", "/", "Sec-Fetch-Site: none\r\n".to_owned(), 200),
        ("GET", "/events", "Host: evil.example.com\r\n".to_owned(), 403),
        // Forms need the origin of the page.
        ("POST", "/reload", FORM.to_owned(), 415),
        ("POST", "/reload", format!("{FORM}Origin: null\r\n"), 403),
        ("POST", "/reload", format!("{FORM}Origin: http://localhost:{port}\r\n"), 403),
        ("POST", "/reload", format!("{FORM}Sec-Fetch-Site: cross-site\r\n{NAVIGATION}"), 403),
        ("POST", "/reload", format!("{FORM}{own}Sec-Fetch-Site: cross-site\r\n"), 403),
        ("POST", "/", format!("{FORM}{own}"), 405),
        ("GET", "/reload", own.clone(), 405),
    ] {
        let answer = listener.send(verb, path, &headers, "").await;
        assert_eq!(answer.status, status, "{verb} {path} {headers:?}: {answer:?}");
    }
    assert!(requests.try_recv().is_err(), "a reload was requested");
}

#[tokio::test]
async fn the_button_reloads_and_returns_to_the_page() {
    let listener = start().await;
    let mut requests = listener.open(status());
    let supervisor = tokio::spawn(async move {
        let request = requests.recv().await.unwrap();
        request.done.send(ReloadResult::default()).unwrap();
    });
    let own = format!("{FORM}Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", listener.address);
    let answer = listener.send("POST", "/reload", &own, "").await;
    assert!(answer.status == 303 && answer.head.contains("\r\nlocation: ./\r\n"), "{answer:?}");
    supervisor.await.unwrap();
}

#[tokio::test]
async fn browsers_send_the_token_as_a_password() {
    let config = AdminConfig { token: Some(Secret::new(TOKEN)), ..AdminConfig::default() };
    let listener = start_with(&config, &AdminCredentials::new(Some(&config))).await;
    let _requests = listener.open(status());
    let basic = |text: &str| format!("Authorization: Basic {}\r\n", BASE64_STANDARD.encode(text));
    let refused = listener.get("/").await;
    assert_eq!(refused.status, 401);
    assert!(refused.head.contains("\r\nwww-authenticate: basic realm=\"moongate admin\""), "{refused:?}");
    assert!(!refused.body.contains("notes"), "{refused:?}");
    for path in ["/", "/status.css", "/status.js", "/icon.svg"] {
        assert_eq!(listener.get(path).await.status, 401, "{path}");
        for user in ["", "admin", "a:"] {
            let expected = if user == "a:" { 401 } else { 200 };
            let headers = basic(&format!("{user}:{TOKEN}"));
            assert_eq!(listener.send("GET", path, &headers, "").await.status, expected, "{path} {user}");
        }
    }
    for wrong in [basic(TOKEN), basic(&format!("{TOKEN}:")), "Authorization: Basic *\r\n".to_owned()] {
        assert_eq!(listener.send("GET", "/", &wrong, "").await.status, 401, "{wrong}");
    }
}

/// Reads events until one contains `text`.
async fn read_until(stream: &mut TcpStream, received: &mut String, text: &str) {
    let mut part = [0; 4096];
    while !received.contains(text) {
        let length = stream.read(&mut part).await.unwrap();
        assert_ne!(length, 0, "the stream ended: {received}");
        received.push_str(&String::from_utf8_lossy(&part[..length]));
    }
}

#[tokio::test]
async fn open_pages_get_the_sections_that_changed() {
    let listener = start().await;
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let _requests = listener.open_with(status(), move || {
        let calls = counted.load(Ordering::Relaxed);
        let used = CallerUse { calls, errors: 0, last: at(5) };
        RememberedCalls { callers: vec![(Caller::Local, used)], ..RememberedCalls::default() }
    });
    let mut stream = TcpStream::connect(listener.address).await.unwrap();
    let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", listener.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = String::new();
    read_until(&mut stream, &mut received, "event: reloads\n").await;
    assert!(received.to_ascii_lowercase().contains("content-type: text/event-stream"), "{received}");
    for id in ["summary", "plugins", "tools", "refused", "permissions", "limits", "callers", "calls"] {
        assert!(received.contains(&format!("event: {id}\ndata: <h2")), "{id}: {received}");
    }
    let mut received = String::new();
    calls.store(4321, Ordering::Relaxed);
    read_until(&mut stream, &mut received, "4\u{202f}321").await;
    assert_eq!(received.matches("event: ").count(), 1, "{received}");
    listener.draining.cancel();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test]
async fn open_pages_share_one_rendering() {
    let listener = start().await;
    let renderings = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&renderings);
    let started = Instant::now();
    let _requests = listener.open_with(status(), move || {
        counted.fetch_add(1, Ordering::Relaxed);
        RememberedCalls::default()
    });
    let mut streams = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(listener.address).await.unwrap();
        let request =
            format!("GET /events HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", listener.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        read_until(&mut stream, &mut String::new(), "event: reloads\n").await;
        streams.push(stream);
    }
    let most = started.elapsed().as_secs() + 1; // one in each second
    let count = renderings.load(Ordering::Relaxed);
    assert!(count <= most, "{count} for {} pages", streams.len());
}

#[tokio::test]
async fn a_replaced_token_ends_the_events() {
    let config = AdminConfig { token: Some(Secret::new(TOKEN)), ..AdminConfig::default() };
    let credentials = AdminCredentials::new(Some(&config));
    let listener = start_with(&config, &credentials).await;
    let _requests = listener.open(status());
    let mut stream = TcpStream::connect(listener.address).await.unwrap();
    let request = format!(
        "GET /events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n",
        listener.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, &mut String::new(), "event: reloads\n").await;
    credentials.token.send_replace(Some(Secret::new("another-token-of-this-test")));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test]
async fn open_pages_are_limited() {
    let listener = start().await;
    let _requests = listener.open(status());
    let mut streams = Vec::new();
    for _ in 0..router::MAX_PAGE_STREAMS {
        let mut stream = TcpStream::connect(listener.address).await.unwrap();
        let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", listener.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        read_until(&mut stream, &mut String::new(), "event: reloads\n").await;
        streams.push(stream);
    }
    assert_eq!(listener.get("/events").await.status, 503);
    assert_eq!(listener.get("/").await.status, 200);
    drop(streams);
    while listener.send("HEAD", "/events", "", "").await.status != 200 {}
}
