//! Counting and turn-taking of streams, with fake streams.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use bytesize::ByteSize;
use moongate_config::Limits;
use moongate_model::names::PluginId;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::disk_usage::DiskQuota;
use super::error::LastStreamError;
use super::quota::{FileQuota, QuotaExceeded};
use super::streams::{QuotaReader, QuotaWriter};
use crate::wasi::grant_audit::GrantAudit;

/// Counts the maximum number of these that work at once.
#[derive(Clone, Default)]
struct AtWork {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl AtWork {
    async fn work(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for AtWork {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl InputStream for AtWork {
    fn read(&mut self, _: usize) -> StreamResult<Bytes> {
        panic!("only blocking reads are expected")
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.work().await;
        Ok(vec![b'x'; size.min(100)].into())
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for AtWork {
    fn write(&mut self, _: Bytes) -> StreamResult<()> {
        panic!("only blocking writes are expected")
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(1)
    }

    async fn blocking_write_and_flush(&mut self, _: Bytes) -> StreamResult<()> {
        self.work().await;
        Ok(())
    }
}

fn quota(bytes: u64) -> FileQuota {
    let limits = Limits { read: ByteSize::b(bytes), written: ByteSize::b(bytes), ..Limits::default() };
    let disk = DiskQuota::of_directory(u64::MAX, Path::new("/"));
    FileQuota::new(&limits, 2, disk, GrantAudit::new(PluginId::new("guest").unwrap(), None, Arc::default()))
}

#[tokio::test]
async fn streams_of_a_call_take_turns() {
    let at_work = AtWork::default();
    let quota = quota(1 << 20);
    let mut readers: Vec<_> = (0..20)
        .map(|_| QuotaReader::new(Box::new(at_work.clone()), quota.clone(), LastStreamError::default(), None))
        .collect();
    let mut writers: Vec<_> = (0..20)
        .map(|_| QuotaWriter::new(Box::new(at_work.clone()), quota.clone(), LastStreamError::default(), None))
        .collect();
    for reader in &mut readers {
        assert!(reader.read(1000).unwrap().is_empty(), "the read was only started");
    }
    for writer in &mut writers {
        writer.write(Bytes::from_static(b"abc")).unwrap();
        assert_eq!(writer.check_write().unwrap(), 0, "one after the other");
    }
    for reader in &mut readers {
        reader.ready().await;
        assert_eq!(reader.read(60).unwrap().len(), 60);
        assert_eq!(reader.blocking_read(60).await.unwrap().len(), 40);
    }
    for writer in &mut writers {
        assert!(writer.write_ready().await.unwrap() > 3);
        writer.blocking_write_and_flush(Bytes::from_static(b"abc")).await.unwrap();
    }
    // Four streams, and the one that the call itself waits for.
    assert_eq!(at_work.most.load(Ordering::SeqCst), 5);
}

#[track_caller]
fn is_exceeded<T>(result: StreamResult<T>) {
    let Err(StreamError::LastOperationFailed(error)) = result else { panic!("not refused") };
    assert!(error.is::<QuotaExceeded>(), "{error}");
}

#[tokio::test]
async fn streams_share_a_quota_and_fail_once() {
    let at_work = AtWork::default();
    let quota = quota(150);
    let mut readers = [0; 2].map(|_| {
        QuotaReader::new(Box::new(at_work.clone()), quota.clone(), LastStreamError::default(), None)
    });
    assert_eq!(readers[0].blocking_read(1000).await.unwrap().len(), 100);
    // One more byte than the remaining fifty is read, to find out if there is one.
    is_exceeded(readers[1].blocking_read(1000).await);
    assert!(matches!(readers[1].blocking_read(1000).await, Err(StreamError::Closed)));
    assert_eq!(readers[0].blocking_read(50).await.unwrap().len(), 50);
    readers[0].ready().await;
    is_exceeded(readers[0].read(1));
    assert!(matches!(readers[0].read(1), Err(StreamError::Closed)));

    let last_error = LastStreamError::default();
    let mut writers =
        [0; 2].map(|_| QuotaWriter::new(Box::new(at_work.clone()), quota.clone(), last_error.clone(), None));
    writers[0].write(vec![0; 100].into()).unwrap();
    is_exceeded(writers[1].write(vec![0; 51].into()));
    assert!(matches!(last_error.take(), Some(ErrorCode::Quota)));
    assert!(last_error.take().is_none(), "it is reported once");
    writers[0].ready().await;
    writers[0].blocking_write_and_flush(vec![0; 50].into()).await.unwrap();
    is_exceeded(writers[0].blocking_write_and_flush(vec![0; 1].into()).await);
    assert!(matches!(writers[0].check_write(), Err(StreamError::Closed)));
}

#[tokio::test]
async fn a_file_counts_as_open_until_its_last_stream_is_dropped() {
    let at_work = AtWork::default();
    let quota = quota(150);
    let file = quota.open().unwrap();
    let _directory = quota.open().unwrap();
    assert!(quota.open().is_err());
    let reader = QuotaReader::new(
        Box::new(at_work.clone()),
        quota.clone(),
        LastStreamError::default(),
        Some(file.clone()),
    );
    let writer = QuotaWriter::new(
        Box::new(at_work.clone()),
        quota.clone(),
        LastStreamError::default(),
        Some(file.clone()),
    );
    drop(file);
    drop(reader);
    assert!(quota.open().is_err(), "it is being written to");
    drop(writer);
    let again = quota.open().unwrap();
    assert!(quota.open().is_err());
    drop(again);
    quota.open().unwrap();
}
