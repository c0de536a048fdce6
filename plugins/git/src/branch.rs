//! Branches: lists, upstreams, and new branches.

use std::collections::HashSet;
use std::fmt::Write as _;

use bstr::ByteSlice as _;

use crate::fault::{GitError, GitResult};
use crate::files;
use crate::history;
use crate::object::ObjectId;
use crate::refs::{self, LogEntry, RefTarget};
use crate::repository::Repository;
use crate::revision;

/// The kinds of branches in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchKind {
    Local,
    Remote,
    All,
}

/// The commits that a listed branch must or must not have.
#[derive(Debug, Default)]
pub(crate) struct CommitFilter {
    pub(crate) contains: Option<ObjectId>,
    pub(crate) not_contains: Option<ObjectId>,
}

impl CommitFilter {
    fn accepts(&self, repository: &Repository, tip: ObjectId) -> GitResult<bool> {
        if self.contains.is_none() && self.not_contains.is_none() {
            return Ok(true);
        }
        let commits: HashSet<ObjectId> = history::ancestors(repository, tip)?;
        Ok(self.contains.is_none_or(|id| commits.contains(&id))
            && self.not_contains.is_none_or(|id| !commits.contains(&id)))
    }
}

/// The branches, as `git branch` lists them.
pub(crate) fn list(repository: &Repository, kind: BranchKind, filter: &CommitFilter) -> GitResult<String> {
    let mut text = String::new();
    let head = repository.refs.head_branch()?;
    if kind != BranchKind::Remote {
        if let (None, Some(id)) = (&head, repository.head()?)
            && filter.accepts(repository, id)?
        {
            let _ =
                writeln!(text, "* ({})", detached(repository, id)?.unwrap_or_else(|| "no branch".to_owned()));
        }
        for name in repository.refs.names("refs/heads/") {
            let Some(id) = repository.refs.resolve(&name)? else { continue };
            if filter.accepts(repository, id)? {
                let mark = if head.as_ref() == Some(&name) { '*' } else { ' ' };
                let _ = writeln!(text, "{mark} {}", short(&name));
            }
        }
    }
    if kind != BranchKind::Local {
        let prefix = if kind == BranchKind::All { "remotes/" } else { "" };
        for name in repository.refs.names("refs/remotes/") {
            let Some(id) = repository.refs.resolve(&name)? else { continue };
            if !filter.accepts(repository, id)? {
                continue;
            }
            let _ = write!(text, "  {prefix}{}", short(&name));
            if let Some(RefTarget::Symbolic(target)) = repository.refs.read(&name)? {
                let _ = write!(text, " -> {}", short(&target));
            }
            text.push('\n');
        }
    }
    text.pop();
    Ok(text)
}

