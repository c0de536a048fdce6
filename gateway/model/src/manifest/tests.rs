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
        ("{x}", TemplateError::ShortPrefix),
        ("test:{x}", TemplateError::ShortPrefix),
        ("test://{host}/x", TemplateError::ShortPrefix),
        ("test://a", TemplateError::NoVariable),
        ("test://a/{x", TemplateError::Braces),
        ("test://a/{x{y}}", TemplateError::Braces),
        ("test://a/x}", TemplateError::Braces),
        ("test://a/{x}\n", TemplateError::Hidden),
        ("test://a/{x}\u{202e}", TemplateError::Hidden),
        ("test://a/{\u{e0041}}", TemplateError::Hidden),
    ] {
        assert_eq!(UriTemplate::new(text), Err(error), "{text}");
    }
}
