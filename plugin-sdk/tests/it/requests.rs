//! A plugin's HTTP requests.

use std::io::Read as _;
use std::time::Duration;

use moongate_sdk::http::{self, HttpError, Request};
use moongate_sdk::prelude::{Context, Form, ToolError, plugin};
use moongate_sdk::testing::{Client, HttpAnswer, accepted};
use serde_json::{Value, json};

#[derive(Default)]
struct Asks;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sure {
    #[expect(dead_code, reason = "only asked")]
    yes: bool,
}

/// Sends requests.
#[plugin]
impl Asks {
    /// Returns the body.
    #[tool]
    fn get(&self, url: &str) -> Result<String, HttpError> {
        http::get(url)?.text()
    }

    /// Sends JSON in different ways.
    #[tool]
    fn send(&self, url: &str, redirects: Option<usize>, method: Option<String>) -> Result<String, HttpError> {
        let request = Request::new(method.unwrap_or_else(|| "POST".to_owned()), url);
        let request = request.header("Authorization", "Bearer x").header("x-kept", "1").json(&[1, 2])?;
        let request = request.timeout(Duration::from_secs(9));
        let response = match redirects {
            Some(most) => request.redirects(most).send()?,
            None => request.send()?,
        };
        if let Some(location) = response.location()? {
            return Ok(format!("{} leads to {location}", response.status()));
        }
        let head = format!("{} {} {:?}", response.status(), response.url(), response.header("X-Says"));
        Ok(format!("{head} {}", response.text()?))
    }

    /// Reads at most this many bytes: whole, and in chunks.
    #[tool]
    fn most(&self, url: &str, most: u64) -> Result<String, HttpError> {
        let whole = Request::get(url).max_body(most).send()?.bytes();
        let mut pieces = Vec::new();
        let read = Request::get(url).max_body(most).send()?.read_to_end(&mut pieces);
        let read = read.map_err(|error| error.downcast::<HttpError>().expect("an error of HTTP"));
        let whole = whole.map(|bytes| bytes.len());
        assert_eq!(whole, read);
        Ok(format!(
            "{} {}",
            pieces.len(),
            whole.map_or_else(|error| error.to_string(), |len| len.to_string())
        ))
    }

    /// Reads a number.
    #[tool]
    fn number(&self, url: &str) -> Result<String, HttpError> {
        http::get(url)?.error_for_status()?.json::<u8>().map(|number| number.to_string())
    }

    /// Sends a form and a query.
    #[tool]
    fn form(&self) -> Result<String, HttpError> {
        let request = Request::put("https://a.example/?a=1#here").query("b", "ä &").query("c", 2);
        request.form([("x", "1 2"), ("y", "&")]).send()?.text()
    }

    /// Sends a header.
    #[tool]
    fn header(&self, name: &str, value: &str) -> Result<String, HttpError> {
        Request::get("https://a.example").header(name, value).send()?.text()
    }

    /// Asks the user after a request.
    #[tool]
    fn too_early(&self, ctx: &Context, method: &str) -> Result<String, ToolError> {
        let _ = Request::new(method, "https://a.example/path").send()?;
        let _: Sure = ctx.ask("sure", Form::new("Sure?"))?;
        Ok(String::new())
    }
}

fn text_of(client: &Client<Asks>, tool: &str, args: Value) -> String {
    client.call(tool, args).unwrap().all_text()
}

fn echo() -> Client<Asks> {
    Client::new().http(|request| {
        let body = String::from_utf8_lossy(&request.body);
        Ok(HttpAnswer::text(format!("{} {} {body}", request.method, request.url)).header("X-Says", "hi"))
    })
}

#[test]
fn records_requests() {
    let client = echo();
    let answer = text_of(&client, "send", json!({ "url": "HTTPS://A.example:443/x?y#z" }));
    assert_eq!(answer, "200 https://a.example/x?y Some(\"hi\") POST https://a.example/x?y [1,2]");
    let request = &client.requests()[0];
    assert_eq!(request.headers.get("content-type"), Some("application/json"));
    assert_eq!(request.headers.get("AUTHORIZATION"), Some("Bearer x"));
    assert!(request.remaining.unwrap() > Duration::from_secs(8));
    assert!(!format!("{request:?}").contains("Bearer x"));
}

