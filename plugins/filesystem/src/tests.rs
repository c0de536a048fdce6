//! The tools as a client sees them, in a temporary directory.

use std::fs;

use moongate_sdk::testing::{Change, Client};
use moongate_sdk::{CompletionTarget, Content, Failure, ResourceBody};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Filesystem, grant};

/// A temporary directory that is granted to this thread's calls.
pub(crate) struct Directory {
    directory: TempDir,
}

impl Directory {
    pub(crate) fn new() -> Self {
        let directory = Self::unreachable();
        grant(&[], &[&directory.path("")]);
        directory
    }

    pub(crate) fn read_only() -> Self {
        let directory = Self::unreachable();
        grant(&[&directory.path("")], &[]);
        directory
    }

    fn unreachable() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// A path in it. Empty for the directory itself.
    pub(crate) fn path(&self, below: &str) -> String {
        // The system's temporary directory can be behind a link.
        let root = self.directory.path().canonicalize().unwrap();
        root.join(below).to_str().unwrap().trim_end_matches('/').to_owned()
    }

    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(below);
        fs::create_dir_all(super::path::parent(&path)).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn link(&self, target: &str, below: &str) -> String {
        let path = self.path(below);
        std::os::unix::fs::symlink(target, &path).unwrap();
        path
    }

    /// All entries, by relative path. Directories end in a slash.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut left = vec![String::new()];
        while let Some(below) = left.pop() {
            for entry in fs::read_dir(self.path(&below)).unwrap() {
                let entry = entry.unwrap();
                let name = format!("{below}{}", entry.file_name().to_str().unwrap());
                if entry.file_type().unwrap().is_dir() {
                    left.push(format!("{name}/"));
                    names.push(format!("{name}/"));
                } else {
                    names.push(name);
                }
            }
        }
        names.sort();
        names
    }
}

fn client() -> Client<Filesystem> {
    Client::new()
}

/// The result of a successful call.
#[track_caller]
pub(crate) fn text_of(tool: &str, args: Value) -> String {
    let result = client().call(tool, args).unwrap();
    assert!(!result.failed(), "{}", result.all_text());
    assert_eq!(result.structured_value(), json!({ "content": result.all_text() }));
    result.all_text()
}

/// The error of a failed call.
#[track_caller]
pub(crate) fn error_of(tool: &str, args: Value) -> String {
    let result = client().call(tool, args).unwrap();
    assert!(result.failed(), "{}", result.all_text());
    result.all_text()
}

#[test]
fn tools_have_correct_hints() {
    let tools = client().tools();
    let hints = |tool: &moongate_sdk::Tool| {
        let hints = tool.annotations.clone().unwrap();
        assert!(tool.title.is_some() && tool.output_schema.is_some(), "{}", tool.name);
        assert_eq!(hints.open_world, Some(false), "{}", tool.name);
        (hints.read_only, hints.idempotent, hints.destructive)
    };
    let changing: Vec<_> = tools
        .iter()
        .map(|tool| (tool.name.as_str(), hints(tool)))
        .filter(|(_, hints)| *hints != (Some(true), None, None))
        .collect();
    assert_eq!(
        changing,
        [
            ("write_file", (Some(false), Some(true), Some(true))),
            ("edit_file", (Some(false), Some(false), Some(true))),
            ("create_directory", (Some(false), Some(true), Some(false))),
            ("move_file", (Some(false), Some(false), Some(true))),
        ]
    );
    assert_eq!(tools.len(), 14);
}

#[test]
fn optional_arguments_are_not_nullable() {
    let schema = |name: &str| -> Value {
        let tool = client().tools().into_iter().find(|tool| tool.name == name).unwrap();
        serde_json::from_str(&tool.input_schema).unwrap()
    };
    let read = schema("read_text_file");
    assert_eq!(read["required"], json!(["path"]));
    assert_eq!(read["properties"]["head"]["type"], "number");
    assert_eq!(read["properties"]["head"].get("default"), None);
    let edit = schema("edit_file");
    assert_eq!(edit["required"], json!(["path", "edits"]));
    assert_eq!(edit["properties"]["dryRun"]["default"], false);
    assert_eq!(edit["properties"]["edits"]["items"]["required"], json!(["oldText", "newText"]));
    assert_eq!(schema("list_directory_with_sizes")["properties"]["sortBy"]["enum"], json!(["name", "size"]));
    assert_eq!(schema("read_multiple_files")["properties"]["paths"]["minItems"], 1);
}

