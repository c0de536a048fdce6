//! The files of hosts, as they are found on machines.

use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::*;
use crate::cli::client::snippet::{GatewayConnection, TokenRequirement};

fn entry(connection: GatewayConnection) -> ServerEntry {
    ServerEntry { name: "moongate".to_owned(), connection }
}

fn stdio() -> ServerEntry {
    entry(GatewayConnection::Stdio {
        program: "/usr/bin/moongate".into(),
        arguments: ["serve", "--stdio", "--config", "/home/ann/.config/moongate/gateway.toml"]
            .map(str::to_owned)
            .into(),
        variables: Vec::new(),
    })
}

fn http() -> ServerEntry {
    entry(GatewayConnection::Http {
        url: "http://127.0.0.1:8931/mcp".to_owned(),
        token: TokenRequirement::Needed,
    })
}

/// A file of each host with another server, and a part of it that must stay.
const FILES: [(McpHost, &str, &str); 6] = [
    (
        McpHost::ClaudeDesktop,
        "{\n  \"globalShortcut\": \"\",\n  \"mcpServers\": {\n    \"files\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"x\"]\n    }\n  }\n}\n",
        "\"args\": [\"-y\", \"x\"]",
    ),
    (
        McpHost::ClaudeCode,
        "{\n  \"numStartups\": 12,\n  \"projects\": { \"/home/ann\": { \"mcpServers\": {} } }\n}",
        "\"numStartups\": 12",
    ),
    (
        McpHost::Cursor,
        "{\"mcpServers\": {\"a\": {\"url\": \"https://a.example/mcp\"}}}",
        "\"https://a.example/mcp\"",
    ),
    (
        McpHost::VsCode,
        "{\n\t// Servers of the team.\n\t\"servers\": {\n\t\t\"a\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"https://a.example/mcp\", // a\n\t\t},\n\t},\n\t\"inputs\": [],\n}\n",
        "// Servers of the team.",
    ),
    (
        McpHost::Zed,
        "// Zed settings\n//\n// For information, see the documentation.\n{\n  \"theme\": \"One Dark\",\n  // \"context_servers\": {},\n  \"buffer_font_size\": 15\n}\n",
        "  // \"context_servers\": {},",
    ),
    (
        McpHost::Codex,
        "model = \"o\" # the model\n\n[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"-y\"]\n",
        "model = \"o\" # the model",
    ),
];

#[test]
fn adds_the_gateway_to_every_kind_of_file() {
    for (host, before, kept) in FILES {
        for entry in [stdio(), http()] {
            if host == McpHost::ClaudeDesktop && matches!(entry.connection, GatewayConnection::Http { .. }) {
                continue;
            }
            let directory = TempDir::new().unwrap();
            let file = directory.path().join("file");
            fs::write(&file, before).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
            let change = write_entry(host, &file, &entry).unwrap();
            let backup = directory.path().join("file.moongate-backup");
            assert_eq!(change, HostFileChange::Updated { backup: backup.clone() }, "{host:?}");
            assert_eq!(fs::read_to_string(&backup).unwrap(), before, "{host:?}");
            let after = fs::read_to_string(&file).unwrap();
            assert!(after.contains(kept) && after.contains("moongate"), "{host:?}: {after}");
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{host:?}");
            assert_eq!(
                write_entry(host, &file, &entry).unwrap(),
                HostFileChange::Unchanged,
                "{host:?}: {after}"
            );
            assert_eq!(fs::read_to_string(&file).unwrap(), after, "{host:?}");
        }
    }
}

#[test]
fn creates_missing_files_and_their_directories() {
    for (host, _, _) in FILES {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("a/b/file");
        assert_eq!(write_entry(host, &file, &stdio()).unwrap(), HostFileChange::Created, "{host:?}");
        assert_eq!(write_entry(host, &file, &stdio()).unwrap(), HostFileChange::Unchanged, "{host:?}");
    }
}

#[test]
fn updates_its_own_entry_and_keeps_the_members_of_others() {
    let before = "{\"mcpServers\": {\"moongate\": {\"url\": \"http://old/mcp\", \"env\": {\"KEY\": \"1\"}}}}";
    let after = McpHost::Cursor.edited(before, &stdio()).unwrap();
    let server = member(&after, &["mcpServers", "moongate"]).unwrap().unwrap();
    assert_eq!(server["env"], json!({ "KEY": "1" }));
    assert_eq!((&server["url"], &server["command"]), (&Value::Null, &json!("/usr/bin/moongate")));
    let before = "[mcp_servers.moongate]\nurl = \"http://old/mcp\"\n\n[mcp_servers.b]\ncommand = \"b\"\n";
    let after = McpHost::Codex.edited(before, &stdio()).unwrap();
    assert!(!after.contains("old") && after.contains("command = \"b\""), "{after}");
    assert_eq!(McpHost::Codex.edited(&after, &stdio()).unwrap(), after);
    let before = "[mcp_servers.moongate]\nurl = \"http://old/mcp\"\n# Slow.\nstartup_timeout_sec = 20\n\n\
                  [mcp_servers.moongate.env]\nKEY = \"1\"\n";
    let after = McpHost::Codex.edited(before, &stdio()).unwrap();
    let rest = "# Slow.\nstartup_timeout_sec = 20\n\n[mcp_servers.moongate.env]\nKEY = \"1\"\n";
    assert!(after.starts_with("[mcp_servers.moongate]\ncommand = ") && after.ends_with(rest), "{after}");
    assert!(!after.contains("old"), "{after}");
    assert_eq!(McpHost::Codex.edited(&after, &stdio()).unwrap(), after);
}

#[test]
fn vscode_asks_for_the_token_once() {
    let once = McpHost::VsCode.edited("{}", &http()).unwrap();
    assert_eq!(member(&once, &["inputs"]).unwrap().unwrap().as_array().unwrap().len(), 1);
    assert_eq!(McpHost::VsCode.edited(&once, &http()).unwrap(), once);
}

#[test]
fn refuses_files_that_it_cannot_read_and_leaves_them() {
    for (host, broken) in [(McpHost::Cursor, "{ broken"), (McpHost::VsCode, "[]"), (McpHost::Codex, "a = ")] {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, broken).unwrap();
        assert!(write_entry(host, &file, &stdio()).is_err(), "{host:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), broken);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{host:?}: no backup");
    }
}