#[test]
fn escapes_fields() {
    assert_eq!(
        text_of(&echo(), "form", json!({})),
        "PUT https://a.example/?a=1&b=%C3%A4+%26&c=2 x=1+2&y=%26"
    );
}

#[test]
fn names_the_missing_grant() {
    let missing = text_of(&Client::new(), "get", json!({ "url": "http://a.example:8080/secret?key=1" }));
    assert_eq!(
        missing,
        "the request GET http://a.example:8080 isn't granted; an operator can allow it (in a test, set up servers with \
         `Client::http` or `Client::pages`)"
    );
}

#[test]
fn limits_the_size_of_bodies() {
    let page =
        |bytes: usize| Client::new().http(move |_| Ok(HttpAnswer::status(200).body(vec![b'x'; bytes])));
    let most =
        |client: &Client<Asks>| text_of(client, "most", json!({ "url": "http://a.example", "most": 2500 }));
    assert_eq!(most(&page(2500)), "2500 2500");
    assert_eq!(
        most(&page(2501)),
        "2500 the response from `http://a.example` is larger than 2500 bytes; to allow more, set `Request::max_body`"
    );
    assert_eq!(most(&page(0)), "0 0");
}

#[test]
fn fails_if_the_body_breaks_off() {
    let error = HttpError::Connect { origin: "http://a.example".to_owned(), reason: "it broke".to_owned() };
    let client = Client::new().http(move |_| Ok(HttpAnswer::text("half").broken(error.clone())));
    assert_eq!(
        text_of(&client, "get", json!({ "url": "http://a.example" })),
        "cannot connect to `http://a.example`: it broke"
    );
}

#[test]
fn reads_text_and_json() {
    let url = json!({ "url": "http://a.example/n" });
    let one = |answer: HttpAnswer| Client::<Asks>::new().pages([("http://a.example/n", answer)]);
    assert_eq!(text_of(&one(HttpAnswer::json(json!(7))), "number", url.clone()), "7");
    assert!(text_of(&one(HttpAnswer::text("x")), "number", url.clone()).starts_with("invalid JSON: "));
    assert_eq!(
        text_of(&one(HttpAnswer::status(503)), "number", url.clone()),
        "`http://a.example` returned status 503"
    );
    assert_eq!(text_of(&one(HttpAnswer::text("\u{feff}ä")), "get", url.clone()), "ä");
    assert_eq!(text_of(&one(HttpAnswer::status(200).body(b"a\xff".to_vec())), "get", url), "a\u{fffd}");
}

#[test]
fn refuses_invalid_urls() {
    for (url, reason) in [
        ("nowhere", "relative URL without a base"),
        ("ftp://a.example", "must start with `http://` or `https://`"),
        ("file:///etc/passwd", "must start with `http://` or `https://`"),
        ("http://", "empty host"),
        ("http://name:word@a.example", "a user name or password"),
    ] {
        let client = echo();
        let answer = text_of(&client, "get", json!({ "url": url }));
        assert!(answer.contains(reason), "{answer}");
        assert!(!answer.contains("word@"), "{answer}");
        assert!(client.requests().is_empty());
    }
}

#[test]
fn refuses_reserved_and_invalid_headers() {
    for (name, value, reason) in [
        ("Host", "b.example", "the gateway sets it itself"),
        ("transfer-encoding", "chunked", "the gateway sets it itself"),
        ("a b", "x", "a character that isn't allowed"),
        ("", "x", "a character that isn't allowed"),
        ("x", "a\r\nb: c", "a control character"),
    ] {
        let answer = text_of(&echo(), "header", json!({ "name": name, "value": value }));
        assert!(answer.contains(reason), "{answer}");
    }
    assert!(
        text_of(&echo(), "header", json!({ "name": "x-ä".replace('ä', "a"), "value": "ä\t" }))
            .starts_with("GET")
    );
    let answer = text_of(&echo(), "send", json!({ "url": "http://a.example", "method": "G T" }));
    assert_eq!(answer, "invalid HTTP method `G T`");
}

