//! Runs the fuzz functions on mutations of good questions, answers and states.

use super::super::{fuzz_question, fuzz_state};
use super::*;

/// A small random number generator (xorshift) with the same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

/// Mutates each seed in a few places, many times.
fn change(seeds: &[Vec<u8>], pieces: &[&str], times: usize, check: fn(&[u8])) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    seeds.iter().for_each(|seed| check(seed));
    for _ in 0..times {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() + 1);
            let end = (at + random.below(8)).min(bytes.len());
            let piece = pieces[random.below(pieces.len())].bytes();
            match random.below(3) {
                0 => bytes.splice(at..at, piece).for_each(drop),
                1 => bytes.splice(at..end, piece).for_each(drop),
                _ => bytes.drain(at..end).for_each(drop),
            }
        }
        check(&bytes);
    }
}

const PIECES: [&str; 22] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "1",
    "-1",
    "1e400",
    "\"type\":\"string\",",
    "\"enum\":[\"a\"],",
    "\"default\":\"a\",",
    "\"oneOf\":[],",
    "\\u202e",
    "\u{200b}",
    "\n",
    "\"_meta\":{\"progressToken\":1},",
    "tool_use",
    "\"mode\":\"url\",\"url\":\"https://x\",",
];

#[test]
fn fuzz_questions_and_answers() {
    let several = json!({ "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }] } });
    let titled = json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }], "default": "a" });
    let schema = json!({ "type": "object", "properties": { "s": several, "t": titled }, "required": ["t"] });
    let full = json!({ "message": "m", "requestedSchema": schema });
    let seeds: Vec<Vec<u8>> = [
        ("elicitation/create", form("?", "x"), accepted(&json!({ "x": "y" }))),
        ("elicitation/create", full, accepted(&json!({ "s": ["a"], "t": "a" }))),
        (
            "elicitation/create",
            json!({ "mode": "url", "message": "m", "url": "https://a.example/b" }),
            json!({ "action": "decline" }),
        ),
        ("sampling/createMessage", sample(), said()),
        ("roots/list", json!({}), json!({ "roots": [{ "uri": "file:///a", "name": "a" }] })),
    ]
    .iter()
    .map(|(method, params, answer)| format!("{method}\n{params}\n{answer}").into_bytes())
    .collect();
    change(&seeds, &PIECES, 4_000, fuzz_question);
}

#[test]
fn fuzz_states() {
    let sealed = json!({
        "plugin": "p", "version": Digest::of(b"").to_string(), "caller": "local", "request": "r", "expires_at": 600,
        "number": [1, 2], "rounds": 1, "answers": [["a", { "b": 1 }]],
        "open": [{ "key": "k", "method": "roots/list", "params": null, "forgotten": null }], "state": "AAAA",
    });
    let seeds = [sealed.to_string().into_bytes(), b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk".to_vec()];
    let claim = state::StateClaim::fixed("p", Digest::of(b""));
    let states = StateStore::new(SealingKey::shared("fuzz"), None);
    let whole = SealingKey::shared("fuzz").seal(state::STATE_PURPOSE, &seeds[0]).unwrap();
    assert!(states.open(&claim, &whole, std::time::UNIX_EPOCH).is_ok(), "the seed isn't one that opens");
    change(&seeds, &PIECES, 4_000, fuzz_state);
}
