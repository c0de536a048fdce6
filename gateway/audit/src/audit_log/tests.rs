//! The queue while the log can't be written.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::verify::{LogFiles, verify};

/// A log whose clock stands still.
fn open(directory: &TempDir, when_full: WhenFull) -> (AuditLog, PathBuf) {
    let now = Instant::now();
    open_with_clock(directory, when_full, move || now)
}

fn open_with_clock(
    directory: &TempDir,
    when_full: WhenFull,
    clock: impl Fn() -> Instant + Send + Sync + 'static,
) -> (AuditLog, PathBuf) {
    let path = directory.path().join("audit.jsonl");
    let files = AuditFiles { path: path.clone(), max_bytes: 1 << 26, keep: 100 };
    let clock = MonotonicClock(Arc::new(clock));
    (AuditLog::open_with_clock(files, key(), when_full, clock).unwrap(), path)
}

fn key() -> AuditKey {
    AuditKey::new(&"k".repeat(32)).unwrap()
}

fn record() -> AuditRecord {
    AuditRecord::new(AuditEvent::ToolCall, AuditOutcome::Allowed)
}

/// Waits until the log is in a state.
#[track_caller]
fn wait(log: &AuditLog, what: &str, condition: impl Fn(&AuditStatus) -> bool) {
    let begun = Instant::now();
    while !condition(&log.status()) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}: {:?}", log.status());
        thread::yield_now();
    }
}

/// A directory in its place makes writing fail, until it is removed.
fn block(path: &PathBuf) {
    fs::rename(path, path.with_extension("away")).unwrap();
    fs::create_dir(path).unwrap();
}

fn unblock(path: &PathBuf) {
    fs::remove_dir(path).unwrap();
    fs::rename(path.with_extension("away"), path).unwrap();
}

#[test]
fn refusals_displace_neither_changes_nor_calls() {
    let directory = TempDir::new().unwrap();
    let (log, path) = open(&directory, WhenFull::Refuse);
    assert_eq!(log.room_for(&Caller::Local), QueueRoom::Free);
    log.record_admitted(&Caller::Local, &record());
    wait(&log, "written", |status| status.head.sequence == 1);
    block(&path);
    log.record_admitted(&Caller::Local, &record());
    wait(&log, "failing", |status| status.failure.is_some());
    assert_eq!(log.room_for(&Caller::Local), QueueRoom::Unavailable);
    for _ in 0..2 * MAX_QUEUED_RECORDS {
        log.record_refusal(&record());
    }
    for _ in 0..MAX_QUEUED_RECORDS {
        log.record_change(&record());
    }
    log.record_admitted(&Caller::Local, &record()); // of a call that ran already
    unblock(&path);
    wait(&log, "written again", |status| status.failure.is_none() && status.queued == 0);
    assert_eq!(log.room_for(&Caller::Local), QueueRoom::Free);
    log.stop(Duration::from_secs(20));
    let found = verify(LogFiles::of_log(&path).unwrap(), &key(), None).unwrap();
    // Two calls, half of the queue, all changes, the last call, and the record of those that were dropped.
    let (refusals, changes) = (MAX_QUEUED_RECORDS as u64 / 2, MAX_QUEUED_RECORDS as u64);
    assert_eq!(found.lines, 1 + 1 + refusals + changes + 1 + 1, "{found:?}");
    let dropped = format!("records that were dropped: {}", 2 * MAX_QUEUED_RECORDS as u64 - refusals);
    assert!(found.notes.iter().any(|note| note.contains(&dropped)), "{found:?}");
}

#[test]
fn drops_records_and_counts_them() {
    let directory = TempDir::new().unwrap();
    let (log, path) = open(&directory, WhenFull::Drop);
    block(&path);
    log.record_admitted(&Caller::Local, &record());
    wait(&log, "dropped", |status| status.dropped == 1);
    log.record_admitted(&Caller::Local, &record());
    log.record_refusal(&record());
    log.record_change(&record());
    wait(&log, "dropped too", |status| status.dropped == 4);
    assert_eq!(log.room_for(&Caller::Local), QueueRoom::Free);
    unblock(&path);
    wait(&log, "written", |status| status.failure.is_none() && status.head.sequence > 0);
    log.stop(Duration::from_secs(20));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"event\":\"log_dropped\",\"outcome\":\"failed\",\"count\":4"), "{text}");
}

