//! Commits, files and directories as text.

use bstr::ByteSlice as _;

use crate::changes;
use crate::date;
use crate::fault::{GitError, GitResult};
use crate::history::Ancestors;
use crate::object::Kind;
use crate::patch::{IdLength, PatchSource};
use crate::repository::{self, Repository};
use crate::revision;
use crate::worktree::Worktree;

/// Which commits a log contains.
#[derive(Debug, Default)]
pub(crate) struct LogRange<'a> {
    /// The maximum number of commits. Negative for all.
    pub(crate) max_count: i64,
    pub(crate) since: Option<&'a str>,
    pub(crate) until: Option<&'a str>,
}

/// The commits, newest first.
pub(crate) fn log(repository: &Repository, range: &LogRange<'_>) -> GitResult<String> {
    let Some(head) = repository.head()? else {
        let branch = repository.refs.head_branch()?.unwrap_or_default();
        return Err(GitError::new(format_args!("Reference at '{branch}' does not exist")));
    };
    let now = repository::now();
    let limit = |text: Option<&str>| {
        text.filter(|text| !text.is_empty()).map(|text| date::seconds(text, now)).transpose()
    };
    let since = limit(range.since)?;
    let until = limit(range.until)?;
    let mut entries = Vec::new();
    let mut walk = Ancestors::of(repository, head)?;
    while range.max_count < 0 || (entries.len() as u64) < range.max_count.unsigned_abs() {
        let Some((id, commit)) = walk.next()? else { break };
        let time = commit.committer.seconds;
        // Older commits follow, as in Git.
        if since.is_some_and(|since| time < since) {
            break;
        }
        if until.is_some_and(|until| time > until) {
            continue;
        }
        entries.push(format!(
            "Commit: {id}\nAuthor: {}\nDate: {}{}\nMessage: {}\n",
            commit.author.name,
            commit.author.local_time(),
            commit.author.zone(":"),
            commit.message
        ));
    }
    Ok(format!("Commit history:\n{}", entries.join("\n")))
}

/// A commit with its changes, a file, or the names in a directory.
pub(crate) fn object(repository: &Repository, revision: &str) -> GitResult<String> {
    let found = revision::resolve(repository, revision)?;
    match found.kind {
        Kind::Blob => Ok(repository.odb.blob(found.id)?.to_str_lossy().into_owned()),
        Kind::Tree => {
            let tree = repository.odb.tree(found.id)?;
            let names = tree.iter().map(|entry| {
                let slash = if entry.mode.is_tree() { "/" } else { "" };
                format!("{}{slash}", entry.name)
            });
            Ok(names.collect::<Vec<_>>().join("\n"))
        }
        Kind::Commit | Kind::Tag => commit(repository, revision),
    }
}

fn commit(repository: &Repository, revision: &str) -> GitResult<String> {
    let id = revision::commit(repository, revision)?;
    let commit = repository.commit(id)?;
    let author = &commit.author;
    let mut text = format!(
        "commit {id}\nAuthor: {} <{}>\nDate:   {} {}\n\n",
        author.name,
        author.email,
        author.local_time(),
        author.zone("")
    );
    let message = commit.message.to_str_lossy();
    for line in message.trim_end_matches('\n').split('\n') {
        text.push_str("    ");
        text.push_str(line);
        text.push('\n');
    }
    let parent = commit.parents.first().map(|id| repository.commit(*id)).transpose()?;
    let changes = changes::between_trees(repository, parent.map(|parent| parent.tree), Some(commit.tree))?;
    let index = repository.index()?;
    let worktree = repository.worktree().is_ok().then(|| Worktree::open(repository, &index)).transpose()?;
    let source = PatchSource { repository, worktree: worktree.as_ref() };
    for change in source.with_renames(changes)? {
        for patch in source.patches(&change, 3, IdLength::Full)? {
            let is_new = patch.header.contains_str("\nnew file mode ");
            let is_deleted = patch.header.contains_str("\ndeleted file mode ");
            let old = if is_new { "/dev/null".to_owned() } else { format!("a/{}", change.old_path()) };
            let new = if is_deleted { "/dev/null".to_owned() } else { format!("b/{}", change.path) };
            text.push_str(&format!("\n--- {old}\n+++ {new}\n"));
            text.push_str(&patch.body.to_str_lossy());
        }
    }
    Ok(text)
}
