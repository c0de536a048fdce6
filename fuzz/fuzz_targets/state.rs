//! Fuzzes sealed request state.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_protocol::mcp::fuzz_state);
