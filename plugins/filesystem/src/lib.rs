//! The plugin `filesystem`: files in the granted directories.
//!
//! The tools have the same arguments and results as those of the npm package
//! `@modelcontextprotocol/server-filesystem`, so the plugin can replace it. The README lists the differences. In
//! addition, every file is a resource, and subscribers are notified when a tool changes it.
#![forbid(unsafe_code)]

use moongate_sdk::prelude::*;

mod answer; // results of the tools
mod args; // arguments of the tools
mod diff; // changed lines
mod edit; // `edit_file`
mod fault; // errors
mod glob; // patterns
mod granted; // granted directories
mod info; // `get_file_info`
mod list; // lists and trees
mod mime; // media types
#[cfg(target_family = "wasm")]
mod nameless; // directories with names that aren't UTF-8
mod path; // resolving paths
mod read; // reading
mod resource; // files as resources
mod search; // `search_files`
mod uri; // `file:` URIs
mod write; // writing

use answer::{MediaResult, Settings, TextResult};
use args::{
    EditFile, ListSizes, ManyPaths, MoveFile, NoArgs, PathArgs, ReadText, SearchFiles, Tree, WriteFile,
};
use edit::EditMode;
use fault::FsError;
use granted::GrantedDirectories;
use path::{ResolvedPath, locate};
use read::Lines;

/// The schema of tools without arguments. As in the official server, unknown arguments are ignored.
const NO_ARGS_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;

#[cfg(not(target_family = "wasm"))]
pub use granted::native::grant;

/// The plugin.
#[derive(Debug)]
pub struct Filesystem {
    granted: GrantedDirectories,
}

impl Default for Filesystem {
    fn default() -> Self {
        Self { granted: GrantedDirectories::now() }
    }
}

/// Read, write, edit, list, search and move files in the allowed directories.
#[plugin(name = "filesystem", title = "Filesystem", config = Settings, instructions = &instructions())]
impl Filesystem {
    /// Read a text file. Deprecated: use `read_text_file` instead.
    #[tool(title = "Read File (Deprecated)", read_only, open_world = false)]
    fn read_file(&self, args: &ReadText) -> Result<TextResult, FsError> {
        self.text(args)
    }

    /// Read a text file as UTF-8. Use `head` or `tail` to read only its first or last lines, for example of a large
    /// file. Only works within allowed directories.
    #[tool(title = "Read Text File", read_only, open_world = false)]
    fn read_text_file(&self, args: &ReadText) -> Result<TextResult, FsError> {
        self.text(args)
    }

    /// Read an image, audio or other binary file as base64, with its MIME type. Files other than images and audio are
    /// returned as an embedded resource. Only works within allowed directories.
    #[tool(title = "Read Media File", read_only, open_world = false)]
    fn read_media_file(&self, args: &PathArgs) -> Result<MediaResult, FsError> {
        read::media(&self.locate(&args.path)?)
    }

    /// Read several text files at once, which is faster than reading them one by one. Each file's content follows its
    /// path; a file that can't be read has an error instead. Only works within allowed directories.
    #[tool(title = "Read Multiple Files", read_only, open_world = false)]
    fn read_multiple_files(&self, args: &ManyPaths) -> TextResult {
        let mut room = answer::largest();
        let files = args.paths.iter().map(|path| {
            let file = match self.locate(path).and_then(|file| read::text(&file, Lines::All)) {
                Ok(text) => format!("{path}:\n{text}\n"),
                Err(fault) => format!("{path}: Error - {fault}"),
            };
            match room.checked_sub(answer::size_of_text(&file)) {
                Some(left) => {
                    room = left;
                    file
                }
                None => {
                    format!("{path}: Error - result too large; read this file in another call")
                }
            }
        });
        TextResult(files.collect::<Vec<_>>().join("\n---\n"))
    }

    /// Create a new file or overwrite an existing one without asking. Use with caution. The parent directory must
    /// exist. Only works within allowed directories.
    #[tool(title = "Write File", read_only = false, idempotent, destructive, open_world = false)]
    fn write_file(&self, args: &WriteFile) -> Result<TextResult, FsError> {
        let file = self.locate(&args.path)?.writable()?;
        write::file(&file, args.content.as_bytes())?;
        resource::changed(&file);
        Ok(TextResult(format!("Successfully wrote to {}", args.path)))
    }

    /// Replace parts of a text file. If `oldText` doesn't match exactly, it is matched line by line, ignoring
    /// indentation, which is kept. If one edit doesn't match, no edit is made. Returns a diff; use `dryRun` to
    /// preview it without changing the file. Only works within allowed directories.
    #[tool(title = "Edit File", read_only = false, idempotent = false, destructive, open_world = false)]
    fn edit_file(&self, args: &EditFile) -> Result<TextResult, FsError> {
        let file = self.locate(&args.path)?;
        let (file, run) =
            if args.dry_run { (file, EditMode::Dry) } else { (file.writable()?, EditMode::Real) };
        let edited = edit::file(&file, &args.edits, run)?;
        if edited.changed {
            resource::changed(&file);
        }
        Ok(TextResult(edited.shown))
    }

