//! Starting, observing and stopping the gateway.

mod admin;
#[cfg(unix)]
mod sighup;
mod status;
mod metrics;
mod request_metrics;
mod startup;
pub(crate) mod shutdown;
#[cfg(unix)]
mod systemd;
#[cfg(unix)]
mod trace;
