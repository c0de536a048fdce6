//! Fixed calls.

use anyhow::Result;
use serde_json::json;

use super::Both;
use super::repository::{TestRepository, code, lines};

/// A check with its name.
type Check = (&'static str, fn(&mut Both<'_, '_>) -> Result<()>);

pub(super) const CHECKS: &[Check] = &[
    ("no commits", no_commits),
    ("revisions", revisions),
    ("logs", logs),
    ("branches", branches),
    ("new branches", new_branches),
    ("changed files", changed_files),
    ("staging", staging),
    ("checkouts", checkouts),
    ("obstacles to checkouts", obstacles),
    ("a merge with conflicts", conflicts),
    ("line endings", line_endings),
    ("invalid arguments", invalid_arguments),
];

fn no_commits(both: &mut Both<'_, '_>) -> Result<()> {
    both.each(TestRepository::initialize)?;
    both.state()?;
    both.call("git_log", &json!({}))?;
    both.call("git_commit", &json!({ "message": "nothing" }))?;
    both.call("git_show", &json!({ "revision": "HEAD" }))?;
    both.write("a/b.txt", b"one\n")?;
    both.write("c.txt", b"two\n")?;
    both.state()?;
    both.call("git_add", &json!({ "files": ["c.txt"] }))?;
    both.state()?;
    both.write("c.txt", b"three\n")?;
    both.state()?;
    both.call("git_add", &json!({ "files": ["."] }))?;
    both.call("git_commit", &json!({ "message": "First" }))?;
    both.state()?;
    both.call("git_show", &json!({ "revision": "HEAD" }))
}

fn revisions(both: &mut Both<'_, '_>) -> Result<()> {
    for revision in [
        "HEAD",
        "@",
        "main",
        "refs/heads/main",
        "heads/main",
        "v1.0",
        "v1.0^{}",
        "v1.0^{commit}",
        "v1.0^{tree}",
        "light",
        "origin",
        "origin/main",
        "origin/old~1",
        "HEAD~0",
        "HEAD~1",
        "HEAD^",
        "HEAD~1^2",
        "HEAD~1^2~1",
        "HEAD^0",
        "HEAD^3",
        "HEAD~99",
        "main~2^{tree}",
        "HEAD:",
        "HEAD:src",
        "HEAD:src/lib.rs",
        "HEAD:src/deep/er",
        "HEAD:data.bin",
        "HEAD:latin1.txt",
        "HEAD:link",
        "HEAD:nothing",
        "HEAD:README.md/x",
        ":README.md",
        ":0:README.md",
        ":1:README.md",
        ":nothing",
        "old",
        "old~1",
        "feature/one",
        "nothing",
        "",
        "v1.0-1-gdeadbee",
        "HEAD@{0}",
        "HEAD@{1}",
        "main@{1}",
        "0000000000000000000000000000000000000000",
        "conflict:link",
    ] {
        both.call("git_show", &json!({ "revision": revision }))?;
    }
    for target in
        ["HEAD", "HEAD~1", "old", "feature/one", "v1.0", "v1.0^{tree}", "origin/main", "nothing", "main..old"]
    {
        both.call("git_diff", &json!({ "target": target }))?;
        both.call("git_diff", &json!({ "target": target, "context_lines": 0 }))?;
        both.call("git_diff", &json!({ "target": target, "context_lines": 12 }))?;
    }
    Ok(())
}

fn logs(both: &mut Both<'_, '_>) -> Result<()> {
    for count in [json!(0), json!(1), json!(3), json!(10), json!(-1), json!(1000)] {
        both.call("git_log", &json!({ "max_count": count }))?;
    }
    for arguments in [
        json!({}),
        json!({ "start_timestamp": "2023-11-17T12:00:00" }),
        json!({ "end_timestamp": "2023-11-17T12:00:00" }),
        json!({ "start_timestamp": "2023-11-15 00:00", "end_timestamp": "2023-11-18T00:00:00Z" }),
        json!({ "start_timestamp": "Nov 17 2023 12:00" }),
        json!({ "start_timestamp": "2 weeks ago" }),
        json!({ "end_timestamp": "yesterday" }),
        json!({ "start_timestamp": "30 years ago", "max_count": 2 }),
        json!({ "start_timestamp": "" }),
        json!({ "start_timestamp": null, "end_timestamp": null }),
    ] {
        both.call("git_log", &arguments)?;
    }
    both.call("git_log", &json!({ "start_timestamp": "some day" }))?;
    both.git(&["checkout", "-q", "feature/one"])?;
    both.call("git_log", &json!({}))
}

fn branches(both: &mut Both<'_, '_>) -> Result<()> {
    for kind in ["local", "remote", "all", "other", ""] {
        both.call("git_branch", &json!({ "branch_type": kind }))?;
        for commit in ["HEAD", "old", "v1.0", "feature/one", "nothing"] {
            both.call("git_branch", &json!({ "branch_type": kind, "contains": commit }))?;
            both.call("git_branch", &json!({ "branch_type": kind, "not_contains": commit }))?;
        }
    }
    for revision in ["HEAD~1", "light", "v1.0", "origin/main"] {
        both.git(&["checkout", "-q", "--detach", "main"])?;
        both.git(&["checkout", "-q", revision])?;
        both.state()?;
    }
    both.git(&["commit", "-q", "--allow-empty", "-m", "Detached"])?;
    both.state()?;
    // Behind, and diverged.
    both.git(&["checkout", "-q", "-B", "main", "HEAD~2"])?;
    both.call("git_status", &json!({}))?;
    both.git(&["checkout", "-q", "feature/one"])?;
    both.call("git_status", &json!({}))?;
    both.git(&["checkout", "-q", "old"])?;
    both.call("git_status", &json!({}))?;
    both.git(&["update-ref", "-d", "refs/remotes/origin/old"])?;
    both.call("git_status", &json!({}))
}

fn new_branches(both: &mut Both<'_, '_>) -> Result<()> {
    for (name, base) in [
        ("one", None),
        ("one", None),
        ("two", Some("old")),
        ("three/four", Some("origin/main")),
        ("five", Some("light")),
        ("six", Some("nothing")),
        ("bad..name", None),
        ("bad name", None),
        (".bad", None),
        ("bad.lock", None),
        ("bad/", None),
        ("-bad", None),
        ("seven", Some("-bad")),
    ] {
        let mut arguments = json!({ "branch_name": name });
        if let Some(base) = base {
            arguments["base_branch"] = base.into();
        }
        both.call("git_create_branch", &arguments)?;
    }
    both.git(&["checkout", "-q", "--detach"])?;
    both.call("git_create_branch", &json!({ "branch_name": "eight" }))
}

fn changed_files(both: &mut Both<'_, '_>) -> Result<()> {
    both.write(
        "README.md",
        lines("readme", 44).replace("readme 3\n", "").replace("readme 40\n", "x\n").as_bytes(),
    )?;
    both.write("src/lib.rs", code(31).as_bytes())?;
    both.write("data.bin", b"\x00other")?;
    both.write("crlf.txt", b"one\r\n2\r\n")?;
    both.write("with space.txt", b"one\ntwo\nthree")?;
    both.write("\u{fc}mlaut.txt", b"")?;
    both.write("empty.txt", b"no longer\n")?;
    both.remove("docs/guide.md")?;
    both.remove("run.sh")?;
    both.write("new/a.txt", b"a\n")?;
    both.write("new/b.txt", b"b\n")?;
    both.write("docs/draft-2", b"ignored\n")?;
    both.write("docs/other", b"not ignored\n")?;
    both.write("build/out", b"ignored\n")?;
    both.write("x.log", b"ignored\n")?;
    both.write("src/top", b"not ignored\n")?;
    both.write("\u{e4}\tb", b"unusual\n")?;
    both.state()?;
    for context in [0, 1, 2, 20] {
        both.call("git_diff_unstaged", &json!({ "context_lines": context }))?;
        both.call("git_diff", &json!({ "target": "HEAD~1", "context_lines": context }))?;
    }
    both.remove("link")?;
    both.remove("src/deep")?;
    both.write("src/deep", b"a file\n")?;
    both.state()?;
    both.call("git_add", &json!({ "files": ["."] }))?;
    both.state()?;
    both.call("git_diff", &json!({ "target": "v1.0" }))?;
    both.call("git_commit", &json!({ "message": "Everything\n\nat once\n" }))?;
    both.call("git_show", &json!({ "revision": "HEAD" }))?;
    both.state()
}

fn staging(both: &mut Both<'_, '_>) -> Result<()> {
    both.write("src/a.rs", b"a\n")?;
    both.write("src/b.rs", b"b\n")?;
    both.write("c.rs", b"c\n")?;
    both.write("x.log", b"ignored\n")?;
    both.write("build/out", b"ignored\n")?;
    both.remove("empty.txt")?;
    for files in [
        json!(["nothing"]),
        json!(["src/a.rs", "nothing"]),
        json!(["x.log"]),
        json!(["build/out"]),
        json!(["keep.log"]),
        json!(["src/a.rs"]),
        json!(["src/a.rs"]),
        json!(["*.rs"]),
        json!(["empty.txt"]),
        json!(["../outside"]),
        json!(["/etc/passwd"]),
        json!(["./src/../README.md"]),
        json!(["-A"]),
        json!(["docs"]),
        json!([".", "README.md"]),
        json!(["."]),
        json!([""]),
        json!([]),
    ] {
        both.call("git_add", &json!({ "files": files }))?;
        both.call("git_status", &json!({}))?;
    }
    let inside = format!("{}/c.rs", both.theirs.path());
    both.call("git_add", &json!({ "files": [inside] }))?;
    both.call("git_reset", &json!({}))?;
    both.call("git_commit", &json!({ "message": "nothing" }))?;
    // A rename with a change, and a copy of an equal file.
    both.git(&["mv", "src/tools.rs", "src/renamed.rs"])?;
    both.write("src/renamed.rs", format!("// first\n{}", code(12)).as_bytes())?;
    both.git(&["mv", "docs/guide.md", "manual.md"])?;
    both.call("git_add", &json!({ "files": ["."] }))?;
    both.state()?;
    both.call("git_commit", &json!({ "message": "" }))?;
    both.call("git_show", &json!({ "revision": "HEAD" }))
}

fn checkouts(both: &mut Both<'_, '_>) -> Result<()> {
    for name in [
        "feature/one",
        "old",
        "main",
        "light",
        "HEAD",
        "v1.0",
        "HEAD~1",
        "main",
        "origin/main",
        "origin",
        "conflict",
        "nothing",
        "HEAD:README.md",
        "main~3",
        "old",
        "-",
    ] {
        both.call("git_checkout", &json!({ "branch_name": name }))?;
        both.state()?;
    }
    Ok(())
}

fn obstacles(both: &mut Both<'_, '_>) -> Result<()> {
    // Kept: it is the same on both branches.
    both.write("crlf.txt", b"changed\n")?;
    both.call("git_checkout", &json!({ "branch_name": "old" }))?;
    both.call("git_checkout", &json!({ "branch_name": "main" }))?;
    both.write("README.md", b"changed\n")?;
    both.call("git_checkout", &json!({ "branch_name": "old" }))?;
    both.call("git_add", &json!({ "files": ["."] }))?;
    both.call("git_checkout", &json!({ "branch_name": "old" }))?;
    both.git(&["reset", "-q", "--hard"])?;
    both.call("git_checkout", &json!({ "branch_name": "old" }))?;
    both.write("feature.txt", b"in the way\n")?;
    both.call("git_checkout", &json!({ "branch_name": "feature/one" }))?;
    both.remove("feature.txt")?;
    both.write("feature.txt/sub", b"in the way\n")?;
    both.call("git_checkout", &json!({ "branch_name": "feature/one" }))?;
    both.remove("feature.txt")?;
    both.remove("docs/guide.md")?;
    both.call("git_checkout", &json!({ "branch_name": "feature/one" }))?;
    both.state()
}

fn conflicts(both: &mut Both<'_, '_>) -> Result<()> {
    both.git(&["checkout", "-q", "conflict"])?;
    both.write("README.md", lines("other", 10).as_bytes())?;
    both.git(&["rm", "-q", "-f", "src/lib.rs"])?;
    both.git(&["commit", "-q", "-a", "-m", "Other"])?;
    both.git(&["checkout", "-q", "main"])?;
    both.write("src/lib.rs", code(33).as_bytes())?;
    both.git(&["commit", "-q", "-a", "-m", "Ours"])?;
    both.git(&["merge", "-q", "conflict"])?;
    both.call("git_status", &json!({}))?;
    both.call("git_diff_staged", &json!({}))?;
    both.call("git_diff_unstaged", &json!({}))?;
    both.call("git_commit", &json!({ "message": "too early" }))?;
    both.call("git_checkout", &json!({ "branch_name": "old" }))?;
    both.write("README.md", b"resolved\n")?;
    both.call("git_add", &json!({ "files": ["README.md"] }))?;
    both.call("git_status", &json!({}))?;
    both.call("git_add", &json!({ "files": ["."] }))?;
    both.call("git_status", &json!({}))?;
    both.call("git_commit", &json!({ "message": "Merge" }))?;
    both.state()?;
    both.call("git_show", &json!({ "revision": "HEAD" }))
}

fn line_endings(both: &mut Both<'_, '_>) -> Result<()> {
    let attributes = b"*.txt text=auto\n*.bat text eol=crlf\n*.dat -diff\n*.raw binary\nlf.txt eol=lf\n";
    both.write(".gitattributes", attributes)?;
    both.write("a.txt", b"one\r\ntwo\r\n")?;
    both.write("mixed.txt", b"one\r\ntwo\rthree\n")?;
    both.write("lf.txt", b"one\r\ntwo\n")?;
    both.write("go.bat", b"echo\r\n")?;
    both.write("plain.md", b"one\r\n")?;
    both.write("x.dat", b"one\n")?;
    both.write("x.raw", b"one\r\n")?;
    both.write("crlf.txt", b"one\r\ntwo\r\nthree\r\n")?;
    both.state()?;
    both.call("git_add", &json!({ "files": ["."] }))?;
    both.state()?;
    both.call("git_commit", &json!({ "message": "Attributes" }))?;
    both.write("x.dat", b"two\n")?;
    both.write("a.txt", b"one\r\n2\r\n")?;
    both.state()?;
    both.git(&["checkout", "-q", "--", "."])?;
    both.call("git_checkout", &json!({ "branch_name": "old" }))?;
    both.call("git_checkout", &json!({ "branch_name": "main" }))?;
    both.state()
}

fn invalid_arguments(both: &mut Both<'_, '_>) -> Result<()> {
    for (tool, arguments) in [
        ("git_status", json!({ "repo_path": 1 })),
        ("git_status", json!({ "repo_path": "/nowhere/at/all" })),
        ("git_status", json!({ "repo_path": format!("{}/src", both.theirs.path()) })),
        ("git_status", json!({ "repo_path": format!("{}/missing", both.theirs.path()) })),
        ("git_diff", json!({})),
        ("git_diff", json!({ "target": "-x" })),
        ("git_diff", json!({ "target": "HEAD", "context_lines": "many" })),
        ("git_diff_unstaged", json!({ "context_lines": 1.5 })),
        ("git_commit", json!({})),
        ("git_add", json!({ "files": "README.md" })),
        ("git_add", json!({ "files": [1] })),
        ("git_log", json!({ "max_count": "1x" })),
        ("git_log", json!({ "start_timestamp": "-1" })),
        ("git_log", json!({ "end_timestamp": "-1" })),
        ("git_checkout", json!({ "branch_name": "-f" })),
        ("git_show", json!({ "revision": "-p" })),
        ("git_branch", json!({})),
        ("git_branch", json!({ "branch_type": "all", "contains": "-x" })),
        ("git_branch", json!({ "branch_type": "all", "not_contains": "-x" })),
        ("git_nothing", json!({})),
        ("git_status", json!({ "more": true })),
    ] {
        both.call(tool, &arguments)?;
    }
    both.write("README.md", b"one\n")?;
    both.call("git_diff_unstaged", &json!({ "context_lines": -1 }))
}
