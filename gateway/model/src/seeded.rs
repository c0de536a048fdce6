//! A bounded loop that replaces a fuzzer in the tests: every file of a corpus, then the same thousands of mutations on
//! every machine.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The seeds. Each produces a different sequence of mutations.
const SEEDS: [u64; 4] = [1, 20_241_105, 0x9E37_79B9_7F4A_7C15, u64::MAX];

/// The number of mutated texts for each seed.
const ROUNDS_PER_SEED: usize = 1_500;

/// Pieces to insert: tokens of JSON, URLs and related formats, and bytes that don't occur in any of them.
const PIECES: [&[u8]; 38] = [
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"true",
    b"1",
    b"-1",
    b"0",
    b"e9",
    b"1e400",
    b"\\u",
    b"\\",
    b"\"id\":",
    b"\"_meta\":{\"progressToken\":1},",
    b"\n",
    b"\r",
    b"\xFF",
    b"\xEF\xBB\xBF",
    b"\xE2\x80\xAE",
    b"=?base64?",
    b"?=",
    b"==",
    b"AAAA",
    b"-",
    b"p",
    b"18446744073709551616",
    b"/",
    b"..",
    b"*.",
    b"%2e",
    b"%25",
    b"@",
    b".example",
    b"\xE3\x80\x82",
];

/// Numbers from a seed (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }

    /// Mutates a text in one place.
    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let end = (at + self.below(8)).min(bytes.len());
        let piece = PIECES[self.below(PIECES.len())];
        match self.below(4) {
            0 => bytes.splice(at..at, piece.iter().copied()).for_each(drop),
            1 => bytes.splice(at..end, piece.iter().copied()).for_each(drop),
            2 => bytes.drain(at..end).for_each(drop),
            _ => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part).for_each(drop);
            }
        }
    }
}

/// Checks every file of `fuzz/corpus/<target>`, and mutations of them.
///
/// # Panics
/// `check` panics (the message contains the seed, the round and the bytes), or the corpus is empty.
#[track_caller]
pub fn seeded(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let corpus: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(!corpus.is_empty(), "{} is empty", directory.display());
    let judge = |which: &str, bytes: &[u8]| {
        let verdict = catch_unwind(AssertUnwindSafe(|| check(bytes)));
        assert!(verdict.is_ok(), "{target}, {which}: {}", bytes.escape_ascii());
    };
    files.iter().zip(&corpus).for_each(|(file, bytes)| judge(&file.display().to_string(), bytes));
    for seed in SEEDS {
        let mut random = Random(seed);
        for round in 0..ROUNDS_PER_SEED {
            let mut bytes = corpus[random.below(corpus.len())].clone();
            for _ in 0..=random.below(4) {
                random.change(&mut bytes);
            }
            judge(&format!("seed {seed}, round {round}"), &bytes);
        }
    }
}
