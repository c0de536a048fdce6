//! The functions that plugins import: WASI, `wasi:http`, `wasi:keyvalue` and the contract's own.

pub(in crate::host) mod contract;
pub(in crate::host) mod cli;
pub(in crate::host) mod files;
pub(in crate::host) mod grant_audit;
pub(in crate::host) mod http;
pub(in crate::host) mod keyvalue;
pub(in crate::host) mod linker;
pub(in crate::host) mod preopens;
