//! The tools on a repository without Git: made by hand, changed only by the tools.

use std::fs;
use std::path::PathBuf;

use moongate_sdk::testing::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Git;

/// A repository without commits, and a client that may use it.
struct Fixture {
    directory: TempDir,
    client: Client<Git>,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let git = directory.path().join(".git");
        fs::create_dir_all(git.join("objects")).unwrap();
        fs::create_dir_all(git.join("refs/heads")).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("config"), "[user]\n\tname = Ada\n\temail = ada@example.org\n").unwrap();
        crate::grant(&[directory.path().to_str().unwrap()]);
        let client = Client::<Git>::new()
            .env("GIT_AUTHOR_DATE", "1000000000 +0200")
            .env("GIT_COMMITTER_DATE", "1000000000 +0200");
        Self { directory, client }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    fn write(&self, below: &str, content: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn try_call(&self, tool: &str, mut arguments: Value) -> Result<String, String> {
        arguments["repo_path"] = self.path("").display().to_string().into();
        let result = self.client.call(tool, arguments).unwrap();
        if result.failed() { Err(result.all_text()) } else { Ok(result.all_text()) }
    }

    fn call(&self, tool: &str, arguments: Value) -> String {
        self.try_call(tool, arguments).unwrap()
    }

    fn commit_all(&self, message: &str) {
        self.call("git_add", json!({ "files": ["."] }));
        self.call("git_commit", json!({ "message": message }));
    }
}

#[test]
fn stages_and_commits_files() {
    let fixture = Fixture::new();
    fixture.write("src/a.rs", "fn a() {}\n");
    fixture.write("ignored.log", "");
    fixture.write(".gitignore", "*.log\n");
    let status = fixture.call("git_status", json!({}));
    assert!(status.contains("No commits yet") && status.contains("\t.gitignore\n\tsrc/\n"), "{status}");
    fixture.commit_all("First");
    let status = fixture.call("git_status", json!({}));
    assert!(status.ends_with("nothing to commit, working tree clean"), "{status}");
    fixture.write("src/a.rs", "fn a() {}\nfn b() {}\n");
    let diff = fixture.call("git_diff_unstaged", json!({}));
    assert!(diff.ends_with("@@ -1 +1,2 @@\n fn a() {}\n+fn b() {}"), "{diff}");
    let log = fixture.call("git_log", json!({}));
    assert!(log.contains("Author: Ada\nDate: 2001-09-09 03:46:40+02:00\nMessage: First\n"), "{log}");
}

#[test]
fn switches_branches_and_keeps_changes() {
    let fixture = Fixture::new();
    fixture.write("a", "one\n");
    fixture.write("b", "one\n");
    fixture.commit_all("First");
    fixture.call("git_create_branch", json!({ "branch_name": "other" }));
    fixture.call("git_checkout", json!({ "branch_name": "other" }));
    fixture.write("a", "two\n");
    fixture.write("c/d", "new\n");
    fixture.commit_all("Second");
    fixture.write("b", "kept\n");
    fixture.call("git_checkout", json!({ "branch_name": "main" }));
    assert_eq!(fs::read_to_string(fixture.path("a")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(fixture.path("b")).unwrap(), "kept\n");
    assert!(!fixture.path("c").exists());
    fixture.write("a", "in the way\n");
    let refused = fixture.try_call("git_checkout", json!({ "branch_name": "other" })).unwrap_err();
    assert!(refused.contains("would be overwritten by checkout:\n\ta\n"), "{refused}");
}

#[test]
fn remembers_what_was_checked_out() {
    let fixture = Fixture::new();
    fixture.write("a", "one\n");
    fixture.commit_all("First");
    let id = fs::read_to_string(fixture.path(".git/refs/heads/main")).unwrap();
    fixture.write(".git/refs/tags/first", &id);
    fixture.write(".git/refs/tags/other", &id);
    // Neither `HEAD` nor another name of the same commit changes anything.
    for name in ["first", "HEAD", "other"] {
        fixture.call("git_checkout", json!({ "branch_name": name }));
        let status = fixture.call("git_status", json!({}));
        assert!(status.contains("\nHEAD detached at first\n"), "{name}: {status}");
    }
    fixture.write("a", "two\n");
    fixture.commit_all("Second");
    let status = fixture.call("git_status", json!({}));
    assert!(status.contains("\nHEAD detached from first\n"), "{status}");
}

#[test]
fn never_leaves_the_granted_directory() {
    let fixture = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().display().to_string();
    let refused = fixture.client.call("git_status", json!({ "repo_path": path })).unwrap().all_text();
    assert!(refused.contains("outside the granted directories"), "{refused}");
    for file in ["../x", "/etc/passwd", ".git/config"] {
        assert!(fixture.try_call("git_add", json!({ "files": [file] })).is_err(), "{file}");
    }
    for revision in ["../../x", "refs/../../x", "HEAD:../x"] {
        assert!(fixture.try_call("git_show", json!({ "revision": revision })).is_err(), "{revision}");
    }
}

#[test]
fn a_locked_index_is_left_alone() {
    let fixture = Fixture::new();
    fixture.write("a", "one\n");
    fixture.write(".git/index.lock", "");
    let refused = fixture.try_call("git_add", json!({ "files": ["a"] })).unwrap_err();
    assert!(refused.contains("index.lock': File exists"), "{refused}");
    assert!(fixture.path(".git/index.lock").exists());
}

#[test]
fn refuses_files_with_filters() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.bin filter=lfs\n");
    fixture.write("a.bin", "content\n");
    let refused = fixture.try_call("git_add", json!({ "files": ["a.bin"] })).unwrap_err();
    assert!(refused.contains("filter `lfs`"), "{refused}");
}
