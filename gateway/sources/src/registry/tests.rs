//! Unit tests of logging in to registries.

use super::*;

#[test]
fn reads_the_parameters_of_challenges() {
    let challenge =
        "realm=\"https://auth.example.com/token?a=b\",service=\"registry, main\", scope=\"a:pull\",error=x";
    for (name, value) in [
        ("realm", Some("https://auth.example.com/token?a=b")),
        ("service", Some("registry, main")),
        ("scope", Some("a:pull")),
        ("error", Some("x")),
        ("ream", None),
    ] {
        assert_eq!(parameter(challenge, name).as_deref(), value, "{name}");
    }
    for broken in ["", "realm", "realm=\"open", ",,,", "=x"] {
        assert_eq!(parameter(broken, "realm"), None, "{broken}");
    }
}
