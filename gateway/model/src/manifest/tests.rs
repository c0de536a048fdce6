//! Tests of resource templates.

use super::*;

#[test]
fn finds_the_literal_prefix_of_a_template() {
    assert_eq!(UriTemplate::new("test://template/{id}/data").unwrap().prefix(), "test://template/");
    assert_eq!(UriTemplate::new("file:///{path}").unwrap().prefix(), "file:///");
    assert_eq!(UriTemplate::new("urn:a{b}").unwrap().prefix(), "urn:a");
}

#[test]
fn rejects_templates_without_a_specific_prefix() {
    for (text, error) in [
        ("{x}", UriTemplateError::ShortPrefix),
        ("test:{x}", UriTemplateError::ShortPrefix),
        ("test://{host}/x", UriTemplateError::ShortPrefix),
        ("test://a", UriTemplateError::NoVariable),
        ("test://a/{x", UriTemplateError::Braces),
        ("test://a/{x{y}}", UriTemplateError::Braces),
        ("test://a/x}", UriTemplateError::Braces),
        ("test://a/{x}\n", UriTemplateError::Hidden),
        ("test://a/{x}\u{202e}", UriTemplateError::Hidden),
        ("test://a/{\u{e0041}}", UriTemplateError::Hidden),
    ] {
        assert_eq!(UriTemplate::new(text), Err(error), "{text}");
    }
}
