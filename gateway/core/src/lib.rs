//! Reads `gateway.toml` into a configuration that is valid by construction.

use moongate_model::{call, diagnostic, manifest, names, policy, secret, text};

pub mod config;
