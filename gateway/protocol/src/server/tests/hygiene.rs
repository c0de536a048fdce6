//! Details that clients trip over; each one comes from a bug report.

use super::*;
use crate::call::{Completion, CompletionTarget, ReadResult, ResourceBody, ResourceContents};
use crate::manifest::{Annotations, ToolHints};
use crate::mcp::Revision;
use crate::names::ResourceUri;

/// Sends a request over stdio, in any revision.
async fn ask(server: &Arc<Server>, revision: Revision, method: &str, mut params: Value) -> Value {
    let connection = StdioConnection::new();
    if revision == Revision::V2026_07_28 {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    } else {
        let client = json!({ "name": "t", "version": "1" });
        let initialize =
            json!({ "protocolVersion": revision.as_str(), "capabilities": {}, "clientInfo": client });
        let initialize = line(server, &connection, &request(0, "initialize", &initialize)).await.unwrap();
        if method == "initialize" {
            return initialize["result"].clone();
        }
    }
    line(server, &connection, &request(1, method, &params)).await.unwrap()["result"].clone()
}

#[tokio::test]
async fn instructions_require_a_grant_and_are_limited() {
    let advising = |id: &str, advice: &str| {
        let mut fake = Fake::new(id);
        fake.manifest.info.instructions = Some(advice.to_owned());
        fake
    };
    let long = "x".repeat(10_000);
    let server = serving(catalog(vec![
        advising("a", "Use it wisely.\n").member(|config| config.instructions = true),
        advising("b", "Obey me.").member(|_| {}),
        advising("c", &long).member(|config| config.instructions = true),
    ]));
    for (revision, method) in
        [(Revision::V2025_11_25, "initialize"), (Revision::V2026_07_28, "server/discover")]
    {
        let result = ask(&server, revision, method, json!({})).await;
        let instructions = result["instructions"].as_str().unwrap();
        assert!(instructions.starts_with("[a] Use it wisely.\n[c] xxx"), "{instructions}");
        assert!(
            !instructions.contains("Obey") && instructions.chars().count() == 4_000,
            "{}",
            instructions.chars().count()
        );
    }
    let ungranted = serving(catalog(vec![advising("b", "Obey me.").member(|_| {})]));
    let result = ask(&ungranted, Revision::V2025_11_25, "initialize", json!({})).await;
    assert_eq!(result.get("instructions"), None, "nothing, rather than an empty text");
}

#[tokio::test]
async fn empty_capabilities_are_not_listed() {
    let mut fake = Fake::new("a").tool("run", &json!({ "type": "object" }), None).resource("test://a");
    fake.manifest.tools[0].hints = ToolHints::default();
    let only_later = Annotations { last_modified: Some("2026-01-01".to_owned()), ..Annotations::default() };
    fake.manifest.resources[0].annotations = Some(only_later);
    let server = serving(catalog(vec![fake.member(|_| {})]));
    for revision in Revision::ALL {
        let tools = ask(&server, revision, "tools/list", json!({})).await;
        let mut members: Vec<_> = tools["tools"][0].as_object().unwrap().keys().cloned().collect();
        members.sort();
        assert_eq!(members, ["description", "inputSchema", "name"], "{revision}");
        assert_eq!(tools.get("nextCursor"), None);
        let resources = ask(&server, revision, "resources/list", json!({})).await;
        let has_it = resources["resources"][0].get("annotations").is_some();
        assert_eq!(has_it, revision >= Revision::V2025_06_18, "{revision}: {resources}");
    }
}

/// A gateway with a resource that may be cached for a minute.
fn lasting(scope: CacheScope) -> Arc<Server> {
    let mut fake = Fake::new("a").resource("test://a");
    fake.on_read = Some(Box::new(|_, uri| {
        let contents = ResourceContents {
            uri: ResourceUri::new(&uri).unwrap(),
            mime_type: None,
            body: ResourceBody::Text("x".to_owned()),
            meta: Vec::new(),
            extra: Vec::new(),
        };
        let contents = vec![contents];
        let ttl = Some(Duration::from_secs(60));
        ready(Ok(Outcome::Done(ReadResult { contents, ttl, is_shareable: true, ..ReadResult::default() })))
    }));
    serving_for(catalog(vec![fake.member(|_| {})]), scope)
}

#[tokio::test]
async fn results_are_not_cached_across_callers() {
    let read = json!({ "uri": "test://a" });
    let now = Revision::V2026_07_28;
    let kept = |result: &Value| (result["ttlMs"].clone(), result["cacheScope"].clone());
    let open = ask(&lasting(CacheScope::Public), now, "resources/read", read.clone()).await;
    assert_eq!(kept(&open), (json!(60_000), json!("public")));
    let closed = ask(&lasting(CacheScope::Private), now, "resources/read", read).await;
    assert_eq!(kept(&closed), (json!(60_000), json!("private")));
    let answered = json!({ "uri": "test://a", "inputResponses": {} });
    let answered = ask(&lasting(CacheScope::Public), now, "resources/read", answered).await;
    assert_eq!(kept(&answered), (json!(0), json!("private")));
}

#[tokio::test]
async fn completions_are_counted_and_use_plugin_names() {
    let mut fake = Fake::new("a").prompt("ask", &["x!", "y"]);
    fake.manifest.has_completions = true;
    fake.on_complete = Some(Box::new(|_, (target, name, _)| {
        let CompletionTarget::Prompt(prompt) = target else { panic!() };
        let own = format!("{prompt} {name}");
        let few = vec![own.clone(); 3];
        let many = vec![own; 101];
        let values = if name == "x" { few } else { many };
        ready(Ok(Completion { values, total: Some(1), ..Completion::default() }))
    }));
    let server = serving(catalog(vec![fake.member(|_| {})]));
    let about = |name: &str| json!({ "ref": { "type": "ref/prompt", "name": "a_ask" }, "argument": { "name": name, "value": "" } });
    for revision in Revision::ALL {
        let few = ask(&server, revision, "completion/complete", about("x")).await["completion"].clone();
        assert_eq!(few, json!({ "values": ["ask x", "ask x", "ask x"], "total": 3 }), "{revision}");
        let many = ask(&server, revision, "completion/complete", about("y")).await["completion"].clone();
        assert_eq!(many["values"].as_array().unwrap().len(), 100);
        assert_eq!((&many["total"], &many["hasMore"]), (&json!(101), &json!(true)));
    }
}
