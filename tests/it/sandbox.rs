//! Grants, limits and isolation of plugins.

#[cfg(target_os = "linux")]
mod background;
mod checks;
#[cfg(unix)]
mod directories;
#[cfg(unix)]
mod filesystem;
mod forged_output;
mod gateway_memory;
mod grants;
mod hostile_mix;
pub(crate) mod limits;
mod outgoing_requests;
mod instance_reuse;
#[cfg(target_os = "linux")]
mod json_memory;
mod state;
mod durable_state;
mod zoo;
