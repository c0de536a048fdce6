//! The sections of the file: one module per table.

pub(crate) mod admin;
pub(crate) mod audit;
pub(crate) mod gateway;
pub(crate) mod http;
pub(crate) mod http_tls;
mod item_filter;
pub(crate) mod limits;
pub(crate) mod oauth;
pub(crate) mod plugin;
pub(crate) mod rates;
pub(crate) mod roles;
pub(crate) mod settings;
pub(crate) mod sources;
pub(crate) mod store;
pub(crate) mod telemetry;
pub(crate) mod unix_socket;
