//! Calls of tools from the page: who may make them, and what the page shows of hostile plugins.

use std::sync::atomic::{AtomicUsize, Ordering};

use moongate_config::ToolTrialPolicy;
use moongate_protocol::catalog::CatalogBuild;
use moongate_protocol::catalog::fake::{FakePlugin, IntoCatalogPlugin as _};
use url::Host;

use super::*;

/// The calls of the tool that never end.
static ENDLESS: AtomicUsize = AtomicUsize::new(0);

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n";

/// A catalog with a tool whose schema tries to inject.
pub(super) fn catalog() -> Arc<Catalog> {
    let schema = json!({
        "type": "object",
        "properties": {
            "<script>alert(1)</script>": { "type": "string", "description": "\"><img src=x onerror=alert(1)>" },
            "ask": { "type": "boolean" },
            "unit": { "enum": ["\"><script>", "m"] },
        },
    });
    let plugin = FakePlugin::new("evil").tool("run", &schema, None).into_catalog_plugin(|_| {});
    let CatalogBuild { catalog, .. } = Catalog::build(1, vec![plugin], None);
    Arc::new(catalog)
}

/// The response to a call: a question for `ask`, otherwise hostile content and the request.
pub(super) async fn answer(address: IpAddr, request: Vec<u8>) -> Option<CountedMessage> {
    let request: Value = serde_json::from_slice(&request).unwrap();
    assert_eq!((&request["method"], address.is_loopback()), (&json!("tools/call"), true));
    let params = &request["params"];
    if params["arguments"]["endless"] == true {
        ENDLESS.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<()>().await;
    }
    if params["arguments"]["large"] == true {
        let blocks = vec![json!({ "type": "text", "text": "\"".repeat(300 << 10) }); 20];
        let result = json!({ "content": blocks, "structuredContent": vec![0; 200_000] });
        return Some(json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string().into_bytes().into());
    }
    let asks = params["arguments"]["ask"] == true && params.get("requestState").is_none();
    let result = if asks {
        let schema =
            json!({ "type": "object", "properties": { "age": { "type": "integer" } }, "required": ["age"] });
        let more = "!".repeat(params["arguments"]["more"].as_u64().unwrap_or_default() as usize);
        let question = json!({ "message": format!("<b>How old?</b>{more}"), "requestedSchema": schema });
        json!({
            "resultType": "input_required",
            "requestState": "sealed\"",
            "inputRequests": { "a": { "method": "elicitation/create", "params": question } },
        })
    } else {
        json!({
            "resultType": "complete",
            "content": [
                { "type": "text", "text": "</pre><script>alert(1)</script>\u{202e}" },
                { "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" },
                { "type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz4=" },
                { "type": "image", "mimeType": "image/png", "data": "x\" onerror=\"alert(1)" },
                { "type": "resource_link", "uri": "javascript:alert(1)", "name": "<b>" },
                { "type": "resource", "resource": { "uri": "file:///a", "text": "<i>" } },
            ],
            "structuredContent": { "received": params["arguments"], "answers": params["inputResponses"] },
            "isError": false,
        })
    };
    Some(json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string().into_bytes().into())
}

