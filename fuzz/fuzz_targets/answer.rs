//! Fuzzes call results.

#![cfg_attr(feature = "libfuzzer", no_main)]

fn validate(bytes: &[u8]) {
    moongate_fuzz::validate(moongate::fuzz::fuzz_answer, bytes);
}

moongate_fuzz::target!(validate);
