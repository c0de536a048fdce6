//! The gateway's functions: the real ones in a component, fakes with the same names in native tests.
//!
//! The public modules (`log`, `config`, `Context`, …) use only these, never the bindings directly.

#[cfg(any(target_family = "wasm", test))]
mod failure; // error messages for error codes, also used in native tests
#[cfg(target_family = "wasm")]
pub(crate) mod env;
#[cfg(target_family = "wasm")]
pub(crate) mod http;
#[cfg(target_family = "wasm")]
pub(crate) mod kv;
#[cfg(target_family = "wasm")]
pub(crate) mod rounds;

#[cfg(target_family = "wasm")]
pub(crate) use crate::bindings::imports::moongate::plugin::{changes, log, progress, request};
#[cfg(target_family = "wasm")]
pub(crate) use crate::bindings::imports::wasi::config::store as config;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod fake;
#[cfg(not(target_family = "wasm"))]
pub(crate) use fake::{changes, config, env, http, kv, log, progress, request, rounds};
