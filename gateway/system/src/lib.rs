//! Operating system services for the host and the gateway.

#[cfg(not(unix))]
compile_error!("the gateway runs on Unix systems only; on Windows, build it in WSL 2");

// Threads of the lowest priority, for long work.
pub mod background;
// A limit on blocking work that can hang.
pub mod blocking;
// A limit on the certificate chains of TLS peers.
pub mod certificate_chain;
// Edits of files that other programs read and change.
pub mod file_edit;
// Requests to addresses that the operator names.
pub mod https_client;
// A limit on log lines about events that others can cause.
pub mod log_interval;
// An identifier of the machine.
pub mod machine;
// The memory that the process may use.
pub mod memory_limit;
// Rates of events by key.
pub mod rate_table;
// Directories that only the gateway's user can access.
pub mod private_dir;
