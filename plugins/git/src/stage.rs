//! Staging files, unstaging all of them, and commits.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use bstr::{BStr, BString, ByteSlice as _};
use gix_glob::wildmatch;

use crate::changes::{self, Files};
use crate::fault::{GitError, GitResult};
use crate::files;
use crate::index::{Index, IndexEntry};
use crate::object::{Commit, Kind, Mode, ObjectId};
use crate::refs::{LogEntry, RefTarget};
use crate::repository::{self, Repository, Role};
use crate::worktree::{FileState, Worktree};

/// Stages files. Returns whether the index changed.
pub(crate) fn add(repository: &Repository, paths: &[String]) -> GitResult<bool> {
    let root = repository.worktree()?;
    let mut specs = Vec::new();
    for path in paths {
        specs.push((path.as_str(), below(root, path)?));
    }
    let old = repository.index()?;
    let lock = old.lock()?;
    let worktree = Worktree::open(repository, &old)?;
    let mut index = repository.index()?;
    let mut ignored = Vec::new();
    for (asked, path) in &specs {
        let mut matches = tracked(&old, path);
        matches.extend(untracked(&worktree, path)?);
        if matches.is_empty() && !path.is_empty() {
            let found = files::metadata(&files::join(root, path.as_bstr())?)?;
            match found {
                Some(found) if worktree.is_ignored(path.as_bstr(), found.is_dir())? => ignored.push(*asked),
                Some(found) if found.is_dir() => {}
                Some(_) | None => {
                    return Err(GitError::new(format_args!("pathspec '{asked}' did not match any files")));
                }
            }
        }
        for path in matches {
            let path = path.strip_suffix(b"/").unwrap_or(&path).as_bstr();
            if worktree.is_below_link(path)? {
                index.remove(path);
                continue;
            }
            let is_same = old.get(path, 0).map(|entry| worktree.state(entry)).transpose()?;
            if is_same == Some(FileState::Unchanged) {
                continue;
            }
            let found = files::metadata(&files::join(root, path)?)?;
            let is_submodule = old.get(path, 0).is_none_or(|entry| entry.mode.is_submodule());
            match found.filter(|found| !found.is_dir() || is_submodule) {
                Some(found) => index.insert(worktree.stored_entry(path, &found)?),
                None => {
                    index.remove(path);
                }
            }
        }
    }
    let changed = facts(&old) != facts(&index);
    if changed {
        index.write(lock)?;
    }
    if ignored.is_empty() {
        return Ok(changed);
    }
    Err(GitError::new(format_args!(
        "The following paths are ignored by one of your .gitignore files:\n{}",
        ignored.join("\n")
    )))
}

fn facts(index: &Index) -> Vec<(&BStr, u8, Mode, ObjectId, bool)> {
    let entries = index.entries().iter();
    entries
        .map(|entry| (entry.path.as_bstr(), entry.stage, entry.mode, entry.id, entry.intent_to_add))
        .collect()
}

