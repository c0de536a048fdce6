//! The plugin `filesystem`: files in the directories that the operator granted.
//!
//! Its tools take the same arguments and give the same answers as those of the npm package
//! `@modelcontextprotocol/server-filesystem`, so it can stand in for that one; README.md lists where it differs and
//! why. Beyond that, every file is a resource whose subscribers hear when a tool changes it.
#![forbid(unsafe_code)]

use moongate_sdk::prelude::*;

mod answer; // what the tools return
mod args; // what they take
mod diff; // which lines an edit changes
mod edit; // `edit_file`
mod fault; // how things fail
mod glob; // patterns
mod granted; // the directories
mod info; // `get_file_info`
mod list; // lists and trees
mod mime; // media types
#[cfg(target_family = "wasm")]
mod nameless; // directories with names that aren't text
mod path; // from a path to the file that it means
mod read; // reading
mod resource; // files as resources
mod search; // `search_files`
mod uri; // `file:` URIs
mod write; // changing

use answer::{Media, Settings, Text};
use args::{
    EditFile, ListSizes, ManyPaths, MoveFile, Nothing, OnePath, ReadText, SearchFiles, Tree, WriteFile,
};
use edit::Run;
use fault::Fault;
use granted::Granted;
use path::{Located, locate};
use read::Lines;

/// The arguments of a tool without any. As in the official server, others than those that a tool has are ignored.
const NOTHING: &str = r#"{"type":"object","properties":{}}"#;

#[cfg(not(target_family = "wasm"))]
pub use granted::native::grant;

/// The plugin.
#[derive(Debug)]
pub struct Filesystem {
    granted: Granted,
}

impl Default for Filesystem {
    fn default() -> Self {
        Self { granted: Granted::now() }
    }
}

/// Files in the directories that the operator granted: read, write, edit, list, search, move.
#[plugin(name = "filesystem", title = "Filesystem", config = Settings)]
impl Filesystem {
    /// Read a file as text. Deprecated: use `read_text_file`.
    #[tool(title = "Read File (Deprecated)", read_only, open_world = false)]
    fn read_file(&self, args: &ReadText) -> Result<Text, Fault> {
        self.text(args)
    }

    /// Read a text file: all of it, or only its first (`head`) or last (`tail`) lines, which is also the way to look
    /// into a file that is too large to read as a whole. Any file is read as UTF-8 text, whatever its name ends in.
    /// The path must lie in an allowed directory.
    #[tool(title = "Read Text File", read_only, open_world = false)]
    fn read_text_file(&self, args: &ReadText) -> Result<Text, Fault> {
        self.text(args)
    }

    /// Read an image, a sound or any other binary file. Images and sounds come as such, anything else as an embedded
    /// resource, each base64-encoded and with its media type. The path must lie in an allowed directory.
    #[tool(title = "Read Media File", read_only, open_world = false)]
    fn read_media_file(&self, args: &OnePath) -> Result<Media, Fault> {
        read::media(&self.locate(&args.path)?)
    }

