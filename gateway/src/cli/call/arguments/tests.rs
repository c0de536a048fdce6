//! Command-line arguments and the resulting JSON.

use serde_json::json;

use super::*;

fn typed(pairs: &[&str], schema: Option<&Value>) -> Result<Json> {
    let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
    parse_arguments(None, &pairs, schema)
}

#[test]
fn valid_json_is_passed_as_json() {
    let json = typed(&["a=1", "b=x y", "c=[true]", "d=", "e=k=v", "f=\"1\""], None).unwrap();
    assert_eq!(json.get(), r#"{"a":1,"b":"x y","c":[true],"d":"","e":"k=v","f":"1"}"#);
    assert_eq!(typed(&[], None).unwrap().get(), "{}");
}

#[test]
fn values_are_strings_if_the_tool_expects_strings() {
    let schema = json!({ "type": "object", "properties": { "zip": { "type": "string" }, "n": { "type": "integer" } } });
    assert_eq!(typed(&["zip=01234"], Some(&schema)).unwrap().get(), r#"{"zip":"01234"}"#);
    assert_eq!(typed(&["zip=5"], Some(&schema)).unwrap().get(), r#"{"zip":"5"}"#);
    assert_eq!(typed(&["n=5"], Some(&schema)).unwrap().get(), r#"{"n":5}"#);
}

#[test]
fn names_invalid_arguments() {
    assert!(typed(&["a"], None).unwrap_err().to_string().starts_with("invalid argument `a`"));
    assert_eq!(typed(&["a=1", "a=2"], None).unwrap_err().to_string(), "duplicate argument `a`");
}

#[test]
fn a_whole_object_stays_unchanged() {
    let text = r#"{"b": 1.50, "a": 12345678901234567890}"#;
    assert_eq!(parse_arguments(Some(text), &[], None).unwrap().get(), text);
    assert!(parse_arguments(Some("[1]"), &[], None).unwrap_err().to_string().contains("isn't a JSON object"));
    assert!(
        format!("{:#}", parse_arguments(Some("{\"a\":1,\"a\":2}"), &[], None).unwrap_err())
            .contains("duplicate key `a`")
    );
}

#[test]
fn suggests_the_likely_pair() {
    let schema = json!({ "properties": { "name": { "type": "string" }, "age": {} }, "required": ["name"] });
    for (pairs, hint) in [
        (&["name:Ada"][..], "write `name=Ada`"),
        (&["age=1", "name", "Ada L"], "write `'name=Ada L'`"),
        (&["name"], "write `name=value`"),
        (&["Ada"], "write `name=Ada`"),
        (&["name:", "Ada"], "write `name=Ada`"),
        (&[r#"{"name":"Ada"}"#], r#"write `--json '{"name":"Ada"}'`"#),
    ] {
        let text = typed(pairs, Some(&schema)).unwrap_err().to_string();
        assert!(text.ends_with(hint), "{pairs:?}: {text}");
    }
    assert!(typed(&["Ada"], None).unwrap_err().to_string().contains("--json"));
}

#[test]
fn a_list_takes_one_value_and_several_with_commas() {
    let schema = json!({ "properties": {
        "names": { "type": "array", "items": { "type": "string" } },
        "n": { "type": ["array", "null"], "items": { "type": "integer" } },
        "objects": { "type": "array", "items": { "type": "object" } },
    } });
    for (pair, read) in [
        ("names=Ada", r#"{"names":["Ada"]}"#),
        ("names=Ada, Bob", r#"{"names":["Ada","Bob"]}"#),
        ("names=5", r#"{"names":["5"]}"#),
        (r#"names="Ada, Bob""#, r#"{"names":["Ada, Bob"]}"#),
        (r#"names=["Ada"]"#, r#"{"names":["Ada"]}"#),
        ("names=", r#"{"names":[]}"#),
        ("n=1,2", r#"{"n":[1,2]}"#),
        ("n=null", r#"{"n":null}"#),
        ("objects=Ada", r#"{"objects":"Ada"}"#),
    ] {
        assert_eq!(typed(&[pair], Some(&schema)).unwrap().get(), read, "{pair}");
    }
}

#[test]
fn suggests_the_likely_json_option() {
    for (text, hint) in [
        ("{'a': 1}", r#"use double quotes for strings: write --json '{"a": 1}'"#),
        ("@args.json", r#"write --json "$(cat args.json)""#),
        ("a=1", r#"expected an object, such as --json '{"name": "value"}'"#),
    ] {
        let message = parse_arguments(Some(text), &[], None).unwrap_err().to_string();
        assert!(message.ends_with(hint), "{text}: {message}");
    }
}

#[test]
fn an_optional_string_is_a_string() {
    let schema = json!({ "properties": {
        "zip": { "type": ["string", "null"] }, "id": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
        "n": { "type": ["integer", "null"] },
    } });
    assert_eq!(
        typed(&["zip=5", "id=6", "n=7"], Some(&schema)).unwrap().get(),
        r#"{"zip":"5","id":"6","n":7}"#
    );
    assert_eq!(typed(&["zip=null"], Some(&schema)).unwrap().get(), r#"{"zip":null}"#);
}
