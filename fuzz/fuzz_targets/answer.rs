//! Fuzzes what calls answer.

#![cfg_attr(feature = "libfuzzer", no_main)]

fn judged(bytes: &[u8]) {
    moongate_fuzz::judged(moongate::host::fuzz_answer, bytes);
}

moongate_fuzz::target!(judged);
