//! The plugin `git` and `mcp-server-git`.
//!
//! Each server has its own repository, made by the same commands of Git with fixed times, so that all ids are equal. The
//! plugin's repository is granted under the path of the other one. After each call that may change something, Git itself
//! compares the two repositories, and checks that of the plugin.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::Subject;
use crate::comparison::Comparison;

mod calls; // random calls
mod differences; // intended differences
mod fixed; // fixed calls
mod repository; // a repository on disk

use repository::TestRepository;

pub(super) const SUBJECT: Subject = Subject {
    plugin: "git",
    package: "mcp-server-git",
    compared: "Calls to every tool on repositories that Git has made: loose and packed objects and references, merges, \
               tags, remote-tracking branches, links, executable, binary and renamed files, files with CRLF or without a \
               final newline, ignored files, unusual names, repositories without commits, with conflicts, and with a \
               detached HEAD, many kinds of revisions, patterns, invalid arguments, and random changes of files between \
               the calls. After each call that can change something, Git reads both repositories: the current branch, all \
               references, the index and the files are compared, and `git fsck` checks that of the plugin. Both servers \
               get the author and the time of commits from the environment.",
    differences: differences::DIFFERENCES,
    check,
};

/// The tools that can change something.
const WRITE_TOOLS: [&str; 5] = ["git_add", "git_checkout", "git_commit", "git_create_branch", "git_reset"];

/// The variables with the author and the time of commits.
const IDENTITY: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "Ada Lovelace"),
    ("GIT_AUTHOR_EMAIL", "ada@example.org"),
    ("GIT_AUTHOR_DATE", "1718000000 +0200"),
    ("GIT_COMMITTER_NAME", "Ada Lovelace"),
    ("GIT_COMMITTER_EMAIL", "ada@example.org"),
    ("GIT_COMMITTER_DATE", "1718000000 +0200"),
];

/// Both repositories, and calls to both servers in them.
struct Both<'a, 'b> {
    comparison: &'a mut Comparison<'b>,
    theirs: TestRepository,
    ours: TestRepository,
}

impl Both<'_, '_> {
    fn each(&self, change: impl Fn(&TestRepository) -> Result<()>) -> Result<()> {
        change(&self.theirs)?;
        change(&self.ours)
    }

    /// Runs Git in both repositories. A failure is part of the state that is compared.
    fn git(&self, words: &[&str]) -> Result<()> {
        self.each(|repository| repository.try_git(words).map(drop))
    }

    fn write(&self, path: &str, content: &[u8]) -> Result<()> {
        self.each(|repository| repository.write(path, content))
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.each(|repository| repository.remove(path))
    }

    /// Calls a tool of both servers with these arguments and the path of the repository.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        let mut arguments = arguments.clone();
        if arguments.get("repo_path").is_none() {
            arguments["repo_path"] = self.theirs.path().into();
        }
        self.comparison.call(tool, &arguments)?;
        if WRITE_TOOLS.contains(&tool) {
            let theirs = self.theirs.snapshot()?;
            let ours = self.ours.snapshot()?;
            let params = json!({ "name": tool, "arguments": arguments });
            self.comparison.compare("repository afterwards", &params, &theirs, &ours);
        }
        Ok(())
    }

    /// Calls the tools that show the state of the repository.
    fn state(&mut self) -> Result<()> {
        for (tool, arguments) in [
            ("git_status", json!({})),
            ("git_diff_unstaged", json!({})),
            ("git_diff_staged", json!({})),
            ("git_branch", json!({ "branch_type": "all" })),
        ] {
            self.call(tool, &arguments)?;
        }
        Ok(())
    }
}

fn check(comparison: &mut Comparison<'_>) -> Result<()> {
    let root = comparison.directory().canonicalize()?;
    let [theirs, ours] = [root.join("theirs"), root.join("ours")].map(|path: PathBuf| {
        std::fs::create_dir(&path)?;
        std::io::Result::Ok(path)
    });
    let [theirs, ours] = [theirs?, ours?];
    let mut official = comparison.python("mcp_server_git");
    official.arg("--repository").arg(&theirs);
    let grant =
        json!({ "host": ours.display().to_string(), "guest": theirs.display().to_string(), "mode": "rw" });
    let names = IDENTITY.map(|(name, _)| name);
    let rest = format!(
        "[plugins.git.allow]\ndirs = [{{ host = {}, guest = {}, mode = \"rw\" }}]\nenv = {}\n",
        grant["host"],
        grant["guest"],
        json!(names)
    );
    let [theirs, ours] = [theirs, ours].map(TestRepository::new);
    // The official server starts only in a repository.
    for repository in [&theirs, &ours] {
        repository.build()?;
    }
    let mut variables = IDENTITY.to_vec();
    variables.extend(repository::ENVIRONMENT);
    comparison.start_with(official, &rest, &variables)?;
    comparison.normalize_with(|_, method, answer| without_command(method, answer));
    comparison.compare_lists();
    for (name, check) in fixed::CHECKS {
        let both = (theirs.clone(), ours.clone());
        comparison.check(name, |comparison| {
            let mut both = Both { comparison, theirs: both.0, ours: both.1 };
            both.each(TestRepository::build)?;
            check(&mut both)
        });
    }
    comparison.generated("random calls", 0..6, |comparison, random| {
        let mut both = Both { comparison, theirs: theirs.clone(), ours: ours.clone() };
        both.each(TestRepository::build)?;
        calls::random_calls(&mut both, random)
    });
    Ok(())
}

/// Removes the command from the official server's errors of Git, which remain as `Git failed`.
fn without_command(method: &str, answer: &mut Value) {
    if method == "tools/call"
        && let Some(Value::String(text)) = answer.pointer_mut("/content/0/text")
        && let Some(at) = text.find("Cmd('git') failed due to: ")
    {
        text.truncate(at);
        text.push_str("Git failed");
    }
}