#[tokio::test]
async fn a_form_calls_the_tool_and_shows_its_result_as_text() {
    let listener = start().await;
    let _asked = listener.open(status());
    let list = listener.get("/try").await;
    assert!(list.body.contains("<a class=\"name\" href=\"try?tool=evil_run\">evil_run</a>"), "{}", list.body);
    let page = listener.get("/try?tool=evil_run").await;
    assert!(page.head.contains("img-src 'self' data:; form-action 'self'"), "{}", page.head);
    assert!(page.body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{}", page.body);
    let called = listener.send("POST", "/try", FORM, "tool=evil_run&a0=two%0D%0Alines&a1=&a2=1").await;
    assert_eq!(called.status, 200);
    for page in [&page.body, &called.body] {
        for injected in ["<script", "<img src=x", "javascript:alert(1)\"", "\" onerror", "<b>", "<i>"] {
            assert!(!page.contains(injected), "{injected}: {page}");
        }
    }
    let images = called.body.matches("src=\"data:").count();
    assert_eq!(images, 1, "{}", called.body);
    assert!(called.body.contains("src=\"data:image/png;base64,iVBORw0KGgo=\""), "{}", called.body);
    let received = called.body.replace("&quot;", "\"");
    assert!(received.contains("\"two\\nlines\"") && received.contains("\"unit\": \"m\""), "{received}");
    // The form keeps the values.
    assert!(called.body.contains("<option value=\"1\" selected>m</option>"), "{}", called.body);
}

#[tokio::test]
async fn questions_are_answered_in_the_page() {
    let listener = start().await;
    let _asked = listener.open(status());
    let asked = listener.send("POST", "/try", FORM, "tool=evil_run&a1=true").await.body;
    for part in [
        "The tool asks",
        "&lt;b&gt;How old?",
        "value=\"sealed&quot;\"",
        "name=\"q0-0\"",
        "name=\"q0-action\"",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    let questions = "%7B%22a%22%3A%7B%22params%22%3A%7B%22requestedSchema%22%3A%7B%22properties%22%3A%7B%22age%22%3A\
                     %7B%22type%22%3A%22integer%22%7D%7D%7D%7D%7D%7D";
    let hidden = format!("tool=evil_run&arguments=%7B%22ask%22%3Atrue%7D&state=sealed&questions={questions}");
    let answer = |fields: &str| format!("{hidden}&{fields}");
    // `other` isn't a field, so the form has the arguments as JSON.
    let other = answer("q0-0=41").replace("true%7D", "true%2C%22other%22%3A1%7D");
    let answered = listener.send("POST", "/try", FORM, &other).await.body;
    assert!(answered.contains(">{&quot;ask&quot;:true,&quot;other&quot;:1}</textarea>"), "{answered}");
    let invalid = listener.send("POST", "/try", FORM, &answer("q0-0=old&q0-action=accept")).await.body;
    assert!(invalid.contains("enter a number") && invalid.contains("value=\"sealed\""), "{invalid}");
    for (fields, expected) in [
        ("q0-0=41&q0-action=accept", json!({ "a": { "action": "accept", "content": { "age": 41 } } })),
        ("q0-0=old&q0-action=decline", json!({ "a": { "action": "decline" } })),
    ] {
        let page = listener.send("POST", "/try", FORM, &answer(fields)).await.body.replace("&quot;", "\"");
        let shown = format!("{:#}", json!({ "received": { "ask": true }, "answers": expected }));
        assert!(page.contains(&shown), "{shown}: {page}");
    }
}

#[tokio::test]
async fn large_results_are_shown_in_part() {
    let listener = start().await;
    let _asked = listener.open(status());
    let page = listener.send("POST", "/try", FORM, "tool=evil_run&json=%7B%22large%22%3Atrue%7D").await.body;
    assert!(page.contains("The rest of the content is too large for this page."), "{}", page.len());
    assert!(page.contains("&quot;…</pre>") && page.contains("0,0,…</pre>"), "{}", page.len());
    assert!(page.len() < 5 << 20, "{}", page.len());
}

#[tokio::test]
async fn too_large_questions_are_an_error() {
    let listener = start().await;
    let _asked = listener.open(status());
    let asking = |more: u32| format!("tool=evil_run&json=%7B%22ask%22%3Atrue%2C%22more%22%3A{more}%7D");
    let asked = listener.send("POST", "/try", FORM, &asking(500 << 10)).await.body;
    assert!(asked.contains("The tool asks"), "{}", asked.len());
    let refused = listener.send("POST", "/try", FORM, &asking(513 << 10)).await.body;
    assert!(refused.contains("the questions of the tool are too large for this page"), "{}", refused.len());
}

#[tokio::test]
async fn only_the_page_itself_calls_tools() {
    let listener = start().await;
    let _asked = listener.open(status());
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    for headers in [
        form.to_owned(),
        format!("{form}Origin: http://evil.example\r\n"),
        format!("{form}Sec-Fetch-Site: cross-site\r\n"),
        format!("{form}Sec-Fetch-Site: same-site\r\n"),
        format!("{JSON}Sec-Fetch-Site: same-origin\r\n"),
    ] {
        let refused = listener.send("POST", "/try", &headers, "tool=evil_run").await;
        assert_eq!(refused.status, 403, "{headers}");
    }
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    assert_eq!(listener.send("GET", "/try", link, "").await.status, 403);
}

#[tokio::test]
async fn the_policy_decides_who_may_try_tools() {
    let with = async |try_tools| {
        let allowed_hosts = vec![Host::Domain("ops.example.com".to_owned())];
        let config = AdminConfig { try_tools, allowed_hosts, ..AdminConfig::default() };
        let listener = start_with(&config, &AdminCredentials::default()).await;
        let _asked = listener.open(status());
        let mut statuses = Vec::new();
        for headers in [
            "",
            "X-Forwarded-For: 203.0.113.7\r\n",
            "X-Forwarded-Proto: https\r\n",
            "Via: 1.1 proxy\r\n",
            "Host: ops.example.com\r\n",
        ] {
            let link = listener.send("GET", "/", headers, "").await.body.contains("href=\"try\"");
            let page = listener.send("GET", "/try", headers, "").await.status;
            assert_eq!(link, page == 200, "{headers}");
            statuses.push(page);
        }
        let old = format!("GET /try HTTP/1.0\r\nHost: {}\r\n\r\n", listener.address);
        statuses.push(listener.exchange(&old).await.status);
        statuses
    };
    assert_eq!(with(ToolTrialPolicy::Local).await, [200, 403, 403, 403, 403, 403]);
    assert_eq!(with(ToolTrialPolicy::All).await, [200; 6]);
    assert_eq!(with(ToolTrialPolicy::Off).await, [403; 6]);
}

#[tokio::test]
async fn an_endpoint_with_credentials_needs_them_here_too() {
    let config = AdminConfig { token: Some(Secret::new(TOKEN)), ..AdminConfig::default() };
    for (config, expected) in [(AdminConfig::default(), 403), (config, 200)] {
        let credentials = AdminCredentials::new(Some(&config));
        let listener = start_with(&config, &credentials).await;
        let _asked = listener.open_for_authenticated_callers(status());
        let token = format!("Authorization: Bearer {TOKEN}\r\n");
        assert_eq!(listener.send("GET", "/try", &token, "").await.status, expected);
    }
}

#[tokio::test]
async fn calls_from_the_page_are_limited() {
    let listener = Arc::new(start().await);
    let _asked = listener.open(status());
    let endless = "tool=evil_run&json=%7B%22endless%22%3Atrue%7D";
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let listener = Arc::clone(&listener);
            tokio::spawn(async move { listener.send("POST", "/try", FORM, endless).await })
        })
        .collect();
    while ENDLESS.load(Ordering::Relaxed) < calls.len() {
        tokio::task::yield_now().await;
    }
    let refused = listener.send("POST", "/try", FORM, endless).await;
    assert_eq!(
        (refused.status, refused.json()),
        (503, json!({ "error": "too many tools are being tried; try again later" }))
    );
    let mut large = TcpStream::connect(listener.address).await.unwrap();
    let head = format!(
        "POST /try HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{FORM}Content-Length: {}\r\n\r\n",
        listener.address,
        (2 << 20) + 1
    );
    large.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    large.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    // They don't delay the end of the gateway.
    listener.draining.cancel();
    for call in calls {
        assert_eq!(call.await.unwrap().status, 503);
    }
}
