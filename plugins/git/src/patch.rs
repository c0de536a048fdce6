//! Patches: changes as text in the format of `git diff`.

use std::fmt::Write as _;
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice as _};
use gix_imara_diff::{Algorithm, Diff, InternedInput, sources};

use crate::changes::{Change, FileVersion, Place};
use crate::fault::GitResult;
use crate::object::ObjectId;
use crate::renames;
use crate::repository::Repository;
use crate::worktree::Worktree;

/// The maximum length of the line of context after `@@`, in bytes.
const MAX_SECTION_BYTES: usize = 80;

/// What a patch is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatchSource<'a, 'r> {
    pub(crate) repository: &'a Repository,
    /// The working tree, with the attributes of paths. `None` for a bare repository.
    pub(crate) worktree: Option<&'a Worktree<'r>>,
}

/// The text of one file's change.
#[derive(Debug)]
pub(crate) struct FilePatch {
    /// The lines before the changed lines, such as `diff --git` and `index`.
    pub(crate) header: Vec<u8>,
    /// `--- a/file` and `+++ b/file`. Empty if the content is equal or binary.
    pub(crate) names: Vec<u8>,
    /// The changed lines.
    pub(crate) body: Vec<u8>,
}

/// How long ids are in a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdLength {
    Abbreviated,
    Full,
}

impl PatchSource<'_, '_> {
    /// The content of one side.
    fn content(&self, path: &BStr, version: FileVersion) -> GitResult<Rc<Vec<u8>>> {
        match (version.place, self.worktree) {
            (Place::Worktree, Some(worktree)) => worktree.content(path, version.mode).map(Rc::new),
            _ if version.mode.is_submodule() => {
                Ok(Rc::new(format!("Subproject commit {}\n", version.id).into_bytes()))
            }
            _ => self.repository.odb.blob(version.id),
        }
    }

    /// Joins deleted and new files with similar content.
    pub(crate) fn with_renames(&self, changes: Vec<Change>) -> GitResult<Vec<Change>> {
        renames::detect(changes, |path, version| self.content(path, version))
    }

    /// The patch with all changes, without a final line break.
    pub(crate) fn text(&self, changes: Vec<Change>, context: u32) -> GitResult<String> {
        let mut text = Vec::new();
        for change in self.with_renames(changes)? {
            for patch in self.patches(&change, context, IdLength::Abbreviated)? {
                text.extend(patch.header);
                text.extend(patch.names);
                text.extend(patch.body);
            }
        }
        // The official server removes the last line break.
        text.pop_if(|byte| *byte == b'\n');
        Ok(text.to_str_lossy().into_owned())
    }

    /// The patches of a change: two if a file becomes a link, for example.
    pub(crate) fn patches(&self, change: &Change, context: u32, ids: IdLength) -> GitResult<Vec<FilePatch>> {
        let (old, new) = (change.old, change.new);
        match (old, new) {
            (None, None) => {
                let header = format!("* Unmerged path {}\n", quoted(change.path.as_bstr())).into_bytes();
                Ok(vec![FilePatch { header, names: Vec::new(), body: Vec::new() }])
            }
            (Some(before), Some(after)) if !before.mode.is_same_type(after.mode) => Ok(vec![
                self.patch(change, old, None, context, ids)?,
                self.patch(change, None, new, context, ids)?,
            ]),
            _ => Ok(vec![self.patch(change, old, new, context, ids)?]),
        }
    }

    fn patch(
        &self,
        change: &Change,
        old: Option<FileVersion>,
        new: Option<FileVersion>,
        context: u32,
        ids: IdLength,
    ) -> GitResult<FilePatch> {
        let old_path = change.old_path();
        let new_path = change.path.as_bstr();
        let old_name = quoted(format_path("a/", old_path).as_bstr());
        let new_name = quoted(format_path("b/", new_path).as_bstr());
        let mut header = format!("diff --git {old_name} {new_name}\n");
        match (old, new) {
            (Some(old), Some(new)) if old.mode != new.mode => {
                let _ = write!(header, "old mode {}\nnew mode {}\n", old.mode, new.mode);
            }
            (None, Some(new)) => {
                let _ = writeln!(header, "new file mode {}", new.mode);
            }
            (Some(old), None) => {
                let _ = writeln!(header, "deleted file mode {}", old.mode);
            }
            _ => {}
        }
        if let Some((from, percent)) = &change.renamed {
            let (from, to) = (quoted(from.as_bstr()), quoted(new_path));
            let _ = write!(header, "similarity index {percent}%\nrename from {from}\nrename to {to}\n");
        }
        let id = |version: Option<FileVersion>| version.map_or_else(ObjectId::default, |version| version.id);
        if id(old) == id(new) {
            return Ok(FilePatch { header: header.into_bytes(), names: Vec::new(), body: Vec::new() });
        }
        let shown = |id: ObjectId| match ids {
            IdLength::Full => Ok(id.to_string()),
            IdLength::Abbreviated => self.repository.abbreviated(id),
        };
        let mode = match (old, new) {
            (Some(old), Some(new)) if old.mode == new.mode => format!(" {}", old.mode),
            _ => String::new(),
        };
        let _ = writeln!(header, "index {}..{}{mode}", shown(id(old))?, shown(id(new))?);
        let read = |path: &BStr, version: Option<FileVersion>| match version {
            Some(version) => self.content(path, version),
            None => Ok(Rc::default()),
        };
        let before = read(old_path, old)?;
        let after = read(new_path, new)?;
        let name = |name: &BString, version: Option<FileVersion>| match version {
            Some(_) if name.contains(&b' ') => format!("{name}\t"),
            Some(_) => name.to_string(),
            None => "/dev/null".to_owned(),
        };
        let is_binary = |path: &BStr, content: &[u8]| match self.worktree {
            Some(worktree) => worktree.attributes.is_binary(path, content),
            None => crate::attributes::has_nul(content),
        };
        if is_binary(old_path, &before) || is_binary(new_path, &after) {
            let old = if old.is_some() { old_name.to_string() } else { "/dev/null".to_owned() };
            let new = if new.is_some() { new_name.to_string() } else { "/dev/null".to_owned() };
            let body = format!("Binary files {old} and {new} differ\n").into_bytes();
            return Ok(FilePatch { header: header.into_bytes(), names: Vec::new(), body });
        }
        let body = hunks(&before, &after, context);
        let names = if body.is_empty() {
            Vec::new()
        } else {
            format!("--- {}\n+++ {}\n", name(&old_name, old), name(&new_name, new)).into_bytes()
        };
        Ok(FilePatch { header: header.into_bytes(), names, body })
    }
}

