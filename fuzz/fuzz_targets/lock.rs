//! Fuzzes lock files.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_config::fuzz_lock);
