//! The plugin `git`: a Git repository in a granted directory.
//!
//! The tools have the same arguments and results as those of the Python package `mcp-server-git`, so the plugin can
//! replace it. The README lists the differences. Everything is Rust: no program is started, no hook runs, and nothing
//! outside the granted directories is read.
//!
//! The crates of gitoxide read ignore rules, attributes and patterns and compare lines. Its crates for packs, the index
//! and references can't be used, because they map files into memory or need file locks, which WASI doesn't have.
#![forbid(unsafe_code)]

use moongate_sdk::prelude::*;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

mod attributes; // attributes and line endings
mod branch; // branches
mod changes; // changes between commits, the index and the working tree
mod checkout; // `git_checkout`
mod date; // dates
mod fault; // errors
mod files; // file operations
mod granted; // granted directories
mod history; // walks through commits
mod index; // the index
mod object; // objects
mod odb; // the object database
mod patch; // patches
mod refs; // references
mod renames; // renamed files
mod repository; // an open repository
mod revision; // names of objects
mod settings; // the repository's configuration
mod show; // `git_log` and `git_show`
mod stage; // `git_add`, `git_reset` and `git_commit`
mod status; // `git_status`
mod worktree; // the working tree

use branch::{BranchKind, CommitFilter};
use changes::{Change, Files};
use fault::{GitError, GitResult};
use patch::PatchSource;
use repository::Repository;
use show::LogRange;
use worktree::Worktree;

#[cfg(not(target_family = "wasm"))]
pub use granted::native::grant;

/// The plugin.
#[derive(Debug, Default)]
pub struct Git;

/// The settings in `[plugins.git.config]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Settings {
    /// The author's name in commits, if the repository's own configuration has no `user.name`.
    user_name: Option<String>,
    /// The author's email address in commits, if the repository's own configuration has no `user.email`.
    user_email: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct RepositoryArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
}

#[derive(Deserialize, JsonSchema)]
struct DiffArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
    /// The number of unchanged lines around each change.
    #[serde(default = "default_context")]
    context_lines: i64,
}

#[derive(Deserialize, JsonSchema)]
struct TargetArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
    /// A branch, tag or commit.
    target: String,
    /// The number of unchanged lines around each change.
    #[serde(default = "default_context")]
    context_lines: i64,
}

#[derive(Deserialize, JsonSchema)]
struct CommitArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
    /// The commit message.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct AddArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
    /// Paths in the repository, or '.' for all changes.
    #[schemars(length(min = 1))]
    files: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct LogArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
    /// The maximum number of commits.
    #[serde(default = "default_max_count")]
    max_count: i64,
    /// Only commits after this time: ISO 8601 (such as '2024-01-15T14:30:25'), relative (such as '2 weeks ago' or
    /// 'yesterday'), or absolute (such as '2024-01-15' or 'Jan 15 2024').
    #[serde(default)]
    start_timestamp: Option<String>,
    /// Only commits before this time: ISO 8601 (such as '2024-01-15T14:30:25'), relative (such as '2 weeks ago' or
    /// 'yesterday'), or absolute (such as '2024-01-15' or 'Jan 15 2024').
    #[serde(default)]
    end_timestamp: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct CreateBranchArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
    /// The name of the new branch.
    branch_name: String,
    /// The branch or tag to start from. Default: the current branch.
    #[serde(default)]
    base_branch: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct CheckoutArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
    /// A branch, or another revision to check out without a branch.
    branch_name: String,
}

#[derive(Deserialize, JsonSchema)]
struct ShowArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
    /// A commit, branch or tag, or `revision:path` for a file or directory.
    revision: String,
}

#[derive(Deserialize, JsonSchema)]
struct BranchArgs {
    #[schemars(transform = name_directories)]
    repo_path: String,
    /// The branches to list: local ('local'), remote-tracking ('remote') or all ('all').
    branch_type: String,
    /// Only branches that contain this commit.
    #[serde(default)]
    contains: Option<String>,
    /// Only branches that don't contain this commit.
    #[serde(default)]
    not_contains: Option<String>,
}

fn default_context() -> i64 {
    3
}

fn default_max_count() -> i64 {
    10
}

