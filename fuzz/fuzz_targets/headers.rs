//! Fuzzes headers that repeat what the body says.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_protocol::server::fuzz_headers);