/// The name of a branch or tag without `refs/heads/` or the like.
pub(crate) fn short(name: &str) -> &str {
    let prefixes = ["refs/heads/", "refs/remotes/", "refs/tags/"];
    prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// How the current commit was checked out, such as `HEAD detached at v1.0`. `None` if the log doesn't have it.
pub(crate) fn detached(repository: &Repository, head: ObjectId) -> GitResult<Option<String>> {
    let log = repository.refs.log("HEAD")?;
    let switch = log.iter().rev().find_map(|line| {
        let (_, names) = line.split_once_str("\tcheckout: moving from ")?;
        let (_, to) = names.split_once_str(" to ")?;
        Some((ObjectId::parse(line.get(41..81)?)?, to.to_str().ok()?.to_owned()))
    });
    let Some((id, to)) = switch else { return Ok(None) };
    let mut references = Vec::new();
    for name in refs::candidates(&to).iter().filter(|name| *name != "HEAD") {
        references.extend(repository.refs.follow(name)?);
    }
    // An ambiguous name, or one that means another commit now, doesn't tell what was checked out.
    let from = match references.as_slice() {
        [(name, found)] if revision::to_commit(repository, *found).is_ok_and(|found| found == id) => {
            let stripped = name.strip_prefix("refs/tags/").or_else(|| name.strip_prefix("refs/remotes/"));
            stripped.unwrap_or(name).to_owned()
        }
        _ => repository.abbreviated(id)?,
    };
    let word = if id == head { "at" } else { "from" };
    Ok(Some(format!("HEAD detached {word} {from}")))
}

/// The reference that a local branch follows, such as `refs/remotes/origin/main`.
pub(crate) fn upstream(repository: &Repository, branch: &str) -> Option<String> {
    let name = branch.strip_prefix("refs/heads/")?;
    let remote = repository.settings.get(&format!("branch.{name}.remote"))?;
    let merge = repository.settings.get(&format!("branch.{name}.merge"))?;
    if remote == "." {
        return Some(merge.to_owned());
    }
    // The mapping of the remote's branches, such as `+refs/heads/*:refs/remotes/origin/*`.
    let fetch = repository.settings.get(&format!("remote.{remote}.fetch"))?;
    let (from, to) = fetch.trim_start_matches('+').split_once(':')?;
    match (from.strip_suffix('*'), to.strip_suffix('*')) {
        (Some(from), Some(to)) => Some(format!("{to}{}", merge.strip_prefix(from)?)),
        _ => (from == merge).then(|| to.to_owned()),
    }
}

/// Creates a branch and returns the name of its base.
pub(crate) fn create(repository: &Repository, name: &str, base: Option<&str>) -> GitResult<String> {
    let (base_name, id) = match base.filter(|base| !base.is_empty()) {
        Some(base) => (base.to_owned(), reference(repository, base)?),
        None => {
            let Some(branch) = repository.refs.head_branch()? else {
                return Err(GitError::new(
                    "HEAD is detached, so there is no current branch to branch from; pass base_branch",
                ));
            };
            let id = repository.refs.resolve(&branch)?;
            (short(&branch).to_owned(), id.ok_or_else(|| GitError::unresolved(short(&branch)))?)
        }
    };
    let full = format!("refs/heads/{name}");
    if repository.refs.read(&full)?.is_some() {
        return Err(GitError::new(format_args!("Cannot create branch '{name}': {full} already exists")));
    }
    refs::check_name(&full)?;
    for (at, _) in name.match_indices('/') {
        let above = format!("refs/heads/{}", &name[..at]);
        if repository.refs.read(&above)?.is_some() {
            return Err(GitError::new(format_args!(
                "Cannot create branch '{name}': the branch {above} exists"
            )));
        }
    }
    if !repository.refs.names(&format!("{full}/")).is_empty() {
        return Err(GitError::new(format_args!(
            "Cannot create branch '{name}': there are branches in {full}/"
        )));
    }
    let committer = repository.log_signature();
    let log = LogEntry { committer, message: format!("branch: Created from {base_name}").into() };
    repository.refs.write(&full, &RefTarget::Id(revision::to_commit(repository, id)?), &log)?;
    Ok(base_name)
}

/// The id of the branch or tag with this short name.
fn reference(repository: &Repository, name: &str) -> GitResult<ObjectId> {
    for base in ["refs/heads/", "refs/remotes/", "refs/tags/"] {
        if let Some(id) = repository.refs.resolve(&format!("{base}{name}"))? {
            return Ok(id);
        }
    }
    Err(GitError::new(format_args!("No item found with id {name}")))
}

/// Returns `true` if another worktree of this repository has a branch checked out.
pub(crate) fn is_in_other_worktree(repository: &Repository, branch: &str) -> GitResult<bool> {
    let mut heads = vec![repository.common_dir.join("HEAD")];
    for entry in std::fs::read_dir(repository.common_dir.join("worktrees")).into_iter().flatten().flatten() {
        heads.push(entry.path().join("HEAD"));
    }
    for head in heads.iter().filter(|head| **head != repository.git_dir.join("HEAD")) {
        let text = files::read(head)?.unwrap_or_default();
        if text.trim() == format!("ref: {branch}").as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}
