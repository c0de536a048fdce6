//! Rotation, repair, shared logs, and files that can't be used.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::*;
use crate::key::AuditKeyError;
use crate::verify::{LogFiles, Verification, VerificationError, verify};

fn key() -> AuditKey {
    AuditKey::new(&"k".repeat(32)).unwrap()
}

fn files(directory: &TempDir) -> AuditFiles {
    AuditFiles { path: directory.path().join("audit.jsonl"), max_bytes: 2000, keep: 3 }
}

fn record(name: &str) -> Vec<u8> {
    let mut record = AuditRecord::new(AuditEvent::ToolCall, AuditOutcome::Allowed);
    record.name = Some(name.to_owned());
    record.members()
}

fn try_check(directory: &TempDir) -> Result<Verification, VerificationError> {
    verify(LogFiles::of_log(&files(directory).path)?, &key(), None)
}

fn check(directory: &TempDir) -> Verification {
    try_check(directory).unwrap()
}

/// All files of the log, oldest first.
fn all_files(directory: &TempDir) -> Vec<PathBuf> {
    let path = files(directory).path;
    full_files(&path).unwrap().into_iter().map(|file| file.path).chain([path.clone()]).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn full_files_are_renamed_and_the_oldest_removed() {
    let directory = TempDir::new().unwrap();
    let mut log = LogFile::open(files(&directory), key()).unwrap();
    let mut last = 0;
    for round in 0..40 {
        log.append(&[record("a"), record("line\nbreak\u{1b}[2J")]).unwrap();
        let found = check(&directory);
        assert!(found.head.sequence >= last + 2 && found.notes.is_empty(), "{round}: {found:?}");
        last = found.head.sequence;
    }
    let all = all_files(&directory);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|file| mode(file) == 0o600));
    let found = check(&directory);
    assert!(found.first_sequence > 1 && found.head == log.head(), "{found:?}");
    // The next gateway continues, also if it finds only full files.
    drop(log);
    fs::rename(&all[3], directory.path().join(format!("audit.jsonl.{:020}", last - 1))).unwrap();
    let mut log = LogFile::open(files(&directory), key()).unwrap();
    log.append(&[record("b")]).unwrap();
    assert_eq!(log.head().sequence, last + 1);
}

