//! The fuzz targets with bytes from fixed seeds, the same on every machine. Messages are validated against the official
//! schemas.

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use moongate_mcp_schema::{Conversation, ExtraMembers};

use super::*;

const SEEDS: [u64; 4] = [1, 20_241_105, 0x9e37_79b9_7f4a_7c15, u64::MAX];

/// The number of plugins for each seed.
const ROUNDS_PER_SEED: usize = 40;

/// Numbers from a seed (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Runs `fuzz` over a corpus, and over bytes of many lengths: short ones make valid plugins. Returns the number of
/// messages received for the latter.
fn run_seeded(corpus: &str, fuzz: fn(&[u8], &mut MessageSink<'_>)) -> usize {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(corpus);
    for file in fs::read_dir(corpus).unwrap().flatten() {
        assert!(validate(fuzz, &fs::read(file.path()).unwrap()) > 0, "{file:?}");
    }
    let mut received = 0;
    for seed in SEEDS {
        let mut random = Random(seed);
        for round in 0..ROUNDS_PER_SEED {
            let length = random.below(1 + round as u64 * 8);
            let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
            let result = catch_unwind(AssertUnwindSafe(|| received += validate(fuzz, &bytes)));
            assert!(result.is_ok(), "seed {seed}, round {round}: {}", bytes.escape_ascii());
        }
    }
    received
}

/// Validates each message against the schema of its revision. Returns the number of messages received.
fn validate(fuzz: fn(&[u8], &mut MessageSink<'_>), bytes: &[u8]) -> usize {
    let mut conversations: HashMap<Revision, Conversation> = HashMap::new();
    let mut received = 0;
    fuzz(bytes, &mut |revision, sent, response| {
        // A plugin may use members that the revision doesn't define.
        let conversation =
            conversations.entry(revision).or_insert_with(|| Conversation::new().with(ExtraMembers::Allowed));
        match response {
            None => conversation.sent(sent),
            Some(response) => {
                received += 1;
                let message = serde_json::from_slice(response).unwrap();
                if let Err(misfit) = conversation.received(&message) {
                    panic!("{misfit}");
                }
            }
        }
    });
    received
}

#[test]
fn lists_of_any_plugin_are_clean_and_match_their_schemas() {
    let received = run_seeded("manifest", fuzz_manifest);
    assert!(received > 50, "hardly any plugin was valid: {received}");
}

#[test]
fn results_of_any_call_are_clean_and_match_their_schemas() {
    let received = run_seeded("answer", fuzz_answer);
    let requests = server::CALL_METHODS.len() + 1;
    assert_eq!(received, SEEDS.len() * ROUNDS_PER_SEED * Revision::ALL.len() * requests);
}
