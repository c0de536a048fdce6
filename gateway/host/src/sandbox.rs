//! The sandbox of a plugin's code: one call in one instance, and the limits on it.

pub(crate) mod quota;
pub(crate) mod call;
pub(crate) mod cpu_meter;
pub(crate) mod guest_memory;
pub(crate) mod instance_pool;
pub(crate) mod open_files;
pub(crate) mod store;
pub(crate) mod trap;
