//! The fuzzers' functions over bytes from fixed seeds, the same on every machine, with the official schemas as judges.

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use moongate_mcp_schema::{Conversation, Members};

use super::*;

/// Each seed is another walk.
const SEEDS: [u64; 4] = [1, 20_241_105, 0x9e37_79b9_7f4a_7c15, u64::MAX];

/// So many plugins for each seed.
const ROUNDS: usize = 40;

/// Numbers from a seed (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Runs `fuzz` over a corpus, and over bytes of many lengths: short ones make plugins that can be used. How much was
/// heard of the latter.
fn seeded(corpus: &str, fuzz: fn(&[u8], &mut Hear<'_>)) -> usize {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(corpus);
    for file in fs::read_dir(corpus).unwrap().flatten() {
        assert!(judge(fuzz, &fs::read(file.path()).unwrap()) > 0, "{file:?}");
    }
    let mut heard = 0;
    for seed in SEEDS {
        let mut random = Random(seed);
        for round in 0..ROUNDS {
            let length = random.below(1 + round as u64 * 8);
            let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
            let judged = catch_unwind(AssertUnwindSafe(|| heard += judge(fuzz, &bytes)));
            assert!(judged.is_ok(), "seed {seed}, round {round}: {}", bytes.escape_ascii());
        }
    }
    heard
}

/// Holds everything that is said against the schema of its revision; how much that was.
fn judge(fuzz: fn(&[u8], &mut Hear<'_>), bytes: &[u8]) -> usize {
    let mut talks: HashMap<Revision, Conversation> = HashMap::new();
    let mut heard = 0;
    fuzz(bytes, &mut |revision, sent, received| {
        // A plugin may say more than the revision's definitions name.
        let talk = talks.entry(revision).or_insert_with(|| Conversation::new().with(Members::Open));
        match received {
            None => talk.sent(sent),
            Some(received) => {
                heard += 1;
                let message = serde_json::from_slice(received).unwrap();
                if let Err(misfit) = talk.received(&message) {
                    panic!("{misfit}");
                }
            }
        }
    });
    heard
}

#[test]
fn whatever_a_plugin_says_of_itself_lists_are_clean_and_fit_their_schemas() {
    let heard = seeded("manifest", fuzz_manifest);
    assert!(heard > 50, "hardly any plugin could be used: {heard}");
}

#[test]
fn whatever_a_call_answers_it_is_one_clean_line_that_fits_its_schema() {
    let heard = seeded("answer", fuzz_answer);
    assert_eq!(heard, SEEDS.len() * ROUNDS * Revision::ALL.len() * (served::CALLS.len() + 1));
}
