//! Where a plugin's code runs: one call in one instance, and the limits on it.

pub(in crate::host) mod quota;
pub(in crate::host) mod call;
pub(in crate::host) mod cpu_meter;
pub(in crate::host) mod instance_pool;
pub(in crate::host) mod open_files;
pub(in crate::host) mod store;
pub(in crate::host) mod trap;
