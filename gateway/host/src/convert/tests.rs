//! Stripped keys, rejected values and re-typed blocks.

use moongate_model::call::{Content, PluginError};

use super::*;
use crate::bindings::{prompts, tools};
use content::content;

fn entries_of(pairs: &[(&str, &str)]) -> Option<types::Entries> {
    Some(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

#[test]
fn strips_reserved_keys_from_meta() {
    let given = entries_of(&[
        ("io.modelcontextprotocol/serverInfo", "{}"),
        ("dev.mcp/x", "1"),
        ("modelcontextprotocol.io/x", "1"),
        ("traceparent", "\"00\""),
        ("com.example/mcp", "2"),
        ("com.example.mcp/x", "3"),
        ("plain", "4"),
    ]);
    let kept: Vec<_> = meta(given).unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(kept, ["com.example/mcp", "com.example.mcp/x", "plain"]);
}

#[test]
fn refuses_extra_keys_that_have_a_field() {
    assert!(extra(entries_of(&[("execution", "{}")]), &["name"]).is_ok());
    for (pairs, said) in [
        (
            &[("name", "1")][..],
            "extra: `name` is reserved: it has a field of its own, or the gateway sets it",
        ),
        (&[("_meta", "{}")], "extra: `_meta` is reserved: it has a field of its own, or the gateway sets it"),
        (&[("a", "1"), ("a", "2")], "extra: duplicate key `a`"),
        (&[("a", "{")], "extra: `a`: invalid JSON: EOF while parsing an object at line 1 column 1"),
    ] {
        assert_eq!(extra(entries_of(pairs), &["name"]).unwrap_err().to_string(), said);
    }
}

#[test]
fn parses_a_json_block_as_its_own_case() {
    let other = |json: &str| content(types::Content::Other(json.to_owned()));
    assert_eq!(other(r#"{"type":"text","text":"hi"}"#).unwrap(), Content::text("hi"));
    let Content::Image(image) =
        other(r#"{"type":"image","data":"AQI=","mimeType":"image/png","x":1}"#).unwrap()
    else {
        panic!()
    };
    assert_eq!((image.data, image.extra[0].0.as_str()), (vec![1, 2], "x"));
    let Content::Other(kind, json) = other("{\"type\":\"hologram\",\n\"depth\":1.50}").unwrap() else {
        panic!()
    };
    assert_eq!((kind.as_str(), json.get()), ("hologram", "{\"type\":\"hologram\", \"depth\":1.50}"));
    let link = r#"{"type":"resource_link","uri":"file:///a","name":"a","_meta":{"dev.mcp/x":1,"ok":2},"annotations":{"audience":["user"],"priority":0.5}}"#;
    let Content::Link(link) = other(link).unwrap() else { panic!() };
    assert_eq!((link.uri.as_str(), link.meta.len()), ("file:///a", 1));
    for (json, said) in [
        (r#"{"text":"hi"}"#, "`type` is missing"),
        (r#"{"type":"text"}"#, "`text` is missing"),
        (
            r#"{"type":"image","data":"?","mimeType":"a/b"}"#,
            "`data`: invalid Base64: Invalid symbol 63, offset 0.",
        ),
        (
            r#"{"type":"resource","resource":{"uri":"a:b"}}"#,
            "`resource`: exactly one of `text` and `blob` is required",
        ),
        ("[]", "not a JSON object: invalid type: sequence, expected an object at line 1 column 0"),
    ] {
        assert_eq!(other(json).unwrap_err().to_string(), said, "{json}");
    }
    let duplicate = other(r#"{"type":"text","text":"a","text":"b"}"#).unwrap_err().to_string();
    assert!(duplicate.starts_with("invalid JSON: ") && duplicate.contains("`text`"), "{duplicate}");
}

#[test]
fn drops_icons_with_unsafe_urls() {
    let with = |src: &str| {
        let icon =
            types::Icon { src: src.to_owned(), mime_type: None, sizes: None, theme: None, extra: None };
        icons(Some(vec![icon]))
    };
    for good in ["https://example.com/a.png", "data:image/png;base64,AA=="] {
        assert_eq!(with(good).unwrap().len(), 1, "{good}");
    }
    for bad in [
        "http://example.com/a.png",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://a b",
        "https://\u{e9}.example/a.png",
        "",
    ] {
        assert_eq!(with(bad).unwrap(), [], "{bad}");
    }
}

#[test]
fn fills_in_missing_descriptions_and_schema_types() {
    let limits = moongate_config::Limits::default();
    let tool = |description: Option<&str>, title: Option<&str>, schema: &str| {
        let given = tools::Tool {
            name: "run".to_owned(),
            title: title.map(str::to_owned),
            description: description.map(str::to_owned),
            input_schema: schema.to_owned(),
            output_schema: None,
            annotations: None,
            icons: None,
            meta: None,
            extra: None,
        };
        manifest::tools(vec![given], &limits, &mut Vec::new()).unwrap().pop()
    };
    for (description, title, seen) in [
        (Some("Runs."), Some("Run"), "Runs."),
        (Some(" \n"), Some("Run"), "Run"),
        (None, None, "The tool `run` (no description)."),
    ] {
        assert_eq!(tool(description, title, "{}").unwrap().description, seen);
    }
    for (given, seen) in [
        ("{}", r#"{"type":"object"}"#),
        (r#"{"properties":{}}"#, r#"{"type":"object","properties":{}}"#),
        (r#"{"type":"object"}"#, r#"{"type":"object"}"#),
    ] {
        assert_eq!(tool(None, None, given).unwrap().input_schema.get(), seen);
    }
    for wrong in ["true", "false", "null", "[]", "", r#"{"type":"array"}"#, r#"{"type":["object"]}"#] {
        assert!(tool(None, None, wrong).is_none(), "{wrong}");
    }
    let given = prompts::Prompt {
        name: "ask".to_owned(),
        title: None,
        description: None,
        args: None,
        icons: None,
        meta: None,
        extra: None,
    };
    assert_eq!(
        manifest::prompts(vec![given], &limits, &mut Vec::new()).unwrap()[0].description,
        "The prompt `ask` (no description)."
    );
}

#[test]
fn a_failure_keeps_its_message_but_no_reserved_code() {
    let custom = |code| {
        failure(types::Failure::Custom(types::CustomFault {
            code,
            message: "no\u{202e} luck".to_owned(),
            data: Some("not json".to_owned()),
        }))
    };
    let PluginError::Custom { code: 7, message, data } = custom(7) else { panic!() };
    assert_eq!((message.as_str(), data.unwrap().get()), ("no luck", "\"not json\""));
    assert!(matches!(custom(-32601), PluginError::Internal(_)));
}

#[test]
fn reads_hundreds_of_thousands_of_members_in_time() {
    // Comparing each with all others would take 80 billion comparisons.
    let many = || (0..400_000).map(|at: u32| (at.to_string(), "1".to_owned())).collect::<Vec<_>>();
    assert_eq!(meta(Some(many())).unwrap().len(), 400_000);
    let members = many().into_iter().map(|(key, value)| format!(",\"{key}\":{value}")).collect::<String>();
    let block = content(types::Content::Other(format!("{{\"type\":\"hologram\"{members}}}"))).unwrap();
    assert!(matches!(block, Content::Other(..)));
}

#[test]
fn refuses_values_nested_too_deep() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(strict(deep(100)).is_ok());
    assert_eq!(strict(deep(101)).unwrap_err().to_string(), "nested deeper than 100 levels");
    // The failure isn't lost together with its data.
    for levels in [101, 1_000_000] {
        let fault = types::Fault { message: "no".to_owned(), at: None, data: Some(deep(levels)) };
        let PluginError::Internal(fault) = failure(types::Failure::Internal(fault)) else { panic!() };
        assert!(fault.data.unwrap().get().starts_with("\"[[["), "{levels}");
    }
}
