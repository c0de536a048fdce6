//! Tests of resource templates.

use super::*;

#[test]
fn finds_the_literal_prefix_of_a_template() {
    assert_eq!(UriTemplate::new("test://template/{id}/data").unwrap().prefix(), "test://template/");
    assert_eq!(UriTemplate::new("file:///{path}").unwrap().prefix(), "file:///");
    assert_eq!(UriTemplate::new("urn:a{b}").unwrap().prefix(), "urn:a");
    // A variable after the scheme: the template covers the whole scheme.
    assert_eq!(UriTemplate::new("greeting://{name}").unwrap().prefix(), "greeting://");
    assert_eq!(UriTemplate::new("test://{host}/x").unwrap().prefix(), "test://");
    assert_eq!(UriTemplate::new("test:{x}").unwrap().prefix(), "test:");
}

#[test]
fn rejects_templates_without_a_literal_scheme() {
    for (text, error) in [
        ("{x}", UriTemplateError::NoScheme),
        ("{scheme}://x", UriTemplateError::NoScheme),
        ("te{x}:y", UriTemplateError::NoScheme),
        ("1a:{x}", UriTemplateError::NoScheme),
        ("test://a/[{x}", UriTemplateError::NoUri),
        ("test://a/%4{x}", UriTemplateError::NoUri),
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
