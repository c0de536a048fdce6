//! Fuzzes headers that repeat values of the body.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_protocol::server::fuzz_headers);
