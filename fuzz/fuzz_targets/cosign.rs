//! Fuzzes cosign signatures.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_sources::fuzz_cosign);