    /// Create a directory, including missing parent directories. Succeeds if it already exists. Only works within
    /// allowed directories.
    #[tool(
        title = "Create Directory",
        read_only = false,
        idempotent,
        destructive = false,
        open_world = false
    )]
    fn create_directory(&self, args: &PathArgs) -> Result<TextResult, FsError> {
        write::directory(&self.locate(&args.path)?.writable()?)?;
        Ok(TextResult(format!("Successfully created directory {}", args.path)))
    }

    /// List the files and directories in a directory. Entries are marked `[FILE]` or `[DIR]`. Only works within
    /// allowed directories.
    #[tool(title = "List Directory", read_only, open_world = false)]
    fn list_directory(&self, args: &PathArgs) -> Result<TextResult, FsError> {
        list::plain(&self.locate(&args.path)?).map(TextResult)
    }

    /// List the files and directories in a directory with their sizes and a total, sorted by name or size. Entries
    /// are marked `[FILE]` or `[DIR]`. Only works within allowed directories.
    #[tool(title = "List Directory with Sizes", read_only, open_world = false)]
    fn list_directory_with_sizes(&self, args: &ListSizes) -> Result<TextResult, FsError> {
        list::with_sizes(&self.locate(&args.path)?, args.sort_by).map(TextResult)
    }

    /// Get the recursive tree of a directory as JSON. Each entry has a `name` and a `type` (`file` or `directory`);
    /// directories also have `children`. Use `excludePatterns` to exclude entries by glob pattern. Only works within
    /// allowed directories.
    #[tool(title = "Directory Tree", read_only, open_world = false)]
    fn directory_tree(&self, args: &Tree) -> Result<TextResult, FsError> {
        list::tree(&self.locate(&args.path)?, &args.exclude_patterns).map(TextResult)
    }

    /// Move or rename a file or directory. Fails if the destination exists. Only works within allowed directories.
    #[tool(title = "Move File", read_only = false, idempotent = false, destructive, open_world = false)]
    fn move_file(&self, args: &MoveFile) -> Result<TextResult, FsError> {
        let from = self.locate(&args.source)?.writable()?;
        let to = self.locate(&args.destination)?.writable()?;
        write::moved(&from, &to)?;
        resource::moved(&from, &to);
        Ok(TextResult(format!("Successfully moved {} to {}", args.source, args.destination)))
    }

    /// Search a directory recursively for files and directories whose relative path matches a glob pattern: `*.ext`
    /// matches in the directory itself, `**/*.ext` at any depth. Use `excludePatterns` to skip matching entries with
    /// everything below them. Returns full paths. Only works within allowed directories.
    #[tool(title = "Search Files", read_only, open_world = false)]
    fn search_files(&self, args: &SearchFiles) -> Result<TextResult, FsError> {
        let directory = self.locate(&args.path)?;
        search::files(&self.granted, &directory, &args.pattern, &args.exclude_patterns).map(TextResult)
    }

    /// Get a file's or directory's metadata: size, timestamps, type and access. Use it to check a file without
    /// reading it. Only works within allowed directories.
    #[tool(title = "Get File Info", read_only, open_world = false)]
    fn get_file_info(&self, args: &PathArgs) -> Result<TextResult, FsError> {
        info::of(&self.locate(&args.path)?).map(TextResult)
    }

    /// List the directories that this server can access, including their subdirectories. Use it before accessing
    /// files.
    #[tool(title = "List Allowed Directories", read_only, open_world = false, input_schema = NO_ARGS_SCHEMA)]
    fn list_allowed_directories(&self, NoArgs {}: NoArgs) -> TextResult {
        let directories: Vec<&str> = self.granted.paths().collect();
        TextResult(format!("Allowed directories:\n{}", directories.join("\n")))
    }

    /// A file in an allowed directory, as text or bytes. Subscribers are notified when one of this server's tools
    /// changes it.
    #[resource(uri = "file:///{+path}", name = "file", title = "File")]
    fn file(&self, path: &str, uri: &str) -> Result<ResourceContents, ToolError> {
        resource::contents(&self.granted, &format!("/{path}"), uri)
    }

    #[complete(resource = "file:///{+path}", argument = "path")]
    fn paths(&self, typed: &str) -> Vec<String> {
        resource::completions(&self.granted, typed)
    }

    // --- shared functions ---

    fn locate(&self, path: &str) -> Result<ResolvedPath, FsError> {
        locate(&self.granted, path)
    }

    fn text(&self, args: &ReadText) -> Result<TextResult, FsError> {
        let file = self.locate(&args.path)?;
        let lines = Lines::asked(args.head, args.tail)?;
        read::text(&file, lines).map(TextResult)
    }
}

/// Instructions for models that name the granted directories. Empty if nothing is granted.
fn instructions() -> String {
    match GrantedDirectories::now().description() {
        Some(directories) => format!("Use absolute paths in the allowed directories: {directories}."),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
