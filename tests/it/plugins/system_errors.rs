//! Errors of the file system reach a plugin, and the caller, with their own codes.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use moongate_tests::{Stdio, Workspace, text};
use serde_json::{Value, json};

/// The plugins `filesystem` and `zoo`, with two directories that they can change.
fn workspace() -> Workspace {
    let allow = "allow.dirs = [{ host = \"one\", guest = \"/one\", mode = \"rw\" }, { host = \"two\", guest = \"/two\", \
                 mode = \"rw\" }]";
    let workspace = Workspace::new(&format!(
        "[plugins.filesystem]\nsource = \"@filesystem@\"\nprefix = \"\"\n{allow}\n[plugins.zoo]\nsource = \"@zoo@\"\n{allow}\n"
    ));
    for name in ["one", "two"] {
        fs::create_dir(workspace.path().join(name)).unwrap();
    }
    workspace
}

/// A mounted file system, unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    /// Mounts an empty file system of 1 MiB. Only root can do that; otherwise, the test is skipped.
    fn new(directory: &Path) -> Option<Self> {
        let output = mount(&["-t", "tmpfs", "-o", "size=1m", "moongate-test"], directory);
        match output {
            Ok(()) => Some(Self(directory.to_owned())),
            Err(reason) => {
                let mut stderr = std::io::stderr(); // the harness doesn't capture it
                let _ =
                    writeln!(stderr, "SKIPPED a test of system errors: can't mount a file system: {reason}");
                None
            }
        }
    }

    fn make_read_only(&self) {
        mount(&["-o", "remount,ro"], &self.0).unwrap();
    }

    /// Fills the file system.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        while file.write_all(&[b'x'; 4096]).is_ok() {}
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn mount(arguments: &[&str], directory: &Path) -> Result<(), String> {
    let output =
        Command::new("mount").args(arguments).arg(directory).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// Calls a tool that fails, and returns its error.
#[track_caller]
fn refused(stdio: &mut Stdio, tool: &str, arguments: Value) -> String {
    let answer = stdio.call(tool, arguments);
    assert!(answer["result"]["isError"] == true, "{answer}");
    text(&answer).to_owned()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_full_file_system_is_reported_as_such() {
    let workspace = workspace();
    let one = workspace.path().join("one");
    let Some(mount) = Mount::new(&one) else { return };
    fs::write(one.join("small"), "a\n").unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let message = "ENOSPC: no space left on device, write";
    let large = json!({ "path": "/one/new", "content": "x".repeat(2 << 20) });
    assert_eq!(refused(&mut stdio, "write_file", large), message);
    mount.fill();
    let edits = json!([{ "oldText": "a", "newText": "b".repeat(10_000) }]);
    for (tool, arguments) in [
        ("write_file", json!({ "path": "/one/new", "content": "x" })),
        ("write_file", json!({ "path": "/one/small", "content": "x" })),
        ("edit_file", json!({ "path": "/one/small", "edits": edits })),
    ] {
        assert_eq!(refused(&mut stdio, tool, arguments), message, "{tool}");
    }
    assert_eq!(names(&one), ["filler", "small"]);
    assert_eq!(fs::read_to_string(one.join("small")).unwrap(), "a\n");
    for way in ["file", "append", "descriptor", "stream", "zeros"] {
        let answer =
            stdio.call("zoo_write_without_end", json!({ "path": format!("/one/{way}"), "way": way }));
        let message = text(&answer).to_lowercase();
        assert!(
            message.starts_with("0 bytes") && message.contains("no space")
                || message.contains("insufficient"),
            "{way}: {answer}"
        );
    }
}

#[test]
fn a_read_only_file_system_is_reported_as_such() {
    let workspace = workspace();
    let one = workspace.path().join("one");
    let Some(mount) = Mount::new(&one) else { return };
    fs::write(one.join("file"), "a\n").unwrap();
    fs::create_dir(one.join("directory")).unwrap();
    mount.make_read_only();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let edits = json!([{ "oldText": "a", "newText": "b" }]);
    for (tool, arguments) in [
        ("write_file", json!({ "path": "/one/new", "content": "" })),
        ("write_file", json!({ "path": "/one/file", "content": "" })),
        ("edit_file", json!({ "path": "/one/file", "edits": edits })),
        ("create_directory", json!({ "path": "/one/new" })),
        ("move_file", json!({ "source": "/one/file", "destination": "/one/moved" })),
    ] {
        let message = refused(&mut stdio, tool, arguments);
        assert!(message.starts_with("EROFS: read-only file system, "), "{tool}: {message}");
    }
}

#[test]
fn moving_across_file_systems_is_reported_as_such() {
    let workspace = workspace();
    let one = workspace.path().join("one");
    let inner = workspace.path().join("two/inner");
    fs::create_dir(&inner).unwrap();
    let Some(_mount) = Mount::new(&one) else { return };
    let Some(_inner) = Mount::new(&inner) else { return };
    fs::write(one.join("file"), "a\n").unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (from, to, code) in [
        ("/one/file", "/two/file", "EXDEV: cross-device link not permitted"),
        ("/one/file", "/two/inner/file", "EXDEV: cross-device link not permitted"),
        ("/two/inner", "/two/other", "EBUSY: resource busy or locked"),
    ] {
        let message = refused(&mut stdio, "move_file", json!({ "source": from, "destination": to }));
        assert_eq!(message, format!("{code}, rename '{from}' -> '{to}'"));
    }
}

#[test]
fn errors_of_paths_have_their_own_codes() {
    let workspace = workspace();
    let one = workspace.path().join("one");
    fs::write(one.join("file"), "a\n").unwrap();
    fs::create_dir(one.join("directory")).unwrap();
    symlink("loop", one.join("loop")).unwrap();
    let long = format!("/one/{}", "x".repeat(300));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (tool, path, code) in [
        ("read_text_file", "/one/gone", "ENOENT: no such file or directory, "),
        ("read_text_file", "/one/directory", "EISDIR: illegal operation on a directory, read"),
        ("read_text_file", "/one/file/below", "ENOTDIR: not a directory, "),
        ("read_text_file", "/one/loop", "ELOOP: too many symbolic links encountered, "),
        ("read_text_file", &long, "ENAMETOOLONG: name too long, "),
        ("list_directory", "/one/file", "ENOTDIR: not a directory, "),
        ("create_directory", "/one/file", "EEXIST: file already exists, "),
    ] {
        let message = refused(&mut stdio, tool, json!({ "path": path }));
        assert!(message.starts_with(code), "{tool} {path}: {message}");
    }
    let inside = json!({ "source": "/one/directory", "destination": "/one/directory/inside" });
    let message = refused(&mut stdio, "move_file", inside);
    assert!(message.starts_with("EINVAL: invalid argument, rename "), "{message}");
}

#[test]
fn an_exceeded_quota_is_reported_as_such() {
    let workspace = workspace();
    let config = fs::read_to_string(workspace.path().join("gateway.toml")).unwrap();
    workspace.write(
        "gateway.toml",
        format!("{config}[plugins.filesystem.limits]\nread = \"1MiB\"\nwritten = \"1MiB\"\n"),
    );
    fs::write(workspace.path().join("one/large"), vec![b'x'; 2 << 20]).unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let large = json!({ "path": "/one/new", "content": "x".repeat(2 << 20) });
    assert_eq!(refused(&mut stdio, "write_file", large), "EDQUOT: disk quota exceeded, write");
    let message = refused(&mut stdio, "read_text_file", json!({ "path": "/one/large" }));
    assert_eq!(message, "EDQUOT: disk quota exceeded, read");
    assert_eq!(names(&workspace.path().join("one")), ["large"]);
}
