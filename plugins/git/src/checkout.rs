//! Switching to another branch or commit. Changes that don't concern a file that differs are kept, as in Git.

use std::fs;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice as _};

use crate::attributes::Attributes;
use crate::branch;
use crate::changes::{self, Change, FileVersion};
use crate::fault::{GitError, GitResult};
use crate::files;
use crate::index::{Index, IndexEntry};
use crate::object::{Mode, ObjectId};
use crate::refs::{LogEntry, RefTarget};
use crate::repository::Repository;
use crate::revision;
use crate::worktree::{FileState, Worktree};

/// Files in the way of a checkout.
#[derive(Debug, Default)]
struct Obstacles {
    changed: Vec<BString>,
    untracked: Vec<BString>,
}

/// Switches to a branch or another revision. Returns the paths that should be executable and aren't, because the sandbox
/// can't make them so.
pub(crate) fn switch(repository: &Repository, name: &str) -> GitResult<Vec<BString>> {
    let target = revision::commit(repository, name)?;
    let full = format!("refs/heads/{name}");
    let branch = repository.refs.read(&full)?.map(|_| full);
    if let Some(branch) = &branch
        && branch::is_in_other_worktree(repository, branch)?
    {
        return Err(GitError::new(format_args!("'{name}' is already checked out in another worktree")));
    }
    for state in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"] {
        if repository.has(state) {
            return Err(GitError::new(format_args!(
                "an operation is in progress ({state}); conclude or abort it first"
            )));
        }
    }
    let head = repository.head()?;
    let old_tree = head.map(|id| repository.commit(id)).transpose()?.map(|commit| commit.tree);
    let new_tree = repository.commit(target)?.tree;
    let changes = changes::between_trees(repository, old_tree, Some(new_tree))?;

    let old = repository.index()?;
    let lock = old.lock()?;
    let worktree = Worktree::open(repository, &old)?;
    if old.entries().iter().any(|entry| entry.stage > 0) {
        return Err(GitError::new("you need to resolve your current index first"));
    }
    let mut obstacles = Obstacles::default();
    let mut due = Vec::new();
    for change in changes {
        if is_due(&old, &worktree, &change, &mut obstacles)? {
            due.push(change);
        }
    }
    obstacles.check()?;
    let mut index = repository.index()?;
    let not_executable = apply(repository, &mut index, &worktree, &due)?;
    index.write(lock)?;
    move_head(repository, name, branch, target)?;
    Ok(not_executable)
}

impl Obstacles {
    fn check(&self) -> GitResult<()> {
        let list = |paths: &[BString]| paths.iter().map(|path| format!("\t{path}\n")).collect::<String>();
        if !self.changed.is_empty() {
            return Err(GitError::new(format_args!(
                "Your local changes to the following files would be overwritten by checkout:\n{}Please commit your changes \
                 or stash them before you switch branches.",
                list(&self.changed)
            )));
        }
        if !self.untracked.is_empty() {
            return Err(GitError::new(format_args!(
                "The following untracked working tree files would be overwritten by checkout:\n{}Please move or remove \
                 them before you switch branches.",
                list(&self.untracked)
            )));
        }
        Ok(())
    }
}

/// Returns `true` if a change has to be made, and collects what is in its way.
fn is_due(
    index: &Index,
    worktree: &Worktree<'_>,
    change: &Change,
    obstacles: &mut Obstacles,
) -> GitResult<bool> {
    let path = change.path.as_bstr();
    let entry = index.get(path, 0);
    let facts = |version: Option<FileVersion>| version.map(|version| (version.mode, version.id));
    let indexed = entry.map(|entry| (entry.mode, entry.id));
    if indexed == facts(change.new) {
        return Ok(false);
    }
    if indexed != facts(change.old) {
        obstacles.changed.push(change.path.clone());
        return Ok(false);
    }
    if let Some(filter) = worktree.attributes.filter(path) {
        return Err(GitError::new(format_args!(
            "`{path}` has the filter `{filter}`, which is a program; a sandboxed plugin can't start it, so switch with Git \
             itself"
        )));
    }
    match entry {
        Some(entry) => {
            if matches!(worktree.state(entry)?, FileState::Changed { .. }) {
                obstacles.changed.push(change.path.clone());
            }
        }
        None => {
            if let Some(obstacle) = worktree.untracked_at(path)? {
                obstacles.untracked.push(obstacle);
            }
        }
    }
    Ok(true)
}

