//! The state of the working tree as text, as `git status` prints it.

use std::fmt::Write as _;

use bstr::{BString, ByteSlice as _};

use crate::branch;
use crate::changes::{self, Change, Files};
use crate::fault::GitResult;
use crate::history;
use crate::index::Index;
use crate::object::ObjectId;
use crate::patch::{PatchSource, quoted};
use crate::repository::Repository;
use crate::worktree::Worktree;

/// The width of the words before changed paths.
const CHANGE_WIDTH: usize = 12;

/// The width of the words before paths with conflicts.
const CONFLICT_WIDTH: usize = 17;

/// Returns the status without a final line break.
pub(crate) fn text(repository: &Repository) -> GitResult<String> {
    let index = repository.index()?;
    let worktree = Worktree::open(repository, &index)?;
    let head = repository.head()?;
    let files = match head {
        Some(id) => changes::files(repository, repository.commit(id)?.tree)?,
        None => Files::new(),
    };
    let source = PatchSource { repository, worktree: Some(&worktree) };
    let is_conflict = |change: &Change| change.old.is_none() && change.new.is_none();
    let mut staged = changes::staged(&files, &index);
    staged.retain(|change| !is_conflict(change));
    let staged = source.with_renames(staged)?;
    let (conflicts, unstaged): (Vec<Change>, Vec<Change>) =
        changes::unstaged(&worktree, &index)?.into_iter().partition(is_conflict);
    let untracked = worktree.untracked()?;

    let mut text = String::new();
    branch_lines(&mut text, repository, head)?;
    operation(&mut text, repository, !conflicts.is_empty())?;
    if head.is_none() {
        text.push_str("\nNo commits yet\n\n");
    }
    let unstage = unstage_hint(repository, head);
    section(&mut text, "Changes to be committed:", unstage, &change_lines(&staged));
    let mut hints = unstage.to_owned();
    hints.push_str(&resolution_hint(&conflicts, &index));
    section(&mut text, "Unmerged paths:", &hints, &conflict_lines(&conflicts, &index));
    let has_deleted = unstaged.iter().any(|change| change.new.is_none());
    let add = if has_deleted { "git add/rm" } else { "git add" };
    let hints = format!(
        "  (use \"{add} <file>...\" to update what will be committed)\n  (use \"git restore <file>...\" to discard \
         changes in working directory)\n"
    );
    section(&mut text, "Changes not staged for commit:", &hints, &change_lines(&unstaged));
    let lines: String = untracked.iter().fold(String::new(), |mut lines, path| {
        let _ = writeln!(lines, "\t{}", quoted(path.as_bstr()));
        lines
    });
    let hint = "  (use \"git add <file>...\" to include in what will be committed)\n";
    section(&mut text, "Untracked files:", hint, &lines);

    let is_committable = !staged.is_empty() || (repository.has("MERGE_HEAD") && conflicts.is_empty());
    if !is_committable {
        text.push_str(if !unstaged.is_empty() || !conflicts.is_empty() {
            "no changes added to commit (use \"git add\" and/or \"git commit -a\")"
        } else if !untracked.is_empty() {
            "nothing added to commit but untracked files present (use \"git add\" to track)"
        } else if head.is_none() {
            "nothing to commit (create/copy files and use \"git add\" to track)"
        } else {
            "nothing to commit, working tree clean"
        });
        text.push('\n');
    }
    text.pop();
    Ok(text)
}

/// The current branch, and how it differs from its upstream.
fn branch_lines(text: &mut String, repository: &Repository, head: Option<ObjectId>) -> GitResult<()> {
    let branch = repository.refs.head_branch()?;
    match (&branch, head) {
        (Some(branch), _) => {
            let _ = writeln!(text, "On branch {}", branch::short(branch));
        }
        (None, head) => {
            let detached = head.map(|id| branch::detached(repository, id)).transpose()?.flatten();
            let line = detached.unwrap_or_else(|| "Not currently on any branch.".to_owned());
            let _ = writeln!(text, "{line}");
        }
    }
    let (Some(branch), Some(head)) = (branch, head) else { return Ok(()) };
    let Some(upstream) = branch::upstream(repository, &branch) else { return Ok(()) };
    let name = branch::short(&upstream);
    let Some(theirs) = repository.refs.resolve(&upstream)? else {
        let _ = write!(
            text,
            "Your branch is based on '{name}', but the upstream is gone.\n  (use \"git branch --unset-upstream\" to \
             fixup)\n\n"
        );
        return Ok(());
    };
    let commits = |count: usize| if count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
    let _ = match history::ahead_and_behind(repository, head, theirs)? {
        (0, 0) => writeln!(text, "Your branch is up to date with '{name}'."),
        (ahead, 0) => writeln!(
            text,
            "Your branch is ahead of '{name}' by {}.\n  (use \"git push\" to publish your local commits)",
            commits(ahead)
        ),
        (0, behind) => writeln!(
            text,
            "Your branch is behind '{name}' by {}, and can be fast-forwarded.\n  (use \"git pull\" to update your local \
             branch)",
            commits(behind)
        ),
        (ahead, behind) => writeln!(
            text,
            "Your branch and '{name}' have diverged,\nand have {ahead} and {behind} different commits each, \
             respectively.\n  (use \"git pull\" if you want to integrate the remote branch with yours)"
        ),
    };
    text.push('\n');
    Ok(())
}

