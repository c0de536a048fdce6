//! Cures are lines that can be pasted.

use super::*;

#[test]
fn no_key_stands_twice() {
    let cures = [
        "http = [\"https://a.example\"]",
        "state = true",
        "http = [{ url = \"http://b.example\", networks = [\"10.0.0.1/32\"] }]",
        "http = [\"https://a.example\"]",
        "state = true",
    ];
    assert_eq!(
        merged(cures.into_iter()),
        [
            "http = [\"https://a.example\", { url = \"http://b.example\", networks = [\"10.0.0.1/32\"] }]",
            "state = true",
        ]
    );
}
