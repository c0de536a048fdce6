//! The plugin `filesystem` beside `@modelcontextprotocol/server-filesystem`.
//!
//! Each has a folder of its own that holds the same; ours is granted to the plugin under the name of theirs, so both
//! get the same paths and say the same. After each call that may change something, the two folders are compared.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::Subject;
use crate::bench::Bench;

mod calls; // calls made up from a seed
mod differences; // what may differ
mod folder; // what is on the disk
mod normal; // the form in which texts are compared
mod odd; // calls that are written down

use folder::Folder;

pub(super) const SUBJECT: Subject = Subject {
    plugin: "filesystem",
    package: "@modelcontextprotocol/server-filesystem",
    compared: "Calls of every tool on generated directories: missing, empty, large, binary and non-UTF-8 \
               files, files with CRLF or without a final newline, names with spaces and accents, links, \
               edits that match exactly, except for white space, or not at all, moves onto existing files, \
               many kinds of patterns, and invalid arguments. After each call that can change something, \
               the names, contents and permissions in the two directories are compared as well. For system \
               errors, the code and the message are compared, but not the failing system call. Only times \
               that the comparison has set itself are compared.",
    differences: differences::DIFFERENCES,
    check,
};

/// The tools that may change something.
const CHANGING: [&str; 4] = ["write_file", "edit_file", "create_directory", "move_file"];

/// Both folders, and the calls of both servers on them.
struct Both<'a, 'b> {
    bench: &'a mut Bench<'b>,
    theirs: Folder,
    ours: Folder,
}

impl Both<'_, '_> {
    /// The path of something in the folder, as both servers know it.
    fn path(&self, below: &str) -> String {
        self.theirs.path(below)
    }

    /// Puts a file into both.
    fn write(&self, below: &str, content: &[u8]) -> Result<()> {
        [&self.theirs, &self.ours].into_iter().try_for_each(|folder| folder.write(below, content))
    }

    /// Puts a link into both.
    fn link(&self, target: &str, below: &str) -> Result<()> {
        [&self.theirs, &self.ours].into_iter().try_for_each(|folder| folder.link(target, below))
    }

    /// Makes both empty.
    fn clear(&self) -> Result<()> {
        [&self.theirs, &self.ours].into_iter().try_for_each(Folder::clear)
    }

    /// Calls a tool of both, and compares the folders where it may have changed something.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        self.bench.call(tool, arguments)?;
        if CHANGING.contains(&tool) {
            let (theirs, ours) = (self.theirs.snapshot()?, self.ours.snapshot()?);
            let params = json!({ "name": tool, "arguments": arguments });
            self.bench.compare("what is on the disk afterwards", &params, &theirs, &ours);
            if theirs != ours {
                // What differs on purpose isn't to be met again by every call that follows.
                self.ours.become_like(&self.theirs)?;
            }
        }
        Ok(())
    }
}

fn check(bench: &mut Bench<'_>) -> Result<()> {
    let root = bench.folder().canonicalize()?;
    let [theirs, ours] = [root.join("theirs"), root.join("ours")].map(|path: PathBuf| {
        std::fs::create_dir(&path)?;
        std::io::Result::Ok(path)
    });
    let (theirs, ours) = (theirs?, ours?);
    let mut official = bench.node("server-filesystem/dist/index.js");
    official.arg(&theirs).env("TZ", "UTC").env("LC_ALL", "C");
    let grant =
        json!({ "host": ours.display().to_string(), "guest": theirs.display().to_string(), "mode": "rw" });
    bench.start(official, &allow(&grant))?;
    bench.adjust(|_, method, answer| normal::answer(method, answer));
    bench.lists();
    let [theirs, ours] = [theirs, ours].map(Folder::new);
    for (name, check) in odd::CHECKS {
        let (theirs, ours) = (theirs.clone(), ours.clone());
        bench.check(name, |bench| {
            let mut both = Both { bench, theirs, ours };
            both.clear()?;
            check(&mut both)
        });
    }
    bench.generated("made-up calls", 0..8, |bench, random| {
        let mut both = Both { bench, theirs: theirs.clone(), ours: ours.clone() };
        calls::made_up(&mut both, random)
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