#[test]
fn a_missing_oldest_file_is_detected() {
    for keep in [0, 1, 3] {
        let directory = TempDir::new().unwrap();
        let files = AuditFiles { keep, ..files(&directory) };
        let mut log = LogFile::open(files.clone(), key()).unwrap();
        let fill = |log: &mut LogFile| {
            for _ in 0..40 {
                log.append(&[record("a")]).unwrap();
            }
        };
        fill(&mut log);
        assert_eq!(all_files(&directory).len(), keep + 1);
        check(&directory);
        if keep == 0 {
            continue;
        }
        let oldest = all_files(&directory).remove(0);
        fs::remove_file(oldest).unwrap();
        assert!(matches!(try_check(&directory), Err(VerificationError::OldestMissing { .. })), "{keep}");
        // The files that are left are part of a log.
        verify(LogFiles::open(all_files(&directory)).unwrap(), &key(), None).unwrap();
        // From the next rotation on, the missing ones aren't needed any more.
        fill(&mut log);
        check(&directory);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn checking_many_files_needs_few_descriptors() {
    let directory = TempDir::new().unwrap();
    let files = AuditFiles { keep: 1000, max_bytes: 1, ..files(&directory) };
    let mut log = LogFile::open(files.clone(), key()).unwrap();
    for _ in 0..300 {
        log.append(&[record("a")]).unwrap();
    }
    assert!(all_files(&directory).len() > 290);
    let opened = || {
        let links = fs::read_dir("/proc/self/fd").unwrap().flatten().map(|entry| fs::read_link(entry.path()));
        links.flatten().filter(|file| file.starts_with(directory.path())).count()
    };
    let (before, whole) = (opened(), LogFiles::of_log(&files.path).unwrap());
    let copy = LogFiles::open(all_files(&directory)).unwrap();
    assert!(opened() - before < 100, "{}", opened());
    verify(copy, &key(), None).unwrap();
    // Rotation can remove the oldest ones until it is their turn, but no others.
    let mut oldest = all_files(&directory);
    fs::remove_file(oldest.remove(0)).unwrap();
    let error = verify(whole, &key(), None).unwrap_err();
    assert!(matches!(error, VerificationError::OldestMissing { .. }), "{error}");
    let whole = LogFiles::of_log(&files.path).unwrap();
    fs::remove_file(oldest.remove(3)).unwrap();
    assert!(matches!(verify(whole, &key(), None), Err(VerificationError::Io { .. })));
}

#[test]
fn a_log_can_be_checked_while_it_is_written() {
    let directory = TempDir::new().unwrap();
    let mut log = LogFile::open(files(&directory), key()).unwrap();
    log.append(&[record("a")]).unwrap();
    let writer = thread::spawn(move || {
        for _ in 0..500 {
            log.append(&[record("a"), record("b")]).unwrap();
        }
    });
    while !writer.is_finished() {
        check(&directory);
    }
    writer.join().unwrap();
}

#[test]
fn a_removed_lock_does_not_split_the_log() {
    let directory = TempDir::new().unwrap();
    let mut logs = [0, 1].map(|_| LogFile::open(files(&directory), key()).unwrap());
    let [first, second] = &mut logs;
    first.lock().unwrap();
    fs::remove_file(directory.path().join("audit.jsonl.lock")).unwrap();
    first.lock.unlock().unwrap();
    first.lock().unwrap();
    assert!(is_at(&first.lock, &first.lock_path));
    first.lock.unlock().unwrap();
    second.lock().unwrap();
    assert!(is_at(&second.lock, &second.lock_path));
    assert!(matches!(first.lock.try_lock(), Err(TryLockError::WouldBlock)));
}

#[test]
fn gateways_share_a_log() {
    let directory = TempDir::new().unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut log = LogFile::open(AuditFiles { keep: 1000, ..files(&directory) }, key()).unwrap();
            thread::spawn(move || {
                for _ in 0..50 {
                    log.append(&[record("a")]).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let found = check(&directory);
    assert!(found.first_sequence == 1 && found.lines >= 200 && found.notes.is_empty(), "{found:?}");
}

#[test]
fn an_incomplete_end_is_repaired_with_a_record() {
    let directory = TempDir::new().unwrap();
    let path = files(&directory).path;
    for torn in [&b"{\"ver"[..], b"\0\0\0\0", b"{\"version\":1\n", b"a\nb\nc", b"\n"] {
        let mut log = LogFile::open(files(&directory), key()).unwrap();
        log.append(&[record("a")]).unwrap();
        let before = log.head();
        drop(log);
        File::options().append(true).open(&path).unwrap().write_all(torn).unwrap();
        let mut log = LogFile::open(files(&directory), key()).unwrap();
        assert_eq!(log.head().sequence, before.sequence + 1, "{torn:?}");
        log.append(&[record("b")]).unwrap();
        let found = check(&directory);
        assert!(found.head == log.head() && !found.notes.is_empty(), "{found:?}");
    }
    // A line without its end is whole.
    let add = |line: &[u8]| File::options().append(true).open(&path).unwrap().write_all(line).unwrap();
    let notes = check(&directory).notes.len();
    let mut log = LogFile::open(files(&directory), key()).unwrap();
    let mut whole = Vec::new();
    let head = add_line(&mut whole, &key(), log.head(), "x", &record("a"));
    add(&whole[..whole.len() - 1]);
    log.append(&[]).unwrap();
    assert_eq!(log.head(), head);
    log.append(&[record("b")]).unwrap();
    assert!(check(&directory).notes.len() == notes);
    // But not one that was there before.
    add(&whole[..whole.len() - 1]);
    LogFile::open(files(&directory), key()).unwrap().append(&[record("b")]).unwrap();
    assert!(try_check(&directory).unwrap_err().to_string().contains("repeated"));
    // A file with nothing else.
    let directory = TempDir::new().unwrap();
    let path = files(&directory).path;
    drop(open_private(&path).unwrap());
    fs::write(&path, "{\"vers").unwrap();
    let mut log = LogFile::open(files(&directory), key()).unwrap();
    log.append(&[record("b")]).unwrap();
    assert_eq!(check(&directory).head.sequence, 2);
    fs::write(&path, "version = 1\n").unwrap();
    assert!(matches!(LogFile::open(files(&directory), key()), Err(AuditFileError::InvalidEnd(_))));
}

#[test]
fn a_long_incomplete_end_is_repaired_and_verified() {
    let mib = 1 << 20;
    let text = |bytes: usize| b"text".repeat(bytes / 4);
    let mut mixed = text(3 * mib + 5);
    mixed.extend_from_slice(b"\n\n");
    mixed.extend(vec![0; 2 * mib]);
    mixed.extend_from_slice(b"\na\n");
    mixed.extend(text(mib));
    let with_end = |mut torn: Vec<u8>| {
        torn.push(b'\n');
        torn
    };
    let exact = vec![b'x'; 2 * mib];
    for torn in [
        vec![0; 3 * mib],
        with_end(text(5 * mib)),
        exact.clone(),
        with_end(exact),
        vec![b'\n'; 10_000],
        mixed.clone(),
        with_end(mixed),
    ] {
        for max_bytes in [2000, 1 << 40] {
            let directory = TempDir::new().unwrap();
            let files = AuditFiles { max_bytes, ..files(&directory) };
            let mut log = LogFile::open(files.clone(), key()).unwrap();
            log.append(&[record("a")]).unwrap();
            drop(log);
            File::options().append(true).open(&files.path).unwrap().write_all(&torn).unwrap();
            let unfinished = try_check(&directory);
            let is_one_line = !torn.contains(&b'\n');
            assert_eq!(unfinished.is_ok(), is_one_line, "{unfinished:?}");
            let mut log = LogFile::open(files, key()).unwrap();
            log.append(&[record("b")]).unwrap();
            let found = check(&directory);
            assert!(found.head == log.head() && found.notes.len() == 1, "{} {found:?}", torn.len());
        }
    }
    // The first write to a file.
    for torn in [vec![0; 3 * mib], [b"{\"version\":1", &*text(3 * mib)].concat()] {
        let directory = TempDir::new().unwrap();
        let path = files(&directory).path;
        drop(open_private(&path).unwrap());
        fs::write(&path, torn).unwrap();
        let mut log = LogFile::open(AuditFiles { max_bytes: 1 << 40, ..files(&directory) }, key()).unwrap();
        log.append(&[record("b")]).unwrap();
        assert_eq!(check(&directory).head.sequence, 2);
    }
}

#[test]
fn a_running_gateway_notices_removed_lines() {
    for remove_file in [false, true] {
        let directory = TempDir::new().unwrap();
        let path = files(&directory).path;
        let mut log = LogFile::open(files(&directory), key()).unwrap();
        log.append(&[record("a")]).unwrap();
        let size = fs::metadata(&path).unwrap().len();
        log.append(&[record("b"), record("c")]).unwrap();
        if remove_file {
            fs::remove_file(&path).unwrap();
        } else {
            File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
        }
        log.append(&[record("d")]).unwrap();
        let error = try_check(&directory).unwrap_err();
        assert!(error.to_string().contains("were removed"), "{error}");
    }
}

#[test]
fn removed_lines_are_noticed_if_another_gateway_writes_first() {
    // Rotations meanwhile, of a gateway that runs or one that starts.
    for (max_bytes, keep) in [(1 << 20, 3), (2500, 100), (2500, 0)] {
        for removed in [1, 4] {
            for more in [1, 6, 60] {
                let directory = TempDir::new().unwrap();
                let files = AuditFiles { max_bytes, keep, ..files(&directory) };
                let open = || LogFile::open(files.clone(), key()).unwrap();
                let mut logs = [open(), open()];
                for at in 0..6 {
                    logs[at % 2].append(&[record("a")]).unwrap();
                }
                // The last line is of the first gateway.
                logs[0].append(&[record("b")]).unwrap();
                assert!(try_check(&directory).is_ok(), "others that write are no attack");
                let text = fs::read_to_string(&files.path).unwrap();
                let lines: Vec<_> = text.split_inclusive('\n').collect();
                if lines.len() <= removed {
                    continue;
                }
                fs::write(&files.path, lines[..lines.len() - removed].concat()).unwrap();
                let mut third = open();
                for _ in 0..more {
                    third.append(&[record("c")]).unwrap();
                }
                logs[0].append(&[record("d")]).unwrap();
                if keep > 0 {
                    let error = try_check(&directory).unwrap_err().to_string();
                    // If the file has the same size, the next line shows it.
                    let is_noticed = error.contains("were removed") || error.contains("it doesn't follow");
                    assert!(is_noticed, "{max_bytes} {removed} {more}: {error}");
                }
            }
        }
    }
}

#[test]
fn rotation_by_others_is_not_taken_for_removed_lines() {
    for keep in [0, 1, 100] {
        let directory = TempDir::new().unwrap();
        let files = AuditFiles { keep, ..files(&directory) };
        let mut logs = [(); 3].map(|()| LogFile::open(files.clone(), key()).unwrap());
        for round in 0..30 {
            logs[0].append(&[record("a")]).unwrap();
            for _ in 0..round {
                logs[1].append(&[record("b"), record("c")]).unwrap();
            }
            logs[2].append(&[]).unwrap();
            check(&directory);
        }
    }
}

#[test]
fn inserted_lines_are_not_taken_for_an_incomplete_end() {
    let directory = TempDir::new().unwrap();
    let path = files(&directory).path;
    let mut log = LogFile::open(files(&directory), key()).unwrap();
    log.append(&[record("aaaa")]).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let inserted = r#"{"version":1,"sequence":2,"event":"tool_call","name":"never"}"#;
    for more in
        [format!("{inserted}\n"), format!(" {inserted}\n{{\"ver"), format!("{inserted}\n{inserted}\n\0\0")]
    {
        fs::write(&path, format!("{text}{more}")).unwrap();
        let opened = LogFile::open(files(&directory), key());
        assert!(matches!(opened, Err(AuditFileError::InvalidEnd(_))), "{more:?}");
    }
}

#[test]
fn a_changed_end_is_not_continued() {
    let directory = TempDir::new().unwrap();
    let path = files(&directory).path;
    let mut log = LogFile::open(files(&directory), key()).unwrap();
    log.append(&[record("aaaa"), record("bbbb")]).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for changed in [text.replace("bbbb", "cccc"), text.replace("\"sequence\":2", "\"sequence\":3")] {
        fs::write(&path, changed).unwrap();
        assert!(matches!(LogFile::open(files(&directory), key()), Err(AuditFileError::InvalidEnd(_))));
    }
    fs::write(&path, text).unwrap();
    let other = AuditKey::new(&"x".repeat(32)).unwrap();
    assert!(matches!(LogFile::open(files(&directory), other), Err(AuditFileError::InvalidEnd(_))));
}

#[test]
fn refuses_files_that_are_not_private() {
    let directory = TempDir::new().unwrap();
    let path = files(&directory).path;
    let open = || LogFile::open(files(&directory), key());
    symlink(directory.path().join("elsewhere"), &path).unwrap();
    assert!(matches!(open(), Err(AuditFileError::NotPrivate(_))));
    assert!(!directory.path().join("elsewhere").exists());
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(open(), Err(AuditFileError::NotPrivate(_))));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&path, directory.path().join("link")).unwrap();
    assert!(matches!(open(), Err(AuditFileError::NotPrivate(_))));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(open().is_err());
}

#[test]
fn one_key_file_is_created_and_must_stay() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("audit.jsonl.key");
    let log = files(&directory).path;
    let hashes: Vec<_> = (0..4)
        .map(|_| {
            let (path, log) = (path.clone(), log.clone());
            thread::spawn(move || AuditKey::read_or_create(&path, &log).unwrap().arguments_hash().finish())
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert!(hashes.iter().all(|hash| *hash == hashes[0]) && mode(&path) == 0o600, "{hashes:?}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(AuditKey::read_or_create(&path, &log).is_err());
    fs::write(&path, "short").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(AuditKey::read_or_create(&path, &log).is_err());
    // A log without its key isn't continued with another one.
    fs::remove_file(&path).unwrap();
    fs::write(&log, "a line\n").unwrap();
    assert!(matches!(AuditKey::read_or_create(&path, &log), Err(AuditKeyError::Missing(_))));
    assert!(!path.exists());
}

/// Fills files of 12 MiB with lines of 0.9 MB, and returns the sizes of the full ones.
fn sizes_of_full_files(sync: SyncFile, after_each: impl Fn(&LogFile)) -> Vec<u64> {
    let directory = TempDir::new().unwrap();
    let files = AuditFiles { max_bytes: 12 << 20, ..files(&directory) };
    let mut log = LogFile::open_with_sync(files, key(), sync).unwrap();
    let line = format!("\"event\":\"tool_call\",\"detail\":\"{}\"", "x".repeat(900_000)).into_bytes();
    for _ in 0..60 {
        log.append(std::slice::from_ref(&line)).unwrap();
        after_each(&log);
    }
    check(&directory);
    let mut all = all_files(&directory);
    all.pop();
    all.iter().map(|file| fs::metadata(file).unwrap().len()).collect()
}

#[test]
fn a_full_file_is_synced_while_lines_are_appended() {
    let wait = |log: &LogFile| {
        while log.background_sync().is_running() {
            thread::yield_now();
        }
    };
    let sizes = sizes_of_full_files(|_| Ok(()), wait);
    assert!(sizes.len() == 3 && sizes.iter().all(|size| *size < 15 << 20), "{sizes:?}");
    // A disk that is slower than the records.
    let never = |_: &File| -> io::Result<()> {
        loop {
            thread::park();
        }
    };
    let sizes = sizes_of_full_files(never, |_| ());
    assert!(sizes.len() == 2 && sizes.iter().all(|size| (24..26).contains(&(size >> 20))), "{sizes:?}");
}
