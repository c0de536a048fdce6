//! Loading, replacing and combining plugins.

mod conflicts;
mod contract;
mod load_errors;
mod many_gateways;
mod list_refresh;
mod live_reload;
mod storm;
mod file_watching;
