//! Fuzzes HTTP grants and the requests that they cover.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_config::fuzz_grant);
