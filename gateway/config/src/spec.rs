//! The specification of the file: the key table, and the JSON Schema and reference that are generated from it.

mod admin_keys;
mod audit_keys;
mod auth_keys;
pub mod json_schema;
pub mod keys;
mod kind;
mod limit_keys;
mod rate_keys;
mod role_keys;
pub mod reference;
mod source_keys;
mod store_keys;
mod telemetry_keys;
mod tls_keys;
mod unix_socket_keys;
