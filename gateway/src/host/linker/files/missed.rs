//! Paths that a guest looked for where no directory is granted.
//!
//! A guest's own library compares a path with the granted directories, and where it fits none of them the host is asked
//! for nothing. What the host sees is that the guest asked which directories there are: where there are none, it looked
//! for something in vain. Where there are some, it may have looked elsewhere if the call failed: then the path stands
//! in what it says of that, or it keeps the directories and didn't look into any of them.

use std::path::{Component, Path};

use moongate_core::config::{DirGrant, directory_cure};

use crate::host::output::How;
use crate::host::store::State;
use crate::host::uses::Lack;

/// The longest path that is told, in bytes.
const LONGEST: usize = 200;

/// What a call has to do with the granted directories.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// It asked which there are.
    pub(super) asked: bool,
    /// It looked into one.
    pub(super) inside: bool,
}

impl State {
    /// Tells the operator where a call looked for a path that no directory is granted for. `complaint`: what the guest says
    /// of its failure, if it failed.
    pub(in crate::host) fn tell_missed(&self, complaint: Option<&str>) {
        let granted = &self.config.allow.dirs;
        let Looks { asked, inside } = self.homes.looks;
        let keeps_some = self.homes.granted() > 0;
        // Python looks for the lines that it shows with a traceback in files.
        let is_traceback = || self.output.last_words().is_some_and(|words| words.how == How::Raised);
        if !asked && !keeps_some {
            return;
        }
        let path = complaint.and_then(|said| named(said, granted));
        let lack = match path {
            Some(path) => Lack { wanted: format!("the path `{path}`"), cure: Some(cure(path)) },
            None if is_traceback() => return,
            None if granted.is_empty() => Lack {
                wanted: "to look for a file or a directory".to_owned(),
                cure: Some(directory_cure("…")),
            },
            None if complaint.is_some() && asked && keeps_some && !inside => {
                let names: Vec<_> = granted.iter().map(|grant| format!("`{}`", grant.guest)).collect();
                let wanted = format!("a path outside of {}", names.join(", "));
                Lack { wanted, cure: Some(directory_cure("…")) }
            }
            None => return,
        };
        self.uses.lacked(lack);
    }
}

/// The first absolute path in a text that lies in none of these directories.
fn named<'t>(text: &'t str, granted: &[DirGrant]) -> Option<&'t str> {
    let starts = text.match_indices('/').filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let closes = match before {
            Some(quote @ ('"' | '\'' | '`')) => quote.to_string(),
            None | Some(' ' | '\n' | '\t' | '(' | '=') => " \n\t\"'`,;:()".to_owned(),
            Some(_) => return None,
        };
        let path = text[at..].split(|c| closes.contains(c)).next()?;
        Some(path.trim_end_matches(['.', '/']))
    });
    let is_path = |path: &&str| {
        (2..=LONGEST).contains(&path.len())
            && !path.starts_with("//")
            && !path.contains(|c: char| c.is_control() || c == '\\')
            && Path::new(path).components().all(|part| !matches!(part, Component::ParentDir))
    };
    starts.filter(is_path).find(|path| granted.iter().all(|grant| !Path::new(path).starts_with(&grant.guest)))
}

/// The line that grants the directory of a path: the one that it is in, unless it can only be one itself.
fn cure(path: &str) -> String {
    let folder = match path.rsplit_once('/') {
        Some(("", name)) if name.contains('.') => "/",
        Some(("", _)) | None => path,
        Some((folder, _)) => folder,
    };
    directory_cure(folder)
}

#[cfg(test)]
mod tests;
