//! The plugin `filesystem` and `@modelcontextprotocol/server-filesystem`.
//!
//! Each server has its own directory with the same content. The plugin's directory is granted under the path of the other
//! one, so that requests and answers contain the same paths. After each call that may change files, the two directories
//! are compared.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::Subject;
use crate::comparison::Comparison;

mod calls; // random calls
mod differences; // intended differences
mod directory; // a directory on disk
mod normal; // the normal form of answers
mod odd; // fixed calls

use directory::Directory;

pub(super) const SUBJECT: Subject = Subject {
    plugin: "filesystem",
    package: "@modelcontextprotocol/server-filesystem",
    compared: "Calls to every tool on generated directories: missing, empty, large, binary and non-UTF-8 \
               files, files with CRLF or without a final newline, names with spaces and accents, links, \
               edits that match exactly, except for white space, or not at all, moves onto existing files, \
               many kinds of patterns, and invalid arguments. After each call that can change something, \
               the names, contents and permissions in the two directories are compared as well. For system \
               errors, the code and the message are compared, but not the failing system call. Only times \
               that the comparison has set itself are compared.",
    differences: differences::DIFFERENCES,
    check,
};

/// The tools that can change files.
const WRITE_TOOLS: [&str; 4] = ["write_file", "edit_file", "create_directory", "move_file"];

/// Both directories, and calls to both servers in them.
struct Both<'a, 'b> {
    comparison: &'a mut Comparison<'b>,
    theirs: Directory,
    ours: Directory,
}

impl Both<'_, '_> {
    /// A path in the directory, as both servers see it.
    fn path(&self, below: &str) -> String {
        self.theirs.path(below)
    }

    /// Writes a file to both directories.
    fn write(&self, below: &str, content: &[u8]) -> Result<()> {
        [&self.theirs, &self.ours].into_iter().try_for_each(|directory| directory.write(below, content))
    }

    /// Creates a symlink in both directories.
    fn link(&self, target: &str, below: &str) -> Result<()> {
        [&self.theirs, &self.ours].into_iter().try_for_each(|directory| directory.link(target, below))
    }

    /// Empties both directories.
    fn clear(&self) -> Result<()> {
        [&self.theirs, &self.ours].into_iter().try_for_each(Directory::clear)
    }

    /// Calls a tool of both servers, and compares the directories if the tool can change files.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        self.comparison.call(tool, arguments)?;
        if WRITE_TOOLS.contains(&tool) {
            let theirs = self.theirs.snapshot()?;
            let ours = self.ours.snapshot()?;
            let params = json!({ "name": tool, "arguments": arguments });
            self.comparison.compare("files afterwards", &params, &theirs, &ours);
            if theirs != ours {
                // An intended difference must not recur after every later call.
                self.ours.copy_from(&self.theirs)?;
            }
        }
        Ok(())
    }
}

fn check(comparison: &mut Comparison<'_>) -> Result<()> {
    let root = comparison.directory().canonicalize()?;
    let [theirs, ours] = [root.join("theirs"), root.join("ours")].map(|path: PathBuf| {
        std::fs::create_dir(&path)?;
        std::io::Result::Ok(path)
    });
    let theirs = theirs?;
    let ours = ours?;
    let mut official = comparison.node("server-filesystem/dist/index.js");
    official.arg(&theirs).env("TZ", "UTC").env("LC_ALL", "C");
    let grant =
        json!({ "host": ours.display().to_string(), "guest": theirs.display().to_string(), "mode": "rw" });
    comparison.start(official, &allow(&grant))?;
    comparison.normalize_with(|_, method, answer| normal::answer(method, answer));
    comparison.compare_lists();
    let [theirs, ours] = [theirs, ours].map(Directory::new);
    for (name, check) in odd::CHECKS {
        let theirs = theirs.clone();
        let ours = ours.clone();
        comparison.check(name, |comparison| {
            let mut both = Both { comparison, theirs, ours };
            both.clear()?;
            check(&mut both)
        });
    }
    comparison.generated("random calls", 0..8, |comparison, random| {
        let mut both = Both { comparison, theirs: theirs.clone(), ours: ours.clone() };
        calls::random_calls(&mut both, random)
    });
    Ok(())
}

/// The lines of `gateway.toml` that grant one directory.
fn allow(grant: &Value) -> String {
    format!(
        "[plugins.filesystem.allow]\ndirs = [{{ host = {}, guest = {}, mode = {} }}]\n",
        grant["host"], grant["guest"], grant["mode"]
    )
}
