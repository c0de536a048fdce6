//! What the host and the gateway need of the operating system.

// A limit on blocking work that can hang.
pub mod blocking;
// Directories that belong to the gateway's user alone.
pub mod private_dir;
