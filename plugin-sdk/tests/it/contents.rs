//! Builders of content blocks.

use moongate_sdk::{Annotations, Content, ResourceContents, ResourceInfo, Role, ToolResult};
use serde_json::json;

fn member(key: &str, json: &str) -> (String, String) {
    (key.to_owned(), json.to_owned())
}

#[test]
fn builds_every_kind_of_block() {
    let hints = Annotations::audience([Role::User]).priority(0.5).last_modified("2026-01-12T15:00:58Z");
    let blocks = [
        Content::text("a").annotated(hints.clone()),
        Content::image(*b"png", "image/png").annotated(hints.clone()),
        Content::audio(vec![1, 2], "audio/wav").annotated(hints.clone()),
        Content::link(
            ResourceInfo::new("a://b", "b").title("B").description("It.").mime_type("text/plain").size(3),
        )
        .annotated(hints.clone()),
        Content::embedded(ResourceContents::blob("a://b", *b"x").mime_type("image/gif"))
            .annotated(hints.clone()),
    ];
    for block in blocks {
        let hinted = match &block {
            Content::Text(block) => &block.annotations,
            Content::Image(block) | Content::Audio(block) => &block.annotations,
            Content::Link(block) => &block.annotations,
            Content::Embedded(block) => &block.annotations,
            Content::Other(_) => panic!("{block:?}"),
        };
        assert_eq!(hinted.as_ref(), Some(&hints), "{block:?}");
    }
    let Content::Link(info) = Content::link(ResourceInfo::new("a://b", "b").title("B").size(3)) else {
        panic!()
    };
    assert_eq!((info.title.as_deref(), info.size), (Some("B"), Some(3)));
}

#[test]
fn passes_unknown_blocks_unchanged() {
    let block = Content::other(&json!({ "type": "tool_use", "id": "1" })).unwrap();
    assert_eq!(block, Content::Other(r#"{"type":"tool_use","id":"1"}"#.to_owned()));
    assert_eq!(block.clone().annotated(Annotations::audience([])).meta("a", 1), block);
}

#[test]
fn replaces_members_of_meta() {
    let Content::Text(block) = Content::text("a").meta("k", 1).meta("l", "x").meta("k", [2]) else {
        panic!()
    };
    assert_eq!(block.meta, Some(vec![member("l", "\"x\""), member("k", "[2]")]));
    let result = ToolResult::text("a").with("b").meta("k", json!({ "a": null }));
    assert_eq!(result.meta, Some(vec![member("k", r#"{"a":null}"#)]));
    assert_eq!(result.all_text(), "a\nb");
}
