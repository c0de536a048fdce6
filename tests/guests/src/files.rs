//! Calls on files as WASI has them, without a library that would refuse or tidy up first.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};

/// One call on a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) struct Step {
    what: What,
    /// The granted directory that it starts in, by its path inside the sandbox.
    dir: String,
    /// The path in it, as it is.
    path: String,
    /// For what has a second path: the directory of that; without it the same one.
    to_dir: Option<String>,
    /// The second path, or what a link is to point at, or what is to be written.
    to: Option<String>,
    /// Follow links at the end of the path.
    #[serde(default)]
    follow: bool,
}

/// What can be asked of a file system.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum What {
    /// Open for reading, and read the beginning.
    Read,
    /// Open for writing, without making it, and write.
    Write,
    /// Make a file that isn't there, and write.
    Create,
    /// Open for reading, and make it empty all the same.
    Truncate,
    /// Open for reading, and write into it all the same.
    WriteReadOnly,
    /// Open for reading, and set its size all the same.
    SetSize,
    /// Open a directory, and name what is in it.
    List,
    CreateDirectory,
    RemoveDirectory,
    Unlink,
    Rename,
    HardLink,
    Symlink,
    ReadLink,
    Stat,
    SetTimes,
    /// Open for reading, and set its times.
    SetTimesOpen,
    /// Begin to list a directory a hundred times, read a name of each in turn, and tell how many names each had.
    ListAtOnce,
    /// Open a file twenty times, begin to read it as a stream, give back the file and keep the stream; and tell how many
    /// streams there are.
    StreamsAtOnce,
    /// Give back a granted directory, and open another in its place, which is kept.
    KeepAnother,
}

/// Takes the steps, one after the other, and tells what came of each, one a line. Where all of them are taken several
/// times, it tells what came of them the last time.
pub(crate) fn steps(steps: &[Step], times: u32) -> String {
    let dirs = preopens::get_directories();
    let mut told = Vec::new();
    for _ in 0..times {
        told = steps.iter().map(|step| step.take(&dirs)).collect();
    }
    told.join("\n")
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
            What::Read => {
                let (bytes, _) = open(OpenFlags::empty(), reading)?.read(4_096, 0)?;
                Ok(String::from_utf8_lossy(&bytes).escape_debug().to_string())
            }
            What::Write => open(OpenFlags::empty(), writing)?.write(to.as_bytes(), 0).map(wrote),
            What::Create => {
                open(OpenFlags::CREATE | OpenFlags::EXCLUSIVE, writing)?.write(to.as_bytes(), 0).map(wrote)
            }
            What::Truncate => open(OpenFlags::TRUNCATE, reading).map(|_| "truncated".to_owned()),
            What::WriteReadOnly => open(OpenFlags::empty(), reading)?.write(to.as_bytes(), 0).map(wrote),
            What::SetSize => open(OpenFlags::empty(), reading)?.set_size(0).map(done),
            What::List => {
                let entries = open(OpenFlags::DIRECTORY, reading)?.read_directory()?;
                let mut names = Vec::new();
                while let Some(entry) = entries.read_directory_entry()? {
                    names.push(entry.name.escape_debug().to_string());
                }
                names.sort();
                Ok(names.join(", "))
            }
            What::CreateDirectory => dir.create_directory_at(path).map(done),
            What::RemoveDirectory => dir.remove_directory_at(path).map(done),
            What::Unlink => dir.unlink_file_at(path).map(done),
            What::Rename => dir.rename_at(path, to_dir, to).map(done),
            What::HardLink => dir.link_at(links, path, to_dir, to).map(done),
            What::Symlink => dir.symlink_at(to, path).map(done),
            What::ReadLink => dir.readlink_at(path),
            What::Stat => dir.stat_at(links, path).map(|found| format!("{:?}", found.type_)),
            What::SetTimes => dir.set_times_at(links, path, NewTimestamp::Now, NewTimestamp::Now).map(done),
            What::SetTimesOpen => {
                open(OpenFlags::empty(), reading)?.set_times(NewTimestamp::Now, NewTimestamp::Now).map(done)
            }
            What::ListAtOnce => {
                let folder = open(OpenFlags::DIRECTORY, reading)?;
                list_at_once(&folder)
            }
            What::StreamsAtOnce => {
                let mut streams = Vec::new();
                for _ in 0..20 {
                    streams.push(open(OpenFlags::empty(), reading)?.read_via_stream(0)?);
                }
                Ok(streams.len().to_string())
            }
            What::KeepAnother => {
                drop(preopens::get_directories());
                std::mem::forget(open(OpenFlags::DIRECTORY, reading)?);
                Ok("kept".to_owned())
            }
        }
    }
}

fn list_at_once(folder: &Descriptor) -> Result<String, ErrorCode> {
    let mut listings = Vec::new();
    for _ in 0..100 {
        listings.push((folder.read_directory()?, 0_u64));
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
