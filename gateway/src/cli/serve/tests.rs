//! Addresses as people type them.

use super::*;

#[test]
fn addresses_are_taken_as_people_type_them() {
    for (typed, meant) in [
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("8080", "127.0.0.1:8080"),
        (":8080", "127.0.0.1:8080"),
        ("localhost:8080", "127.0.0.1:8080"),
        ("[::1]:0", "[::1]:0"),
        ("0.0.0.0:80", "0.0.0.0:80"),
    ] {
        assert_eq!(address(typed), Ok(meant.parse().unwrap()), "{typed}");
    }
    for typed in ["", "127.0.0.1", "host:80", "99999", "http://127.0.0.1:80", "localhost"] {
        assert!(address(typed).is_err(), "{typed}");
    }
}
