//! Paths that a guest looked for where no directory is granted.
//!
//! A guest's own library compares a path with the granted directories, and where it fits none of them the host is asked
//! for nothing. What the host sees is that the guest asked which directories there are. If it looked into none of them
//! and the call failed, it wanted something that it wasn't granted, and perhaps the path stands in what it says of that.
//!
//! Nothing else is told: some languages ask at their start, whatever they are about to do, and an answer may name paths
//! that are no files. Where that is all there is, it is noted as a possibility for whoever asks for an explanation. A
//! path comes from the guest, and often from its caller: it is only ever shown beside what is certain.

use std::borrow::Cow;
use std::path::{Component, Path};

use moongate_core::call::Cure;
use moongate_core::config::DirGrant;

use crate::host::diagnostics::crash_report::StderrTail;
use crate::host::diagnostics::text;
use crate::host::sandbox::store::State;
use crate::host::wasi::grant_audit::Lack;

/// The longest path that is told, in bytes.
const LONGEST: usize = 200;
/// How many bytes more say that a path is longer: those of any character.
const TOO_LONG: usize = 4;
/// In how much of a text a path is looked for, in bytes.
const LOOKED_AT: usize = 4 << 10;
/// What all of this is, to be told once.
const KIND: &str = "a file or a directory";

/// What a call has to do with the granted directories.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Looks {
    pub(super) asked: Asked,
    /// It looked into one.
    pub(super) inside: bool,
}

/// When the guest asked which directories there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Asked {
    #[default]
    Never,
    /// Before it was asked anything: at its start, or in an earlier call.
    Earlier,
    /// Since then.
    InCall,
}

impl Looks {
    /// What is left of it for what the guest is asked next.
    pub(super) fn earlier(self) -> Self {
        let asked = match self.asked {
            Asked::Never => Asked::Never,
            Asked::Earlier | Asked::InCall => Asked::Earlier,
        };
        Self { asked, inside: false }
    }
}

impl State {
    /// Tells the operator where a call looked for a path that no directory is granted for. `complaint`: what the guest says
    /// of its failure, if it failed; `tail`: the end of its stderr. Both are asked for only where they matter.
    pub(in crate::host) fn tell_missed<'c, 'w>(
        &self,
        complaint: impl FnOnce() -> Option<Cow<'c, str>>,
        tail: impl FnOnce() -> Option<&'w StderrTail>,
    ) {
        let granted = &self.config.allow.dirs;
        let Looks { asked, inside } = self.homes.looks;
        if asked == Asked::Never || inside {
            return;
        }
        let Some(said) = complaint() else {
            if asked == Asked::InCall && granted.is_empty() {
                self.uses.may_have_lacked(|| perhaps(None));
            }
            return;
        };
        let path = named(&said, granted);
        // Python looks for the lines that it shows with a traceback in files.
        let raised = || tail().is_some_and(StderrTail::is_python_traceback);
        if asked == Asked::InCall && !raised() {
            self.uses.lacked_some(KIND, certain(path, granted));
        } else if path.is_some() {
            self.uses.may_have_lacked(|| perhaps(path));
        }
    }
}

/// What a call lacked that failed after it had looked for something.
fn certain(path: Option<&str>, granted: &[DirGrant]) -> Lack {
    let mut wanted = KIND.to_owned();
    if let Some(path) = path {
        wanted.push_str(&format!(" (perhaps `{path}`)"));
    }
    if !granted.is_empty() {
        let names: Vec<_> = granted.iter().map(|grant| format!("`{}`", grant.guest)).collect();
        wanted.push_str(&format!(" outside of {}", names.join(", ")));
    }
    Lack { wanted, cure: Some(cure(path)) }
}

/// What a call may have lacked.
fn perhaps(path: Option<&str>) -> Lack {
    let path_too = path.map(|path| format!(", such as `{path}`")).unwrap_or_default();
    Lack { wanted: format!("perhaps {KIND}{path_too}"), cure: Some(cure(path)) }
}

/// The first absolute path in the beginning of a text that lies in none of these directories.
fn named<'t>(text: &'t str, granted: &[DirGrant]) -> Option<&'t str> {
    let is_path = |path: &&str| {
        (2..=LONGEST).contains(&path.len())
            && !path.starts_with("//")
            && !path.contains(|c: char| c.is_control() || text::is_hidden(c) || matches!(c, '\\' | '`'))
            && Path::new(path).components().all(|part| !matches!(part, Component::ParentDir))
    };
    candidates(text)
        .map(|piece| piece.trim_end_matches(['.', '/']))
        .filter(is_path)
        .find(|path| granted.iter().all(|grant| !Path::new(path).starts_with(&grant.guest)))
}

/// What may be a path in the beginning of a text; of one that is too long for that, the first bytes. All of them together
/// are no longer than a few times that beginning: without quotes none overlaps another, and with quotes only those do
/// that are in different ones.
fn candidates(text: &str) -> impl Iterator<Item = &str> {
    let text = text::beginning(text, LOOKED_AT);
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + text[from..].find('/')?;
            from = at + 1;
            let quote = match text[..at].chars().next_back() {
                Some(quote @ ('"' | '\'' | '`')) => Some(quote),
                None | Some(' ' | '\n' | '\t' | '(' | '=') => None,
                Some(_) => continue,
            };
            let closes = |c: char| match quote {
                Some(quote) => c == quote,
                None => " \n\t\"'`,;:()".contains(c),
            };
            let piece = text::beginning(&text[at..], LONGEST + TOO_LONG).split(closes).next()?;
            if quote.is_none() {
                from = at + piece.len();
            }
            return Some(piece);
        }
    })
}

/// What grants the directory of a path: the one that it is in, unless it can only be one itself. It is named only if
/// nothing in its name can be taken for something else.
fn cure(path: Option<&str>) -> Cure {
    let folder = path.map(|path| match path.rsplit_once('/') {
        Some(("", name)) if name.contains('.') => "/",
        Some(("", _)) | None => path,
        Some((folder, _)) => folder,
    });
    Cure::ReadDirectory { guest: folder.filter(|folder| is_plain(folder)).map(str::to_owned) }
}

/// Is it an absolute path of names that are words?
fn is_plain(path: &str) -> bool {
    let is_word = |name: &str| {
        !matches!(name, "" | "." | "..")
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    path == "/" || path.strip_prefix('/').is_some_and(|names| names.split('/').all(is_word))
}

#[cfg(test)]
mod tests;
