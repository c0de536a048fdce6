//! The recorded messages and their order.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use moongate_protocol::server::DiscardReason;
use serde_json::Value;

use super::{MAX_QUEUED_BYTES, Tap, Trace, line};

/// A disk in memory.
#[derive(Debug, Clone, Default)]
struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    content: Vec<u8>,
    /// The free space. `None` means unlimited.
    free_bytes: Option<usize>,
}

impl Disk {
    fn free_bytes(&self, free_bytes: Option<usize>) {
        self.0.lock().unwrap().free_bytes = free_bytes;
    }

    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().content.clone()).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().content.clone()).unwrap()
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap();
        let taken = state.free_bytes.map_or(bytes.len(), |free_bytes| free_bytes.min(bytes.len()));
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.free_bytes = state.free_bytes.map(|free_bytes| free_bytes - taken);
        state.content.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that blocks until it is released.
struct BlockedDisk {
    disk: Disk,
    started: SyncSender<()>,
    released: Receiver<()>,
}

impl Write for BlockedDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.started.send(());
        let _ = self.released.recv(); // returns at once if the other side was dropped
        self.disk.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn trace(to: impl Write + Send + 'static, torn: bool) -> Trace {
    Trace::start(PathBuf::from("trace"), to, torn).unwrap()
}

fn recorded(lines: &[Value]) -> Vec<Value> {
    lines.iter().map(|line| line.get("message").unwrap_or(&line["dropped"]).clone()).collect()
}

#[tokio::test]
async fn counts_lines_lost_on_a_full_disk() {
    let disk = Disk::default();
    let trace = trace(disk.clone(), false);
    let tap = Tap::stdio(Some(&trace));
    tap.sent(b"1");
    trace.flush().await;
    disk.free_bytes(Some(10));
    tap.sent(b"2");
    trace.flush().await;
    tap.sent(b"3");
    trace.flush().await;
    disk.free_bytes(None);
    tap.sent(b"4");
    trace.flush().await;
    assert_eq!(recorded(&disk.lines()), [1, 2, 4], "{}", disk.text());
    let text = disk.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[1].len()), (4, 10), "the incomplete line has a line of its own: {text}");
}

#[tokio::test]
async fn completes_a_torn_line_before_appending() {
    let disk = Disk::default();
    let trace = trace(disk.clone(), true);
    Tap::stdio(Some(&trace)).sent(b"1");
    trace.flush().await;
    assert!(disk.text().starts_with("\n{"), "{}", disk.text());
}

#[tokio::test]
async fn drops_and_counts_messages_for_a_slow_disk() {
    let disk = Disk::default();
    let (started, starts) = sync_channel(0);
    let (go, released) = sync_channel::<()>(0);
    let trace = trace(BlockedDisk { disk: disk.clone(), started, released }, false);
    let tap = Tap::stdio(Some(&trace));
    tap.sent(b"0");
    starts.recv().unwrap(); // from now on, the thread waits for the disk
    let long = format!("\"{}\"", "x".repeat(line::MAX_COPIED_BYTES * 2));
    let most = MAX_QUEUED_BYTES / line::MAX_COPIED_BYTES + 10;
    for _ in 0..most {
        tap.sent(long.as_bytes());
    }
    drop((starts, go));
    tap.sent(b"1");
    let written = || {
        let lines = disk.lines();
        let cut = lines.iter().filter(|line| line["cut_from"] == long.len()).count();
        let dropped: u64 = lines.iter().filter_map(|line| line["dropped"].as_u64()).sum();
        let small = lines.iter().filter(|line| line.get("message").is_some()).count();
        (cut, usize::try_from(dropped).unwrap(), small)
    };
    // Each wait has a time limit, which a busy machine can exceed.
    for _ in 0..20 {
        trace.flush().await;
        let (cut, dropped, small) = written();
        if cut + dropped + small == most + 2 {
            break;
        }
    }
    let (cut, dropped, small) = written();
    assert!(dropped > 0 && cut > 0);
    assert_eq!(cut + small + dropped, most + 2, "all are counted");
}

#[tokio::test]
async fn truncates_long_messages() {
    let disk = Disk::default();
    let trace = trace(disk.clone(), false);
    let tap = Tap::stdio(Some(&trace));
    let rest = "x".repeat(3 * 1024 * 1024);
    let message = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":"{rest}"}}"#);
    tap.received(message.as_bytes());
    tap.discarded(DiscardReason::TooLong { limit: 77 });
    trace.flush().await;
    let lines = disk.lines();
    assert_eq!(lines[0]["cut_from"], message.len());
    assert_eq!((&lines[0]["id"], &lines[0]["method"]), (&"a".into(), &"tools/call".into()));
    assert_eq!(lines[0]["text"].as_str().unwrap(), &message[..1024 * 1024]);
    assert_eq!(lines[1]["note"], "longer than 77 bytes; discarded");
    assert_eq!(lines[1]["direction"], "in");
}

#[tokio::test]
async fn records_messages_verbatim() {
    let disk = Disk::default();
    let trace = trace(disk.clone(), false);
    let tap = Tap::stdio(Some(&trace));
    tap.received(br#"{"id" : 1.0e2, "a":"\u00e4", "n":100000000000000000000000}"#);
    tap.received(b"{\n  \"id\": null\n}");
    tap.received(br#"[{"id":1},{"method":"x"},{"id":"b"},7]"#);
    tap.received(b"{\"id\":7,\"method\":\"x\",,");
    tap.received(b"\xff");
    tap.received(format!(r#"{{"id":"{}"}}"#, "x".repeat(1000)).as_bytes());
    trace.flush().await;
    let text = disk.text();
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0]
            .contains(r#""id":1.0e2,"message":{"id" : 1.0e2, "a":"\u00e4", "n":100000000000000000000000}}"#)
    );
    assert!(lines[1].ends_with(r#""id":null,"message":{   "id": null }}"#), "{}", lines[1]);
    assert!(lines[2].contains(r#""ids":[1,"b"],"message":["#), "{}", lines[2]);
    assert!(
        lines[3].ends_with(r#""id":7,"method":"x","text":"{\"id\":7,\"method\":\"x\",,"}"#),
        "{}",
        lines[3]
    );
    assert!(lines[4].ends_with("\"text\":\"\u{fffd}\"}"), "{}", lines[4]);
    assert!(!lines[5].contains("\"stdio\",\"id\""), "{}", lines[5]);
}