/// Changes the files and the index.
fn apply(
    repository: &Repository,
    index: &mut Index,
    worktree: &Worktree<'_>,
    changes: &[Change],
) -> GitResult<Vec<BString>> {
    let root = repository.worktree()?;
    for change in changes {
        let is_kept = |version: FileVersion, old: FileVersion| {
            version.mode.is_file()
                && old.mode.is_file()
                && (version.mode == old.mode || version.mode.is_executable())
        };
        let stays = matches!((change.new, change.old), (Some(new), Some(old)) if is_kept(new, old));
        let skipped = index.get(change.path.as_bstr(), 0).is_some_and(|entry| entry.skip_worktree);
        if !stays && !skipped && !worktree.is_below_link(change.path.as_bstr())? {
            remove(root, change.path.as_bstr())?;
        }
        if change.new.is_none() {
            index.remove(change.path.as_bstr());
        }
    }
    // The new attributes apply to the new files.
    let is_attributes = |change: &&Change| change.path.ends_with(b".gitattributes");
    let (first, others): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(is_attributes);
    let mut not_executable = Vec::new();
    for change in first {
        write(repository, index, &worktree.attributes, change, &mut not_executable)?;
    }
    let attributes = Attributes::read(repository, index)?;
    for change in others {
        write(repository, index, &attributes, change, &mut not_executable)?;
    }
    Ok(not_executable)
}

/// Removes a file, and the directories that are empty then.
fn remove(root: &Path, path: &BStr) -> GitResult<()> {
    let file = files::join(root, path)?;
    match files::metadata(&file)? {
        Some(found) if found.is_dir() => drop(fs::remove_dir(&file)),
        Some(_) => fs::remove_file(&file).map_err(GitError::file("remove", &file))?,
        None => {}
    }
    let mut directory = file.parent();
    while let Some(parent) = directory.filter(|parent| *parent != root) {
        if fs::remove_dir(parent).is_err() {
            break;
        }
        directory = parent.parent();
    }
    Ok(())
}

/// Writes the new version of a file.
fn write(
    repository: &Repository,
    index: &mut Index,
    attributes: &Attributes,
    change: &Change,
    not_executable: &mut Vec<BString>,
) -> GitResult<()> {
    let Some(new) = change.new else { return Ok(()) };
    let path = change.path.as_bstr();
    let mut entry = IndexEntry::new(change.path.clone(), new.mode, new.id);
    entry.skip_worktree = index.get(path, 0).is_some_and(|old| old.skip_worktree);
    if !entry.skip_worktree {
        let file = files::join(repository.worktree()?, path)?;
        write_file(repository, attributes, &file, path, new)?;
        let was_executable = change.old.is_some_and(|old| old.mode.is_executable());
        if new.mode.is_executable() && !was_executable {
            not_executable.push(change.path.clone());
        }
        if let Some(found) = files::metadata(&file)? {
            entry.record(&found);
        }
    }
    index.insert(entry);
    Ok(())
}

fn write_file(
    repository: &Repository,
    attributes: &Attributes,
    file: &Path,
    path: &BStr,
    new: FileVersion,
) -> GitResult<()> {
    let parent = if new.mode.is_submodule() { Some(file) } else { file.parent() };
    if let Some(parent) = parent {
        fs::create_dir_all(parent).map_err(GitError::file("create", parent))?;
    }
    if new.mode == Mode::SUBMODULE {
        return Ok(());
    }
    let content = repository.odb.blob(new.id)?;
    if new.mode.is_link() {
        return files::link(&content, file);
    }
    fs::write(file, attributes.to_worktree(path, &content)).map_err(GitError::file("write", file))
}

/// Makes the branch or commit the current one.
fn move_head(repository: &Repository, name: &str, branch: Option<String>, target: ObjectId) -> GitResult<()> {
    // Git stays on the branch, or where it is.
    if matches!(name, "HEAD" | "@") {
        return Ok(());
    }
    let from = match (repository.refs.head_branch()?, repository.head()?) {
        (Some(current), _) => branch::short(&current).to_owned(),
        (None, Some(id)) => id.to_string(),
        (None, None) => String::new(),
    };
    let head = branch.map_or(RefTarget::Id(target), RefTarget::Symbolic);
    let committer = repository.log_signature();
    let message = format!("checkout: moving from {from} to {name}").into();
    repository.refs.write("HEAD", &head, &LogEntry { committer, message })
}
