//! MCP as clients see it, in every revision and over both transports.

mod arguments;
mod cancellation;
mod change_notifications;
mod replaced_during_rounds;
mod error_precedence;
mod handshake;
mod http_checks;
mod concurrent_request_ids;
pub(crate) mod questions;
mod questions_stateless;
mod json_rpc;
mod legacy_sse;
mod stateless;
mod stdio;
mod resumable_streams;
