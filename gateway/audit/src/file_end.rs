//! The end of a file: its last valid line, and what a crash has left after it.
//!
//! The end can be long: a system that crashes can have given the file its size, but not its content. So it is read in
//! pieces, from the last one backwards.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use memchr::memrchr;
use serde::de::IgnoredAny;

use crate::chain::{ChainHash, ChainHead, LINE_START, LineError, check_line};
use crate::key::AuditKey;

/// The longest line, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 1 << 20;

/// The longest end of a file that is repaired, in bytes.
pub(crate) const MAX_TORN_BYTES: u64 = 1 << 30;

/// The bytes that are read at once.
const PIECE_BYTES: u64 = 64 << 10;

/// The end of a file.
pub(crate) struct FileEnd {
    /// The last valid line.
    pub(crate) last: Option<LastLine>,
    /// The bytes after it, if there are any.
    pub(crate) torn: Option<TornEnd>,
    /// The file ends without an end of line.
    pub(crate) is_unterminated: bool,
    /// The file can't be continued: a line after the last valid one is whole, but was changed or has another key, or
    /// the content isn't that of a log.
    pub(crate) is_invalid: bool,
}

/// The last valid line of a file.
pub(crate) struct LastLine {
    pub(crate) head: ChainHead,
    /// Its first byte in the file.
    pub(crate) offset: u64,
}

/// Bytes that aren't a record.
pub(crate) struct TornEnd {
    pub(crate) bytes: u64,
    pub(crate) hash: ChainHash,
}

impl FileEnd {
    /// Reads the end of a file of this size.
    pub(crate) fn read(file: &File, size: u64, key: &AuditKey) -> io::Result<Self> {
        let mut lines = ReverseLines::of(file, size)?;
        let is_unterminated = size > 0 && read_at(file, size - 1, 1)? != b"\n";
        let mut end = Self { last: None, torn: None, is_unterminated, is_invalid: false };
        let mut valid_end = 0;
        let mut is_last = true;
        while let Some((offset, line)) = lines.next()? {
            let checked = line.as_ref().map_or(Err(LineError::Form), |line| {
                check_line(key, line).map(|checked| (checked, line.len()))
            });
            let is_whole = !(is_last && is_unterminated) && line.as_deref().is_some_and(looks_like_record);
            match checked {
                Ok((line, bytes)) => {
                    // A crash can leave the last line without its end.
                    valid_end = if is_last { size } else { offset + bytes as u64 + 1 };
                    end.last = Some(LastLine { head: line.head(), offset });
                    break;
                }
                // The start of a line, which a crash can leave, has no hash. A whole line was inserted by someone without
                // the key.
                Err(LineError::Form) if !is_whole && size - offset <= MAX_TORN_BYTES => {}
                Err(LineError::Form | LineError::Hash | LineError::Version) => {
                    return Ok(Self { is_invalid: true, ..end });
                }
            }
            is_last = false;
        }
        if valid_end < size {
            let (torn, could_be_torn) = hash_torn(file, valid_end, size, key)?;
            end.is_invalid = end.last.is_none() && !could_be_torn;
            end.torn = Some(torn);
        }
        Ok(end)
    }
}

/// Reports whether programs would take a line without a valid hash for a record. A crash cuts records, and can replace
/// parts of them by zeros.
fn looks_like_record(line: &[u8]) -> bool {
    line.trim_ascii().starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// The size and hash of the end of a file, without its end of line, and whether it can be the start of a line. Another
/// file isn't continued.
fn hash_torn(file: &File, start: u64, size: u64, key: &AuditKey) -> io::Result<(TornEnd, bool)> {
    let (mut hash, mut at) = (key.torn_hash(), start);
    let (mut is_zero, mut is_start) = (true, false);
    while at < size {
        let piece = read_at(file, at, (size - at).min(PIECE_BYTES))?;
        is_zero = is_zero && piece.iter().all(|byte| *byte == 0);
        if at == start {
            is_start = piece.starts_with(LINE_START) || LINE_START.starts_with(&piece);
        }
        at += piece.len() as u64;
        hash.update(if at == size { piece.strip_suffix(b"\n").unwrap_or(&piece) } else { &piece });
    }
    Ok((TornEnd { bytes: hash.bytes(), hash: hash.finish() }, is_zero || is_start))
}

fn read_at(file: &File, start: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut piece, start)?;
    Ok(piece)
}

/// The line at this place of a file, without its end.
pub(crate) fn line_at(file: &File, start: u64) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        let at = line.len();
        line.resize(at + 4096, 0);
        let read = file.read_at(&mut line[at..], start + at as u64)?;
        line.truncate(at + read);
        if let Some(end) = line[at..].iter().position(|byte| *byte == b'\n') {
            line.truncate(at + end);
            return Ok(line);
        }
        if read == 0 || line.len() > MAX_LINE_BYTES {
            return Ok(line);
        }
    }
}

/// The lines of a file from the last one backwards: where they start, and their text unless it is too long.
struct ReverseLines<'a> {
    file: &'a File,
    /// The offset of the piece in the file.
    start: u64,
    /// The bytes before the line that was returned last.
    piece: Vec<u8>,
    is_done: bool,
}

impl<'a> ReverseLines<'a> {
    fn of(file: &'a File, size: u64) -> io::Result<Self> {
        let mut lines = Self { file, start: size, piece: Vec::new(), is_done: size == 0 };
        lines.read_before()?;
        // The end of the last line doesn't begin another one.
        lines.piece.pop_if(|last| *last == b'\n');
        Ok(lines)
    }

    /// Reads the bytes before the piece.
    fn read_before(&mut self) -> io::Result<()> {
        let bytes = self.start.min(PIECE_BYTES);
        let mut piece = read_at(self.file, self.start - bytes, bytes)?;
        piece.append(&mut self.piece);
        (self.start, self.piece) = (self.start - bytes, piece);
        Ok(())
    }

    fn next(&mut self) -> io::Result<Option<(u64, Option<Vec<u8>>)>> {
        if self.is_done {
            return Ok(None);
        }
        let mut is_long = false;
        let mut searched = 0;
        loop {
            let unsearched = self.piece.len() - searched;
            if let Some(at) = memrchr(b'\n', &self.piece[..unsearched]) {
                let line = self.piece.split_off(at + 1);
                self.piece.pop();
                return Ok(Some((self.start + at as u64 + 1, (!is_long).then_some(line))));
            }
            if self.start == 0 {
                self.is_done = true;
                let line = std::mem::take(&mut self.piece);
                return Ok(Some((0, (!is_long).then_some(line))));
            }
            if self.piece.len() > MAX_LINE_BYTES {
                is_long = true;
                self.piece.clear();
            }
            searched = self.piece.len();
            self.read_before()?;
        }
    }
}
