//! Fuzzes questions to clients, and their answers.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_protocol::mcp::fuzz_question);
