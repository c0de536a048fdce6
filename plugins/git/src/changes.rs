//! Changes between commits, the index and the working tree.

use std::collections::BTreeMap;
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice as _};

use crate::fault::GitResult;
use crate::index::Index;
use crate::object::{Mode, ObjectId, TreeEntry};
use crate::repository::Repository;
use crate::worktree::{FileState, Worktree};

/// One side of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileVersion {
    pub(crate) mode: Mode,
    pub(crate) id: ObjectId,
    pub(crate) place: Place,
}

/// Where content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Repository,
    Worktree,
}

/// A changed path. Both sides are missing for a path with a conflict.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) path: BString,
    /// The old path and the similarity in percent of a renamed file.
    pub(crate) renamed: Option<(BString, u32)>,
    pub(crate) old: Option<FileVersion>,
    pub(crate) new: Option<FileVersion>,
}

impl Change {
    fn new(path: &BStr, old: Option<FileVersion>, new: Option<FileVersion>) -> Self {
        Self { path: path.into(), renamed: None, old, new }
    }

    /// The path of the old side.
    pub(crate) fn old_path(&self) -> &BStr {
        self.renamed.as_ref().map_or(self.path.as_bstr(), |(path, _)| path.as_bstr())
    }
}

/// Files by path, without directories.
pub(crate) type Files = BTreeMap<BString, (Mode, ObjectId)>;

/// All files of a tree.
pub(crate) fn files(repository: &Repository, tree: ObjectId) -> GitResult<Files> {
    let mut found = Files::new();
    collect(repository, tree, b"", &mut found)?;
    Ok(found)
}

fn collect(repository: &Repository, tree: ObjectId, prefix: &[u8], found: &mut Files) -> GitResult<()> {
    for entry in repository.odb.tree(tree)?.iter() {
        let path = [prefix, entry.name.as_slice()].concat();
        if entry.mode.is_tree() {
            collect(repository, entry.id, &[&path, &b"/"[..]].concat(), found)?;
        } else {
            found.insert(path.into(), (entry.mode, entry.id));
        }
    }
    Ok(())
}

fn stored((mode, id): (Mode, ObjectId)) -> FileVersion {
    FileVersion { mode, id, place: Place::Repository }
}

/// The changes from one tree to another, sorted by path. `None` is the empty tree.
pub(crate) fn between_trees(
    repository: &Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
) -> GitResult<Vec<Change>> {
    let mut sides = [Files::new(), Files::new()];
    differing(repository, old, new, b"", &mut sides)?;
    let [old, new] = sides;
    let mut paths: Vec<&BString> = old.keys().chain(new.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    let side = |files: &Files, path: &BString| files.get(path).copied().map(stored);
    Ok(paths
        .into_iter()
        .map(|path| Change::new(path.as_bstr(), side(&old, path), side(&new, path)))
        .collect())
}

/// Collects the files that differ on both sides, without reading equal subtrees.
fn differing(
    repository: &Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    prefix: &[u8],
    sides: &mut [Files; 2],
) -> GitResult<()> {
    let read = |id: Option<ObjectId>| id.map_or_else(|| Ok(Rc::default()), |id| repository.odb.tree(id));
    let trees: [Rc<Vec<TreeEntry>>; 2] = [read(old)?, read(new)?];
    for (side, other) in [(0, 1), (1, 0)] {
        for entry in trees[side].iter() {
            let twin = trees[other].iter().find(|twin| twin.name == entry.name);
            if twin.is_some_and(|twin| twin.id == entry.id && twin.mode == entry.mode) {
                continue;
            }
            let path = [prefix, entry.name.as_slice()].concat();
            if !entry.mode.is_tree() {
                sides[side].insert(path.into(), (entry.mode, entry.id));
                continue;
            }
            let twin = twin.filter(|twin| twin.mode.is_tree()).map(|twin| twin.id);
            let below = [&path, &b"/"[..]].concat();
            if side == 0 {
                differing(repository, Some(entry.id), twin, &below, sides)?;
            } else if twin.is_none() {
                differing(repository, None, Some(entry.id), &below, sides)?;
            }
        }
    }
    Ok(())
}

/// The changes from a commit's files to the index.
pub(crate) fn staged(head: &Files, index: &Index) -> Vec<Change> {
    let mut changes = Vec::new();
    for (path, version) in head {
        if index.stages(path.as_bstr()).iter().all(|entry| entry.intent_to_add) {
            changes.push(Change::new(path.as_bstr(), Some(stored(*version)), None));
        }
    }
    let mut previous: Option<&BString> = None;
    for entry in index.entries().iter().filter(|entry| !entry.intent_to_add) {
        if entry.stage > 0 {
            if previous != Some(&entry.path) {
                changes.push(Change::new(entry.path.as_bstr(), None, None));
            }
            previous = Some(&entry.path);
            continue;
        }
        let new = (entry.mode, entry.id);
        let old = head.get(&entry.path).copied();
        if old != Some(new) {
            changes.push(Change::new(entry.path.as_bstr(), old.map(stored), Some(stored(new))));
        }
    }
    changes.sort_by(|left, right| left.path.cmp(&right.path));
    changes
}

/// The changes from the index to the working tree.
pub(crate) fn unstaged(worktree: &Worktree<'_>, index: &Index) -> GitResult<Vec<Change>> {
    let mut changes: Vec<Change> = Vec::new();
    for entry in index.entries() {
        let path = entry.path.as_bstr();
        if entry.stage > 0 {
            if changes.last().is_none_or(|last| last.path != path) {
                changes.push(Change::new(path, None, None));
            }
            continue;
        }
        let old = stored((entry.mode, entry.id));
        match worktree.state(entry)? {
            FileState::Unchanged => {}
            FileState::Deleted => changes.push(Change::new(path, Some(old), None)),
            FileState::Changed { mode, id } => {
                let old = Some(old).filter(|_| !entry.intent_to_add);
                let new = FileVersion { mode, id, place: Place::Worktree };
                changes.push(Change::new(path, old, Some(new)));
            }
        }
    }
    Ok(changes)
}

/// The changes from a commit's files to the files in the working tree that the index has.
pub(crate) fn to_worktree(old: &Files, worktree: &Worktree<'_>, index: &Index) -> GitResult<Vec<Change>> {
    let mut changes: Vec<Change> = Vec::new();
    for (path, version) in old {
        if index.stages(path.as_bstr()).is_empty() {
            changes.push(Change::new(path.as_bstr(), Some(stored(*version)), None));
        }
    }
    for entry in index.entries() {
        let path = entry.path.as_bstr();
        if entry.stage > 0 {
            if changes.last().is_none_or(|last| last.path != path) {
                changes.push(Change::new(path, None, None));
            }
            continue;
        }
        let new = match worktree.state(entry)? {
            FileState::Unchanged => Some(stored((entry.mode, entry.id))),
            FileState::Deleted => None,
            FileState::Changed { mode, id } => Some(FileVersion { mode, id, place: Place::Worktree }),
        };
        let old = old.get(&entry.path).copied().map(stored);
        let is_same = match (old, new) {
            (Some(old), Some(new)) => (old.mode, old.id) == (new.mode, new.id),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            changes.push(Change::new(path, old, new));
        }
    }
    changes.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(changes)
}
