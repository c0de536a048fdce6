//! Writes to a real file, and what they count.

use std::fs;
use std::path::Path;
use std::pin::pin;

use bytesize::ByteSize;
use futures_util::FutureExt as _;
use moongate_config::Limits;
use moongate_model::names::PluginId;
use tempfile::TempDir;

use super::*;
use crate::wasi::files::disk_usage::DiskQuota;
use crate::wasi::grant_audit::GrantAudit;

/// The quota of a plugin that can add this many bytes to a directory.
fn quota(disk: u64, directory: &Path) -> FileQuota {
    let limits = Limits { written: ByteSize::b(u64::MAX), ..Limits::default() };
    let audit = GrantAudit::new(PluginId::new("guest").unwrap(), None, Arc::default());
    FileQuota::new(&limits, 2, DiskQuota::of_directory(disk, directory), audit)
}

fn open(directory: &TempDir) -> Arc<File> {
    Arc::new(File::create_new(directory.path().join("file")).unwrap())
}

#[tokio::test]
async fn writes_of_a_call_that_ends_meanwhile_stay_counted() {
    for position in [None, Some(0)] {
        let directory = TempDir::new().unwrap();
        let (file, quota) = (open(&directory), quota(u64::MAX, directory.path()));
        let mut size = 0;
        // A write that hasn't started yet never starts.
        while size < 100_000 {
            let position = position.map(|_| size);
            let mut writer = FileWriter::new(Arc::clone(&file), position, quota.clone());
            {
                let mut write = pin!(writer.blocking_write_and_flush(Bytes::from_static(&[b'x'; 10_000])));
                let _ = write.as_mut().now_or_never();
            }
            let _ended = quota.disk().shrinking().await;
            size = file.metadata().unwrap().len();
            assert_eq!(quota.disk().added(), size, "position {position:?}");
        }
    }
}

#[tokio::test]
async fn appends_follow_what_others_wrote_and_stop_at_the_limit() {
    let directory = TempDir::new().unwrap();
    let (file, quota) = (open(&directory), quota(8, directory.path()));
    let mut writer = FileWriter::new(Arc::clone(&file), None, quota.clone());
    writer.blocking_write_and_flush(Bytes::from_static(b"one ")).await.unwrap();
    file.write_all_at(b"two ", 4).unwrap();
    writer.blocking_write_and_flush(Bytes::from_static(b"six ")).await.unwrap();
    assert!(writer.blocking_write_and_flush(Bytes::from_static(b"!")).await.is_err());
    assert_eq!(fs::read_to_string(directory.path().join("file")).unwrap(), "one two six ");
    assert_eq!(quota.disk().added(), 8);
}
