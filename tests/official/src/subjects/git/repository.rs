//! The repository of a server: made, changed and inspected by Git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};

/// Variables for Git that keep the machine's configuration out.
pub(super) const ENVIRONMENT: [(&str, &str); 5] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C.UTF-8"),
    ("TZ", "UTC"),
];

/// The time of the first commit, in seconds since 1970.
const FIRST_COMMIT_SECONDS: u64 = 1_700_000_000;

/// The directory of a repository.
#[derive(Debug, Clone)]
pub(super) struct TestRepository(PathBuf);

impl TestRepository {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> String {
        self.0.display().to_string()
    }

    /// Runs Git, which may fail.
    pub(super) fn try_git(&self, words: &[&str]) -> Result<Output> {
        self.git_at(words, FIRST_COMMIT_SECONDS)
    }

    fn git_at(&self, words: &[&str], seconds: u64) -> Result<Output> {
        let date = format!("{seconds} +0100");
        let mut git = Command::new("git");
        git.current_dir(&self.0).args(words).envs(ENVIRONMENT);
        git.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        git.output().context("can't start `git`")
    }

    /// Runs Git and returns its output.
    pub(super) fn git(&self, words: &[&str]) -> Result<String> {
        let output = self.try_git(words)?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "`git {}` failed: {errors}", words.join(" "));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Commits all files. Each number gives a commit its own time.
    fn commit(&self, number: u64, message: &str) -> Result<()> {
        self.git(&["add", "-A"])?;
        let output = self.git_at(
            &["commit", "-q", "--allow-empty", "-m", message],
            FIRST_COMMIT_SECONDS + number * 86_400,
        )?;
        ensure!(output.status.success(), "`git commit` failed: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    pub(super) fn write(&self, path: &str, content: &[u8]) -> Result<()> {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
        if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            fs::remove_file(&path)?;
        }
        Ok(fs::write(path, content)?)
    }

