//! Fuzzes WebSocket frames.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate::fuzz::fuzz_websocket);
