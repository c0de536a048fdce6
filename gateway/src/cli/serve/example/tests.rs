//! Example values from schemas.

use serde_json::json;

use super::*;

#[test]
fn values_come_from_the_schema() {
    assert_eq!(sample(&json!({ "type": "string", "examples": ["Asia/Tokyo"] })), Some(json!("Asia/Tokyo")));
    assert_eq!(sample(&json!({ "type": "string", "enum": ["a", "b"] })), Some(json!("a")));
    assert_eq!(sample(&json!({ "type": "integer", "minimum": 5 })), Some(json!(5)));
    let described = |text: &str| sample(&json!({ "type": "string", "description": text }));
    assert_eq!(described("A zone, such as 'UTC' or 'Asia/Tokyo'."), Some(json!("UTC")));
    assert_eq!(described("A zone such as any."), None);
    assert_eq!(described("A zone, such as 'UTC"), None);
    assert_eq!(sample(&json!({ "type": "string" })), None);
    assert_eq!(sample(&json!({ "type": "object" })), None);
    assert_eq!(sample(&json!(true)), None);
}