#[test]
fn a_stop_does_not_wait_until_the_log_can_be_written() {
    for when_full in [WhenFull::Refuse, WhenFull::Drop] {
        let directory = TempDir::new().unwrap();
        let (log, path) = open(&directory, when_full);
        block(&path);
        log.record_admitted(&Caller::Local, &record());
        wait(&log, "failing", |status| status.failure.is_some());
        log.record_admitted(&Caller::Local, &record());
        log.stop(Duration::from_secs(20));
        assert!(log.state().has_stopped, "{when_full:?}");
    }
}

#[test]
fn long_arguments_are_left_out() {
    let directory = TempDir::new().unwrap();
    let (log, path) = open(&directory, WhenFull::Refuse);
    let mut long = record();
    let value = serde_json::value::to_raw_value(&"x".repeat(MAX_LINE_BYTES)).ok();
    long.arguments = Some(crate::AuditedArguments { hmac: None, bytes: MAX_LINE_BYTES as u64, value });
    log.record_change(&long);
    log.stop(Duration::from_secs(20));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.len() < 1000 && text.contains("\"bytes\":1048576}"), "{text}");
}

#[test]
fn long_texts_are_cut() {
    let directory = TempDir::new().unwrap();
    let (log, path) = open(&directory, WhenFull::Refuse);
    let mut long = record();
    (long.name, long.uri) = (Some("é".repeat(1 << 20)), Some("\n\u{1b}".repeat(1 << 20)));
    long.added = vec!["x".repeat(1 << 20); 1000];
    log.record_change(&long);
    log.stop(Duration::from_secs(20));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.len() < 100_000 && text.lines().count() == 1, "{}", text.len());
    assert!(text.contains("\"… and 936 more\"]"), "{text}");
}

#[test]
fn hidden_and_control_characters_are_escaped_and_mean_the_same() {
    let directory = TempDir::new().unwrap();
    let (log, path) = open(&directory, WhenFull::Refuse);
    let hidden =
        "\u{7f}\u{80}\u{85}\u{9b}2J\u{9f}\u{200b}\u{200d}\u{2028}\u{2029}\u{202e}\u{2066}\u{feff}\u{e0041}";
    let text = format!("a\n\u{1b}é\u{1f600}{hidden}z\\\"");
    let mut record = record();
    (record.name, record.uri, record.detail) = (Some(text.clone()), Some(text.clone()), Some(text.clone()));
    record.client = Some(crate::AuditClient { name: text.clone(), version: text.clone() });
    record.added = vec![text.clone()];
    let value = serde_json::value::to_raw_value(&serde_json::json!({ &*text: text })).ok();
    record.arguments = Some(crate::AuditedArguments { hmac: None, bytes: 1, value });
    log.record_change(&record);
    log.stop(Duration::from_secs(20));
    let written = fs::read_to_string(&path).unwrap();
    let line = written.strip_suffix('\n').unwrap();
    assert!(!line.contains(|c: char| c.is_control() || hidden.contains(c) && !c.is_ascii()), "{line}");
    assert!(line.contains('\u{1f600}') && line.contains("\\u009b2J"), "{line}");
    let read: serde_json::Value = serde_json::from_str(line).unwrap();
    for found in [
        &read["name"],
        &read["uri"],
        &read["detail"],
        &read["client"]["name"],
        &read["client"]["version"],
        &read["added"][0],
        &read["arguments"]["value"][&*text],
    ] {
        assert_eq!(*found, *text, "{line}");
    }
    verify(LogFiles::of_log(&path).unwrap(), &key(), None).unwrap();
}

