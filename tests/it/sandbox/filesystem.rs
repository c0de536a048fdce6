//! The plugin `filesystem` in a gateway, with real grants and subscribers.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use moongate_tests::{Stdio, Workspace, text};
use serde_json::{Value, json};

/// Two granted directories: `notes` read-write, `books` read-only.
fn workspace() -> Workspace {
    let workspace = Workspace::new(
        "[plugins.filesystem]\nsource = \"@filesystem@\"\nprefix = \"\"\n[plugins.filesystem.allow]\ndirs = [\n  { host = \"notes\", guest = \"/notes\", mode = \"rw\" },\n  { host = \"books\", guest = \"/books\", mode = \"ro\" },\n]\n",
    );
    workspace.write("notes/a b.md", "# One\n");
    workspace.write("books/long.txt", "once\nupon\na time\n");
    workspace.write("outside.txt", "out of reach");
    workspace
}

/// Calls a tool that succeeds, and returns its text.
#[track_caller]
fn succeeded(stdio: &mut Stdio, tool: &str, arguments: Value) -> String {
    let answer = stdio.call(tool, arguments);
    assert!(answer["result"]["isError"] != true, "{answer}");
    text(&answer).to_owned()
}

/// Calls a tool that fails, and returns its error.
#[track_caller]
fn refused(stdio: &mut Stdio, tool: &str, arguments: Value) -> String {
    let answer = stdio.call(tool, arguments);
    assert!(answer["result"]["isError"] == true, "{answer}");
    text(&answer).to_owned()
}

#[test]
fn notifies_subscribers_when_a_tool_changes_a_file() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let templates = stdio.request_and_wait("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "file:///{+path}");
    let uri = "file:///notes/a%20b.md";
    let read = |stdio: &mut Stdio, uri: &str| stdio.request_and_wait("resources/read", json!({ "uri": uri }));
    let contents = read(&mut stdio, uri)["result"]["contents"][0].clone();
    assert_eq!(contents, json!({ "uri": uri, "mimeType": "text/markdown", "text": "# One\n" }));
    let gone = read(&mut stdio, "file:///notes/gone.md");
    assert_eq!(gone["error"]["code"], -32002, "{gone}");

    assert_eq!(stdio.request_and_wait("resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
    let notification =
        json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } });
    let path = "/notes/a b.md";
    succeeded(&mut stdio, "write_file", json!({ "path": path, "content": "# Two\n" }));
    assert_eq!(stdio.receive(), notification);
    let edits = json!([{ "oldText": "Two", "newText": "Three" }]);
    succeeded(&mut stdio, "edit_file", json!({ "path": path, "edits": edits, "dryRun": true }));
    succeeded(&mut stdio, "edit_file", json!({ "path": path, "edits": edits }));
    assert_eq!(stdio.receive(), notification);
    succeeded(&mut stdio, "write_file", json!({ "path": "/notes/other.md", "content": "" }));
    succeeded(&mut stdio, "move_file", json!({ "source": path, "destination": "/notes/c.md" }));
    assert_eq!(stdio.receive(), notification);
    let (left, ..) = stdio.finish();
    assert_eq!(left, Vec::<Value>::new(), "other files have no subscribers, and reading changes nothing");
    assert_eq!(fs::read_to_string(workspace.path().join("notes/c.md")).unwrap(), "# Three\n");
}

#[test]
fn completes_paths_within_granted_directories() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut complete = |typed: &str| {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": "file:///{+path}" },
            "argument": { "name": "path", "value": typed },
        });
        stdio.request_and_wait("completion/complete", params)["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete(""), json!(["notes/", "books/"]));
    assert_eq!(complete("books/lo"), json!(["books/long.txt"]));
    assert_eq!(complete("etc/"), json!([]));
}

#[test]
fn rejects_changes_in_a_read_only_directory() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let edits = json!([{ "oldText": "once", "newText": "twice" }]);
    for (tool, arguments) in [
        ("write_file", json!({ "path": "/books/long.txt", "content": "" })),
        ("write_file", json!({ "path": "/books/new.txt", "content": "" })),
        ("edit_file", json!({ "path": "/books/long.txt", "edits": edits })),
        ("create_directory", json!({ "path": "/books/new" })),
        ("move_file", json!({ "source": "/books/long.txt", "destination": "/notes/long.txt" })),
        ("move_file", json!({ "source": "/notes/a b.md", "destination": "/books/a.md" })),
    ] {
        let reply = refused(&mut stdio, tool, arguments);
        assert_eq!(reply, "Access denied - `/books` is read-only", "{tool}");
    }
    assert_eq!(
        succeeded(&mut stdio, "read_text_file", json!({ "path": "/books/long.txt", "tail": 1 })),
        "a time\n"
    );
    assert_eq!(
        succeeded(&mut stdio, "list_allowed_directories", json!({})),
        "Allowed directories:\n/notes\n/books"
    );
    let directory: Vec<_> = fs::read_dir(workspace.path().join("books")).unwrap().collect();
    assert_eq!(directory.len(), 1);
}

