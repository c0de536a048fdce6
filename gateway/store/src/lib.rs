//! The shared store: a Valkey or Redis server in which several gateways keep what they share.
//!
//! The crate knows neither HTTP nor MCP. It implements the interfaces of `moongate-model`: plugins' state, rates of calls,
//! and states that are used once. Everything that must be atomic is a Lua script, and time is the server's, so the clocks
//! of the gateways don't matter.
//!
//! While the store is unreachable, operations fail at once, and the connection is retried every second.

// Errors, with hints for operators.
mod error;
// From an address to a byte stream: TCP, TLS, Unix sockets.
mod dial;
// The checks of a server before it is used.
mod handshake;
// The connection: operations, reconnecting, status.
mod connection;
// Messages between gateways.
mod subscriptions;
// Plugins' state.
mod plugin_state;
// Rates of calls.
mod rates;
// States that are used once.
mod used_once;
// Reports of all gateways.
mod reports;

pub use connection::{SharedStore, StoreStatus, StoreUse, UseCounts};
pub use error::StoreError;
pub use handshake::{KEY_FAMILIES, SCHEMA_VERSION};
pub use redis::{Cmd, FromRedisValue, Script, ToRedisArgs, Value, cmd};
pub use subscriptions::{StoreEvent, StoreSubscription};

#[cfg(test)]
mod test_server;
