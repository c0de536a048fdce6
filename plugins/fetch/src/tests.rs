//! The tool and the prompt as a client sees them.

use moongate_sdk::http::HttpError;
use moongate_sdk::testing::{Client, HttpAnswer};
use serde_json::{Value, json};

use super::Fetch;

const PAGE: &str = "https://a.example/page";
const ROBOTS: &str = "https://a.example/robots.txt";

fn site<'a>(pages: impl IntoIterator<Item = (&'a str, HttpAnswer)>) -> Client<Fetch> {
    Client::new().pages(pages)
}

fn article() -> HttpAnswer {
    let text = "<p>A paragraph that is long enough, with commas, to be the text of a page.</p>".repeat(8);
    HttpAnswer::html(format!(
        "<html><head><title>T</title></head><body><article>{text}</article></body></html>"
    ))
}

fn call(client: &Client<Fetch>, args: Value) -> String {
    let result = client.call("fetch", args).unwrap();
    assert!(!result.failed(), "{}", result.all_text());
    result.all_text()
}

fn failure(client: &Client<Fetch>, args: Value) -> String {
    let result = client.call("fetch", args).unwrap();
    assert!(result.failed(), "{}", result.all_text());
    result.all_text()
}

fn prompt(client: &Client<Fetch>, url: &str) -> String {
    let result = client.prompt("fetch", &[("url", url)]).unwrap();
    match &result.messages[0].content {
        moongate_sdk::Content::Text(text) => text.text.clone(),
        other => panic!("{other:?}"),
    }
}

fn asked(client: &Client<Fetch>) -> Vec<String> {
    client.requests().into_iter().map(|request| request.url).collect()
}

#[test]
fn returns_markdown_or_source() {
    let client = site([(PAGE, article())]);
    let readable = call(&client, json!({ "url": PAGE }));
    assert!(readable.starts_with("Contents of https://a.example/page:\nA paragraph that"), "{readable}");
    let raw = call(&client, json!({ "url": PAGE, "raw": true }));
    assert!(
        raw.starts_with(
            "Content type text/html; charset=utf-8 cannot be simplified to markdown, but here is the raw content:\n\
             Contents of https://a.example/page:\n<html><head>"
        ),
        "{raw}"
    );
    assert!(prompt(&client, PAGE).starts_with("A paragraph that"));
}

#[test]
fn returns_long_pages_in_parts() {
    let client = site([("http://a.example/", HttpAnswer::text("äöü€".repeat(2000)))]);
    let first = call(&client, json!({ "url": "http://a.example" }));
    assert!(first.contains("Contents of http://a.example/:\näöü€"), "{first}");
    assert!(first.ends_with("a start_index of 5000 to get more content.</error>"));
    let last = call(&client, json!({ "url": "http://a.example", "start_index": 7999, "max_length": 1 }));
    assert!(last.ends_with(":\n€"), "{last}");
    let none = call(&client, json!({ "url": "http://a.example", "start_index": 8000 }));
    assert!(none.ends_with(":\n<error>No more content available.</error>"), "{none}");
    let far = call(&client, json!({ "url": "http://a.example", "start_index": 1_000_000_000_000_u64 }));
    assert_eq!(far, none);
}