fn format_path(prefix: &str, path: &BStr) -> BString {
    [prefix.as_bytes(), path].concat().into()
}

/// A path as Git prints it: in quotes if it has special characters (`core.quotePath`).
pub(crate) fn quoted(path: &BStr) -> BString {
    let is_plain = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
    if path.iter().all(is_plain) {
        return path.into();
    }
    let mut text = String::from("\"");
    for byte in path.iter() {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            7 => text.push_str("\\a"),
            8 => text.push_str("\\b"),
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            11 => text.push_str("\\v"),
            12 => text.push_str("\\f"),
            b'\r' => text.push_str("\\r"),
            byte if is_plain(byte) => text.push(char::from(*byte)),
            byte => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text.push('"');
    text.into()
}

/// The changed lines with this many lines of context, in hunks. Empty if nothing changed.
pub(crate) fn hunks(before: &[u8], after: &[u8], context: u32) -> Vec<u8> {
    let input = InternedInput::new(sources::byte_lines(before), sources::byte_lines(after));
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let old: Vec<&[u8]> = input.before.iter().map(|token| input.interner[*token]).collect();
    let new: Vec<&[u8]> = input.after.iter().map(|token| input.interner[*token]).collect();
    let context = context as usize;
    let changes: Vec<[usize; 4]> = diff
        .hunks()
        .map(|hunk| {
            [hunk.before.start, hunk.before.end, hunk.after.start, hunk.after.end].map(|at| at as usize)
        })
        .collect();
    let mut text = Vec::new();
    let mut section: &[u8] = b"";
    let mut searched = 0;
    let mut rest = changes.as_slice();
    while let Some(first) = rest.first() {
        // Changes belong to one hunk if their contexts touch.
        let count = 1 + rest
            .windows(2)
            .take_while(|pair| pair[1][0] - pair[0][1] <= context.saturating_mul(2))
            .count();
        let (hunk, later) = rest.split_at(count);
        rest = later;
        let last = hunk.last().unwrap_or(first);
        let start = first[0].saturating_sub(context);
        let new_start = first[2] - (first[0] - start);
        let end = last[1].saturating_add(context).min(old.len());
        let new_end = last[3] + (end - last[1]);
        if let Some(found) = (searched..start).rev().find(|at| starts_section(old[*at])) {
            section = old[found];
        }
        searched = start;
        let range = |start: usize, end: usize| {
            let first = if start == end { start } else { start + 1 };
            if end - start == 1 { format!("{first}") } else { format!("{first},{}", end - start) }
        };
        text.extend(format!("@@ -{} +{} @@", range(start, end), range(new_start, new_end)).bytes());
        let shown = section[..section.len().min(MAX_SECTION_BYTES)].trim_ascii_end();
        if !shown.is_empty() {
            text.push(b' ');
            text.extend_from_slice(shown);
        }
        text.push(b'\n');
        let mut at = start;
        for change in hunk {
            lines(&mut text, b' ', &old[at..change[0]]);
            lines(&mut text, b'-', &old[change[0]..change[1]]);
            lines(&mut text, b'+', &new[change[2]..change[3]]);
            at = change[1];
        }
        lines(&mut text, b' ', &old[at..end]);
    }
    text
}

/// Returns `true` for lines that Git shows as the context of a hunk.
fn starts_section(line: &[u8]) -> bool {
    line.first().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$'))
}

fn lines(text: &mut Vec<u8>, mark: u8, lines: &[&[u8]]) {
    for line in lines {
        text.push(mark);
        text.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            text.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests;
