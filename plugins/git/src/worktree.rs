//! The working tree: files that differ from the index, and untracked files.

use std::fs;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice as _};
use gix_glob::pattern::Case;
use gix_ignore::Search;
use gix_ignore::search::Ignore;

use crate::attributes::Attributes;
use crate::fault::{GitError, GitResult};
use crate::files;
use crate::index::{Index, IndexEntry};
use crate::object::{Kind, Mode, ObjectId};
use crate::repository::{self, Repository};

/// The state of a file compared with its entry in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    Unchanged,
    Deleted,
    Changed { mode: Mode, id: ObjectId },
}

/// A view of the working tree.
#[derive(Debug)]
pub(crate) struct Worktree<'r> {
    repository: &'r Repository,
    index: &'r Index,
    pub(crate) attributes: Attributes,
    root: &'r Path,
}

impl<'r> Worktree<'r> {
    pub(crate) fn open(repository: &'r Repository, index: &'r Index) -> GitResult<Self> {
        let attributes = Attributes::read(repository, index)?;
        Ok(Self { repository, index, attributes, root: repository.worktree()? })
    }

    /// Compares a file with its entry in the index.
    pub(crate) fn state(&self, entry: &IndexEntry) -> GitResult<FileState> {
        if entry.skip_worktree || entry.assume_valid {
            return Ok(FileState::Unchanged);
        }
        let path = files::join(self.root, entry.path.as_bstr())?;
        let Some(found) = self.metadata(entry.path.as_bstr(), &path)? else { return Ok(FileState::Deleted) };
        if found.is_dir() {
            if !entry.mode.is_submodule() {
                return Ok(FileState::Deleted);
            }
            return Ok(match checked_out(&path)? {
                Some(id) if id != entry.id => FileState::Changed { mode: Mode::SUBMODULE, id },
                _ => FileState::Unchanged,
            });
        }
        let mode = mode(&found, Some(entry.mode));
        if !entry.intent_to_add
            && mode == entry.mode
            && entry.facts.fits(&found)
            && !self.index.is_racy(entry)
        {
            return Ok(FileState::Unchanged);
        }
        let content = self.content(entry.path.as_bstr(), mode)?;
        let id = ObjectId::of(Kind::Blob, &content);
        if id == entry.id && mode == entry.mode && !entry.intent_to_add {
            return Ok(FileState::Unchanged);
        }
        Ok(FileState::Changed { mode, id })
    }

    /// The metadata of a file. `None` if it doesn't exist, or a directory on the way to it is a link.
    fn metadata(&self, path: &BStr, file: &Path) -> GitResult<Option<fs::Metadata>> {
        let found = files::metadata(file)?;
        if found.is_some() && self.is_below_link(path)? { Ok(None) } else { Ok(found) }
    }

