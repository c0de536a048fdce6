//! Requests to a model, and parsing of its responses.

use serde_json::json;

use super::Sampling;
use crate::input::Question;
use crate::{Annotations, Content, ResourceContents, Role};

#[test]
fn serializes_all_parameters() {
    let sampling = Sampling::new(100)
        .user(Content::text("Hi").annotated(Annotations::audience([Role::User]).priority(0.5)))
        .assistant(Content::image(b"abc", "image/png"))
        .raw_message(json!({ "role": "user", "content": [] }))
        .system_prompt("Be brief.")
        .temperature(0.5)
        .stop_sequences(["."])
        .model_hint("a")
        .model_hint("b")
        .cost_priority(0.1)
        .speed_priority(0.2)
        .intelligence_priority(0.3)
        .tools(vec![json!({ "name": "t" })])
        .tool_choice("auto")
        .param("metadata", json!({ "k": 1 }));
    let expected = json!({
        "messages": [
            { "role": "user", "content": {
                "type": "text", "text": "Hi", "annotations": { "audience": ["user"], "priority": 0.5 },
            } },
            { "role": "assistant", "content": { "type": "image", "data": "YWJj", "mimeType": "image/png" } },
            { "role": "user", "content": [] },
        ],
        "maxTokens": 100,
        "systemPrompt": "Be brief.",
        "temperature": 0.5,
        "stopSequences": ["."],
        "modelPreferences": {
            "hints": [{ "name": "a" }, { "name": "b" }],
            "costPriority": 0.1,
            "speedPriority": 0.2,
            "intelligencePriority": 0.3,
        },
        "tools": [{ "name": "t" }],
        "toolChoice": { "mode": "auto" },
        "metadata": { "k": 1 },
    });
    assert_eq!(sampling.params().unwrap(), expected);
}

#[test]
fn refuses_messages_that_cannot_be_sent() {
    assert!(Sampling::new(1).params().unwrap_err().contains("no message"));
    let resource = Sampling::new(1).user(ResourceContents::text("test://x", "x"));
    assert!(resource.params().unwrap_err().contains("no resources"));
}

#[test]
fn parses_one_block_or_several() {
    let read = |content| {
        let answer =
            json!({ "role": "assistant", "content": content, "model": "m", "stopReason": "endTurn" });
        Sampling::new(1).read(answer).unwrap()
    };
    let one = read(json!({ "type": "text", "text": "Paris" }));
    assert_eq!((one.text().as_str(), one.role, one.model.as_str()), ("Paris", Role::Assistant, "m"));
    assert_eq!(one.stop_reason.as_deref(), Some("endTurn"));
    let several = read(json!([
        { "type": "text", "text": "a" },
        { "type": "audio", "data": "YWJj", "mimeType": "audio/wav" },
        { "type": "tool_use", "id": "1" },
        { "type": "image", "data": "!", "mimeType": "image/png" },
    ]));
    let [Content::Text(_), audio, Content::Other(used), Content::Other(_)] = &several.content[..] else {
        panic!("{several:?}")
    };
    assert_eq!(*audio, Content::audio(b"abc", "audio/wav"));
    assert!(used.contains("tool_use"));
    assert!(Sampling::new(1).read(json!({ "role": "assistant" })).is_err());
}
