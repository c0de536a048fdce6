//! Errors of file systems: a full one, a read-only one, and two of them. Each server has its own, which only root can
//! mount; without that right, these checks are skipped.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::odd::Check;
use super::{Both, Directory};
use crate::report;

pub(super) const CHECKS: &[Check] =
    &[("a full file system", full), ("a read-only file system", read_only), ("two file systems", two)];

/// A mounted file system, unmounted when dropped.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Mounts an empty file system of 1 MiB at a new directory of both servers.
fn mount(both: &Both<'_, '_>, below: &str) -> Result<Option<[Mount; 2]>> {
    both.theirs.directory(below)?;
    both.ours.directory(below)?;
    let of = |directory: &Directory| {
        let path = PathBuf::from(directory.path(below));
        run_mount(&["-t", "tmpfs", "-o", "size=1m", "moongate-test"], &path).map(|()| Mount(path))
    };
    let mounts = of(&both.theirs).and_then(|theirs| Ok([theirs, of(&both.ours)?]));
    Ok(mounts
        .inspect_err(|reason| report::note(&format!("SKIPPED: can't mount a file system: {reason}")))
        .ok())
}

fn run_mount(arguments: &[&str], path: &Path) -> Result<(), String> {
    let output =
        Command::new("mount").args(arguments).arg(path).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// Files aren't compared afterwards: the official server leaves an incomplete new file.
fn full(both: &mut Both<'_, '_>) -> Result<()> {
    let Some(mounts) = mount(both, "full")? else { return Ok(()) };
    both.write("full/small", b"one\n")?;
    let large = json!({ "path": "full/large", "content": "x".repeat(2 << 20) });
    both.comparison.call("write_file", &large)?;
    for Mount(path) in &mounts {
        let _ = std::fs::remove_file(path.join("large"));
        let mut filler = File::create(path.join("filler"))?;
        while filler.write_all(&[b'x'; 4096]).is_ok() {}
    }
    let edits = json!([{ "oldText": "one", "newText": "x".repeat(10_000) }]);
    for (tool, arguments) in [
        ("write_file", json!({ "path": "full/small", "content": "two\n" })),
        ("write_file", json!({ "path": "full/new", "content": "two\n" })),
        ("edit_file", json!({ "path": "full/small", "edits": edits })),
        ("read_text_file", json!({ "path": "full/small" })),
    ] {
        both.comparison.call(tool, &arguments)?;
    }
    Ok(())
}

/// A new directory isn't compared: Node reports that its parent is missing.
fn read_only(both: &mut Both<'_, '_>) -> Result<()> {
    let Some(mounts) = mount(both, "fixed")? else { return Ok(()) };
    both.write("fixed/a.txt", b"one\n")?;
    both.write("fixed/sub/b.txt", b"two\n")?;
    for Mount(path) in &mounts {
        run_mount(&["-o", "remount,ro"], path).map_err(anyhow::Error::msg)?;
    }
    let edits = json!([{ "oldText": "one", "newText": "two" }]);
    for (tool, arguments) in [
        ("write_file", json!({ "path": "fixed/a.txt", "content": "two\n" })),
        ("write_file", json!({ "path": "fixed/new", "content": "two\n" })),
        ("edit_file", json!({ "path": "fixed/a.txt", "edits": edits })),
        ("edit_file", json!({ "path": "fixed/a.txt", "edits": edits, "dryRun": true })),
        ("create_directory", json!({ "path": "fixed/sub" })),
        ("move_file", json!({ "source": "fixed/a.txt", "destination": "fixed/b.txt" })),
        ("move_file", json!({ "source": "fixed/a.txt", "destination": "b.txt" })),
        ("read_text_file", json!({ "path": "fixed/a.txt" })),
    ] {
        both.comparison.call(tool, &arguments)?;
    }
    Ok(())
}

fn two(both: &mut Both<'_, '_>) -> Result<()> {
    both.write("a.txt", b"one\n")?;
    both.write("sub/b.txt", b"two\n")?;
    let Some(_mounts) = mount(both, "other")? else { return Ok(()) };
    both.write("other/c.txt", b"three\n")?;
    for (source, destination) in [
        ("a.txt", "other/a.txt"),
        ("sub", "other/sub"),
        ("other/c.txt", "c.txt"),
        ("other", "moved"),
        ("other/c.txt", "other/d.txt"),
    ] {
        both.comparison.call("move_file", &json!({ "source": source, "destination": destination }))?;
    }
    both.comparison.call("list_directory", &json!({ "path": "other" })).map(drop)
}
