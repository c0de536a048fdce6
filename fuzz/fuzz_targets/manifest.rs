//! Fuzzes what plugins say of themselves.

#![cfg_attr(feature = "libfuzzer", no_main)]

fn judged(bytes: &[u8]) {
    moongate_fuzz::judged(moongate::host::fuzz_manifest, bytes);
}

moongate_fuzz::target!(judged);