    /// Read several text files in one call, which is faster than one call for each. Each file's text stands below its
    /// path; a file that can't be read is named with the reason, and the others are still read. All paths must lie in
    /// allowed directories.
    #[tool(title = "Read Multiple Files", read_only, open_world = false)]
    fn read_multiple_files(&self, args: &ManyPaths) -> Text {
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
                    format!("{path}: Error - no room left in this answer; read this file in another call")
                }
            }
        });
        Text(files.collect::<Vec<_>>().join("\n---\n"))
    }

    /// Write a text file: make a new one, or replace the whole content of one that exists, without asking. Others see
    /// the old content or the new one, never a part. The path must lie in an allowed directory, and the directory
    /// that it names must exist.
    #[tool(title = "Write File", read_only = false, idempotent, destructive, open_world = false)]
    fn write_file(&self, args: &WriteFile) -> Result<Text, Fault> {
        let file = self.locate(&args.path)?.writable()?;
        write::file(&file, args.content.as_bytes())?;
        resource::changed(&file);
        Ok(Text(format!("Successfully wrote to {}", args.path)))
    }

    /// Replace pieces of a text file, one after the other; if one doesn't match, nothing is changed. `oldText` is
    /// matched as it stands or, failing that, line by line without regard to indentation, which is then kept. Returns
    /// the change as a unified diff; with `dryRun` that is all it does. The path must lie in an allowed directory.
    #[tool(title = "Edit File", read_only = false, idempotent = false, destructive, open_world = false)]
    fn edit_file(&self, args: &EditFile) -> Result<Text, Fault> {
        let file = self.locate(&args.path)?;
        let (file, run) = if args.dry_run { (file, Run::Dry) } else { (file.writable()?, Run::Real) };
        let edited = edit::file(&file, &args.edits, run)?;
        if edited.changed {
            resource::changed(&file);
        }
        Ok(Text(edited.shown))
    }

    /// Make a directory, with those above it that are missing. If it is there already, that is fine too. The path
    /// must lie in an allowed directory.
    #[tool(
        title = "Create Directory",
        read_only = false,
        idempotent,
        destructive = false,
        open_world = false
    )]
    fn create_directory(&self, args: &OnePath) -> Result<Text, Fault> {
        write::directory(&self.locate(&args.path)?.writable()?)?;
        Ok(Text(format!("Successfully created directory {}", args.path)))
    }

    /// List what is in a directory, one entry a line, each marked `[FILE]` or `[DIR]`. The path must lie in an allowed
    /// directory.
    #[tool(title = "List Directory", read_only, open_world = false)]
    fn list_directory(&self, args: &OnePath) -> Result<Text, Fault> {
        list::plain(&self.locate(&args.path)?).map(Text)
    }

    /// List what is in a directory with the size of each file, by name or largest first, and the sums below. Entries
    /// are marked `[FILE]` or `[DIR]`. The path must lie in an allowed directory.
    #[tool(title = "List Directory with Sizes", read_only, open_world = false)]
    fn list_directory_with_sizes(&self, args: &ListSizes) -> Result<Text, Fault> {
        list::with_sizes(&self.locate(&args.path)?, args.sort_by).map(Text)
    }

    /// Show a directory and everything below it as a JSON tree. Each entry has a `name` and a `type` (`file` or
    /// `directory`); directories also have `children`, which may be empty. Entries that fit one of the glob patterns
    /// in `excludePatterns` are left out. The path must lie in an allowed directory.
    #[tool(title = "Directory Tree", read_only, open_world = false)]
    fn directory_tree(&self, args: &Tree) -> Result<Text, Fault> {
        list::tree(&self.locate(&args.path)?, &args.exclude_patterns).map(Text)
    }

    /// Move or rename a file or a directory. Fails if something is at the destination already. Both paths must lie in
    /// allowed directories.
    #[tool(title = "Move File", read_only = false, idempotent = false, destructive, open_world = false)]
    fn move_file(&self, args: &MoveFile) -> Result<Text, Fault> {
        let from = self.locate(&args.source)?.writable()?;
        let to = self.locate(&args.destination)?.writable()?;
        write::moved(&from, &to)?;
        resource::moved(&from, &to);
        Ok(Text(format!("Successfully moved {} to {}", args.source, args.destination)))
    }

    /// Find files and directories below a directory by a glob pattern for their path from there: `*.ext` fits files in
    /// the directory itself, `**/*.ext` also those further down. What fits one of `excludePatterns` is left out, with
    /// everything below it. Returns full paths, one a line. The path must lie in an allowed directory.
    #[tool(title = "Search Files", read_only, open_world = false)]
    fn search_files(&self, args: &SearchFiles) -> Result<Text, Fault> {
        let directory = self.locate(&args.path)?;
        search::files(&self.granted, &directory, &args.pattern, &args.exclude_patterns).map(Text)
    }

    /// Tell what is known of a file or directory without reading it: size, times, kind, and what the tools may do
    /// with it. The path must lie in an allowed directory.
    #[tool(title = "Get File Info", read_only, open_world = false)]
    fn get_file_info(&self, args: &OnePath) -> Result<Text, Fault> {
        info::of(&self.locate(&args.path)?).map(Text)
    }

    /// List the directories that the tools can reach, each with everything below it. Other paths are refused.
    #[tool(title = "List Allowed Directories", read_only, open_world = false, input_schema = NOTHING)]
    fn list_allowed_directories(&self, Nothing {}: Nothing) -> Text {
        let directories: Vec<&str> = self.granted.paths().collect();
        Text(format!("Allowed directories:\n{}", directories.join("\n")))
    }

    /// A file in an allowed directory, as text or as bytes. Subscribers hear when one of this server's tools changes
    /// it.
    #[resource(uri = "file:///{+path}", name = "file", title = "File")]
    fn file(&self, path: &str, uri: &str) -> Result<ResourceContents, ToolError> {
        resource::contents(&self.granted, &format!("/{path}"), uri)
    }

    #[complete(resource = "file:///{+path}", argument = "path")]
    fn paths(&self, typed: &str) -> Vec<String> {
        resource::completions(&self.granted, typed)
    }

    // --- what several tools do ---

    fn locate(&self, path: &str) -> Result<Located, Fault> {
        locate(&self.granted, path)
    }

    fn text(&self, args: &ReadText) -> Result<Text, Fault> {
        let file = self.locate(&args.path)?;
        let lines = Lines::asked(args.head, args.tail)?;
        read::text(&file, lines).map(Text)
    }
}

#[cfg(test)]
mod tests;
