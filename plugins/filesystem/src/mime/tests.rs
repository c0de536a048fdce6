//! Media types by name.

use super::{of_media, of_resource};

#[test]
fn uses_the_file_extension() {
    assert_eq!(of_media("/a/b.JPEG"), "image/jpeg");
    assert_eq!(of_media("/a.png/b"), "application/octet-stream");
    assert_eq!(of_media("/a/.png"), "application/octet-stream", "the name of a hidden file");
    assert_eq!(of_resource("/a/b.md", true), "text/markdown");
    assert_eq!(of_resource("/a/Makefile", true), "text/plain");
    assert_eq!(of_resource("/a/b", false), "application/octet-stream");
}
