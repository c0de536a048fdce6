//! Fuzzes JSON-RPC messages.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_core::jsonrpc::fuzz_one);
