//! Fuzzes event ids.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_protocol::session::fuzz_event_id);