#[test]
fn returns_other_text_unchanged() {
    let kinds = |kind: Option<&str>, body: &[u8]| {
        let answer = HttpAnswer::status(200).body(body);
        let answer = kind.into_iter().fold(answer, |answer, kind| answer.header("content-type", kind));
        site([(PAGE, answer)])
    };
    let url = || json!({ "url": PAGE });
    let json = call(&kinds(Some("application/json"), b"{\"a\":1}"), url());
    assert!(json.starts_with("Content type application/json cannot"), "{json}");
    assert!(json.ends_with(":\n{\"a\":1}"));
    for (kind, body) in [
        (None, "<p>Some text that is the text of the page</p>"),
        (Some("text/plain"), "<!doctype html><HTML><p>Some text that is the text of the page</p>"),
        (Some("application/xhtml+xml"), "<p>Some text that is the text of the page</p>"),
    ] {
        let markdown = call(&kinds(kind, body.as_bytes()), url());
        assert_eq!(markdown, format!("Contents of {PAGE}:\nSome text that is the text of the page"));
    }
    let image = failure(&kinds(Some("image/png"), b"\x89PNG"), url());
    assert_eq!(image, format!("Error executing tool fetch: Failed to fetch {PAGE} - `image/png` isn't text"));
    assert!(failure(&kinds(Some("application/octet-stream"), b"a\0b"), url()).contains("isn't text"));
    assert!(call(&kinds(Some("image/svg+xml"), b"<svg/>"), url()).contains("<svg/>"));
    assert!(call(&kinds(Some("text/plain; charset=iso-8859-2"), b"\xb3"), url()).ends_with(":\nł"));
}

