//! Snippets read as their hosts read them.

use clap::ValueEnum as _;
use serde_json::Value;

use super::snippet::{Over, Token, Wanted};
use super::{Host, name};

fn stdio() -> Wanted {
    let over = Over::Stdio {
        program: "/opt/my tools/moongate".into(),
        config: "/etc/moon \"gate\"/gateway.toml".into(),
        variables: vec!["API_KEY".to_owned()],
    };
    Wanted { name: "gate".to_owned(), over }
}

fn http() -> Wanted {
    let over = Over::Http { url: "http://127.0.0.1:8931/mcp".to_owned(), token: Token::Needed };
    Wanted { name: "gate".to_owned(), over }
}

fn text(host: Host, wanted: &Wanted) -> String {
    host.snippet(wanted).unwrap().text
}

#[test]
fn documents_hold_the_paths_as_they_are() {
    for (host, key) in
        [(Host::ClaudeDesktop, "mcpServers"), (Host::Cursor, "mcpServers"), (Host::VsCode, "servers")]
    {
        let document: Value = serde_json::from_str(&text(host, &stdio())).unwrap();
        let server = &document[key]["gate"];
        assert_eq!(server["command"], "/opt/my tools/moongate", "{host:?}");
        assert_eq!(server["args"][3], "/etc/moon \"gate\"/gateway.toml", "{host:?}");
    }
}

#[test]
fn words_for_a_shell_are_quoted() {
    for host in [Host::ClaudeCode, Host::Inspector] {
        let line = text(host, &stdio());
        assert!(line.contains("-- '/opt/my tools/moongate' serve --stdio --config '/etc/moon "), "{line}");
    }
}

#[test]
fn no_snippet_holds_a_token_and_each_says_where_it_comes_from() {
    for host in Host::value_variants() {
        let Some(snippet) = host.snippet(&http()) else {
            assert_eq!(*host, Host::ClaudeDesktop);
            continue;
        };
        assert!(snippet.text.contains("http://127.0.0.1:8931/mcp"), "{}", snippet.text);
        let names_it = ["MOONGATE_TOKEN", "${input:moongate-token}"];
        // The Inspector asks for headers in its own window.
        let is_named = names_it.iter().any(|name| snippet.text.contains(name)) || *host == Host::Inspector;
        assert!(is_named, "{}", snippet.text);
    }
    let remark = |host: Host, wanted: &Wanted| host.snippet(wanted).unwrap().remark.unwrap_or_default();
    assert!(remark(Host::Codex, &http()).contains("MOONGATE_TOKEN"));
    assert!(remark(Host::VsCode, &http()).contains("asks for the token"));
    assert!(remark(Host::Cursor, &stdio()).contains("API_KEY"));
}

#[test]
fn names_are_fit_for_every_host() {
    assert!(name("my-gate_2").is_ok());
    for bad in ["", "a b", "a.b", "é"] {
        assert!(name(bad).is_err(), "{bad}");
    }
}
