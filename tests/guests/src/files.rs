//! WASI file system calls, without a library that would check or clean up first.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};

/// A call on a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) struct Step {
    what: FileCall,
    /// The granted directory where the path starts, by its path inside the sandbox.
    dir: String,
    /// The path in it, passed on unchanged.
    path: String,
    /// The directory of the second path. The default is the same directory.
    to_dir: Option<String>,
    /// The second path, the target of a link, or the data to write.
    to: Option<String>,
    /// Follow links at the end of the path.
    #[serde(default)]
    follow: bool,
}

/// The file system calls.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FileCall {
    /// Open for reading, and read from the start.
    Read,
    /// Open an existing file for writing, and write.
    Write,
    /// Create a new file, and write.
    Create,
    /// Open for reading with truncation.
    Truncate,
    /// Open for reading, and write anyway.
    WriteReadOnly,
    /// Open for reading, and set the size anyway.
    SetSize,
    /// Open a directory, and list its names.
    List,
    CreateDirectory,
    RemoveDirectory,
    Unlink,
    /// Open a file, remove its name, and set its size to zero.
    UnlinkAndShrink,
    Rename,
    HardLink,
    Symlink,
    ReadLink,
    Stat,
    SetTimes,
    /// Open for reading, and set its times.
    SetTimesOpen,
    /// List a directory a hundred times in parallel, reading names in turn; return the number of names in each.
    ListAtOnce,
    /// Open a file twenty times, start a stream of it, drop the file and keep the stream; return the number of
    /// streams.
    StreamsAtOnce,
    /// Drop a granted directory, open another one in its place, and keep it.
    KeepAnother,
}

/// Runs the steps in order and returns their results, one per line. If they run several times, it returns the results
/// of the last time.
pub(crate) fn steps(steps: &[Step], times: u32) -> String {
    let dirs = preopens::get_directories();
    let mut outcome_text = Vec::new();
    for _ in 0..times {
        outcome_text = steps.iter().map(|step| step.take(&dirs)).collect();
    }
    outcome_text.join("\n")
}

impl Step {
    fn take(&self, dirs: &[(Descriptor, String)]) -> String {
        let find = |guest: &str| dirs.iter().find(|(_, its)| its == guest).map(|(dir, _)| dir);
        let Some(dir) = find(&self.dir) else { return format!("refused: {} isn't granted", self.dir) };
        let Some(to_dir) = find(self.to_dir.as_ref().unwrap_or(&self.dir)) else {
            return "refused: the other directory isn't granted".to_owned();
        };
        self.done(dir, to_dir).unwrap_or_else(|error| format!("refused: {error:?}"))
    }

    fn done(&self, dir: &Descriptor, to_dir: &Descriptor) -> Result<String, ErrorCode> {
        let (path, to) = (self.path.as_str(), self.to.as_deref().unwrap_or_default());
        let links = if self.follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() };
        let open = |open: OpenFlags, flags: DescriptorFlags| dir.open_at(links, path, open, flags);
        let reading = DescriptorFlags::READ;
        let writing = DescriptorFlags::READ | DescriptorFlags::WRITE;
        match self.what {
            FileCall::Read => {
                let (bytes, _) = open(OpenFlags::empty(), reading)?.read(4_096, 0)?;
                Ok(String::from_utf8_lossy(&bytes).escape_debug().to_string())
            }
            FileCall::Write => open(OpenFlags::empty(), writing)?.write(to.as_bytes(), 0).map(wrote),
            FileCall::Create => {
                open(OpenFlags::CREATE | OpenFlags::EXCLUSIVE, writing)?.write(to.as_bytes(), 0).map(wrote)
            }
            FileCall::Truncate => open(OpenFlags::TRUNCATE, reading).map(|_| "truncated".to_owned()),
            FileCall::WriteReadOnly => open(OpenFlags::empty(), reading)?.write(to.as_bytes(), 0).map(wrote),
            FileCall::SetSize => open(OpenFlags::empty(), reading)?.set_size(0).map(done),
            FileCall::List => {
                let entries = open(OpenFlags::DIRECTORY, reading)?.read_directory()?;
                let mut names = Vec::new();
                while let Some(entry) = entries.read_directory_entry()? {
                    names.push(entry.name.escape_debug().to_string());
                }
                names.sort();
                Ok(names.join(", "))
            }
            FileCall::CreateDirectory => dir.create_directory_at(path).map(done),
            FileCall::RemoveDirectory => dir.remove_directory_at(path).map(done),
            FileCall::Unlink => dir.unlink_file_at(path).map(done),
            FileCall::UnlinkAndShrink => {
                let file = open(OpenFlags::empty(), writing)?;
                dir.unlink_file_at(path)?;
                file.set_size(0).map(done)
            }
            FileCall::Rename => dir.rename_at(path, to_dir, to).map(done),
            FileCall::HardLink => dir.link_at(links, path, to_dir, to).map(done),
            FileCall::Symlink => dir.symlink_at(to, path).map(done),
            FileCall::ReadLink => dir.readlink_at(path),
            FileCall::Stat => dir.stat_at(links, path).map(|found| format!("{:?}", found.type_)),
            FileCall::SetTimes => {
                dir.set_times_at(links, path, NewTimestamp::Now, NewTimestamp::Now).map(done)
            }
            FileCall::SetTimesOpen => {
                open(OpenFlags::empty(), reading)?.set_times(NewTimestamp::Now, NewTimestamp::Now).map(done)
            }
            FileCall::ListAtOnce => {
                let directory = open(OpenFlags::DIRECTORY, reading)?;
                list_at_once(&directory)
            }
            FileCall::StreamsAtOnce => {
                let mut streams = Vec::new();
                for _ in 0..20 {
                    streams.push(open(OpenFlags::empty(), reading)?.read_via_stream(0)?);
                }
                Ok(streams.len().to_string())
            }
            FileCall::KeepAnother => {
                drop(preopens::get_directories());
                std::mem::forget(open(OpenFlags::DIRECTORY, reading)?);
                Ok("kept".to_owned())
            }
        }
    }
}

fn list_at_once(directory: &Descriptor) -> Result<String, ErrorCode> {
    let mut listings = Vec::new();
    for _ in 0..100 {
        listings.push((directory.read_directory()?, 0_u64));
    }
    loop {
        let mut ended = 0;
        for (listing, names) in &mut listings {
            match listing.read_directory_entry()? {
                Some(_) => *names += 1,
                None => ended += 1,
            }
        }
        if ended == listings.len() {
            let mut counts: Vec<_> = listings.into_iter().map(|(_, names)| names).collect();
            counts.dedup();
            return Ok(format!("{counts:?}"));
        }
    }
}

fn wrote(bytes: impl Debug) -> String {
    format!("wrote {bytes:?}")
}

fn done((): ()) -> String {
    "done".to_owned()
}
