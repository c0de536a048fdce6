//! The gateway: the Wasm host, the transports and the command line, as a library so that tests can run it.
//!
//! The modules stand in reading order, which is also the order of the floors: a module uses those above it and
//! nothing below.

// Log lines: on stderr, structured, and never in anybody's way.
pub mod telemetry;
// From a configuration to a catalog that serves.
pub mod supervisor;
// What is counted, and how it is told to whoever scrapes it.
pub mod metrics;
// How bytes come in and go out: stdio and HTTP.
pub mod transport;
// The operator's own listener: health, metrics, status, reloading.
pub mod admin;
// From a configuration to a running gateway and back to nothing.
pub mod app;
// The command line: one struct per verb. Nothing else prints.
pub mod cli;
// Fuzz targets from a plugin to a client. Only in tests and with the feature `fuzz`.
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub mod fuzz;
