//! Loading, replacing and combining plugins.

mod conflicts;
mod contract;
mod file_watching;
mod left_out;
mod list_refresh;
mod live_reload;
mod load_errors;
mod many_gateways;
mod storm;
