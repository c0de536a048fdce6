//! The plugin `fetch` in a gateway with grants, against a local web server.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use moongate_tests::{Stdio, TestServer, Workspace, text};
use serde_json::{Value, json};

/// The plugin with a grant of this server.
fn workspace(remote: &TestServer) -> Workspace {
    Workspace::new(&format!(
        "[plugins.fetch]\nsource = \"@fetch@\"\nprefix = \"\"\n[plugins.fetch.allow]\n\
         http = [{{ url = \"{}\", networks = [\"127.0.0.0/8\"] }}]\n",
        remote.origin()
    ))
}

/// An article of some sentences.
fn article(title: &str) -> String {
    let text = "<p>A paragraph that is long enough, with commas, to be the text of a page.</p>".repeat(8);
    format!(
        "<html><head><title>{title}</title></head><body><nav><a href=\"/x\">Elsewhere</a></nav><article>\
         <h2>Heading</h2>{text}<p>See <a href=\"more?a=b\">more</a>.</p></article></body></html>"
    )
}

/// A page with the text `brotli words`, compressed.
const BROTLI: &[u8] =
    b"\x1b\x2c\x00\xf8\x8d\xd4\x61\xcd\x9d\x07\x72\x1b\xdb\x47\x7c\xa3\x55\x60\x24\x61\xbc\x24\x2d\xbb\
\x88\x93\x99\x00\x83\x0f\xe8\xac\x18\x17\x66\xfd\x45\x73\xff\xc0\x34";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The text of a successful result.
#[track_caller]
fn fetched(stdio: &mut Stdio, arguments: Value) -> String {
    let answer = stdio.call("fetch", arguments);
    assert!(answer["result"]["isError"] != true, "{answer}");
    text(&answer).to_owned()
}

