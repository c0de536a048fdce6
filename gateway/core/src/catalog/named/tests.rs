//! What schemas leave open.

use serde_json::json;

use super::*;

#[test]
fn a_schema_knows_its_members_unless_it_lets_others_have_a_meaning() {
    let schema = json!({ "type": "object", "properties": { "b": {}, "a": true } });
    assert_eq!(named_members(&schema).map(Vec::from_iter), Some(vec!["a", "b"]));
    let mut closed = schema.clone();
    closed["additionalProperties"] = json!(false);
    assert_eq!(named_members(&closed), named_members(&schema));
    for word in OPEN.iter().chain(&["additionalProperties"]) {
        let mut open = schema.clone();
        open[*word] = json!({});
        assert_eq!(named_members(&open), None, "{word}");
    }
    assert_eq!(named_members(&json!({ "type": "object" })), None);
}