/// A server that redirects `/<status>/<target>` to the target.
fn redirecting() -> Client<Asks> {
    Client::new().http(|request| {
        let path = request.url.splitn(4, '/').nth(3).unwrap_or_default();
        match path.split_once('/') {
            Some((status, to)) if status.parse::<u16>().is_ok() => {
                Ok(HttpAnswer::redirect(status.parse().unwrap(), to))
            }
            _ => Ok(HttpAnswer::text("end")),
        }
    })
}

#[test]
fn follows_redirects_on_request() {
    let send = |path: &str, method: &str| {
        let client = redirecting();
        let url = format!("https://a.example/{path}");
        text_of(&client, "send", json!({ "url": url, "redirects": 5, "method": method }));
        let last = client.requests().last().unwrap().clone();
        let private = last.headers.get("authorization").is_some();
        assert_eq!(last.headers.get("x-kept"), Some("1"));
        assert_eq!(last.headers.get("content-type").is_some(), !last.body.is_empty());
        (last.method, last.url, String::from_utf8(last.body).unwrap(), private)
    };
    let end = |method: &str, url: &str, body: &str, private: bool| {
        (method.to_owned(), url.to_owned(), body.to_owned(), private)
    };
    assert_eq!(send("301//end#x", "POST"), end("GET", "https://a.example/end", "", true));
    assert_eq!(send("302/end", "PUT"), end("PUT", "https://a.example/302/end", "[1,2]", true));
    assert_eq!(send("303//end", "PUT"), end("GET", "https://a.example/end", "", true));
    assert_eq!(send("303//end", "HEAD"), end("HEAD", "https://a.example/end", "[1,2]", true));
    assert_eq!(send("307//end", "POST"), end("POST", "https://a.example/end", "[1,2]", true));
    assert_eq!(
        send("308/https://b.example/end", "POST"),
        end("POST", "https://b.example/end", "[1,2]", false)
    );
    assert_eq!(send("302/http://a.example/end", "GET"), end("GET", "http://a.example/end", "[1,2]", false));
    assert_eq!(
        send("302/https://a.example:444/", "GET"),
        end("GET", "https://a.example:444/", "[1,2]", false)
    );
    assert_eq!(send("304//end", "GET"), end("GET", "https://a.example/304//end", "[1,2]", true));
}

#[test]
fn limits_redirects() {
    let client = Client::<Asks>::new().http(|_| Ok(HttpAnswer::redirect(302, "/again")));
    let answer = text_of(&client, "send", json!({ "url": "http://a.example", "redirects": 3 }));
    assert_eq!((answer.as_str(), client.requests().len()), ("more than 3 redirects", 4));
    let unfollowed = text_of(&client, "send", json!({ "url": "http://a.example" }));
    assert_eq!(unfollowed, "302 leads to http://a.example/again");
    for (location, reason) in [
        ("http://[", "invalid URL"),
        ("ftp://a.example", "must start with `http://`"),
        ("http://u:p@b.example", "a user name or password"),
    ] {
        let client = Client::<Asks>::new().http(move |_| Ok(HttpAnswer::redirect(302, location)));
        let answer = text_of(&client, "send", json!({ "url": "http://a.example", "redirects": 3 }));
        assert!(answer.contains(reason), "{answer}");
    }
}

#[test]
#[should_panic(expected = "a POST request to https://a.example")]
fn fails_on_unsafe_requests_before_a_question() {
    let client = Client::<Asks>::new().http(|_| Ok(HttpAnswer::status(200)));
    let client = client.capability("elicitation").answer("sure", accepted(json!({ "yes": true })));
    let _ = client.call("too_early", json!({ "method": "POST" }));
}

#[test]
fn allows_safe_requests_before_a_question() {
    let client = Client::<Asks>::new().http(|_| Ok(HttpAnswer::status(200)));
    let client = client.capability("elicitation").answer("sure", accepted(json!({ "yes": true })));
    assert!(!client.call("too_early", json!({ "method": "GET" })).unwrap().failed());
    assert_eq!(client.requests().len(), 2);
}