    /// Returns `true` if a directory on the way to a path is a link, which Git doesn't follow.
    pub(crate) fn is_below_link(&self, path: &BStr) -> GitResult<bool> {
        for at in path.find_iter("/") {
            let parent = files::join(self.root, path[..at].as_bstr())?;
            if files::metadata(&parent)?.is_some_and(|found| found.is_symlink()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns `true` if a path is a directory that isn't a link. The empty path is the root.
    pub(crate) fn is_directory(&self, path: &BStr) -> GitResult<bool> {
        let found = files::metadata(&files::join(self.root, path)?)?;
        Ok(found.is_some_and(|found| found.is_dir()))
    }

    /// The untracked file or directory in the place of a path that isn't in the index. Ignored files don't count, because
    /// Git overwrites them.
    pub(crate) fn untracked_at(&self, path: &BStr) -> GitResult<Option<BString>> {
        for at in path.find_iter("/") {
            let parent = path[..at].as_bstr();
            let found = files::metadata(&files::join(self.root, parent)?)?;
            if found.is_some_and(|found| !found.is_dir())
                && self.index.get(parent, 0).is_none()
                && !self.is_ignored(parent, false)?
            {
                return Ok(Some(parent.into()));
            }
        }
        let found = files::metadata(&files::join(self.root, path)?)?;
        let in_the_way = match found {
            Some(found) if found.is_dir() => !self.untracked_files(path)?.is_empty(),
            Some(_) => !self.is_below_link(path)? && !self.is_ignored(path, false)?,
            None => false,
        };
        Ok(in_the_way.then(|| path.into()))
    }

    /// The content of a file or link in the form in which the repository stores it.
    pub(crate) fn content(&self, path: &BStr, mode: Mode) -> GitResult<Vec<u8>> {
        let file = files::join(self.root, path)?;
        if mode.is_link() {
            return files::link_target(&file);
        }
        if mode.is_submodule() {
            let id = checked_out(&file)?.unwrap_or_default();
            return Ok(format!("Subproject commit {id}\n").into_bytes());
        }
        let content = fs::read(&file).map_err(GitError::file("read", &file))?;
        let indexed = || self.repository.odb.blob(self.index.get(path, 0)?.id).ok();
        Ok(self.attributes.to_repository(path, content, indexed))
    }

    /// The entry for a file, link or submodule in the working tree, whose content is stored.
    pub(crate) fn stored_entry(&self, path: &BStr, found: &fs::Metadata) -> GitResult<IndexEntry> {
        let file = files::join(self.root, path)?;
        let old = self.index.get(path, 0).or_else(|| self.index.stages(path).first());
        if found.is_dir() {
            let id = checked_out(&file)?
                .ok_or_else(|| GitError::new(format_args!("'{path}/' does not have a commit checked out")))?;
            return Ok(IndexEntry::new(path.into(), Mode::SUBMODULE, id));
        }
        if let Some(filter) = self.attributes.filter(path) {
            return Err(GitError::new(format_args!(
                "`{path}` has the filter `{filter}`, which is a program; a sandboxed plugin can't start it, so stage this \
                 file with Git itself"
            )));
        }
        let mode = mode(found, old.map(|old| old.mode));
        let id = self.repository.odb.write(Kind::Blob, &self.content(path, mode)?)?;
        let mut entry = IndexEntry::new(path.into(), mode, id);
        entry.record(found);
        Ok(entry)
    }

    /// The untracked files that aren't ignored. Directories without tracked files are one entry that ends with `/`.
    pub(crate) fn untracked(&self) -> GitResult<Vec<BString>> {
        let mut found = Vec::new();
        let mut walk = UntrackedWalk { tree: self, ignored: self.ignore_rules()?, depth: 0 };
        walk.directory(BStr::new(""), Collapse::Directories, &mut found)?;
        found.sort_unstable();
        Ok(found)
    }

    /// All untracked files below a directory that aren't ignored; the empty path is the root.
    pub(crate) fn untracked_files(&self, directory: &BStr) -> GitResult<Vec<BString>> {
        let mut found = Vec::new();
        let mut walk = UntrackedWalk { tree: self, ignored: self.ignore_rules()?, depth: 0 };
        if !directory.is_empty() {
            walk.push(BStr::new(""))?;
            for at in directory.find_iter("/").chain([directory.len()]) {
                let parent = directory[..at].as_bstr();
                if walk.is_ignored(parent, true) {
                    return Ok(found);
                }
                if at < directory.len() {
                    walk.push(parent)?;
                }
            }
        }
        walk.directory(directory, Collapse::Nothing, &mut found)?;
        found.sort_unstable();
        Ok(found)
    }

    /// Returns `true` if an untracked path, or a directory on the way to it, is ignored.
    pub(crate) fn is_ignored(&self, path: &BStr, is_directory: bool) -> GitResult<bool> {
        let mut walk = UntrackedWalk { tree: self, ignored: self.ignore_rules()?, depth: 0 };
        walk.push(BStr::new(""))?;
        for at in path.find_iter("/") {
            let parent = path[..at].as_bstr();
            if walk.is_ignored(parent, true) {
                return Ok(true);
            }
            walk.push(parent)?;
        }
        Ok(walk.is_ignored(path, is_directory))
    }

    /// The rules of `info/exclude`. Those of the user's own file are outside the sandbox.
    fn ignore_rules(&self) -> GitResult<Search> {
        let mut rules = Search::default();
        if let Some(text) = files::read(&self.repository.common_dir.join("info/exclude"))? {
            let added = rules.add_patterns_buffer(&text, "info/exclude", None, Ignore::default());
            added.map_err(GitError::new)?;
        }
        Ok(rules)
    }
}

/// Which untracked entries become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collapse {
    /// The files of a directory without tracked files.
    Directories,
    Nothing,
}

/// A walk through directories with the rules that apply in each.
struct UntrackedWalk<'a, 'r> {
    tree: &'a Worktree<'r>,
    ignored: Search,
    depth: usize,
}

/// The maximum depth of directories.
const MAX_DEPTH: usize = 128;

impl UntrackedWalk<'_, '_> {
    /// Adds the rules of a directory's `.gitignore`.
    fn push(&mut self, directory: &BStr) -> GitResult<()> {
        let path = if directory.is_empty() { ".gitignore".into() } else { format!("{directory}/.gitignore") };
        if let Ok(text) = fs::read(self.tree.root.join(&path)) {
            let root = Some(Path::new(""));
            let added = self.ignored.add_patterns_buffer(&text, &path, root, Ignore::default());
            added.map_err(GitError::new)?;
        }
        Ok(())
    }

    fn is_ignored(&self, path: &BStr, is_directory: bool) -> bool {
        let matched = self.ignored.pattern_matching_relative_path(path, Some(is_directory), Case::Sensitive);
        matched.is_some_and(|matched| !matched.pattern.is_negative())
    }

    /// Collects the untracked entries of a directory. Returns whether there are any.
    fn directory(
        &mut self,
        directory: &BStr,
        collapse: Collapse,
        found: &mut Vec<BString>,
    ) -> GitResult<bool> {
        if self.depth > MAX_DEPTH {
            return Err(GitError::new(format_args!("`{directory}` is nested too deeply")));
        }
        let rules = self.ignored.patterns.len();
        self.push(directory)?;
        let path = files::join(self.tree.root, directory)?;
        let mut any = false;
        for entry in fs::read_dir(&path).map_err(GitError::file("list", &path))? {
            let Ok(entry) = entry else { break };
            let name = entry.file_name().into_encoded_bytes();
            if name.eq_ignore_ascii_case(b".git") {
                continue;
            }
            let parts: &[&[u8]] = if directory.is_empty() { &[&name] } else { &[directory, b"/", &name] };
            let path = BString::from(parts.concat());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !self.tree.index.stages(path.as_bstr()).is_empty()
                || self.is_ignored(path.as_bstr(), is_directory)
            {
                continue;
            }
            if is_directory {
                any |= self.subdirectory(path, &entry.path(), collapse, found)?;
            } else if entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink()) {
                any = true;
                found.push(path);
            }
        }
        self.ignored.patterns.truncate(rules);
        Ok(any)
    }

    fn subdirectory(
        &mut self,
        mut path: BString,
        full: &Path,
        collapse: Collapse,
        found: &mut Vec<BString>,
    ) -> GitResult<bool> {
        if checked_out(full)?.is_some() {
            path.push(b'/');
            found.push(path);
            return Ok(true);
        }
        let is_tracked = self.tree.index.has_below(path.as_bstr());
        let before = found.len();
        self.depth += 1;
        let any = self.directory(path.as_bstr(), collapse, found)?;
        self.depth -= 1;
        if any && !is_tracked && collapse == Collapse::Directories {
            found.truncate(before);
            path.push(b'/');
            found.push(path);
        }
        Ok(any)
    }
}

/// The mode of a file. The sandbox doesn't have permissions, so a file keeps those that the index has.
pub(crate) fn mode(found: &fs::Metadata, old: Option<Mode>) -> Mode {
    if found.is_symlink() {
        return Mode::LINK;
    }
    old.filter(|old| old.is_file()).unwrap_or(Mode::FILE)
}

/// The commit that is checked out in the directory of a submodule. `None` if there is none.
pub(crate) fn checked_out(directory: &Path) -> GitResult<Option<ObjectId>> {
    let Ok(Some(git_dir)) = repository::linked(&directory.join(".git")) else { return Ok(None) };
    crate::refs::References::open(&git_dir, &git_dir)?.resolve("HEAD")
}
