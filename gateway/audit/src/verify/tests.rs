//! Attacks on a log without its key.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::chain::add_line;

fn key(letter: &str) -> AuditKey {
    AuditKey::new(&letter.repeat(32)).unwrap()
}

/// A log of ten lines.
fn lines() -> Vec<Vec<u8>> {
    let mut head = ChainHead::GENESIS;
    (0..10)
        .map(|at| {
            let mut line = Vec::new();
            let members = format!(
                "\"time\":\"2026-11-29T12:00:{at:02}.000Z\",\"event\":\"tool_call\",\"name\":\"n{at}\""
            );
            head = add_line(&mut line, &key("k"), head, "0a", members.as_bytes());
            line
        })
        .collect()
}

fn check(files: &[Vec<Vec<u8>>], head: Option<ChainHash>) -> Result<Verification, String> {
    let directory = TempDir::new().unwrap();
    let write = |(at, lines): (usize, &Vec<Vec<u8>>)| {
        let path = directory.path().join(at.to_string());
        fs::write(&path, lines.concat()).unwrap();
        path
    };
    let paths: Vec<_> = files.iter().enumerate().map(write).collect();
    let text = |error: VerificationError| error.to_string().rsplit('/').next().unwrap_or_default().to_owned();
    LogFiles::open(paths).and_then(|files| verify(files, &key("k"), head)).map_err(text)
}

fn hash(line: &[u8]) -> ChainHash {
    check_line(&key("k"), line.strip_suffix(b"\n").unwrap()).unwrap().hash
}

#[test]
fn names_the_first_bad_line_of_each_attack() {
    let good = lines();
    let found = check(std::slice::from_ref(&good), Some(hash(&good[4]))).unwrap();
    assert_eq!((found.lines, found.first_sequence, found.head.sequence), (10, 1, 10));
    let changed = |at: usize, from: &str, to: &str| {
        let mut lines = good.clone();
        lines[at] = String::from_utf8(lines[at].clone()).unwrap().replace(from, to).into_bytes();
        lines
    };
    let mut removed = good.clone();
    removed.remove(3);
    let mut swapped = good.clone();
    swapped.swap(3, 4);
    let mut repeated = good.clone();
    repeated.insert(4, good[3].clone());
    let mut spliced = good.clone();
    let mut forged = Vec::new();
    let before = ChainHead { sequence: 3, hash: hash(&good[2]) };
    add_line(&mut forged, &key("x"), before, "0a", b"\"time\":\"\",\"event\":\"tool_call\"");
    spliced[3].clone_from(&forged);
    let mut split = good.clone();
    split[3].insert(5, b'\n');
    let mut longer = good.clone();
    longer[3].splice(1..1, b"\"name\":\"x\",".iter().copied());
    for (lines, expected) in [
        (changed(3, "n3", "x3"), "0:4: its hash is wrong"),
        (changed(3, "\"sequence\":4", "\"sequence\":5"), "0:4: its hash is wrong"),
        (changed(3, "\"hash\":\"", "\"hash\":\"+"), "0:4: it isn't a line"),
        (changed(3, "\n", ""), "0:4: "),
        (removed, "0:4: it has the number 5, and 4 is expected"),
        (swapped, "0:4: it has the number 5, and 4 is expected"),
        (repeated, "0:5: it has the number 4, and 5 is expected"),
        (spliced, "0:4: its hash is wrong"),
        (split, "0:4: it isn't a line"),
        (longer, "0:4: its hash is wrong"),
        (Vec::new(), "the log has no lines"),
        (vec![b"not a log\n".to_vec()], "0:1: it isn't a line"),
    ] {
        let error = check(&[lines], None).unwrap_err();
        assert!(error.starts_with(expected), "{error} instead of {expected}");
    }
}

#[test]
fn a_cut_log_needs_a_known_head_to_be_detected() {
    let good = lines();
    let head = Some(hash(&good[9]));
    let cut = good[..7].to_vec();
    assert!(check(std::slice::from_ref(&cut), None).is_ok());
    assert!(check(&[cut], head).unwrap_err().contains("the log was cut"));
    // Cut within the last line.
    let mut torn = good.clone();
    torn[9].truncate(40);
    assert_eq!(check(std::slice::from_ref(&torn), None).unwrap().notes.len(), 1);
    assert!(check(&[torn], head).unwrap_err().contains("the log was cut"));
}

#[test]
fn a_log_can_be_checked_after_a_crash_within_a_rotation() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("audit.jsonl");
    assert!(LogFiles::of_log(&path).is_err());
    fs::write(directory.path().join("audit.jsonl.00000000000000000001"), lines().concat()).unwrap();
    assert_eq!(verify(LogFiles::of_log(&path).unwrap(), &key("k"), None).unwrap().lines, 10);
}

#[test]
fn files_form_one_chain() {
    let good = lines();
    let parts = |sizes: &[std::ops::Range<usize>]| {
        sizes.iter().map(|range| good[range.clone()].to_vec()).collect::<Vec<_>>()
    };
    assert!(check(&parts(&[0..4, 4..9, 9..10]), Some(hash(&good[9]))).is_ok());
    let later = check(&parts(&[4..9, 9..10]), None).unwrap();
    assert_eq!((later.first_sequence, later.lines), (5, 6));
    let rotated = check(&parts(&[4..9, 9..10]), Some(hash(&good[0]))).unwrap_err();
    assert!(rotated.contains("or it is older than the first line here, which has the number 5"), "{rotated}");
    assert!(check(&parts(&[0..4, 9..10]), None).unwrap_err().starts_with("1:1: it has the number 10"));
    assert!(check(&parts(&[4..9, 0..4]), None).unwrap_err().starts_with("1:1: it has the number 1"));
}
