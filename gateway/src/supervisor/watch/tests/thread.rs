//! The thread from start to end.

use std::fs;

use super::fake::FakeSystem;
use super::*;

/// Only keeps the test from hanging.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

async fn next(client: &mut WatchClient) -> Option<WatchEvent> {
    timeout(TEST_TIMEOUT, client.next_event()).await.expect("no event")
}

#[tokio::test]
async fn thread_reports_changes_until_it_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    let (mut client, server) = channel();
    let thread = WatchThread::spawn(server, Arc::new(NativeSystem), SystemTime::now()).unwrap();
    let config = WatchConfig { watches_files: true, poll_interval: NEVER };
    client.set_target(WatchTarget { files: paths(&[&file]), config });
    assert_eq!(next(&mut client).await, Some(WatchEvent::ModeChanged(WatchMode::Events)));
    fs::write(&file, "new").unwrap();
    assert_eq!(next(&mut client).await, Some(WatchEvent::FilesChanged(paths(&[&file]))));
    thread.stop().await;
    // Ends only when the thread has released its end.
    while next(&mut client).await.is_some() {}
}

#[tokio::test]
async fn stop_does_not_wait_for_a_stalled_file() {
    let fake = Arc::new(FakeSystem::default());
    let file = Path::new("/d/file");
    fake.stall(file);
    let (mut client, server) = channel();
    let system = Arc::<FakeSystem>::clone(&fake);
    let thread = WatchThread::spawn(server, system, SystemTime::now()).unwrap();
    let config = WatchConfig { watches_files: true, poll_interval: NEVER };
    client.set_target(WatchTarget { files: paths(&[file]), config });
    fake.wait_for_probe();
    thread.stop().await;
    assert_eq!(next(&mut client).await, None, "the thread still holds its end");
    fake.resume(file);
}

#[tokio::test]
async fn panic_of_the_thread_turns_watching_off() {
    let (mut client, server) = channel();
    // A deadline that no clock reaches.
    let config = WatchConfig { watches_files: true, poll_interval: Duration::MAX };
    client.set_target(WatchTarget { files: BTreeSet::new(), config });
    let _thread = WatchThread::spawn(server, Arc::new(FakeSystem::default()), SystemTime::now()).unwrap();
    let mut modes = Vec::new();
    while let Some(event) = next(&mut client).await {
        modes.push(event);
    }
    assert_eq!(modes.last(), Some(&WatchEvent::ModeChanged(WatchMode::Off)));
}
