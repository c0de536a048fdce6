//! Fuzzes access tokens and the key sets of issuers.

#![cfg_attr(feature = "libfuzzer", no_main)]

moongate_fuzz::target!(moongate_auth::fuzz_token);
