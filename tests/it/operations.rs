//! Startup, monitoring and shutdown of the gateway.

mod access_log;
mod admin;
#[cfg(unix)]
mod admin_network;
#[cfg(unix)]
mod audit;
#[cfg(unix)]
mod cached_lists;
#[cfg(unix)]
mod containers;
mod contrib;
#[cfg(unix)]
mod live_view;
#[cfg(unix)]
mod loading;
mod log_format;
#[cfg(target_os = "linux")]
mod memory;
mod metrics;
#[cfg(unix)]
mod proxies;
#[cfg(unix)]
mod replicas;
#[cfg(unix)]
pub(crate) mod shutdown;
#[cfg(unix)]
mod shared_sessions;
#[cfg(unix)]
mod shared_store;
#[cfg(unix)]
mod shared_volume;
#[cfg(unix)]
mod sighup;
#[cfg(unix)]
mod socket_activation;
mod startup;
mod status;
mod status_page;
#[cfg(unix)]
mod systemd;
mod telemetry;
#[cfg(unix)]
mod trace;
