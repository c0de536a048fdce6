//! Flat and growing memory.

use serde_json::{Value, json};

use super::{ensure_flat, growth_kib};

fn samples(kib: impl Fn(u64) -> u64) -> Value {
    (0..=100).map(|sample| json!([sample * 10_000, kib(sample)])).collect()
}

#[test]
fn growth_during_the_warm_up_does_not_count() {
    let warming = samples(|sample| 20_000 + 1_000 * sample.min(9));
    assert_eq!(growth_kib(&warming), Some(0.0));
    ensure_flat(&json!({ "HTTP": { "samples": warming }, "stdio": { "samples": warming } })).unwrap();
}

#[test]
fn a_leak_is_an_error() {
    let flat = samples(|_| 20_000);
    let leaking = samples(|sample| 20_000 + 150 * sample);
    let error = ensure_flat(&json!({ "HTTP": { "samples": flat }, "stdio": { "samples": leaking } }));
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "the memory over stdio grew by 12000 KiB after the warm-up");
    assert!(ensure_flat(&json!({ "HTTP": { "samples": [] } })).is_err());
}
