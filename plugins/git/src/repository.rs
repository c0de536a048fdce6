//! A repository: its directories, settings, objects and references.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bstr::{BString, ByteSlice as _};
use moongate_sdk::{config, env};

use crate::Settings;
use crate::fault::{GitError, GitResult};
use crate::files;
use crate::index::Index;
use crate::object::{Commit, ObjectId, Signature};
use crate::odb::ObjectDb;
use crate::refs::References;
use crate::settings::RepositorySettings;

/// An open repository.
#[derive(Debug)]
pub(crate) struct Repository {
    /// The directory of `HEAD` and the index.
    pub(crate) git_dir: PathBuf,
    /// The directory of objects and branches, which linked worktrees share.
    pub(crate) common_dir: PathBuf,
    /// The directory of the files. `None` in a bare repository.
    worktree: Option<PathBuf>,
    pub(crate) settings: RepositorySettings,
    pub(crate) odb: ObjectDb,
    pub(crate) refs: References,
    /// The commits whose parents a shallow clone doesn't have.
    shallow: HashSet<ObjectId>,
}

/// The role of a person in a commit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    Author,
    Committer,
}

impl Repository {
    /// Opens the repository whose files are in this directory. Like the official server, it doesn't search parent
    /// directories.
    pub(crate) fn open(asked: &str) -> GitResult<Self> {
        let path = crate::granted::locate(asked)?;
        // The official server's message is only the path.
        let not_found = || GitError::new(asked);
        let dot_git = path.join(".git");
        let (git_dir, worktree) = if let Some(git_dir) = linked(&dot_git)? {
            (git_dir, Some(path))
        } else if is_git_dir(&path) {
            let worktree = path.parent().filter(|_| path.ends_with(".git")).map(Path::to_owned);
            (path, worktree)
        } else {
            return Err(not_found());
        };
        let common_dir = match files::read(&git_dir.join("commondir"))? {
            Some(text) => normal(&git_dir.join(text.trim().to_str().map_err(GitError::new)?)),
            None => git_dir.clone(),
        };
        let settings = RepositorySettings::read(&common_dir.join("config"))?;
        for key in ["extensions.objectformat", "extensions.refstorage"] {
            if let Some(format) = settings.get(key).filter(|format| !matches!(*format, "sha1" | "files")) {
                return Err(GitError::new(format_args!(
                    "the repository uses `{format}` ({key}), which isn't supported"
                )));
            }
        }
        let worktree = match settings.get("core.worktree") {
            Some(directory) if worktree.is_some() => Some(normal(&git_dir.join(directory))),
            _ => worktree.filter(|_| settings.flag("core.bare") != Some(true)),
        };
        let shallow = files::read(&common_dir.join("shallow"))?.unwrap_or_default();
        Ok(Self {
            odb: ObjectDb::open(&common_dir.join("objects"))?,
            refs: References::open(&git_dir, &common_dir)?,
            shallow: shallow.lines().filter_map(ObjectId::parse).collect(),
            git_dir,
            common_dir,
            worktree,
            settings,
        })
    }

    /// The directory of the files.
    pub(crate) fn worktree(&self) -> GitResult<&Path> {
        self.worktree.as_deref().ok_or_else(|| {
            GitError::new("this operation must be run in a work tree, but the repository is bare")
        })
    }

    /// The index. A missing file is an empty index.
    pub(crate) fn index(&self) -> GitResult<Index> {
        Index::read(&self.git_dir.join("index"))
    }

    /// A commit. At the border of a shallow clone, it has no parents.
    pub(crate) fn commit(&self, id: ObjectId) -> GitResult<Commit> {
        let mut commit = self.odb.commit(id)?;
        if self.shallow.contains(&id) {
            commit.parents.clear();
        }
        Ok(commit)
    }

    /// The current commit. `None` before the first one.
    pub(crate) fn head(&self) -> GitResult<Option<ObjectId>> {
        self.refs.resolve("HEAD")
    }