/// A log whose writer waits for its lock, and the lock.
fn stalled(directory: &TempDir, when_full: WhenFull) -> (AuditLog, PathBuf, fs::File) {
    let (log, path) = open(directory, when_full);
    let lock = stall(&log, directory);
    (log, path, lock)
}

fn stall(log: &AuditLog, directory: &TempDir) -> fs::File {
    let lock = fs::File::open(directory.path().join("audit.jsonl.lock")).unwrap();
    lock.lock().unwrap();
    // The writer takes it, and waits.
    log.record_change(&record());
    wait(log, "waiting for the lock", |status| status.queued == 0);
    lock
}

#[test]
fn no_call_runs_while_the_disk_takes_no_records() {
    for when_full in [WhenFull::Refuse, WhenFull::Drop] {
        let directory = TempDir::new().unwrap();
        let start = Instant::now();
        let late = Arc::new(Mutex::new(Duration::ZERO));
        let shown = Arc::clone(&late);
        let (log, path) = open_with_clock(&directory, when_full, move || start + *shown.lock().unwrap());
        let lock = stall(&log, &directory);
        let set = |duration| *late.lock().unwrap() = duration;
        set(MAX_WRITE_TIME);
        assert_eq!(log.room_for(&Caller::Local), QueueRoom::Free);
        assert_eq!(log.status().failure, None);
        set(MAX_WRITE_TIME + Duration::from_millis(1));
        let refused = when_full == WhenFull::Refuse;
        assert_eq!(log.room_for(&Caller::Local) == QueueRoom::Full, refused);
        assert!(log.status().failure.is_some());
        drop(lock);
        wait(&log, "written", |status| status.failure.is_none());
        assert_eq!(log.room_for(&Caller::Local), QueueRoom::Free);
        log.stop(Duration::from_secs(20));
        verify(LogFiles::of_log(&path).unwrap(), &key(), None).unwrap();
    }
}

#[test]
fn a_caller_that_fills_the_queue_displaces_no_other() {
    let (first, second) = (Caller::Named("a".into()), Caller::Named("b".into()));
    let value = serde_json::value::to_raw_value(&"x".repeat(16_000)).ok();
    let with_arguments = |name: &str| {
        let mut record = record();
        record.name = Some(name.to_owned());
        record.arguments = Some(crate::AuditedArguments { hmac: None, bytes: 16_002, value: value.clone() });
        record
    };
    for when_full in [WhenFull::Refuse, WhenFull::Drop] {
        let directory = TempDir::new().unwrap();
        let (log, path, lock) = stalled(&directory, when_full);
        log.record_admitted(&second, &with_arguments("b"));
        let mut calls = 0;
        while calls < MAX_QUEUED_RECORDS && log.room_for(&first) == QueueRoom::Free {
            log.record_admitted(&first, &with_arguments("a"));
            calls += 1;
        }
        assert!(calls > 1000, "records without arguments are small: {calls}");
        for _ in 0..20 {
            assert_eq!(log.room_for(&second), QueueRoom::Free);
            log.record_admitted(&second, &with_arguments("b"));
            log.record_refusal(&with_arguments("c"));
        }
        drop(lock);
        log.stop(Duration::from_secs(20));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let full = full_text(&directory) + &text;
        let count = |name: &str, with_value: bool| {
            let lines = full.lines().filter(|line| line.contains(&format!("\"name\":\"{name}\"")));
            lines.filter(|line| line.contains("xxx") == with_value).count()
        };
        assert_eq!((count("b", true), count("b", false), count("c", true)), (21, 0, 20), "{when_full:?}");
        let (complete, short) = (count("a", true), count("a", false));
        assert!((200..300).contains(&complete) && short > 1000, "{complete} {short}");
        assert_eq!(complete + short == calls, when_full == WhenFull::Refuse, "{complete} {short} {calls}");
    }
}

/// The text of the full files.
fn full_text(directory: &TempDir) -> String {
    let files = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let full = files.filter(|file| file.to_string_lossy().contains("audit.jsonl.0"));
    full.map(|file| fs::read_to_string(file).unwrap()).collect()
}
