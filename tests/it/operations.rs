//! Startup, monitoring and shutdown of the gateway.

mod admin;
mod metrics;
pub(crate) mod shutdown;
#[cfg(unix)]
mod sighup;
mod shared_volume;
#[cfg(unix)]
mod startup;
mod status;
#[cfg(unix)]
mod systemd;
#[cfg(unix)]
mod trace;
