//! Computes the lines that an edit changes, to show them and to change only them.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use crate::fault::FsError;

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 4;

/// The time limit for finding the smallest difference. After that, the diff can be larger than necessary.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);

/// The difference between two texts.
pub(crate) struct Diff<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    ops: Vec<DiffOp>,
}

impl<'a> Diff<'a> {
    /// Compares two texts with LF line endings.
    pub(crate) fn new(old: &'a str, new: &'a str) -> Self {
        let [old, new] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
        let ops =
            capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + DIFF_TIMEOUT));
        Self { old, new, ops }
    }

    /// The unified diff, with the headings of the official server.
    pub(crate) fn unified(&self, path: &str) -> String {
        let rule = "=".repeat(67);
        let mut text = format!("Index: {path}\n{rule}\n--- {path}\toriginal\n+++ {path}\tmodified\n");
        for hunk in group_diff_ops(self.ops.clone(), CONTEXT_LINES) {
            self.hunk(&hunk, &mut text);
        }
        text
    }

    fn hunk(&self, ops: &[DiffOp], text: &mut String) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
        let range = |start: usize, end: usize| {
            // An empty range names the line before it.
            let length = end - start;
            format!("{},{length}", if length == 0 { start } else { start + 1 })
        };
        let old = range(first.old_range().start, last.old_range().end);
        let new = range(first.new_range().start, last.new_range().end);
        text.push_str(&format!("@@ -{old} +{new} @@\n"));
        for op in ops {
            if let DiffOp::Equal { .. } = op {
                lines(' ', &self.old[op.old_range()], text);
            } else {
                lines('-', &self.old[op.old_range()], text);
                lines('+', &self.new[op.new_range()], text);
            }
        }
    }

    /// Applies the change to the bytes from which `old` was read: unchanged lines keep their bytes, and new lines get
    /// the most common line ending.
    pub(crate) fn onto(&self, raw: &[u8]) -> Result<Vec<u8>, FsError> {
        let raw: Vec<&[u8]> = raw.split_inclusive(|byte| *byte == b'\n').collect();
        let ended = raw.iter().filter(|line| line.ends_with(b"\n")).count();
        let crlf = raw.iter().filter(|line| line.ends_with(b"\r\n")).count();
        let mut bytes = Vec::new();
        for op in &self.ops {
            let (old, new) = (&raw[op.old_range()], &self.new[op.new_range()]);
            if let DiffOp::Equal { .. } = op {
                bytes.extend(old.iter().copied().flatten());
                continue;
            }
            let marred = new.iter().any(|line| line.contains('\u{fffd}'));
            if marred && old.iter().any(|line| str::from_utf8(line).is_err()) {
                return Err(FsError::Other(format!(
                    "Lines {} to {} contain bytes that aren't UTF-8 and would be lost; edit other lines only",
                    op.old_range().start + 1,
                    op.old_range().end
                )));
            }
            for line in new {
                match line.strip_suffix('\n') {
                    Some(line) if crlf * 2 > ended => {
                        bytes.extend_from_slice(line.as_bytes());
                        bytes.extend_from_slice(b"\r\n");
                    }
                    _ => bytes.extend_from_slice(line.as_bytes()),
                }
            }
        }
        Ok(bytes)
    }
}

fn lines(sign: char, lines: &[&str], text: &mut String) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}
