//! The gateway: the Wasm host, the transports and the command line, as a library so that tests can run it.
//!
//! The modules are in dependency order: a module uses only those above it.

// The fields of JSON Schemas.
mod input_schema;
// An ended call in one line.
pub mod call_line;
// Logging: structured lines on stderr that never block the gateway.
pub mod telemetry;
// Builds the served catalog from the configuration and keeps it up to date.
pub mod supervisor;
// Counts calls and requests, and renders metrics.
pub mod metrics;
// The calls of the last hour, for the status page.
pub mod call_history;
// The audit log: turns what is observed into records.
pub mod audit;
// Sessions in the shared store.
mod shared_sessions;
// The gateways that share the store.
pub mod replicas;
// Transports: stdio and HTTP.
pub mod transport;
// The admin listener: health, metrics, status and reload.
pub mod admin;
// Starts and shuts down the gateway.
pub mod app;
// The command line: one struct for each command. Nothing else prints.
pub mod cli;
// Fuzz targets from a plugin to a client, only for tests and the feature `fuzz`.
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub mod fuzz;