/// A merge or another operation in progress.
fn operation(text: &mut String, repository: &Repository, has_conflicts: bool) -> GitResult<()> {
    if repository.has("MERGE_HEAD") {
        text.push_str(if has_conflicts {
            "You have unmerged paths.\n  (fix conflicts and run \"git commit\")\n  (use \"git merge --abort\" to abort the \
             merge)\n\n"
        } else {
            "All conflicts fixed but you are still merging.\n  (use \"git commit\" to conclude merge)\n\n"
        });
        return Ok(());
    }
    if repository.has("rebase-merge") || repository.has("rebase-apply") {
        text.push_str(
            "You are currently rebasing.\n  (use \"git rebase --continue\" or \"git rebase --abort\" outside of this \
             server)\n\n",
        );
        return Ok(());
    }
    for (file, doing, command) in
        [("CHERRY_PICK_HEAD", "cherry-picking", "cherry-pick"), ("REVERT_HEAD", "reverting", "revert")]
    {
        let Some(id) = repository.refs.resolve(file)? else { continue };
        let step = if has_conflicts { "fix conflicts and run" } else { "all conflicts fixed: run" };
        let id = repository.abbreviated(id)?;
        let _ = write!(
            text,
            "You are currently {doing} commit {id}.\n  ({step} \"git {command} --continue\")\n  (use \"git {command} \
             --skip\" to skip this patch)\n  (use \"git {command} --abort\" to cancel the {command} operation)\n\n"
        );
    }
    Ok(())
}

fn section(text: &mut String, title: &str, hints: &str, lines: &str) {
    if !lines.is_empty() {
        let _ = write!(text, "{title}\n{hints}{lines}\n");
    }
}

/// The hint how to unstage a file. Git gives none during a merge.
fn unstage_hint(repository: &Repository, head: Option<ObjectId>) -> &'static str {
    if ["MERGE_HEAD", "CHERRY_PICK_HEAD"].iter().any(|file| repository.has(file)) {
        ""
    } else if head.is_none() {
        "  (use \"git rm --cached <file>...\" to unstage)\n"
    } else {
        "  (use \"git restore --staged <file>...\" to unstage)\n"
    }
}

fn change_lines(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let path = quoted(change.path.as_bstr());
        let (word, path) = match (change.old, change.new, &change.renamed) {
            (_, _, Some((from, _))) => ("renamed:", format!("{} -> {path}", quoted(from.as_bstr()))),
            (None, _, None) => ("new file:", path.to_string()),
            (_, None, None) => ("deleted:", path.to_string()),
            (Some(old), Some(new), None) if !old.mode.is_same_type(new.mode) => {
                ("typechange:", path.to_string())
            }
            (Some(old), Some(new), None) if old.mode.is_submodule() && old.id != new.id => {
                ("modified:", format!("{path} (new commits)"))
            }
            (Some(_), Some(_), None) => ("modified:", path.to_string()),
        };
        let _ = writeln!(text, "\t{word:CHANGE_WIDTH$}{path}");
    }
    text
}

/// Which versions of a path a conflict has: of the common ancestor, the current branch and the other one.
fn versions(path: &BString, index: &Index) -> [bool; 3] {
    [1, 2, 3].map(|stage| index.get(path.as_bstr(), stage).is_some())
}

fn conflict_lines(conflicts: &[Change], index: &Index) -> String {
    let mut text = String::new();
    for change in conflicts {
        let word = match versions(&change.path, index) {
            [true, false, false] => "both deleted:",
            [false, true, false] => "added by us:",
            [true, true, false] => "deleted by them:",
            [false, false, true] => "added by them:",
            [true, false, true] => "deleted by us:",
            [false, true, true] => "both added:",
            _ => "both modified:",
        };
        let _ = writeln!(text, "\t{word:CONFLICT_WIDTH$}{}", quoted(change.path.as_bstr()));
    }
    text
}

fn resolution_hint(conflicts: &[Change], index: &Index) -> String {
    let versions: Vec<[bool; 3]> = conflicts.iter().map(|change| versions(&change.path, index)).collect();
    let both_deleted = versions.contains(&[true, false, false]);
    let one_deleted = versions.iter().any(|[base, ours, theirs]| *base && ours != theirs);
    let not_deleted = versions.iter().any(|[base, ours, theirs]| !base || (*ours && *theirs));
    let hint = if !both_deleted && !one_deleted {
        "  (use \"git add <file>...\" to mark resolution)\n"
    } else if both_deleted && !one_deleted && !not_deleted {
        "  (use \"git rm <file>...\" to mark resolution)\n"
    } else {
        "  (use \"git add/rm <file>...\" as appropriate to mark resolution)\n"
    };
    hint.to_owned()
}
