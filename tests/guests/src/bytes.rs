//! Tools that read and write files in different ways until that fails.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};

use wasip2::cli::stdout;
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags, filesystem_error_code,
};
use wasip2::io::streams::StreamError;

/// The number of bytes read or written in one step.
const CHUNK_BYTES: usize = 64 << 10;

/// The ways to read.
pub(crate) const READING: [&str; 6] = ["file", "descriptor", "stream", "skip", "splice", "folder"];

/// The ways to write.
pub(crate) const WRITING: [&str; 10] =
    ["file", "append", "descriptor", "stream", "zeros", "size", "files", "folders", "far", "far-stream"];

/// The progress until the failure.
struct RepeatResult {
    bytes: u64,
    ended: String,
}

impl RepeatResult {
    fn outcome_text(self) -> String {
        let Self { bytes, ended } = self;
        format!("{bytes} bytes, then: {ended}")
    }
}

/// Repeats `step`, which returns the number of bytes it moved, until it fails.
fn again(mut step: impl FnMut() -> Result<u64, String>) -> RepeatResult {
    let mut bytes = 0;
    loop {
        match step() {
            Ok(more) => bytes += more,
            Err(ended) => return RepeatResult { bytes, ended },
        }
    }
}

/// Reads a file, or the names in a directory, from the start repeatedly.
pub(crate) fn read(path: &str, way: &str) -> String {
    let course = match way {
        "file" => again(|| read_file(path).map_err(error_text)),
        "folder" => again(|| {
            let entries = std::fs::read_dir(path).map_err(error_text)?;
            entries.map(|entry| Ok(entry.map_err(error_text)?.file_name().len() as u64)).sum()
        }),
        _ => match opened(path, OpenFlags::empty(), DescriptorFlags::READ) {
            Ok(file) => again(|| read_descriptor(&file, way)),
            Err(ended) => RepeatResult { bytes: 0, ended },
        },
    };
    course.outcome_text()
}

fn read_file(path: &str) -> io::Result<u64> {
    let (mut file, mut piece, mut bytes) = (File::open(path)?, vec![0; CHUNK_BYTES], 0);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(bytes),
            read => bytes += read as u64,
        }
    }
}

/// Reads once from the start of a file.
fn read_descriptor(file: &Descriptor, way: &str) -> Result<u64, String> {
    let length = CHUNK_BYTES as u64;
    if way == "descriptor" {
        return Ok(file.read(length, 0).map_err(code)?.0.len() as u64);
    }
    let stream = file.read_via_stream(0).map_err(code)?;
    match way {
        "skip" => stream.blocking_skip(length).map_err(broken),
        "splice" => stdout::get_stdout().blocking_splice(&stream, length).map_err(broken),
        _ => {
            let ready = stream.subscribe();
            loop {
                ready.block();
                let bytes = stream.read(length).map_err(broken)?;
                if !bytes.is_empty() {
                    return Ok(bytes.len() as u64);
                }
            }
        }
    }
}

/// Writes a file repeatedly.
pub(crate) fn write(path: &str, way: &str) -> String {
    let piece = vec![b'x'; CHUNK_BYTES];
    let course = match way {
        "file" => again(|| {
            File::create(path).and_then(|mut file| file.write_all(&piece)).map_err(error_text).map(whole)
        }),
        "append" => again(|| {
            let file = OpenOptions::new().append(true).create(true).open(path);
            file.and_then(|mut file| file.write_all(&piece)).map_err(error_text).map(whole)
        }),
        "files" | "folders" => {
            let mut made = 0;
            again(|| {
                made += 1;
                let path = format!("{path}{made}");
                let new =
                    if way == "files" { File::create(path).map(drop) } else { std::fs::create_dir(path) };
                new.map(|()| 1).map_err(error_text)
            })
        }
        "size" => {
            let mut size = 0;
            again(|| {
                size += CHUNK_BYTES as u64;
                let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
                file.and_then(|file| file.set_len(size)).map_err(error_text).map(whole)
            })
        }
        _ => match opened(path, OpenFlags::CREATE, DescriptorFlags::READ | DescriptorFlags::WRITE) {
            Ok(file) => again(|| write_descriptor(&file, way, &piece)),
            Err(ended) => RepeatResult { bytes: 0, ended },
        },
    };
    course.outcome_text()
}

/// Writes once at the start of a file.
fn write_descriptor(file: &Descriptor, way: &str, piece: &[u8]) -> Result<u64, String> {
    if way == "descriptor" {
        return file.write(piece, 0).map_err(code);
    }
    if way == "far" {
        return file.write(b"x", 1 << 40).map_err(code);
    }
    let offset = if way == "far-stream" { 1 << 40 } else { 0 };
    let stream = file.write_via_stream(offset).map_err(code)?;
    stream.subscribe().block();
    let may = usize::try_from(stream.check_write().map_err(broken)?).unwrap_or(usize::MAX);
    let piece = &piece[..piece.len().min(may)];
    match way {
        "zeros" => stream.write_zeroes(piece.len() as u64),
        _ => stream.write(piece),
    }
    .map_err(broken)?;
    stream.blocking_flush().map_err(broken)?;
    Ok(piece.len() as u64)
}

/// Opens a file in a granted directory without the standard library.
fn opened(path: &str, how: OpenFlags, flags: DescriptorFlags) -> Result<Descriptor, String> {
    for (directory, name) in preopens::get_directories() {
        if let Some(rest) = path.strip_prefix(&name) {
            let rest = rest.trim_start_matches('/');
            return directory.open_at(PathFlags::SYMLINK_FOLLOW, rest, how, flags).map_err(code);
        }
    }
    Err("no directory is granted".to_owned())
}

fn whole((): ()) -> u64 {
    CHUNK_BYTES as u64
}

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn code(code: ErrorCode) -> String {
    format!("{} ({})", code.message(), code.name())
}

/// The reason why a stream ended, as a file error if there is one.
fn broken(error: StreamError) -> String {
    match error {
        StreamError::Closed => "the stream is closed".to_owned(),
        StreamError::LastOperationFailed(error) => {
            filesystem_error_code(&error).map_or_else(|| error.to_debug_string(), code)
        }
    }
}
