//! Fuzzes JSON-RPC messages.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_protocol::jsonrpc::fuzz_one);