#[test]
fn names_the_missing_grant() {
    grant(&[], &[]);
    for (tool, args) in [
        ("read_text_file", json!({ "path": "/etc/hostname" })),
        ("write_file", json!({ "path": "a.txt", "content": "" })),
        ("list_directory", json!({ "path": "." })),
    ] {
        let text_of = error_of(tool, args);
        assert!(
            text_of.starts_with("Access denied - no directory is granted")
                && text_of.ends_with("an operator can allow it"),
            "{text_of}"
        );
    }
    assert_eq!(text_of("list_allowed_directories", json!({})), "Allowed directories:\n");
}

#[test]
fn does_not_change_read_only_directories() {
    let directory = Directory::read_only();
    let path = directory.write("a.txt", "one\n");
    let edits = json!([{ "oldText": "one", "newText": "two" }]);
    for (tool, args) in [
        ("write_file", json!({ "path": path, "content": "x" })),
        ("write_file", json!({ "path": directory.path("new.txt"), "content": "x" })),
        ("edit_file", json!({ "path": path, "edits": edits })),
        ("create_directory", json!({ "path": directory.path("new") })),
        ("move_file", json!({ "source": path, "destination": directory.path("b.txt") })),
    ] {
        let text_of = error_of(tool, args);
        assert_eq!(text_of, format!("Access denied - `{}` is read-only", directory.path("")));
    }
    assert_eq!(directory.names(), ["a.txt"]);
    assert_eq!(text_of("read_text_file", json!({ "path": path })), "one\n");
    let shown = text_of("edit_file", json!({ "path": path, "edits": edits, "dryRun": true }));
    assert!(shown.contains("-one\n+two\n"), "a dry run changes nothing: {shown}");
    assert_eq!(fs::read_to_string(path).unwrap(), "one\n");
}

#[test]
fn notifies_subscribers_of_successful_changes() {
    let directory = Directory::new();
    directory.write("sub/a b.txt", "one\n");
    let link = directory.link("sub/a b.txt", "link.txt");
    let uri = |below: &str| Change::Resource(super::uri::of(&directory.path(below)));
    let changes = |tool: &str, args: Value| {
        let client = client();
        client.call(tool, args).unwrap();
        client.changes()
    };
    let written = changes("write_file", json!({ "path": link, "content": "two\n" }));
    assert_eq!(written, [uri("sub/a b.txt"), uri("link.txt")]);
    assert!(matches!(&written[0], Change::Resource(uri) if uri.ends_with("/sub/a%20b.txt")));
    let path = directory.path("sub/a b.txt");
    let edits = json!([{ "oldText": "two", "newText": "three" }]);
    assert_eq!(changes("edit_file", json!({ "path": path, "edits": edits, "dryRun": true })), []);
    assert_eq!(changes("edit_file", json!({ "path": path, "edits": edits })), [uri("sub/a b.txt")]);
    assert_eq!(changes("edit_file", json!({ "path": path, "edits": edits })), [], "it no longer matches");
    assert_eq!(
        changes(
            "move_file",
            json!({ "source": directory.path("sub"), "destination": directory.path("moved") })
        ),
        [uri("sub"), uri("moved"), uri("sub/a b.txt"), uri("moved/a b.txt")]
    );
}

#[test]
fn reads_several_files_despite_errors() {
    let directory = Directory::new();
    let (one, two) = (directory.write("one.txt", "1"), directory.write("two.txt", "2\n"));
    let gone = directory.path("gone.txt");
    assert_eq!(
        text_of("read_multiple_files", json!({ "paths": [one, gone, two] })),
        format!(
            "{one}:\n1\n\n---\n{gone}: Error - ENOENT: no such file or directory, open '{gone}'\n---\n{two}:\n2\n\n"
        )
    );
}

#[test]
fn limits_the_size_of_results() {
    let directory = Directory::new();
    let path = directory.write("large.txt", "line\n".repeat(500));
    let client = Client::<Filesystem>::new().config("max_answer_bytes", 4000);
    let call = |tool: &str, args: Value| client.call(tool, args).unwrap();
    let whole = call("read_text_file", json!({ "path": path }));
    assert!(whole.failed());
    assert_eq!(
        whole.all_text(),
        format!(
            "File too large: {path} has 2500 bytes, but a result can have at most 2000; read part of it with `head` or `tail`"
        )
    );
    assert_eq!(call("read_text_file", json!({ "path": path, "head": 2 })).all_text(), "line\nline");
    assert_eq!(call("read_text_file", json!({ "path": path, "tail": 1 })).all_text(), "line\n");
    assert!(call("read_text_file", json!({ "path": path, "tail": 450 })).failed());
    let small = directory.write("small.txt", "x".repeat(1200));
    let several = call("read_multiple_files", json!({ "paths": [small, small, path] })).all_text();
    assert!(
        several.contains(": Error - result too large") && several.contains(": Error - File too large"),
        "{several}"
    );
    for at in 0..60 {
        directory.write(&format!("many/{at:040}"), "");
    }
    for (tool, args) in [
        ("directory_tree", json!({ "path": directory.path("many") })),
        ("search_files", json!({ "path": directory.path("many"), "pattern": "*" })),
        ("list_directory", json!({ "path": directory.path("many") })),
    ] {
        let text_of = call(tool, args);
        assert!(
            text_of.failed() && text_of.all_text().to_lowercase().contains("too "),
            "{tool}: {}",
            text_of.all_text()
        );
    }
}

