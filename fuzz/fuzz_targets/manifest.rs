//! Fuzzes plugin descriptions.

#![cfg_attr(feature = "libfuzzer", no_main)]

fn validate(bytes: &[u8]) {
    moongate_fuzz::validate(moongate::fuzz::fuzz_manifest, bytes);
}

moongate_fuzz::target!(validate);