    pub(super) fn remove(&self, path: &str) -> Result<()> {
        let path = self.0.join(path);
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => Ok(fs::remove_dir_all(path)?),
            Ok(_) => Ok(fs::remove_file(path)?),
            Err(_) => Ok(()),
        }
    }

    /// Empties the directory, and makes a repository without commits.
    pub(super) fn initialize(&self) -> Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            self.remove(&name.to_string_lossy())?;
        }
        self.git(&["init", "-q", "-b", "main"])?;
        self.git(&["config", "user.name", "Grace Hopper"])?;
        self.git(&["config", "user.email", "grace@example.org"])?;
        self.git(&["config", "gc.auto", "0"]).map(drop)
    }

    /// Makes a repository with branches, tags, a merge and many kinds of files.
    pub(super) fn build(&self) -> Result<()> {
        self.initialize()?;
        self.write("README.md", lines("readme", 40).as_bytes())?;
        self.write("src/lib.rs", code(30).as_bytes())?;
        self.write("src/util.rs", code(12).as_bytes())?;
        self.write("src/deep/er/mod.rs", b"mod a;\n")?;
        self.write("docs/guide.md", lines("guide", 20).as_bytes())?;
        self.write("data.bin", b"\x00\x01\x02binary\xff")?;
        self.write("with space.txt", b"one\ntwo\n")?;
        self.write("\u{fc}mlaut.txt", "gr\u{fc}n\n".as_bytes())?;
        self.write("crlf.txt", b"one\r\ntwo\r\n")?;
        self.write("open-end.txt", b"one\ntwo")?;
        self.write("latin1.txt", b"caf\xe9\n")?;
        self.write("empty.txt", b"")?;
        self.write(".gitignore", b"*.log\n!keep.log\nbuild/\n/top\n")?;
        self.write("docs/.gitignore", b"draft-*\n")?;
        self.write("keep.log", b"kept\n")?;
        self.write("run.sh", b"#!/bin/sh\necho run\n")?;
        self.git(&["update-index", "--add", "--chmod=+x", "run.sh"])?;
        link("README.md", &self.0.join("link"))?;
        executable(&self.0.join("run.sh"))?;
        self.commit(0, "First commit\n\nWith a body\nof two lines.")?;
        self.write("README.md", lines("readme", 40).replace("readme 20\n", "readme twenty\n").as_bytes())?;
        self.write("src/lib.rs", code(30).replace("    let x = 7;\n", "").as_bytes())?;
        self.commit(1, "Second commit")?;
        self.git(&["branch", "old"])?;
        self.git(&["checkout", "-q", "-b", "feature/one"])?;
        self.write("feature.txt", b"a feature\n")?;
        self.write("docs/guide.md", lines("guide", 22).as_bytes())?;
        self.remove("link")?;
        self.write("link", b"no link any more\n")?;
        self.commit(2, "Add a feature")?;
        self.git(&["checkout", "-q", "main"])?;
        self.git(&["mv", "src/util.rs", "src/tools.rs"])?;
        self.write("src/tools.rs", format!("{}// tools\n", code(12)).as_bytes())?;
        self.remove("open-end.txt")?;
        self.commit(3, "Rename util to tools")?;
        self.git(&["tag", "-a", "v1.0", "-m", "Version 1"])?;
        self.git(&["tag", "light"])?;
        self.git_at(
            &["merge", "-q", "--no-ff", "-m", "Merge feature", "feature/one"],
            FIRST_COMMIT_SECONDS + 345_600,
        )?;
        // Half of the objects and references are packed, some as differences to others.
        self.git(&["repack", "-a", "-d", "-q", "--depth=10", "--window=10"])?;
        self.git(&["pack-refs", "--all"])?;
        self.write("README.md", lines("readme", 44).as_bytes())?;
        self.commit(5, "Extend the readme")?;
        self.git(&["branch", "conflict", "HEAD~1"])?;
        self.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"])?;
        self.git(&["update-ref", "refs/remotes/origin/old", "old"])?;
        self.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"])?;
        for (key, value) in [
            ("remote.origin.url", "https://example.org/r.git"),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("branch.main.remote", "origin"),
            ("branch.main.merge", "refs/heads/main"),
            ("branch.old.remote", "origin"),
            ("branch.old.merge", "refs/heads/old"),
            ("branch.feature/one.remote", "origin"),
            ("branch.feature/one.merge", "refs/heads/main"),
        ] {
            self.git(&["config", key, value])?;
        }
        Ok(())
    }

    /// The state of the repository as Git reads it.
    pub(super) fn snapshot(&self) -> Result<Value> {
        let read = |words: &[&str]| -> Result<Value> {
            let output = self.try_git(words)?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Ok(if output.status.success() { text.into() } else { "failed".into() })
        };
        let mut files = Map::new();
        collect(&self.0, "", &mut files)?;
        Ok(json!({
            "branch": read(&["symbolic-ref", "-q", "HEAD"])?,
            "head": read(&["rev-parse", "--verify", "-q", "HEAD"])?,
            "references": read(&["for-each-ref", "--format=%(refname) %(objectname)"])?,
            "index": read(&["ls-files", "--stage"])?,
            "merge": self.0.join(".git/MERGE_HEAD").exists(),
            "locks": self.0.join(".git/index.lock").exists(),
            "fsck": read(&["fsck", "--strict", "--no-dangling", "--no-progress"])?,
            "files": files,
        }))
    }
}

/// Reads all files outside `.git`.
fn collect(directory: &Path, below: &str, files: &mut Map<String, Value>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == ".git" {
            continue;
        }
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &path, files)?;
            files.entry(path).or_insert_with(|| "directory".into());
        } else if kind.is_symlink() {
            files.insert(path, json!({ "link": fs::read_link(entry.path())?.display().to_string() }));
        } else {
            let content = fs::read(entry.path())?;
            let executable = is_executable(&entry.path())?;
            files.insert(
                path,
                json!({ "bytes": content.escape_ascii().to_string(), "executable": executable }),
            );
        }
    }
    Ok(())
}

/// Numbered lines.
pub(super) fn lines(word: &str, count: usize) -> String {
    (0..count).map(|line| format!("{word} {line}\n")).collect()
}

/// Functions with many equal lines.
pub(super) fn code(functions: usize) -> String {
    let function = |number| {
        format!("fn f{number}() {{\n    let x = {number};\n    if x > 1 {{\n        go();\n    }}\n}}\n\n")
    };
    (0..functions).map(function).collect()
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(path.metadata()?.permissions().mode() & 0o100 != 0)
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> Result<()> {
    Ok(std::os::unix::fs::symlink(target, path)?)
}

#[cfg(not(unix))]
fn executable(_path: &Path) -> Result<()> {
    anyhow::bail!("permissions can be compared on Unix only")
}

#[cfg(not(unix))]
fn is_executable(_path: &Path) -> Result<bool> {
    anyhow::bail!("permissions can be compared on Unix only")
}

#[cfg(not(unix))]
fn link(_target: &str, _path: &Path) -> Result<()> {
    anyhow::bail!("symlinks can be compared on Unix only")
}
