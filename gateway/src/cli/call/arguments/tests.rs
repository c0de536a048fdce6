//! What is typed, and what the tool gets.

use serde_json::json;

use super::*;

fn typed(pairs: &[&str], schema: Option<&Value>) -> Result<Json> {
    let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
    object(None, &pairs, schema)
}

#[test]
fn values_are_json_where_they_read_as_json() {
    let json = typed(&["a=1", "b=x y", "c=[true]", "d=", "e=k=v", "f=\"1\""], None).unwrap();
    assert_eq!(json.get(), r#"{"a":1,"b":"x y","c":[true],"d":"","e":"k=v","f":"1"}"#);
    assert_eq!(typed(&[], None).unwrap().get(), "{}");
}

#[test]
fn values_are_text_where_the_tool_wants_text() {
    let schema = json!({ "type": "object", "properties": { "zip": { "type": "string" }, "n": { "type": "integer" } } });
    assert_eq!(typed(&["zip=01234"], Some(&schema)).unwrap().get(), r#"{"zip":"01234"}"#);
    assert_eq!(typed(&["zip=5"], Some(&schema)).unwrap().get(), r#"{"zip":"5"}"#);
    assert_eq!(typed(&["n=5"], Some(&schema)).unwrap().get(), r#"{"n":5}"#);
}

#[test]
fn what_is_no_argument_is_named() {
    assert!(typed(&["a"], None).unwrap_err().to_string().starts_with("`a` is no argument"));
    assert_eq!(typed(&["a=1", "a=2"], None).unwrap_err().to_string(), "`a` is given twice");
}

#[test]
fn a_whole_object_stays_as_it_was_written() {
    let text = r#"{"b": 1.50, "a": 12345678901234567890}"#;
    assert_eq!(object(Some(text), &[], None).unwrap().get(), text);
    assert!(object(Some("[1]"), &[], None).unwrap_err().to_string().contains("no JSON object"));
    assert!(
        format!("{:#}", object(Some("{\"a\":1,\"a\":2}"), &[], None).unwrap_err())
            .contains("`a` stands here twice")
    );
}
