//! Random changes of files and random calls.

use anyhow::Result;
use serde_json::{Value, json};

use super::Both;
use super::repository::{code, lines};
use crate::random::Random;

/// The number of steps of a sequence.
const STEPS: usize = 40;

const PATHS: [&str; 12] = [
    "README.md",
    "src/lib.rs",
    "src/tools.rs",
    "src/new.rs",
    "docs/guide.md",
    "docs/draft-1",
    "data.bin",
    "crlf.txt",
    "debug.log",
    "keep.log",
    "build/out",
    "with space.txt",
];

const REVISIONS: [&str; 14] = [
    "HEAD",
    "HEAD~1",
    "HEAD~2^2",
    "v1.0",
    "light",
    "old",
    "feature/one",
    "origin/main",
    "origin",
    "v1.0^{tree}",
    "HEAD:src",
    "HEAD:README.md",
    "main~40",
    "nothing",
];

const BRANCHES: [&str; 6] = ["main", "old", "feature/one", "conflict", "fresh", "fresh/below"];

pub(super) fn random_calls(both: &mut Both<'_, '_>, random: &mut Random) -> Result<()> {
    for _ in 0..STEPS {
        if random.once_in(2) {
            change(both, random)?;
        }
        let (tool, arguments) = call(random);
        both.call(tool, &arguments)?;
        if random.once_in(4) {
            both.state()?;
        }
    }
    Ok(())
}

/// Changes a file in both repositories.
fn change(both: &Both<'_, '_>, random: &mut Random) -> Result<()> {
    let path = random.pick(&PATHS);
    match random.below(5) {
        0 => both.remove(path),
        1 => both.write(path, lines("readme", 20 + random.below(40)).as_bytes()),
        2 => both.write(path, code(random.below(30)).as_bytes()),
        3 => {
            let number = random.below(30);
            let text = code(30).replace(&format!("let x = {number};"), "let x = 1;\n    let y = 2;");
            both.write(path, text.as_bytes())
        }
        _ => both.write(path, format!("one line {}", random.below(3)).as_bytes()),
    }
}

fn call(random: &mut Random) -> (&'static str, Value) {
    match random.below(14) {
        0 | 1 => ("git_add", json!({ "files": ["."] })),
        2 => ("git_add", json!({ "files": [random.pick(&PATHS)] })),
        3 => ("git_add", json!({ "files": [random.pick(&["src", "*.rs", "docs/", "./README.md"])] })),
        4 => ("git_reset", json!({})),
        5 | 6 => ("git_commit", json!({ "message": random.pick(&["Change", "Two\n\nlines\n", "\u{fc}"]) })),
        7 => ("git_checkout", json!({ "branch_name": random.pick(&BRANCHES) })),
        8 => (
            "git_checkout",
            json!({ "branch_name": random.pick(&["HEAD", "HEAD~1", "light", "origin/main"]) }),
        ),
        9 => ("git_create_branch", json!({ "branch_name": random.pick(&BRANCHES) })),
        10 => ("git_show", json!({ "revision": random.pick(&REVISIONS) })),
        11 => {
            let arguments =
                json!({ "target": random.pick(&REVISIONS[..10]), "context_lines": random.below(6) });
            ("git_diff", arguments)
        }
        12 => ("git_log", json!({ "max_count": random.below(12) })),
        _ => {
            let contains = random.pick(&["HEAD", "old", "v1.0", "feature/one"]);
            (
                "git_branch",
                json!({ "branch_type": random.pick(&["local", "remote", "all"]), "contains": contains }),
            )
        }
    }
}
