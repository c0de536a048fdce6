//! Matching of URIs against templates.

use super::matches;

fn one(template: &str, uri: &str) -> Option<String> {
    matches::<1>(template, uri).map(|[value]| value)
}

#[test]
fn matches_a_single_path_segment() {
    assert_eq!(one("test://template/{id}/data", "test://template/123/data").as_deref(), Some("123"));
    assert_eq!(one("test://template/{id}/data", "test://template/1/2/data"), None);
    assert_eq!(one("test://template/{id}/data", "test://template//data"), None);
    assert_eq!(one("test://template/{id}/data", "test://template/123/data/more"), None);
    assert_eq!(one("test://template/{id}", "test://template/1?x=2"), None);
}

#[test]
fn decodes_percent_encoding() {
    assert_eq!(one("note://{name}", "note://a%20b%C3%A9").as_deref(), Some("a bé"));
    assert_eq!(one("note://{name}", "note://%zz"), None);
    assert_eq!(one("note://{name}", "note://%f"), None);
    assert_eq!(one("note://{name}", "note://%ff"), None);
}

#[test]
fn plus_matches_slashes() {
    assert_eq!(one("file:///{+path}", "file:///a/b.txt").as_deref(), Some("a/b.txt"));
    assert_eq!(one("file:///{+path}.txt", "file:///a.txt.txt").as_deref(), Some("a.txt"));
}

#[test]
fn returns_variables_in_order() {
    assert_eq!(
        matches::<2>("db://{table}/{row}", "db://users/7"),
        Some(["users".to_owned(), "7".to_owned()])
    );
    assert_eq!(matches::<2>("v://{a}-{b}", "v://1-2-3"), Some(["1-2".to_owned(), "3".to_owned()]));
}
