//! The MCP protocol as clients see it, in every revision and over both transports.

mod arguments;
mod callers_under_load;
mod cancellation;
mod change_notifications;
#[cfg(unix)]
mod client_certificates;
mod concurrent_request_ids;
mod error_precedence;
mod handshake;
#[cfg(unix)]
mod http2;
mod http_checks;
mod http_exhaustion;
mod http_memory;
mod json_rpc;
mod legacy_sse;
mod oauth;
mod oauth_issuers;
pub(crate) mod questions;
mod questions_stateless;
mod refused_requests;
mod resumable_streams;
mod roles;
mod roles_live;
mod roles_oauth;
mod stateless;
mod static_tokens;
mod stdio;
#[cfg(unix)]
mod tls;
#[cfg(unix)]
mod unix_socket;
mod unreadable_messages;
mod websocket;
