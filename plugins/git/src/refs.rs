//! References: `HEAD`, branches, tags, and their logs.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice as _};

use crate::fault::{GitError, GitResult};
use crate::files::{self, LockedFile};
use crate::object::{ObjectId, Signature};

/// The maximum number of symbolic references from one to another.
const MAX_SYMBOLIC_DEPTH: usize = 5;

/// The references of a repository.
#[derive(Debug)]
pub(crate) struct References {
    /// The directory of `HEAD`.
    git_dir: PathBuf,
    /// The directory of branches and tags, which linked worktrees share.
    common_dir: PathBuf,
    packed: BTreeMap<String, ObjectId>,
}

/// The value of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RefTarget {
    Id(ObjectId),
    Symbolic(String),
}

impl References {
    pub(crate) fn open(git_dir: &Path, common_dir: &Path) -> GitResult<Self> {
        let mut packed = BTreeMap::new();
        let text = files::read(&common_dir.join("packed-refs"))?.unwrap_or_default();
        for line in text.lines() {
            if let Some((id, name)) = line.split_once_str(" ")
                && let (Some(id), Ok(name)) = (ObjectId::parse(id), name.to_str())
            {
                packed.insert(name.trim_end().to_owned(), id);
            }
        }
        Ok(Self { git_dir: git_dir.to_owned(), common_dir: common_dir.to_owned(), packed })
    }

    fn path(&self, name: &str) -> PathBuf {
        let shared = name.starts_with("refs/")
            && !["refs/bisect/", "refs/worktree/", "refs/rewritten/"].iter().any(|own| name.starts_with(own));
        if shared { self.common_dir.join(name) } else { self.git_dir.join(name) }
    }

    /// The value of a reference such as `HEAD` or `refs/heads/main`. `None` if it doesn't exist.
    pub(crate) fn read(&self, name: &str) -> GitResult<Option<RefTarget>> {
        if !is_safe(name) {
            return Ok(None);
        }
        let path = self.path(name);
        if !path.is_file() {
            return Ok(self.packed.get(name).copied().map(RefTarget::Id));
        }
        let Some(text) = files::read(&path)? else { return Ok(None) };
        let text = text.trim();
        if let Some(target) = text.strip_prefix(b"ref:") {
            let target = target.trim().to_str().map_err(GitError::new)?;
            return Ok(Some(RefTarget::Symbolic(target.to_owned())));
        }
        let id = text.get(..40).and_then(ObjectId::parse);
        Ok(id.filter(|_| text.get(40).is_none_or(u8::is_ascii_whitespace)).map(RefTarget::Id))
    }

    /// The id that a reference points to, through symbolic references. `None` if it doesn't exist.
    pub(crate) fn resolve(&self, name: &str) -> GitResult<Option<ObjectId>> {
        Ok(self.follow(name)?.map(|(_, id)| id))
    }

