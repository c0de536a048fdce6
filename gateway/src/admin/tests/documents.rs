//! The JSON documents of the listener.

use super::*;

/// The document for [`status`].
fn expected_document() -> Value {
    json!({
        "ready": true,
        "generation": 3,
        "settled": true,
        "config": {
            "file": "/etc/moongate/gateway.toml",
            "digest": Digest::of(b"a").to_string(),
            "since": "2027-01-15T08:00:00.000Z",
            "rejected": null,
            "needs_restart": ["http.listen"],
            "waiting": ["gateway.wider_grants"],
        },
        "watching": { "by": "polling", "reason": "too many files are watched" },
        "store": null,
        "gateways": null,
        "plugins": expected_plugins(),
        "reloads": { "replaced": 1, "unchanged": 2, "failed": 3, "configured": 4, "rejected": 5 },
        "history": [{
            "at": "2027-01-15T08:00:02.000Z",
            "took_seconds": 1.234,
            "plugin": "notes",
            "ok": false,
            "outcome": "plugin `notes` can't be loaded: it is truncated",
        }],
    })
}

/// The plugins of the document.
fn expected_plugins() -> Value {
    let offers = |tools| json!({ "tools": tools, "resources": 0, "templates": 0, "prompts": 0 });
    let trouble =
        |reason| json!({ "reason": reason, "hint": "rebuild it", "retry_at": "2027-01-15T08:01:00.000Z" });
    json!([
        {
            "id": "time",
            "title": null,
            "description": "It does",
            "version": "1.2",
            "source": "/plugins/time.wasm",
            "state": "serving",
            "sha256": Digest::of(b"time").to_string(),
            "since": "2027-01-15T08:00:01.000Z",
            "offers": offers(2),
            "trouble": null,
            "waiting": { "sha256": null, "grants": ["env `LANG`"] },
            "unavailable_directories": [],
        },
        {
            "id": "notes",
            "title": null,
            "description": "It does",
            "version": "1.2",
            "source": "/plugins/notes.wasm",
            "state": "degraded",
            "sha256": Digest::of(b"notes").to_string(),
            "since": "2027-01-15T08:00:01.000Z",
            "offers": offers(2),
            "trouble": trouble("it is truncated"),
            "waiting": null,
            "unavailable_directories": [],
        },
        {
            "id": "bad",
            "title": null,
            "description": null,
            "version": null,
            "source": "/plugins/bad.wasm",
            "state": "failed",
            "sha256": null,
            "since": null,
            "offers": offers(0),
            "trouble": trouble("not a component"),
            "waiting": null,
            "unavailable_directories": [],
        },
    ])
}

#[tokio::test]
async fn status_document_has_every_field() {
    let listener = start().await;
    let _asked = listener.open(status());
    listener.loaded.cancel();
    let answer = listener.get("/status.json").await;
    assert!(answer.head.contains("\r\ncontent-type: application/json"), "{answer:?}");
    let mut document = answer.json();
    assert_eq!(document["pid"], std::process::id());
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
    let started = document["started"].as_str().unwrap();
    assert!(started.len() == "2027-01-15T08:00:00.000Z".len() && started.ends_with('Z'), "{started}");
    assert!(document["uptime_seconds"].is_u64());
    for process in ["pid", "version", "started", "uptime_seconds"] {
        document.as_object_mut().unwrap().remove(process);
    }
    let expected = expected_document();
    assert_eq!(document, expected, "{document:#}");
}

#[tokio::test]
async fn activity_has_the_tables_of_the_page_or_what_is_new() {
    let listener = start().await;
    let _asked = listener.open(status());
    let complete = listener.get("/activity.json").await.json();
    assert_eq!(
        (&complete["state"], &complete["tables"]["plugins"][1]["state"]),
        (&json!("loading"), &json!("degraded"))
    );
    assert_eq!(complete["tables"]["minutes"].as_array().map(Vec::len), Some(60));
    let new = listener.get("/activity.json?after=0").await.json();
    assert_eq!((&new["tables"], &new["calls"]), (&Value::Null, &json!([])));
    assert_eq!(new["reloads"][0]["outcome"], "plugin `notes` can't be loaded: it is truncated");
    for query in ["after=-1", "after=x", "before=1"] {
        let answer = listener.get(&format!("/activity.json?{query}")).await;
        let error = json!({ "error": "invalid query; use `?after=N` with the number of a call" });
        assert_eq!((answer.status, answer.json()), (400, error), "{query}");
    }
}