#[test]
fn returns_media_by_type() {
    let directory = Directory::new();
    let media = |name: &str| {
        let path = directory.write(name, [0, 255, 1]);
        let result = client().call("read_media_file", json!({ "path": path })).unwrap();
        (result.content[0].clone(), result.structured_value()["content"][0].clone())
    };
    let (block, form) = media("a.PNG");
    assert_eq!(block, Content::image([0, 255, 1], "image/png"));
    assert_eq!(form, json!({ "type": "image", "data": "AP8B", "mimeType": "image/png" }));
    let (block, form) = media("a.ogg");
    assert_eq!(block, Content::audio([0, 255, 1], "audio/ogg"));
    assert_eq!(form["type"], "audio");
    let (block, form) = media("a b.bin");
    let uri = super::uri::of(&directory.path("a b.bin"));
    assert!(matches!(block, Content::Embedded(held) if held.contents.uri == uri));
    let resource = json!({ "uri": uri, "mimeType": "application/octet-stream", "blob": "AP8B" });
    assert_eq!(form, json!({ "type": "resource", "resource": resource }));
}

#[test]
fn reads_files_as_resources() {
    let directory = Directory::new();
    let client = client();
    assert_eq!(client.templates()[0].uri_template, "file:///{+path}");
    let read = |path: &str| {
        let result = client.read(&super::uri::of(path))?;
        Ok::<_, Failure>((result.contents[0].mime_type.clone().unwrap(), result.contents[0].body.clone()))
    };
    let text = read(&directory.write("a b/ü.md", "# Hi\n")).unwrap();
    assert_eq!(text, ("text/markdown".to_owned(), ResourceBody::Text("# Hi\n".to_owned())));
    let bytes = read(&directory.write("x", [255, 0])).unwrap();
    assert_eq!(bytes, ("application/octet-stream".to_owned(), ResourceBody::Blob(vec![255, 0])));
    for gone in [directory.path("gone"), "/etc/hostname".to_owned()] {
        assert!(matches!(read(&gone), Err(Failure::NotFound(_))), "{gone}");
    }
    assert!(matches!(read(&directory.path("a b")), Err(Failure::Internal(_))), "a directory");
}

#[test]
fn completes_paths_segment_by_segment() {
    let directory = Directory::new();
    directory.write("docs/one.md", "");
    directory.write("docs/other/x", "");
    directory.write("dot", "");
    let root = directory.path("").trim_start_matches('/').to_owned();
    let complete = |typed: &str| {
        let target = CompletionTarget::ResourceTemplate("file:///{+path}".to_owned());
        client().complete(&target, "path", typed, &[]).unwrap().values
    };
    assert_eq!(complete(""), [format!("{root}/")]);
    assert_eq!(complete(&root[..4]), [format!("{root}/")]);
    assert_eq!(complete(&format!("{root}/do")), [format!("{root}/docs/"), format!("{root}/dot")]);
    assert_eq!(
        complete(&format!("{root}/docs/o")),
        [format!("{root}/docs/one.md"), format!("{root}/docs/other/")]
    );
    assert_eq!(complete("etc/host"), [""; 0]);
}

#[test]
fn descriptions_and_instructions_name_the_allowed_directories() {
    let directory = Directory::read_only();
    let root = directory.path("");
    for (tool, argument) in
        [("read_text_file", "path"), ("read_multiple_files", "paths"), ("move_file", "source")]
    {
        let tools = client().tools();
        let tool = tools.iter().find(|listed| listed.name == tool).unwrap();
        let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
        let about = schema["properties"][argument]["description"].as_str().unwrap();
        assert!(about.ends_with(&format!("llowed directories: `{root}` (read-only).")), "{about}");
    }
    assert!(super::instructions().contains(&root));
    grant(&[], &[]);
    assert_eq!(super::instructions(), "");
}
