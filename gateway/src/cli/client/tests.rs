//! Snippets, parsed as hosts parse them.

use clap::ValueEnum as _;
use serde_json::Value;

use super::snippet::{GatewayConnection, ServerEntry, TokenRequirement};
use super::{McpHost, name};

fn stdio() -> ServerEntry {
    let connection = GatewayConnection::Stdio {
        program: "/opt/my tools/moongate".into(),
        arguments: ["serve", "--stdio", "--config", "/etc/moon \"gate\"/gateway.toml"]
            .map(str::to_owned)
            .into(),
        variables: vec!["API_KEY".to_owned()],
    };
    ServerEntry { name: "gate".to_owned(), connection }
}

fn http() -> ServerEntry {
    let connection = GatewayConnection::Http {
        url: "http://127.0.0.1:8931/mcp".to_owned(),
        token: TokenRequirement::Needed,
    };
    ServerEntry { name: "gate".to_owned(), connection }
}

fn text(host: McpHost, entry: &ServerEntry) -> String {
    host.snippet(entry).unwrap().text
}

#[test]
fn documents_contain_the_paths_unchanged() {
    for (host, key) in [
        (McpHost::ClaudeDesktop, "mcpServers"),
        (McpHost::Cursor, "mcpServers"),
        (McpHost::VsCode, "servers"),
        (McpHost::Zed, "context_servers"),
    ] {
        let document: Value = serde_json::from_str(&text(host, &stdio())).unwrap();
        let server = &document[key]["gate"];
        assert_eq!(server["command"], "/opt/my tools/moongate", "{host:?}");
        assert_eq!(server["args"][3], "/etc/moon \"gate\"/gateway.toml", "{host:?}");
    }
}

#[test]
fn quotes_shell_commands() {
    for host in [McpHost::ClaudeCode, McpHost::Inspector] {
        let line = text(host, &stdio());
        assert!(line.contains("-- '/opt/my tools/moongate' serve --stdio --config '/etc/moon "), "{line}");
    }
}

#[test]
fn snippets_refer_to_the_token_without_containing_it() {
    for host in McpHost::value_variants() {
        let Some(snippet) = host.snippet(&http()) else {
            assert_eq!(*host, McpHost::ClaudeDesktop);
            continue;
        };
        assert!(snippet.text.contains("http://127.0.0.1:8931/mcp"), "{}", snippet.text);
        let names_it = ["MOONGATE_TOKEN", "${input:moongate-token}"];
        // The Inspector has an input for headers.
        let is_named = names_it.iter().any(|name| snippet.text.contains(name)) || *host == McpHost::Inspector;
        assert!(is_named, "{}", snippet.text);
    }
    let note = |host: McpHost, entry: &ServerEntry| host.snippet(entry).unwrap().note.unwrap_or_default();
    assert!(note(McpHost::Codex, &http()).contains("MOONGATE_TOKEN"));
    assert!(note(McpHost::VsCode, &http()).contains("asks for the token"));
    assert!(note(McpHost::Cursor, &stdio()).contains("API_KEY"));
}

#[test]
fn refuses_names_that_hosts_refuse() {
    assert!(name("my-gate_2").is_ok());
    for bad in ["", "a b", "a.b", "é"] {
        assert!(name(bad).is_err(), "{bad}");
    }
}

#[test]
fn hosts_reach_a_unix_socket_through_a_program() {
    let arguments = ["connect", "unix:/run/moongate.sock"].map(str::to_owned).into();
    let connection =
        GatewayConnection::Stdio { program: "/usr/bin/moongate".into(), arguments, variables: Vec::new() };
    let entry = ServerEntry { name: "moongate".to_owned(), connection };
    for host in [McpHost::ClaudeCode, McpHost::Cursor, McpHost::VsCode, McpHost::Codex] {
        let text = host.snippet(&entry).unwrap().text;
        assert!(text.contains("connect") && !text.contains("http"), "{text}");
    }
}