/// Read and change a Git repository: status, diffs, log, staging, commits and branches.
#[plugin(name = "git", title = "Git", config = Settings)]
impl Git {
    /// Show the working tree status: the current branch, and staged, changed and untracked files.
    #[tool(title = "Git status", read_only, destructive = false, idempotent, open_world = false)]
    fn git_status(&self, args: &RepositoryArgs) -> Result<String, ToolError> {
        report("git_status", || {
            let text = status::text(&Repository::open(&args.repo_path)?)?;
            Ok(format!("Repository status:\n{text}"))
        })
    }

    /// Show changes in the working directory that aren't staged yet.
    #[tool(
        title = "Git diff of unstaged changes",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn git_diff_unstaged(&self, args: &DiffArgs) -> Result<String, ToolError> {
        report("git_diff_unstaged", || {
            let text = diff(&args.repo_path, &Compared::Unstaged, args.context_lines)?;
            Ok(format!("Unstaged changes:\n{text}"))
        })
    }

    /// Show changes that are staged for the next commit.
    #[tool(
        title = "Git diff of staged changes",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn git_diff_staged(&self, args: &DiffArgs) -> Result<String, ToolError> {
        report("git_diff_staged", || {
            let text = diff(&args.repo_path, &Compared::Staged, args.context_lines)?;
            Ok(format!("Staged changes:\n{text}"))
        })
    }

    /// Show the differences between a branch, tag or commit and the working directory.
    #[tool(title = "Git diff", read_only, destructive = false, idempotent, open_world = false)]
    fn git_diff(&self, args: &TargetArgs) -> Result<String, ToolError> {
        report("git_diff", || {
            no_option("target", &args.target)?;
            let text = diff(&args.repo_path, &Compared::Revision(&args.target), args.context_lines)?;
            Ok(format!("Diff with {}:\n{text}", args.target))
        })
    }

    /// Commit the staged changes.
    #[tool(
        title = "Git commit",
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn git_commit(&self, args: &CommitArgs) -> Result<String, ToolError> {
        report("git_commit", || {
            let id = stage::commit(&Repository::open(&args.repo_path)?, &args.message)?;
            Ok(format!("Changes committed successfully with hash {id}"))
        })
    }

    /// Stage files for the next commit.
    #[tool(title = "Git add", read_only = false, destructive = false, idempotent, open_world = false)]
    fn git_add(&self, args: &AddArgs) -> Result<String, ToolError> {
        report("git_add", || {
            let staged = stage::add(&Repository::open(&args.repo_path)?, &args.files)?;
            Ok(if staged {
                "Files staged successfully"
            } else {
                "No changes were staged: the given paths had nothing new to stage. git_status shows what is modified or \
                 untracked."
            }
            .to_owned())
        })
    }

    /// Unstage all staged changes. Files in the working directory stay as they are.
    #[tool(title = "Git reset", read_only = false, destructive, idempotent, open_world = false)]
    fn git_reset(&self, args: &RepositoryArgs) -> Result<String, ToolError> {
        report("git_reset", || {
            stage::reset(&Repository::open(&args.repo_path)?)?;
            Ok("All staged changes reset".to_owned())
        })
    }

    /// Show the latest commits of the current branch.
    #[tool(title = "Git log", read_only, destructive = false, idempotent, open_world = false)]
    fn git_log(&self, args: &LogArgs) -> Result<String, ToolError> {
        report("git_log", || {
            no_option("start_timestamp", args.start_timestamp.as_deref().unwrap_or_default())?;
            no_option("end_timestamp", args.end_timestamp.as_deref().unwrap_or_default())?;
            let range = LogRange {
                max_count: args.max_count,
                since: args.start_timestamp.as_deref(),
                until: args.end_timestamp.as_deref(),
            };
            show::log(&Repository::open(&args.repo_path)?, &range)
        })
    }

    /// Create a branch.
    #[tool(
        title = "Git create branch",
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn git_create_branch(&self, args: &CreateBranchArgs) -> Result<String, ToolError> {
        report("git_create_branch", || {
            let name = &args.branch_name;
            no_option("branch name", name)?;
            no_option("base branch", args.base_branch.as_deref().unwrap_or_default())?;
            let base =
                branch::create(&Repository::open(&args.repo_path)?, name, args.base_branch.as_deref())?;
            Ok(format!("Created branch '{name}' from '{base}'"))
        })
    }