/// The error of a failed call.
#[track_caller]
fn failed(stdio: &mut Stdio, url: &str) -> String {
    let answer = stdio.call("fetch", json!({ "url": url }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    text(&answer).to_owned()
}

#[test]
fn returns_the_article_as_markdown_with_absolute_links() {
    let remote = TestServer::start();
    remote.put("/robots.txt", &["Content-Type: text/plain"], "User-agent: *\nAllow: /\n");
    remote.put("/docs/page", &["Content-Type: text/html; charset=utf-8"], article("Title"));
    let mut stdio = Stdio::initialized(&workspace(&remote), "2025-11-25");
    let url = remote.url("/docs/page");
    let page = fetched(&mut stdio, json!({ "url": url }));
    assert!(page.starts_with(&format!("Contents of {url}:\n")), "{page}");
    assert!(
        page.contains("Heading") && page.contains(&format!("[more]({})", remote.url("/docs/more?a=b"))),
        "{page}"
    );
    assert!(!page.contains("Elsewhere") && !page.contains("<p>"), "{page}");
    let raw = fetched(&mut stdio, json!({ "url": url, "raw": true }));
    assert!(raw.contains("<html><head><title>Title</title>"), "{raw}");
    // Each call requests robots.txt and then the page, with a user agent.
    let lines: Vec<String> = remote.requests().iter().map(|seen| seen.line().to_owned()).collect();
    let robots = "GET /robots.txt HTTP/1.1";
    let page = "GET /docs/page HTTP/1.1";
    assert_eq!(lines, [robots, page, robots, page]);
    let agent = remote.last().header("user-agent").unwrap_or_default().to_owned();
    assert!(agent.starts_with("ModelContextProtocol/1.0 (Autonomous; moongate-fetch/"), "{agent}");
}

#[test]
fn robots_txt_applies_to_the_tool_but_not_the_prompt() {
    let remote = TestServer::start();
    remote.put("/robots.txt", &["Content-Type: text/plain"], "User-agent: *\nDisallow: /private\n");
    remote.put("/private/page", &["Content-Type: text/html"], article("Private"));
    let mut stdio = Stdio::initialized(&workspace(&remote), "2025-11-25");
    let url = remote.url("/private/page");
    let why = failed(&mut stdio, &url);
    assert!(why.contains("robots.txt") && why.contains("Disallow: /private"), "{why}");
    assert!(remote.requests().iter().all(|seen| seen.line() == "GET /robots.txt HTTP/1.1"));
    let prompt =
        stdio.request_and_wait("prompts/get", json!({ "name": "fetch", "arguments": { "url": url } }));
    let message = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_default();
    assert!(message.contains("A paragraph that is long enough"), "{prompt}");
    let agent = remote.last().header("user-agent").unwrap_or_default().to_owned();
    assert!(agent.starts_with("ModelContextProtocol/1.0 (User-Specified;"), "{agent}");
}

#[test]
fn decodes_the_charset_of_the_header_or_the_page() {
    let remote = TestServer::start();
    remote.put("/latin2", &["Content-Type: text/plain; charset=iso-8859-2"], b"\xb3\xf3d\xbc".to_vec());
    let meta = "<html><head><meta charset=\"shift_jis\"></head><body><p>\u{0}</p></body></html>";
    let (before, after) = meta.split_once('\0').unwrap();
    let page = [before.as_bytes(), b"\x93\xfa\x96\x7b\x8c\xea", after.as_bytes()].concat();
    remote.put("/japanese", &["Content-Type: text/html"], page);
    let mut stdio = Stdio::initialized(&workspace(&remote), "2025-11-25");
    let polish = fetched(&mut stdio, json!({ "url": remote.url("/latin2") }));
    assert!(polish.ends_with(":\nłódź"), "{polish}");
    let japanese = fetched(&mut stdio, json!({ "url": remote.url("/japanese") }));
    assert!(japanese.ends_with("日本語"), "{japanese}");
    remote.put("/picture", &["Content-Type: image/png"], b"\x89PNG".to_vec());
    assert!(failed(&mut stdio, &remote.url("/picture")).contains("isn't text"));
}

#[test]
fn returns_a_long_text_in_consecutive_parts() {
    let remote = TestServer::start();
    let long: String = (0..3_000).map(|at| format!("{at:03}é")).collect();
    remote.put("/long", &["Content-Type: text/plain; charset=utf-8"], long.clone());
    let mut stdio = Stdio::initialized(&workspace(&remote), "2025-11-25");
    let url = remote.url("/long");
    let mut start = 0;
    let mut read = String::new();
    loop {
        let part = fetched(&mut stdio, json!({ "url": url, "start_index": start, "max_length": 5_000 }));
        let (_, body) = part.split_once(&format!("Contents of {url}:\n")).unwrap();
        let Some((body, rest)) = body.split_once("\n\n<error>") else {
            read.push_str(body);
            break;
        };
        read.push_str(body);
        let next = rest.split("start_index of ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        start = next.parse::<u64>().unwrap();
    }
    assert!(read == long, "{} of {} characters", read.chars().count(), long.chars().count());
}

#[test]
fn follows_redirects_only_within_grants() {
    let remote = TestServer::start();
    let inner = TestServer::start();
    remote.put("/page", &["Content-Type: text/html"], article("Title"));
    let workspace = workspace(&remote);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let near =
        fetched(&mut stdio, json!({ "url": remote.url(&format!("/redirect?{}", remote.url("/page"))) }));
    assert!(near.contains("A paragraph that is long enough"), "{near}");
    for target in [inner.url("/page"), "http://169.254.169.254/latest/meta-data/".to_owned()] {
        let why = failed(&mut stdio, &remote.url(&format!("/redirect?{target}")));
        assert!(why.contains("isn't granted; an operator can allow it"), "{target}: {why}");
    }
    assert_eq!(inner.connections(), 0);
    let (_, _, log) = stdio.finish();
    let entry = format!("`{{ url = \"{}\", networks = [\"127.0.0.1/32\"] }}`", inner.origin());
    let line = format!("add {entry} to `http` in `[plugins.fetch.allow]`");
    assert!(log.contains(&line) && log.contains("169.254.169.254 (non-public address)"), "{log}");
}

#[test]
fn reads_compressed_pages_and_robots_txt() {
    let remote = TestServer::start();
    let page = article("Title");
    let robots = "User-agent: *\nDisallow: /private\n";
    remote.put("/robots.txt", &["Content-Type: text/plain", "Content-Encoding: gzip"], gzip(robots));
    let html = "Content-Type: text/html; charset=utf-8";
    remote.put("/gzip", &[html, "Content-Encoding: gzip"], gzip(&page));
    remote.put("/deflate", &[html, "Content-Encoding: deflate"], zlib(&page));
    remote.put("/br", &[html, "Content-Encoding: br"], BROTLI.to_vec());
    remote.put("/zstd", &[html, "Content-Encoding: zstd"], b"\x28\xb5\x2f\xfd".to_vec());
    remote.put(
        "/bomb",
        &["Content-Type: text/plain", "Content-Encoding: gzip"],
        gzip(&"a".repeat(50_000_000)),
    );
    let mut stdio = Stdio::initialized(&workspace(&remote), "2025-11-25");
    for path in ["/gzip", "/deflate"] {
        let page = fetched(&mut stdio, json!({ "url": remote.url(path) }));
        assert!(page.contains("A paragraph that is long enough"), "{path}: {page}");
    }
    assert_eq!(remote.last().header("accept-encoding"), Some("gzip, deflate, br"));
    let page = fetched(&mut stdio, json!({ "url": remote.url("/br") }));
    assert!(page.ends_with("brotli words"), "{page}");
    let why = failed(&mut stdio, &remote.url("/zstd"));
    assert!(why.contains("unsupported encoding `zstd`"), "{why}");
    let bomb = fetched(&mut stdio, json!({ "url": remote.url("/bomb"), "start_index": 5_242_870 }));
    assert!(bomb.contains("aaaaaaaaaa\n\n<error>The page is longer than 5 MiB."), "{bomb}");
    let why = failed(&mut stdio, &remote.url("/private"));
    assert!(why.contains("Disallow: /private"), "{why}");
}

#[test]
fn keeps_words_of_different_elements_apart() {
    let remote = TestServer::start();
    let text = "<p>A paragraph that is long enough, with commas, to be the text of a page.</p>".repeat(8);
    let mut stdio = Stdio::initialized(&workspace(&remote), "2025-11-25");
    for (html, lines) in [
        ("<dl><dt>Term one</dt><dd>Definition one</dd></dl>", ["Term one", ": Definition one"]),
        ("<details><summary>Summary</summary>Details</details>", ["Summary", "Details"]),
        ("<figure><pre>code</pre><figcaption>Caption</figcaption></figure>", ["code", "Caption"]),
        ("<table><caption>Caption</caption><tr><td>1</td><td>2</td></tr></table>", ["Caption", "| 1 | 2 |"]),
        ("<address>Street</address><address>City</address>", ["Street", "City"]),
    ] {
        let page = format!("<html><body><article>{text}{html}{text}</article></body></html>");
        remote.put("/page", &["Content-Type: text/html"], page);
        let page = fetched(&mut stdio, json!({ "url": remote.url("/page") }));
        for line in lines {
            assert!(page.lines().any(|found| found == line), "`{line}` isn't a line of its own: {page}");
        }
    }
}

#[test]
fn refused_arguments_are_tool_errors() {
    let remote = TestServer::start();
    let mut stdio = Stdio::initialized(&workspace(&remote), "2025-11-25");
    let why = failed(&mut stdio, "example.com");
    assert!(why.contains("invalid URL `example.com`") && why.contains("`https://`"), "{why}");
    for url in ["", "https://", "ftp://example.com/", "https://a b/"] {
        let why = failed(&mut stdio, url);
        assert!(!why.is_empty(), "{url}");
    }
}