/// The path of an argument below the working tree. Empty for the tree itself.
fn below(root: &Path, asked: &str) -> GitResult<BString> {
    if asked.is_empty() {
        return Err(GitError::new("empty string is not a valid pathspec; use '.' for all files"));
    }
    if asked.starts_with(':') {
        return Err(GitError::new(format_args!("pathspec magic isn't supported: {asked}")));
    }
    let outside =
        || GitError::new(format_args!("Path '{asked}' is outside the repository '{}'", root.display()));
    let mut parts = Vec::new();
    for part in root.join(asked).components() {
        match part {
            Component::ParentDir => drop(parts.pop().ok_or_else(outside)?),
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    let path = format!("/{}", parts.join("/"));
    let below = Path::new(&path).strip_prefix(root).map_err(|_| outside())?;
    let below = below.to_string_lossy().into_owned();
    if below.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(GitError::new(format_args!("'{asked}' is in the repository's own directory")));
    }
    Ok(below.into())
}

/// Returns `true` if a path is the one of an argument, is below it, or matches it as a pattern.
fn fits(path: &BStr, spec: &BString) -> bool {
    spec.is_empty()
        || path.strip_prefix(spec.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        || (is_pattern(spec) && wildmatch(spec.as_bstr(), path, wildmatch::Mode::empty()))
}

fn is_pattern(spec: &BString) -> bool {
    spec.find_byteset(b"*?[\\").is_some()
}

fn tracked(index: &Index, spec: &BString) -> Vec<BString> {
    let mut paths: Vec<BString> = index
        .entries()
        .iter()
        .filter(|entry| fits(entry.path.as_bstr(), spec))
        .map(|entry| entry.path.clone())
        .collect();
    paths.dedup();
    paths
}

fn untracked(worktree: &Worktree<'_>, spec: &BString) -> GitResult<Vec<BString>> {
    // A directory is walked alone; otherwise, its parent or for a pattern the whole tree.
    let start = if is_pattern(spec) {
        BStr::new("")
    } else if worktree.is_directory(spec.as_bstr())? {
        spec.as_bstr()
    } else {
        spec.rfind_byte(b'/').map_or(BStr::new(""), |at| spec[..at].as_bstr())
    };
    if !worktree.is_directory(start)? || worktree.is_below_link(spec.as_bstr())? {
        return Ok(Vec::new());
    }
    let mut found = worktree.untracked_files(start)?;
    found.retain(|path| fits(path.strip_suffix(b"/").unwrap_or(path).as_bstr(), spec));
    Ok(found)
}

/// Makes the index equal to the current commit.
pub(crate) fn reset(repository: &Repository) -> GitResult<()> {
    let head = repository.head()?.ok_or_else(|| GitError::new("Not a valid object name HEAD"))?;
    let mut index = repository.index()?;
    let lock = index.lock()?;
    let files = changes::files(repository, repository.commit(head)?.tree)?;
    let entries = files.into_iter().map(|(path, (mode, id))| {
        let old = index.get(path.as_bstr(), 0).filter(|old| (old.mode, old.id) == (mode, id));
        old.cloned().unwrap_or_else(|| IndexEntry::new(path, mode, id))
    });
    let entries = entries.collect();
    index.set(entries);
    index.write(lock)
}

/// Commits the index and returns the new commit's id.
pub(crate) fn commit(repository: &Repository, message: &str) -> GitResult<ObjectId> {
    let index = repository.index()?;
    let lock = index.lock()?;
    let head = repository.head()?;
    let old_tree = head.map(|id| repository.commit(id)).transpose()?.map(|commit| commit.tree);
    let files = old_tree.map_or_else(|| Ok(Files::new()), |tree| changes::files(repository, tree))?;
    let is_merge = repository.has("MERGE_HEAD");
    if changes::staged(&files, &index).is_empty() && !is_merge {
        return Err(GitError::new(
            "No changes staged for commit. Use git_add to stage changes first; git_status shows what is currently staged.",
        ));
    }
    if let Some(conflict) = index.entries().iter().find(|entry| entry.stage > 0) {
        return Err(GitError::new(format_args!(
            "`{}` has a conflict: resolve it, then stage the file with git_add",
            conflict.path
        )));
    }
    if repository.has("MERGE_AUTOSTASH") {
        return Err(GitError::new("this merge stashed changes, which only Git can apply: run `git commit`"));
    }
    let mut parents: Vec<ObjectId> = head.into_iter().collect();
    if is_merge {
        let text = files::read(&repository.git_dir.join("MERGE_HEAD"))?.unwrap_or_default();
        parents.extend(text.lines().filter_map(|line| ObjectId::parse(line.trim())));
    }
    let commit = Commit {
        tree: write_tree(repository, &index)?,
        parents,
        author: repository.signature(Role::Author)?,
        committer: repository.signature(Role::Committer)?,
        message: message.into(),
    };
    let mut text = format!("tree {}\n", commit.tree);
    for parent in &commit.parents {
        text.push_str(&format!("parent {parent}\n"));
    }
    text.push_str(&format!(
        "author {}\ncommitter {}\n\n{message}",
        commit.author.line(),
        commit.committer.line()
    ));
    let id = repository.odb.write(Kind::Commit, text.as_bytes())?;
    let kind = match commit.parents.len() {
        0 => "commit (initial)",
        1 => "commit",
        _ => "commit (merge)",
    };
    let first = message.lines().next().unwrap_or_default();
    let log = LogEntry { committer: commit.committer, message: format!("{kind}: {first}").into() };
    match repository.refs.head_branch()? {
        Some(branch) => {
            repository.refs.write(&branch, &RefTarget::Id(id), &log)?;
            repository.refs.append_log("HEAD", head, Some(id), &log)?;
        }
        None => repository.refs.write("HEAD", &RefTarget::Id(id), &log)?,
    }
    if is_merge {
        for name in ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE"] {
            repository::remove_state(repository, name);
        }
    }
    drop(lock);
    Ok(id)
}

/// A directory of the new tree.
#[derive(Default)]
struct TreeDraft {
    entries: BTreeMap<Vec<u8>, (Mode, ObjectId)>,
    directories: BTreeMap<Vec<u8>, TreeDraft>,
}

/// Stores the index as trees and returns the id of the root.
fn write_tree(repository: &Repository, index: &Index) -> GitResult<ObjectId> {
    let mut root = TreeDraft::default();
    for entry in index.entries().iter().filter(|entry| !entry.intent_to_add) {
        if !repository.odb.contains(entry.id)? && !entry.mode.is_submodule() {
            return Err(GitError::new(format_args!(
                "the content of `{}` is missing: stage it again",
                entry.path
            )));
        }
        let mut directory = &mut root;
        let mut parts = entry.path.split_str("/").peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                directory.entries.insert(part.to_vec(), (entry.mode, entry.id));
            } else {
                directory = directory.directories.entry(part.to_vec()).or_default();
            }
        }
    }
    root.write(repository)
}

impl TreeDraft {
    fn write(self, repository: &Repository) -> GitResult<ObjectId> {
        // Trees are sorted as if the names of directories ended with `/`.
        let mut sorted: BTreeMap<Vec<u8>, (Mode, ObjectId)> = self.entries;
        for (mut name, directory) in self.directories {
            name.push(b'/');
            sorted.insert(name, (Mode::TREE, directory.write(repository)?));
        }
        let mut data = Vec::new();
        for (name, (mode, id)) in sorted {
            data.extend(format!("{:o} ", mode.0).bytes());
            data.extend_from_slice(name.strip_suffix(b"/").unwrap_or(&name));
            data.push(0);
            data.extend(id.0);
        }
        repository.odb.write(Kind::Tree, &data)
    }
}