#[test]
fn only_the_tool_checks_robots_txt() {
    let rules = "User-agent: ModelContextProtocol\nDisallow: /page\n\nUser-agent: *\nDisallow: /";
    let client =
        site([(ROBOTS, HttpAnswer::text(rules)), (PAGE, article()), ("https://a.example/other", article())]);
    let refused = failure(&client, json!({ "url": PAGE }));
    for part in
        [ROBOTS, "<url>https://a.example/page</url>", "Disallow: /page", "prompt `fetch`", "moongate-fetch"]
    {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert_eq!(asked(&client), [ROBOTS]);
    call(&client, json!({ "url": "https://a.example/other" }));
    assert!(prompt(&client, PAGE).starts_with("A paragraph"));
    let reckless = client.config("ignore_robots_txt", true);
    call(&reckless, json!({ "url": PAGE }));
    let requests = reckless.requests();
    assert_eq!(requests.len(), 5);
    let agent = |index: usize| requests[index].headers.get("user-agent").unwrap_or_default().to_owned();
    assert!(agent(0).starts_with("ModelContextProtocol/1.0 (Autonomous;"));
    assert!(agent(3).starts_with("ModelContextProtocol/1.0 (User-Specified;"));
}

#[test]
fn matches_rules_by_user_agent() {
    let rules = HttpAnswer::text("User-agent: my-bot\nDisallow: /page\n");
    let client = site([(ROBOTS, rules), (PAGE, article())]);
    call(&client, json!({ "url": PAGE }));
    let client = client.config("user_agent", "My-Bot/2 (+https://b.example)");
    assert!(
        failure(&client, json!({ "url": PAGE }))
            .contains("<useragent>My-Bot/2 (+https://b.example)</useragent>")
    );
    assert_eq!(
        client.requests().last().unwrap().headers.get("user-agent"),
        Some("My-Bot/2 (+https://b.example)")
    );
}

#[test]
fn refuses_sites_with_hidden_robots_txt() {
    for (status, readable) in
        [(401, false), (403, false), (404, true), (410, true), (500, false), (503, false)]
    {
        let client = site([(ROBOTS, HttpAnswer::status(status)), (PAGE, article())]);
        let result = client.call("fetch", json!({ "url": PAGE })).unwrap();
        assert_eq!(!result.failed(), readable, "{status}");
        assert_eq!(asked(&client).len(), if readable { 2 } else { 1 });
    }
}

#[test]
fn checks_robots_txt_of_each_redirect() {
    let lead = |to: &str| HttpAnswer::redirect(302, to);
    let client = site([
        (PAGE, lead("https://b.example/1")),
        ("https://b.example/1", lead("/2")),
        ("https://b.example/2", lead("/3")),
        ("https://b.example/robots.txt", HttpAnswer::text("User-agent: *\nDisallow: /3")),
        ("https://b.example/3", article()),
    ]);
    let refused = failure(&client, json!({ "url": PAGE }));
    assert!(refused.contains("https://b.example/robots.txt disallows"), "{refused}");
    let ways = [ROBOTS, PAGE, "https://b.example/robots.txt", "https://b.example/1", "https://b.example/2"];
    assert_eq!(asked(&client), ways);
    assert!(prompt(&client, PAGE).starts_with("A paragraph"));
}

#[test]
fn resolves_links_against_the_final_url() {
    let text =
        "<p>A paragraph that is long enough, with commas, and a <a href=next>link</a> to more.</p>".repeat(8);
    let client = site([
        (PAGE, HttpAnswer::redirect(301, "https://b.example/docs/")),
        ("https://b.example/docs/", HttpAnswer::html(text)),
    ]);
    let page = call(&client, json!({ "url": PAGE }));
    assert!(page.starts_with("Contents of https://a.example/page:\n"));
    assert!(page.contains("[link](https://b.example/docs/next)"), "{page}");
}

#[test]
fn explains_failures() {
    let nothing = Client::<Fetch>::new();
    let refused = failure(&nothing, json!({ "url": PAGE }));
    assert!(refused.contains("Failed to fetch robots.txt https://a.example/robots.txt"), "{refused}");
    assert!(refused.contains("GET https://a.example isn't granted; an operator can allow it"), "{refused}");
    assert!(prompt(&nothing, PAGE).contains("an operator can allow it"));

    let missing = site([]);
    let not_found = format!("Error executing tool fetch: Failed to fetch {PAGE} - status code 404");
    assert_eq!(failure(&missing, json!({ "url": PAGE })), not_found);
    assert_eq!(prompt(&missing, PAGE), format!("Failed to fetch {PAGE} - status code 404"));

    let round = Client::<Fetch>::new().http(|request| {
        Ok(if request.url == ROBOTS { HttpAnswer::status(404) } else { HttpAnswer::redirect(302, "/page") })
    });
    assert!(failure(&round, json!({ "url": PAGE })).ends_with("more than 20 redirects"));
    assert_eq!(round.requests().len(), 22);

    let broken = HttpError::Timeout { origin: "https://a.example".to_owned() };
    let broken = site([(PAGE, HttpAnswer::text("half").broken(broken))]);
    assert!(failure(&broken, json!({ "url": PAGE })).ends_with("request to `https://a.example` timed out"));
    assert!(failure(&missing, json!({ "url": "ftp://a.example/x" })).contains("must start with `http://`"));
    assert_eq!(
        failure(&missing, json!({ "url": "a.example" })),
        "invalid arguments: invalid URL `a.example`: relative URL without a base; start it with `https://`"
    );
    assert_eq!(prompt(&missing, "nope"), "Failed to fetch nope: relative URL without a base");
}

#[test]
fn truncates_endless_pages() {
    let client = site([(PAGE, HttpAnswer::text("x".repeat(6 * 1024 * 1024)))]);
    let start = 5 * 1024 * 1024 - 3;
    let end = call(&client, json!({ "url": PAGE, "start_index": start }));
    assert!(
        end.ends_with(":\nxxx\n\n<error>The page is longer than 5 MiB. The rest was not read.</error>"),
        "{end}"
    );
}

#[test]
fn lists_tool_and_prompt() {
    let client = Client::<Fetch>::new();
    let tool = &client.tools()[0];
    let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
    let properties = &schema["properties"];
    assert_eq!(properties["url"]["format"], "uri");
    assert_eq!(
        (
            &properties["max_length"]["minimum"],
            &properties["max_length"]["maximum"],
            &properties["max_length"]["default"]
        ),
        (&json!(1), &json!(999_999), &json!(5000))
    );
    assert_eq!(schema["required"], json!(["url"]));
    let hints = tool.annotations.as_ref().unwrap();
    assert_eq!(
        (hints.read_only, hints.destructive, hints.idempotent, hints.open_world),
        (Some(true), Some(false), Some(true), Some(true))
    );
    assert!(tool.output_schema.is_none());
    assert_eq!(client.prompts()[0].args.as_ref().unwrap()[0].name, "url");
}