    /// The abbreviation of an id.
    pub(crate) fn abbreviated(&self, id: ObjectId) -> GitResult<String> {
        let fixed = match self.settings.get("core.abbrev") {
            Some("no" | "off" | "false") => Some(40),
            Some(digits) => digits.parse().ok().map(|digits: usize| digits.clamp(4, 40)),
            None => None,
        };
        self.odb.abbreviated(id, fixed)
    }

    /// Returns `true` if a file exists in the repository's own directory, such as `MERGE_HEAD`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.git_dir.join(name).exists()
    }

    /// The person who makes a commit now: as in Git from the environment, if it is granted, then from the repository's
    /// settings, then from the plugin's.
    pub(crate) fn signature(&self, role: Role) -> GitResult<Signature> {
        let (variable, section) = match role {
            Role::Author => ("GIT_AUTHOR", "author"),
            Role::Committer => ("GIT_COMMITTER", "committer"),
        };
        let own: Settings = config::typed().unwrap_or_default();
        let read = |part: &str, own: Option<String>| {
            let lower = part.to_lowercase();
            env::get(&format!("{variable}_{part}"))
                .or_else(|| self.settings.get(&format!("{section}.{lower}")).map(str::to_owned))
                .or_else(|| self.settings.get(&format!("user.{lower}")).map(str::to_owned))
                .or(own)
                .map(|text| text.replace(['<', '>', '\n', '\0'], "").trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        let (Some(name), Some(email)) = (read("NAME", own.user_name), read("EMAIL", own.user_email)) else {
            return Err(GitError::new(
                "the author is unknown: set `user.name` and `user.email` in the repository's configuration, or ask the \
                 operator to set `user_name` and `user_email` in this plugin's `config`",
            ));
        };
        let mut signature =
            Signature { name: BString::from(name), email: BString::from(email), ..Signature::default() };
        let given = env::get(&format!("{variable}_DATE"));
        match given.as_deref().and_then(raw_date) {
            Some((seconds, offset)) => (signature.seconds, signature.offset) = (seconds, offset),
            None => signature.seconds = now(),
        }
        Ok(signature)
    }

    /// The person in the log of a reference, who may be unknown.
    pub(crate) fn log_signature(&self) -> Signature {
        self.signature(Role::Committer).unwrap_or_else(|_| Signature {
            name: "unknown".into(),
            seconds: now(),
            ..Signature::default()
        })
    }
}

/// The current time in seconds since 1970.
pub(crate) fn now() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or_default()
}

/// A date in Git's internal format, such as `@1000000000 +0200`, as seconds and offset in minutes.
fn raw_date(text: &str) -> Option<(i64, i32)> {
    let (seconds, zone) = text.trim_start_matches('@').split_once(' ')?;
    let zone: i32 = zone.parse().ok()?;
    Some((seconds.parse().ok()?, zone / 100 * 60 + zone % 100))
}

/// The repository's directory for `.git`, which can be a file that names it. `None` if there is none.
pub(crate) fn linked(dot_git: &Path) -> GitResult<Option<PathBuf>> {
    if is_git_dir(dot_git) {
        return Ok(Some(dot_git.to_owned()));
    }
    if !dot_git.is_file() {
        return Ok(None);
    }
    let text = files::read(dot_git)?.unwrap_or_default();
    let Some(target) = text.strip_prefix(b"gitdir:") else { return Ok(None) };
    let target = target.trim().to_str().map_err(GitError::new)?;
    let git_dir = normal(&dot_git.parent().unwrap_or(dot_git).join(target));
    if is_git_dir(&git_dir) || git_dir.join("commondir").is_file() {
        return Ok(Some(git_dir));
    }
    Err(GitError::new(format_args!(
        "`{}` names the repository `{target}`, which isn't in a granted directory",
        dot_git.display()
    )))
}

fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                parts.pop();
            }
            std::path::Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

/// Removes a file of the repository's own directory, such as `MERGE_HEAD`, if it exists.
pub(crate) fn remove_state(repository: &Repository, name: &str) {
    let _ = fs::remove_file(repository.git_dir.join(name));
}