    /// Switch to a branch, or check out another revision without a branch.
    #[tool(
        title = "Git checkout",
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn git_checkout(&self, args: &CheckoutArgs) -> Result<String, ToolError> {
        report("git_checkout", || {
            no_option("branch name", &args.branch_name)?;
            let repository = Repository::open(&args.repo_path)?;
            let not_executable = checkout::switch(&repository, &args.branch_name)?;
            let mut text = match (repository.refs.head_branch()?, repository.head()?) {
                (None, Some(id)) => format!("HEAD is now detached at {}", &id.to_string()[..7]),
                (branch, _) => format!("Switched to branch '{}'", branch::short(&branch.unwrap_or_default())),
            };
            if !not_executable.is_empty() {
                text.push_str(
                    "\nThe sandbox can't make these files executable, so Git shows their mode as changed:",
                );
                not_executable.iter().for_each(|path| text.push_str(&format!("\n{path}")));
            }
            Ok(text)
        })
    }

    /// Show a commit with its changes, or a file or directory given as `revision:path`.
    #[tool(title = "Git show", read_only, destructive = false, idempotent, open_world = false)]
    fn git_show(&self, args: &ShowArgs) -> Result<String, ToolError> {
        report("git_show", || {
            no_option("revision", &args.revision)?;
            show::object(&Repository::open(&args.repo_path)?, &args.revision)
        })
    }

    /// List branches.
    #[tool(title = "Git branches", read_only, destructive = false, idempotent, open_world = false)]
    fn git_branch(&self, args: &BranchArgs) -> Result<String, ToolError> {
        report("git_branch", || {
            no_option("contains value", args.contains.as_deref().unwrap_or_default())?;
            no_option("not_contains value", args.not_contains.as_deref().unwrap_or_default())?;
            let kind = match args.branch_type.as_str() {
                "local" => BranchKind::Local,
                "remote" => BranchKind::Remote,
                "all" => BranchKind::All,
                other => return Err(GitError::new(format_args!("Invalid branch type: {other}"))),
            };
            let repository = Repository::open(&args.repo_path)?;
            let commit = |name: &Option<String>| {
                name.as_deref().map(|name| revision::commit(&repository, name)).transpose()
            };
            let filter =
                CommitFilter { contains: commit(&args.contains)?, not_contains: commit(&args.not_contains)? };
            branch::list(&repository, kind, &filter)
        })
    }
}

/// The two sides of a diff.
enum Compared<'a> {
    Unstaged,
    Staged,
    Revision(&'a str),
}

fn diff(repo_path: &str, compared: &Compared<'_>, context: i64) -> GitResult<String> {
    let context = u32::try_from(context)
        .map_err(|_| GitError::new("`context_lines` must be a non-negative integer"))?;
    let repository = Repository::open(repo_path)?;
    let index = repository.index()?;
    let worktree = Worktree::open(&repository, &index)?;
    let source = PatchSource { repository: &repository, worktree: Some(&worktree) };
    let changes: Vec<Change> = match compared {
        Compared::Unstaged => changes::unstaged(&worktree, &index)?,
        Compared::Staged => {
            let tree =
                repository.head()?.map(|id| repository.commit(id)).transpose()?.map(|commit| commit.tree);
            let files = tree.map_or_else(|| Ok(Files::new()), |tree| changes::files(&repository, tree))?;
            changes::staged(&files, &index)
        }
        Compared::Revision(name) => {
            let files = changes::files(&repository, revision::tree(&repository, name)?)?;
            changes::to_worktree(&files, &worktree, &index)?
        }
    };
    source.text(changes, context)
}

/// Refuses a value that Git would take for an option, although no program is started. The message is the official
/// server's.
fn no_option(name: &str, value: &str) -> GitResult<()> {
    if value.starts_with('-') {
        return Err(GitError::new(format_args!("Invalid {name}: '{value}' - cannot start with '-'")));
    }
    Ok(())
}

/// Runs a tool. An error has the format of `mcp-server-git`, whose framework adds the tool's name.
fn report(tool: &str, run: impl FnOnce() -> GitResult<String>) -> Result<String, ToolError> {
    run().map_err(|error| ToolError::failed(format_args!("Error executing tool {tool}: {error}")))
}

/// Adds the granted directories to the description of an argument.
fn name_directories(schema: &mut Schema) {
    let about = match granted::description() {
        Some(directories) => format!("The path of the repository, in a granted directory: {directories}."),
        None => "The path of the repository.".to_owned(),
    };
    schema.insert("description".to_owned(), about.into());
}

#[cfg(test)]
mod tests;