    /// The last of the symbolic references that start at this one, and its id. `None` if one doesn't exist.
    pub(crate) fn follow(&self, name: &str) -> GitResult<Option<(String, ObjectId)>> {
        let mut name = name.to_owned();
        for _ in 0..MAX_SYMBOLIC_DEPTH {
            match self.read(&name)? {
                Some(RefTarget::Id(id)) => return Ok(Some((name, id))),
                Some(RefTarget::Symbolic(target)) => name = target,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The branch that `HEAD` names, such as `refs/heads/main`. `None` if `HEAD` is detached.
    pub(crate) fn head_branch(&self) -> GitResult<Option<String>> {
        match self.read("HEAD")? {
            Some(RefTarget::Symbolic(name)) => Ok(Some(name)),
            Some(RefTarget::Id(_)) => Ok(None),
            None => Err(GitError::new("the repository has no valid HEAD")),
        }
    }

    /// The names of all references below a prefix such as `refs/heads/`, sorted.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        let packed = self.packed.keys().filter(|name| name.starts_with(prefix)).cloned();
        let mut names: Vec<String> = packed.collect();
        collect(&self.common_dir.join(prefix.trim_end_matches('/')), prefix, &mut names);
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Changes a reference and its log. As in Git, both stay as they are if the reference already has this id.
    pub(crate) fn write(&self, name: &str, target: &RefTarget, log: &LogEntry) -> GitResult<()> {
        if matches!(target, RefTarget::Id(_)) && self.read(name)?.as_ref() == Some(target) {
            return Ok(());
        }
        let old = self.resolve(name)?;
        let (text, new) = match target {
            RefTarget::Id(id) => (format!("{id}\n"), Some(*id)),
            RefTarget::Symbolic(target) => (format!("ref: {target}\n"), self.resolve(target)?),
        };
        let path = self.path(name);
        // An empty directory can be left over from a deleted branch.
        let _ = fs::remove_dir(&path);
        LockedFile::lock(&path)?.replace(text.as_bytes())?;
        self.append_log(name, old, new, log)
    }

    /// Adds a line to the log of a reference.
    pub(crate) fn append_log(
        &self,
        name: &str,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        log: &LogEntry,
    ) -> GitResult<()> {
        let path = match name {
            "HEAD" => self.git_dir.join("logs/HEAD"),
            name => self.common_dir.join("logs").join(name),
        };
        let line = format!(
            "{} {} {}\t{}\n",
            old.unwrap_or_default(),
            new.unwrap_or_default(),
            log.committer.line(),
            log.message.lines().next().unwrap_or_default().as_bstr()
        );
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(GitError::file("create", parent))?;
        }
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(GitError::file("write", &path))
    }

    /// The lines of a reference's log, oldest first.
    pub(crate) fn log(&self, name: &str) -> GitResult<Vec<BString>> {
        let path = match name {
            "HEAD" => self.git_dir.join("logs/HEAD"),
            name => self.common_dir.join("logs").join(name),
        };
        let text = files::read(&path)?.unwrap_or_default();
        Ok(text.lines().map(BString::from).collect())
    }
}

/// A new line in the log of a reference.
#[derive(Debug)]
pub(crate) struct LogEntry {
    pub(crate) committer: Signature,
    pub(crate) message: BString,
}

/// The references that a short name can mean, in Git's order.
pub(crate) fn candidates(name: &str) -> [String; 6] {
    let [exact, refs, tags, heads, remotes] =
        ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"].map(|base| format!("{base}{name}"));
    let remote_head = format!("{remotes}/HEAD");
    [exact, refs, tags, heads, remotes, remote_head]
}

/// Collects the names of files below a directory.
fn collect(directory: &Path, prefix: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else { continue };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), &format!("{name}/"), names),
            Ok(_) if !name.ends_with(".lock") => names.push(name),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Returns `true` if a name stays below the repository's directory.
fn is_safe(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('/')
        && !name.contains(['\0', '\\'])
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Checks the name of a new reference (git-check-ref-format).
pub(crate) fn check_name(name: &str) -> GitResult<()> {
    let invalid = |reason: &str| Err(GitError::new(format_args!("Invalid reference '{name}': {reason}")));
    if name.contains([' ', '~', '^', ':', '?', '*', '[', '\\']) {
        return invalid(
            "references cannot contain spaces, tildes (~), carets (^), colons (:), question marks (?), asterisks (*), open \
             brackets ([) or backslashes (\\)",
        );
    }
    if name.starts_with('.') || name.contains("/.") {
        return invalid("references cannot start with a period (.) or contain '/.'");
    }
    for sequence in ["..", "//", "@{"] {
        if name.contains(sequence) {
            return invalid(&format!("references cannot contain '{sequence}'"));
        }
    }
    if name.contains(|c: char| c.is_ascii_control()) {
        return invalid("references cannot contain ASCII control characters");
    }
    if name.ends_with('.') {
        return invalid("references cannot end with a period (.)");
    }
    if name.ends_with('/') {
        return invalid("references cannot end with a forward slash (/)");
    }
    if name.split('/').any(|part| part.ends_with(".lock")) {
        return invalid("references cannot have slash-separated components that end with '.lock'");
    }
    Ok(())
}
