//! The functions that the gateway offers: the real ones in a component, fakes of the same names in native tests.
//!
//! The public modules (`log`, `config`, `Context`, …) call these and nothing else of the bindings.

#[cfg(any(target_family = "wasm", test))]
mod failure; // the words for error codes, which native tests read too
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
