//! Tests of the comparison of URIs.

use super::*;

#[test]
fn finds_every_spelling_of_a_withheld_uri() {
    let mut withheld = WithheldUris::default();
    withheld.add_uri("notes://me/my%20diary");
    for spelling in [
        "notes://me/my%20diary",
        "NOTES://me/my%20diary",
        "notes://ME/my%20%64iary",
        "notes://me/my%20diary#today",
        "notes://me/my%20DIARY",
        "notes://me/./my%20diary",
        "notes://me//my%20diary/",
        "notes://me/x/../my%20diary",
        "notes://me/x/%2E%2e/my%20diary",
        "notes://me%2Fmy%20diary",
        "notes://me/../../my%20diary",
        "notes://me/x#/../../my%20diary",
    ] {
        assert!(withheld.covers(spelling, None), "{spelling}");
    }
    for other in ["notes://me/my%2520diary", "notes://me/my%20diary/2", "notes://me/my%20", "notes://me/%2"] {
        assert!(!withheld.covers(other, None), "{other}");
    }
}

#[test]
fn longest_prefix_of_a_template_counts() {
    let mut withheld = WithheldUris::default();
    withheld.add_prefix("x://h/secret/");
    let wide = Some("x://h/".len());
    assert!(withheld.covers("x://h/secret/1", wide) && withheld.covers("x://h/%73ecret/1", wide));
    assert!(withheld.covers("x://h/./secret/1", wide) && withheld.covers("x://h/a/..//secret/1", wide));
    assert!(!withheld.covers("x://h/public", wide) && !withheld.covers("x://h/secretive", wide));
    assert!(!withheld.covers("x://h/secret/open/1", Some("x://h/secret/open/".len())));
    assert!(!withheld.covers("x://h/secret/1", Some("x://h/secret/".len())));
}