#[test]
fn overwriting_a_file_keeps_its_permissions() {
    let workspace = workspace();
    let mode = |name: &str| {
        let found = fs::metadata(workspace.path().join("notes").join(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    for (name, bits) in [("run.sh", 0o755), ("secret.txt", 0o600)] {
        workspace.write(&format!("notes/{name}"), "old\n");
        let path = workspace.path().join("notes").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    }
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    succeeded(&mut stdio, "write_file", json!({ "path": "/notes/run.sh", "content": "new\n" }));
    let edits = json!([{ "oldText": "old", "newText": "new" }]);
    succeeded(&mut stdio, "edit_file", json!({ "path": "/notes/secret.txt", "edits": edits }));
    assert_eq!((mode("run.sh"), mode("secret.txt")), (0o755, 0o600));
    succeeded(&mut stdio, "write_file", json!({ "path": "/notes/new.txt", "content": "" }));
    assert_eq!(mode("new.txt") & 0o111, 0, "a new file isn't executable");
}

#[test]
fn neither_paths_nor_symlinks_escape_granted_directories() {
    let workspace = workspace();
    let notes = workspace.path().join("notes");
    symlink(workspace.path().join("outside.txt"), notes.join("absolute")).unwrap();
    symlink("../outside.txt", notes.join("relative")).unwrap();
    symlink("..", notes.join("up")).unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for path in [
        "/notes/absolute",
        "/notes/relative",
        "/notes/up/outside.txt",
        "/notes/../outside.txt",
        "/outside.txt",
        "../outside.txt",
        "~/outside.txt",
    ] {
        for (tool, arguments) in [
            ("read_text_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
            ("move_file", json!({ "source": path, "destination": "/notes/taken" })),
            ("move_file", json!({ "source": "/notes/a b.md", "destination": path })),
            ("get_file_info", json!({ "path": path })),
        ] {
            let reply = refused(&mut stdio, tool, arguments);
            assert!(reply.starts_with("Access denied - "), "{tool} {path}: {reply}");
        }
    }
    let reply = succeeded(&mut stdio, "search_files", json!({ "path": "/notes", "pattern": "**" }));
    assert_eq!(reply, "/notes/a b.md", "symlinks that lead out aren't listed");
    let outside = fs::read_to_string(workspace.path().join("outside.txt")).unwrap();
    assert_eq!(outside, "out of reach");
}

#[test]
fn returns_an_image_without_a_text_duplicate() {
    let workspace = workspace();
    workspace.write("notes/p.png", [0x89, 0x50]);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer = stdio.call("read_media_file", json!({ "path": "/notes/p.png" }));
    let image = json!([{ "type": "image", "data": "iVA=", "mimeType": "image/png" }]);
    assert_eq!(answer["result"]["content"], image);
    assert_eq!(answer["result"]["structuredContent"], json!({ "content": image }));
}

#[test]
fn rejects_reading_a_huge_file_but_returns_its_tail() {
    let workspace = workspace();
    let huge = workspace.path().join("books/huge.log");
    fs::File::create(&huge).and_then(|file| file.set_len(1 << 32)).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(huge).unwrap();
    file.write_all(b"\nthe end\n").unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let path = "/books/huge.log";
    let refusal = refused(&mut stdio, "read_text_file", json!({ "path": path }));
    assert!(refusal.starts_with("File too large: ") && refusal.contains("`tail`"), "{refusal}");
    assert!(refused(&mut stdio, "read_media_file", json!({ "path": path })).starts_with("File too large: "));
    assert!(
        refused(&mut stdio, "read_text_file", json!({ "path": path, "head": 1 }))
            .starts_with("File too large: ")
    );
    assert_eq!(succeeded(&mut stdio, "read_text_file", json!({ "path": path, "tail": 1 })), "the end\n");
}

#[test]
fn lists_other_files_next_to_a_non_utf8_name() {
    let workspace = workspace();
    fs::write(workspace.path().join("notes").join(OsStr::from_bytes(b"\xff")), "").unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(succeeded(&mut stdio, "list_directory", json!({ "path": "/notes" })), "[FILE] a b.md");
}

#[test]
fn a_missing_file_in_a_granted_directory_reports_no_grant() {
    let workspace = workspace();
    for (tool, path) in [
        ("read_text_file", "/notes/none.txt"),
        ("get_file_info", "/books/none.txt"),
        ("edit_file", "/notes/no/x"),
    ] {
        let arguments = json!({ "path": path, "edits": [] });
        let output = workspace.run(&["call", tool, "--json", &arguments.to_string(), "--explain"]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{stderr}");
        assert!(!stderr.contains("missing\n") && !stderr.contains("was denied"), "{tool} {path}: {stderr}");
    }
}
