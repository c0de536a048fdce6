//! Paths as URIs.

#[test]
fn encodes_reserved_characters() {
    assert_eq!(super::of("/a b/ü%#?.txt"), "file:///a%20b/%C3%BC%25%23%3F.txt");
    assert_eq!(super::of("/[x]^|"), "file:///%5Bx%5D%5E%7C");
    assert_eq!(super::of("/plain-._/~x"), "file:///plain-._/%7Ex");
}
