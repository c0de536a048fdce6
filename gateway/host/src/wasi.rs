//! The functions that plugins import: WASI, `wasi:http`, `wasi:keyvalue` and the contract's own.

pub(crate) mod contract;
pub(crate) mod cli;
pub(crate) mod files;
pub(crate) mod grant_audit;
pub(crate) mod http;
pub(crate) mod keyvalue;
pub(crate) mod linker;
pub(crate) mod preopens;
