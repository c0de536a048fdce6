//! Reading files: all, or the first or last lines, as text or bytes.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};

use moongate_sdk::files;

use crate::answer::{self, MediaResult};
use crate::fault::FsError;
use crate::path::ResolvedPath;
use crate::{mime, uri};

/// The chunk size for reading part of a file, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// The lines of a file to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    All,
    First(usize),
    Last(usize),
}

impl Lines {
    /// Parses the arguments `head` and `tail`. 0 is the same as absent.
    pub(crate) fn asked(head: Option<f64>, tail: Option<f64>) -> Result<Self, FsError> {
        match (count("head", head)?, count("tail", tail)?) {
            (0, 0) => Ok(Self::All),
            (head, 0) => Ok(Self::First(head)),
            (0, tail) => Ok(Self::Last(tail)),
            _ => {
                Err(FsError::Other("Cannot specify both head and tail parameters simultaneously".to_owned()))
            }
        }
    }
}

fn count(name: &str, lines: Option<f64>) -> Result<usize, FsError> {
    let lines = lines.unwrap_or_default();
    if lines < 0.0 || lines.fract() != 0.0 {
        return Err(FsError::Other(format!("`{name}` must be a non-negative integer, not {lines}")));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no file has more lines, and negative numbers are refused above"
    )]
    Ok(lines as usize)
}

/// The text of a file. Bytes that aren't UTF-8 become U+FFFD.
pub(crate) fn text(file: &ResolvedPath, lines: Lines) -> Result<String, FsError> {
    let path = &file.path;
    let bytes = match lines {
        Lines::All => whole(path)?,
        Lines::First(count) => first(path, count)?,
        Lines::Last(count) => last(path, count)?,
    };
    let text = decode(bytes);
    // As in the official server, only `tail` normalizes line endings.
    Ok(if matches!(lines, Lines::Last(_)) { text.replace("\r\n", "\n") } else { text })
}

/// An image, audio or other binary file, by file extension.
pub(crate) fn media(file: &ResolvedPath) -> Result<MediaResult, FsError> {
    let data = whole(&file.path)?;
    let mime_type = mime::of_media(&file.path);
    Ok(match mime_type.split_once('/') {
        Some(("image", _)) => MediaResult::Image { data, mime_type },
        Some(("audio", _)) => MediaResult::Audio { data, mime_type },
        _ => MediaResult::Other { data, mime_type, uri: uri::of(&file.path) },
    })
}

/// All bytes of a file, if they fit into a result.
pub(crate) fn whole(path: &str) -> Result<Vec<u8>, FsError> {
    let size = fs::metadata(path).map_err(FsError::system("open", path))?.len();
    answer::fits(path, size)?;
    bytes(path)
}

/// All bytes of a file.
pub(crate) fn bytes(path: &str) -> Result<Vec<u8>, FsError> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| while_reading(&file, error))?;
    Ok(bytes)
}

/// The first lines, without the final newline.
fn first(path: &str, count: usize) -> Result<Vec<u8>, FsError> {
    let mut file = open(path)?;
    let (mut bytes, mut chunk, mut found) = (Vec::new(), vec![0; CHUNK_BYTES], 0);
    loop {
        let read = file.read(&mut chunk).map_err(|error| while_reading(&file, error))?;
        if read == 0 {
            break;
        }
        for (at, _) in chunk[..read].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            found += 1;
            if found == count {
                bytes.extend_from_slice(&chunk[..at]);
                return Ok(bytes);
            }
        }
        bytes.extend_from_slice(&chunk[..read]);
        answer::fits(path, bytes.len() as u64)?;
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(bytes)
}

/// The last lines. A trailing newline belongs to the last line.
fn last(path: &str, count: usize) -> Result<Vec<u8>, FsError> {
    let mut file = open(path)?;
    let mut start = file.seek(SeekFrom::End(0)).map_err(|error| while_reading(&file, error))?;
    // Chunks in reverse order.
    let (mut chunks, mut size, mut found) = (Vec::<Vec<u8>>::new(), 0, 0);
    'file: while start > 0 {
        let length = usize::try_from(start).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        start -= length as u64;
        let mut chunk = vec![0; length];
        file.seek(SeekFrom::Start(start))
            .and_then(|_| file.read_exact(&mut chunk))
            .map_err(|error| while_reading(&file, error))?;
        let mut search = if chunks.is_empty() && chunk.last() == Some(&b'\n') { length - 1 } else { length };
        while let Some(at) = chunk[..search].iter().rposition(|byte| *byte == b'\n') {
            found += 1;
            if found == count {
                chunk.drain(..=at);
                chunks.push(chunk);
                break 'file;
            }
            search = at;
        }
        size += length as u64;
        answer::fits(path, size)?;
        chunks.push(chunk);
    }
    chunks.reverse();
    Ok(chunks.concat())
}

fn open(path: &str) -> Result<File, FsError> {
    let file = File::open(path).map_err(FsError::system("open", path))?;
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(FsError::of_code(libc::EISDIR, "read", ""));
    }
    Ok(file)
}

fn while_reading(file: &File, error: io::Error) -> FsError {
    FsError::system("read", "")(files::reason(file, error))
}

/// Decodes bytes as text.
pub(crate) fn decode(bytes: Vec<u8>) -> String {
    match String::from_utf8_lossy(&bytes) {
        Cow::Owned(text) => text,
        Cow::Borrowed(_) => String::from_utf8(bytes).expect("valid UTF-8"),
    }
}

#[cfg(test)]
mod tests;
